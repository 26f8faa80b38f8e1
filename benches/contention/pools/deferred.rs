//! Implementations that defer destruction: basedrop and crossbeam-epoch.

use super::Pools;
use basedrop::{Collector, Handle, Shared};
use crossbeam_epoch::{self as epoch, Guard, Owned};
use parking_lot::Mutex;
use releasepool_benches::objects::Payload;
use std::hint::black_box;
use std::marker::PhantomData;
use std::sync::Arc;

/// basedrop's collector, created on first use. Dropping it collects all garbage.
#[derive(Default)]
pub struct Garbage(Mutex<Option<Collector>>);

impl Garbage {
    fn handle(&self) -> Handle {
        self.0.lock().get_or_insert_with(Collector::new).handle()
    }

    /// Collects at most this many objects.
    fn collect(collector: &mut Option<Collector>, most: u64) {
        if let Some(collector) = collector {
            (0..most).all(|_| collector.collect_one());
        }
    }
}

impl Drop for Garbage {
    fn drop(&mut self) {
        Self::collect(&mut self.0.lock(), u64::MAX);
    }
}

/// The garbage of a thread at which it waits for another thread that is collecting.
const PATIENCE: u64 = 10_000;

/// A vector of basedrop's references, and one collector for all threads. A thread that ends a pool
/// collects as many objects as it has dropped, and a few more for threads that came while another one
/// was collecting.
pub struct Basedrop<P> {
    garbage: Arc<Garbage>,
    handle: Handle,
    vec: Vec<Shared<P>>,
    owed: u64,
}

impl<P: Payload> Pools<P> for Basedrop<P> {
    const NAME: &str = "basedrop";
    const NOTE: Option<&str> =
        Some("a vector of Shared; the thread that ends a pool runs the collector");
    type Shared = Garbage;

    fn here(shared: &Arc<Garbage>) -> Self {
        Self {
            garbage: shared.clone(),
            handle: shared.handle(),
            vec: Vec::new(),
            owed: 0,
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        let object = Shared::new(&self.handle, P::new(seed));
        self.vec.push(black_box(object));
    }

    #[inline(always)]
    fn mark(&self) -> usize {
        self.vec.len()
    }

    #[inline(always)]
    fn release_from(&mut self, mark: usize) {
        self.owed += (self.vec.len() - mark) as u64;
        black_box(&mut self.vec).truncate(mark);
        if self.owed == 0 {
            return;
        }
        let collector = if self.owed > PATIENCE {
            Some(self.garbage.0.lock())
        } else {
            self.garbage.0.try_lock()
        };
        if let Some(mut collector) = collector {
            Garbage::collect(&mut collector, 2 * self.owed);
            self.owed = 0;
        }
    }
}

/// Deferred objects for which the collector is run once. It takes up to eight bags of 64 objects at a
/// time, which may be other threads'.
const ASK: u64 = 256;

/// A guard of crossbeam-epoch while a pool has objects. Each is destroyed when all threads have been
/// unpinned since.
pub struct Epoch<P> {
    guard: Option<Guard>,
    owed: u64,
    objects: PhantomData<P>,
}

impl<P: Payload> Pools<P> for Epoch<P> {
    const NAME: &str = "crossbeam-epoch";
    const NOTE: Option<&str> = Some("defer, pinned once per pool; not counted; destroyed later");
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self {
            guard: None,
            owed: 0,
            objects: PhantomData,
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        let guard = self.guard.get_or_insert_with(epoch::pin);
        let object = black_box(Owned::new(P::new(seed))).into_shared(guard);
        // SAFETY: no other thread can reach the object, and it is deferred only once.
        unsafe { guard.defer_destroy(object) };
        self.owed += 1;
    }

    #[inline(always)]
    fn drain(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            while self.owed >= ASK {
                guard.repin();
                guard.flush();
                self.owed -= ASK;
            }
        }
    }
}

/// Hands the rest of the garbage to the other threads, as this one may end or sleep.
impl<P> Drop for Epoch<P> {
    fn drop(&mut self) {
        self.guard = None;
        epoch::pin().flush();
    }
}
