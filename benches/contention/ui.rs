//! A UI thread, which destroys objects that the measured threads hand to it.

use releasepool_benches::crew::wait_for;
use releasepool_benches::objects::Payload;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The number of pending objects at which workers wait, which is not timed.
const ROOM: u64 = 16_000;

/// The time between two calls that destroy pending objects.
const FRAME: Duration = Duration::from_micros(50);

/// The longest wait for pending objects at the end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Numbers of objects that were handed over, and that were destroyed.
#[derive(Default)]
pub struct Gauge {
    sent: AtomicU64,
    destroyed: AtomicU64,
}

impl Gauge {
    fn waiting(&self) -> u64 {
        // Loaded first, so that `sent` includes all objects that this count includes.
        let destroyed = self.destroyed.load(Ordering::Acquire);
        self.sent.load(Ordering::Acquire) - destroyed
    }
}

/// An object that counts its destruction.
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

/// A handle to the thread. Dropping it ends the thread.
pub struct Ui {
    gauge: &'static Gauge,
    stop: Arc<AtomicBool>,
    /// `None` only while this is dropped.
    thread: Option<JoinHandle<()>>,
}

impl Ui {
    /// Starts the thread. `start` is called on it and returns a value for the workers, and a function
    /// that destroys all pending objects.
    pub fn spawn<S, D>(start: impl FnOnce() -> (S, D) + Send + 'static) -> (Self, S)
    where
        S: Send + 'static,
        D: FnMut() + 'static,
    {
        // Leaked, as objects refer to it until they are destroyed.
        let gauge: &Gauge = Box::leak(Box::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (send, receive) = mpsc::sync_channel(1);
        let told = stop.clone();
        let thread = thread::spawn(move || {
            let (for_workers, mut destroy) = start();
            send.send(for_workers).expect("the creator waits for it");
            while !told.load(Ordering::Acquire) {
                if gauge.waiting() == 0 {
                    // Parks, so that this thread does not disturb other measurements.
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
        let for_workers = receive.recv().expect("the thread sends it");
        let ui = Self {
            gauge,
            stop,
            thread: Some(thread),
        };
        (ui, for_workers)
    }

    pub fn gauge(&self) -> &'static Gauge {
        self.gauge
    }

    /// Waits until there is room for more objects, and announces this many.
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
            // If it panicked, an object was overwritten, and the counts differ, too.
            let _ = thread.join();
        }
    }
}
