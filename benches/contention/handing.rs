//! Ways for a worker to get rid of objects that the UI thread destroys.

use crate::ui::{Gauge, Handed, Ui};
use basedrop::{Collector, Handle, Shared};
use parking_lot::Mutex;
use releasepool::{HandoffPool, PoolManager, Ref, ThreadHandle, autoreleasepool};
use releasepool_benches::objects::Payload;
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;

/// What workers need.
pub trait Handing<P: Payload>: Send + Sync + Sized + 'static {
    type Sender: Sender;
    fn open() -> (Ui, Self);
    /// The calling thread's.
    fn here(&self, ui: &Ui) -> Self::Sender;
}

/// What one worker has.
pub trait Sender: 'static {
    /// Makes an object and gets rid of it.
    fn hand(&mut self, seed: u64);
    /// Ends a batch.
    fn flush(&mut self);
}

// --- releasepool ---------------------------------------------------------------

fn ui_of_ours() -> (Ui, ThreadHandle) {
    Ui::spawn(|| {
        let me = PoolManager::global().current_thread();
        let me = me.expect("this thread is not being torn down");
        (me, || autoreleasepool(|_| ()))
    })
}

/// By pages of a pool, objects in blocks.
pub struct PagesOfBlocks<P>(ThreadHandle, PhantomData<P>);

/// By pages of a pool, objects of the global allocator.
pub struct Pages<P>(ThreadHandle, PhantomData<P>);

/// By a message for each object.
pub struct Messages<P>(ThreadHandle, PhantomData<P>);

/// What a worker needs for each of these.
pub struct Pool<P, const BLOCKS: bool> {
    pool: HandoffPool,
    to: ThreadHandle,
    gauge: &'static Gauge,
    objects: PhantomData<P>,
}

impl<P, const BLOCKS: bool> Pool<P, BLOCKS> {
    fn new(to: &ThreadHandle, ui: &Ui) -> Self {
        Self {
            pool: HandoffPool::new(),
            to: to.clone(),
            gauge: ui.gauge(),
            objects: PhantomData,
        }
    }
}

impl<P: Payload, const BLOCKS: bool> Sender for Pool<P, BLOCKS> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        let object = Handed::<P>::new(seed, self.gauge);
        if BLOCKS {
            self.pool.create(object);
        } else {
            self.pool.autorelease(Ref::new(object));
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        self.pool.drain_on(&self.to);
    }
}

impl<P: Payload> Handing<P> for PagesOfBlocks<P> {
    type Sender = Pool<P, true>;

    fn open() -> (Ui, Self) {
        let (ui, to) = ui_of_ours();
        (ui, Self(to, PhantomData))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        Pool::new(&self.0, ui)
    }
}

impl<P: Payload> Handing<P> for Pages<P> {
    type Sender = Pool<P, false>;

    fn open() -> (Ui, Self) {
        let (ui, to) = ui_of_ours();
        (ui, Self(to, PhantomData))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        Pool::new(&self.0, ui)
    }
}

/// A worker's end of [`Messages`].
pub struct Messenger<P>(ThreadHandle, &'static Gauge, PhantomData<P>);

impl<P: Payload> Sender for Messenger<P> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        self.0.release(Ref::new(Handed::<P>::new(seed, self.1)));
    }

    fn flush(&mut self) {}
}

impl<P: Payload> Handing<P> for Messages<P> {
    type Sender = Messenger<P>;

    fn open() -> (Ui, Self) {
        let (ui, to) = ui_of_ours();
        (ui, Self(to, PhantomData))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        Messenger(self.0.clone(), ui.gauge(), PhantomData)
    }
}

// --- others --------------------------------------------------------------------

type Batch<P> = Vec<Arc<Handed<P>>>;

/// By a channel, each by itself.
pub struct Channel<P>(crossbeam_channel::Sender<Arc<Handed<P>>>);

/// By a channel, a vector of them at a time.
pub struct Vectors<P>(crossbeam_channel::Sender<Batch<P>>);

/// By a vector behind a mutex, each by itself. The UI thread takes the vector and leaves
/// another, so that both keep their capacity.
pub struct Locked<P>(Arc<Mutex<Batch<P>>>);

/// To basedrop's collector, which the UI thread runs.
pub struct Collected<P>(Mutex<Handle>, PhantomData<P>);

