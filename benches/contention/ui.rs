//! A thread that destroys what others hand to it, beside those that are measured.

use releasepool_benches::crew::wait_for;
use releasepool_benches::objects::Payload;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Objects on their way, at most: then the workers wait, which is not timed.
const ROOM: u64 = 16_000;

/// How long it does something else between two looks at what has come.
const FRAME: Duration = Duration::from_micros(50);

/// How long it waits at the end for what it was promised.
const PATIENCE: Duration = Duration::from_secs(5);

/// Objects handed over, and destroyed.
#[derive(Default)]
pub struct Gauge {
    sent: AtomicU64,
    destroyed: AtomicU64,
}

impl Gauge {
    fn waiting(&self) -> u64 {
        // What is destroyed was sent before.
        let destroyed = self.destroyed.load(Ordering::Acquire);
        self.sent.load(Ordering::Acquire) - destroyed
    }
}

/// An object that says when it is destroyed.
pub struct Handed<P> {
    _value: P,
    gauge: &'static Gauge,
}

impl<P: Payload> Handed<P> {
    #[inline(always)]
    pub fn new(seed: u64, gauge: &'static Gauge) -> Self {
        let _value = P::new(seed);
        Self { _value, gauge }
    }
}

impl<P> Drop for Handed<P> {
    #[inline(always)]
    fn drop(&mut self) {
        self.gauge.destroyed.fetch_add(1, Ordering::Release);
    }
}

/// The thread, from the side of the workers.
pub struct Ui {
    gauge: &'static Gauge,
    stop: Arc<AtomicBool>,
    /// `None`: each worker destroys its own.
    thread: Option<JoinHandle<()>>,
}

impl Ui {
    /// `start` is called on the new thread, and gives what workers need, and what
    /// destroys all that has come.
    pub fn spawn<S, D>(start: impl FnOnce() -> (S, D) + Send + 'static) -> (Self, S)
    where
        S: Send + 'static,
        D: FnMut() + 'static,
    {
        // There are few, and objects refer to it to their end.
        let gauge: &Gauge = Box::leak(Box::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (send, receive) = mpsc::sync_channel(1);
        let told = stop.clone();
        let thread = thread::spawn(move || {
            let (for_workers, mut destroy) = start();
            send.send(for_workers).expect("somebody waits for it");
            while !told.load(Ordering::Acquire) {
                if gauge.waiting() == 0 {
                    // Nobody else's measurement is disturbed.
                    thread::park();
                } else {
                    destroy();
                    thread::sleep(FRAME);
                }
            }
            let end = Instant::now() + PATIENCE;
            while gauge.waiting() > 0 && Instant::now() < end {
                destroy();
                thread::yield_now();
            }
        });
        let for_workers = receive.recv().expect("the thread has begun");
        let ui = Self {
            gauge,
            stop,
            thread: Some(thread),
        };
        (ui, for_workers)
    }

    /// No such thread.
    pub fn none() -> Self {
        Self {
            gauge: Box::leak(Box::default()),
            stop: Arc::default(),
            thread: None,
        }
    }

    pub fn gauge(&self) -> &'static Gauge {
        self.gauge
    }

    /// Waits until there is room, and says that so many objects are about to come.
    pub fn admit(&self, objects: u64) {
        if let Some(thread) = &self.thread {
            wait_for(|| (self.gauge.waiting() < ROOM).then_some(()));
            self.gauge.sent.fetch_add(objects, Ordering::AcqRel);
            thread.thread().unpark();
        }
    }
}

impl Drop for Ui {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Its panic would be an object that was written to; the count says it, too.
            let _ = thread.join();
        }
    }
}
