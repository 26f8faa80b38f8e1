//! Ways for a worker to hand objects to the UI thread, which destroys them.
//!
//! Each function starts a UI thread and returns it, with a function that creates a worker's sender.

use crate::ui::Ui;
use parking_lot::Mutex;
use releasepool::{HandoffPool, PoolManager, Ref, ThreadHandle, autoreleasepool};
use std::mem;
use std::sync::Arc;

/// A worker's end of the way to the UI thread.
pub trait Sender<T>: 'static {
    /// Allocates an object and hands it over.
    fn hand(&mut self, object: T);
    /// Ends a batch.
    #[inline(always)]
    fn flush(&mut self) {}
}

/// The UI thread, and a function that creates the calling thread's sender.
pub type Handing<F> = (Ui, F);

/// The bounds of the function that creates a sender.
pub trait Here<S>: Fn() -> S + Send + Sync + 'static {}

impl<S, F: Fn() -> S + Send + Sync + 'static> Here<S> for F {}

/// The bounds of objects.
pub trait Object: Send + Sync + 'static {}

impl<T: Send + Sync + 'static> Object for T {}

// --- releasepool ---------------------------------------------------------------

fn ui_with_pool() -> (Ui, ThreadHandle) {
    Ui::spawn(|| {
        let handle = PoolManager::global().current_thread();
        let handle = handle.expect("the thread has not ended");
        (handle, || autoreleasepool(|_| ()))
    })
}

/// Sends a pool of objects at a time, in blocks or from the global allocator.
pub struct Pool<const IN_BLOCKS: bool>(HandoffPool, ThreadHandle);

impl<T: Object, const IN_BLOCKS: bool> Sender<T> for Pool<IN_BLOCKS> {
    #[inline(always)]
    fn hand(&mut self, object: T) {
        if IN_BLOCKS {
            self.0.create(object);
        } else {
            self.0.autorelease(Ref::new(object));
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        self.0.drain_on(&self.1);
    }
}

pub fn pool<const IN_BLOCKS: bool>() -> Handing<impl Here<Pool<IN_BLOCKS>>> {
    let (ui, to) = ui_with_pool();
    (ui, move || Pool(HandoffPool::new(), to.clone()))
}

/// Sends a message for each object.
pub struct Messages(ThreadHandle);

impl<T: Object> Sender<T> for Messages {
    #[inline(always)]
    fn hand(&mut self, object: T) {
        self.0.release(Ref::new(object));
    }
}

pub fn messages<T: Object>() -> Handing<impl Here<Messages>> {
    let (ui, to) = ui_with_pool();
    (ui, move || Messages(to.clone()))
}

// --- alternatives --------------------------------------------------------------

fn ui_with_channel<T: Object>() -> (Ui, crossbeam_channel::Sender<T>) {
    Ui::spawn(|| {
        let (sender, receiver) = crossbeam_channel::unbounded();
        (sender, move || receiver.try_iter().for_each(drop))
    })
}

/// Sends each object through a channel.
pub struct Channel<T>(crossbeam_channel::Sender<Arc<T>>);

impl<T: Object> Sender<T> for Channel<T> {
    #[inline(always)]
    fn hand(&mut self, object: T) {
        let sent = self.0.send(Arc::new(object));
        sent.expect("the UI thread is running");
    }
}

pub fn channel<T: Object>() -> Handing<impl Here<Channel<T>>> {
    let (ui, sender) = ui_with_channel();
    (ui, move || Channel(sender.clone()))
}

/// Sends a vector of objects at a time through a channel.
pub struct Vectors<T>(Vec<Arc<T>>, crossbeam_channel::Sender<Vec<Arc<T>>>);

impl<T: Object> Sender<T> for Vectors<T> {
    #[inline(always)]
    fn hand(&mut self, object: T) {
        self.0.push(Arc::new(object));
    }

    #[inline(always)]
    fn flush(&mut self) {
        let empty = Vec::with_capacity(self.0.len());
        let sent = self.1.send(mem::replace(&mut self.0, empty));
        sent.expect("the UI thread is running");
    }
}

pub fn vectors<T: Object>() -> Handing<impl Here<Vectors<T>>> {
    let (ui, sender) = ui_with_channel();
    (ui, move || Vectors(Vec::new(), sender.clone()))
}

/// Adds each object to a vector behind a mutex. The UI thread swaps it for another one, so that both
/// keep their capacity.
pub struct Locked<T>(Arc<Mutex<Vec<Arc<T>>>>);

impl<T: Object> Sender<T> for Locked<T> {
    #[inline(always)]
    fn hand(&mut self, object: T) {
        let object = Arc::new(object);
        self.0.lock().push(object);
    }
}

pub fn locked<T: Object>() -> Handing<impl Here<Locked<T>>> {
    let (ui, shared) = Ui::spawn(|| {
        let shared = Arc::new(Mutex::new(Vec::<Arc<T>>::new()));
        let ours = shared.clone();
        let mut batch = Vec::new();
        let destroy = move || {
            mem::swap(&mut batch, &mut *ours.lock());
            batch.clear();
        };
        (shared, destroy)
    });
    (ui, move || Locked(shared.clone()))
}