fn ui_of_channel<T: Send + 'static>() -> (Ui, crossbeam_channel::Sender<T>) {
    Ui::spawn(|| {
        let (sender, receiver) = crossbeam_channel::unbounded();
        (sender, move || receiver.try_iter().for_each(drop))
    })
}

/// A worker's end of [`Channel`].
pub struct ToChannel<P>(crossbeam_channel::Sender<Arc<Handed<P>>>, &'static Gauge);

impl<P: Payload> Sender for ToChannel<P> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        let object = Arc::new(Handed::new(seed, self.1));
        self.0.send(object).expect("the UI thread is there");
    }

    fn flush(&mut self) {}
}

impl<P: Payload> Handing<P> for Channel<P> {
    type Sender = ToChannel<P>;

    fn open() -> (Ui, Self) {
        let (ui, sender) = ui_of_channel();
        (ui, Self(sender))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        ToChannel(self.0.clone(), ui.gauge())
    }
}

/// A worker's end of [`Vectors`].
pub struct InVectors<P> {
    sender: crossbeam_channel::Sender<Batch<P>>,
    batch: Batch<P>,
    gauge: &'static Gauge,
}

impl<P: Payload> Sender for InVectors<P> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        self.batch.push(Arc::new(Handed::new(seed, self.gauge)));
    }

    #[inline(always)]
    fn flush(&mut self) {
        let empty = Vec::with_capacity(self.batch.len());
        let batch = mem::replace(&mut self.batch, empty);
        self.sender.send(batch).expect("the UI thread is there");
    }
}

impl<P: Payload> Handing<P> for Vectors<P> {
    type Sender = InVectors<P>;

    fn open() -> (Ui, Self) {
        let (ui, sender) = ui_of_channel();
        (ui, Self(sender))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        InVectors {
            sender: self.0.clone(),
            batch: Vec::new(),
            gauge: ui.gauge(),
        }
    }
}

/// A worker's end of [`Locked`].
pub struct ToLocked<P>(Arc<Mutex<Batch<P>>>, &'static Gauge);

impl<P: Payload> Sender for ToLocked<P> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        let object = Arc::new(Handed::new(seed, self.1));
        self.0.lock().push(object);
    }

    fn flush(&mut self) {}
}

impl<P: Payload> Handing<P> for Locked<P> {
    type Sender = ToLocked<P>;

    fn open() -> (Ui, Self) {
        let (ui, shared) = Ui::spawn(|| {
            let shared = Arc::new(Mutex::new(Batch::<P>::new()));
            let ours = shared.clone();
            let mut batch = Batch::new();
            let destroy = move || {
                mem::swap(&mut batch, &mut *ours.lock());
                batch.clear();
            };
            (shared, destroy)
        });
        (ui, Self(shared))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        ToLocked(self.0.clone(), ui.gauge())
    }
}

/// A worker's end of [`Collected`].
pub struct ToCollector<P>(Handle, &'static Gauge, PhantomData<P>);

impl<P: Payload> Sender for ToCollector<P> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        drop(Shared::new(&self.0, Handed::<P>::new(seed, self.1)));
    }

    fn flush(&mut self) {}
}

impl<P: Payload> Handing<P> for Collected<P> {
    type Sender = ToCollector<P>;

    fn open() -> (Ui, Self) {
        let (ui, handle) = Ui::spawn(|| {
            let mut collector = Collector::new();
            (collector.handle(), move || collector.collect())
        });
        (ui, Self(Mutex::new(handle), PhantomData))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        ToCollector(self.0.lock().clone(), ui.gauge(), PhantomData)
    }
}

/// Not handed over: one thread does everything, and destroys it at the end of the batch.
pub struct Kept<P>(PhantomData<P>);

/// What it has.
pub struct Own<P>(Vec<Box<Handed<P>>>, &'static Gauge);

impl<P: Payload> Sender for Own<P> {
    #[inline(always)]
    fn hand(&mut self, seed: u64) {
        self.0.push(Box::new(Handed::new(seed, self.1)));
    }

    #[inline(always)]
    fn flush(&mut self) {
        self.0.clear();
    }
}

impl<P: Payload> Handing<P> for Kept<P> {
    type Sender = Own<P>;

    fn open() -> (Ui, Self) {
        (Ui::none(), Self(PhantomData))
    }

    fn here(&self, ui: &Ui) -> Self::Sender {
        Own(Vec::new(), ui.gauge())
    }
}
