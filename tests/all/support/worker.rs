//! A thread that runs the closures that a test sends it, step by step.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle, ThreadId};

pub struct Worker {
    orders: Sender<Box<dyn FnOnce() + Send>>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub fn new(name: &str) -> Self {
        let (orders, todo) = channel::<Box<dyn FnOnce() + Send>>();
        let (tell, done) = channel();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            for order in todo {
                order();
                tell.send(()).unwrap();
            }
        });
        Self {
            orders,
            done,
            thread: thread.unwrap(),
        }
    }

    pub fn id(&self) -> ThreadId {
        self.thread.thread().id()
    }

    /// Runs `order` on the worker, and waits until it is done.
    pub fn run<R: Send + 'static>(&self, order: impl FnOnce() -> R + Send + 'static) -> R {
        let (give, result) = channel();
        self.begin(move || give.send(order()).unwrap());
        self.finish();
        result.recv().unwrap()
    }

    /// Runs `order` on the worker, and does not wait.
    pub fn begin(&self, order: impl FnOnce() + Send + 'static) {
        self.orders.send(Box::new(order)).unwrap();
    }

    /// Waits until what was begun is done.
    pub fn finish(&self) {
        self.done.recv().unwrap();
    }

    /// Ends the thread, and waits until it has ended.
    pub fn join(self) {
        drop(self.orders);
        self.thread.join().unwrap();
    }
}
