//! The ways to have a value destroyed: by releasepool's reclaimers, by other threads, or here.

use super::BATCH;
use super::apart::Processors;
use super::gate::{Gate, Marker};
use crate::handing::collector;
use crate::workload::Role;
use basedrop::{Handle, Owned};
use defer_drop::DeferDrop;
use releasepool::{HandoffPool, Later, Looper, drop_later};
use std::mem::take;
use std::sync::{Arc, Mutex, Once, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// A way to have values destroyed. Only [`send`](Self::send) and [`flush`](Self::flush) are measured.
pub trait Way<T>: Sized + 'static {
    /// The role in comparisons.
    const ROLE: Role = Role::Peer;
    /// True if one other thread destroys the values one after the other.
    const HAS_RECEIVER: bool = true;

    /// Returns the name in the output.
    fn name() -> String;

    /// Starts the receiver, unless the process has one for all.
    fn new() -> Self;

    /// Has a value destroyed.
    fn send(&mut self, value: T);

    /// Sends what `send` has only collected.
    fn flush(&mut self) {}

    /// Has the receiver destroy a marker, after the values that were sent before.
    fn mark(&mut self, _: Marker) {
        unreachable!("there is no receiver");
    }

    /// Waits until all values have been destroyed.
    fn finish(&mut self) {
        let gate = Gate::new();
        gate.open();
        self.mark(gate.marker(Processors::default()));
        gate.wait_for_arrival();
    }
}

/// The reclaimer of the process.
pub struct OfProcess;

impl<T: Send + 'static> Way<T> for OfProcess {
    fn name() -> String {
        "drop_later".to_owned()
    }
    fn new() -> Self {
        Self
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop_later(value);
    }
    fn mark(&mut self, marker: Marker) {
        drop_later(marker);
    }
}

/// The reclaimer of the process, to which an owner's drop sends the value.
pub struct ByOwner;

impl<T: Send + 'static> Way<T> for ByOwner {
    const ROLE: Role = Role::Ours;

    fn name() -> String {
        "Later, dropped".to_owned()
    }
    fn new() -> Self {
        Self
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop(Later::new(value));
    }
    fn mark(&mut self, marker: Marker) {
        drop_later(marker);
    }
}

fn new_reclaimer() -> Looper {
    Looper::reclaimer("reclaimer").expect("a thread starts")
}

/// A reclaimer of the program's own.
pub struct OfLooper(Looper);

impl<T: Send + 'static> Way<T> for OfLooper {
    const ROLE: Role = Role::Ours;

    fn name() -> String {
        "Looper::drop_later".to_owned()
    }
    fn new() -> Self {
        Self(new_reclaimer())
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.0.drop_later(value);
    }
    fn mark(&mut self, marker: Marker) {
        self.0.drop_later(marker);
    }
    fn finish(&mut self) {
        self.0.barrier().expect("this is another thread");
    }
}

/// A pool of values, one message for all.
pub struct ByPool {
    pool: HandoffPool,
    reclaimer: Looper,
}

impl<T: Send + 'static> Way<T> for ByPool {
    fn name() -> String {
        "HandoffPool::push_value, drain_on".to_owned()
    }
    fn new() -> Self {
        Self {
            pool: HandoffPool::new(),
            reclaimer: new_reclaimer(),
        }
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.pool.push_value(value);
    }
    #[inline]
    fn flush(&mut self) {
        self.pool.drain_on(self.reclaimer.thread());
    }
    fn mark(&mut self, marker: Marker) {
        self.reclaimer.drop_later(marker);
    }
    fn finish(&mut self) {
        self.reclaimer.barrier().expect("this is another thread");
    }
}

/// A marker beside a channel, which then need not have room for it.
type Beside = Arc<Mutex<Option<Marker>>>;

/// Drops what is received. `None` stands for the marker.
fn receive<T>(values: impl IntoIterator<Item = Option<T>>, beside: &Beside) {
    for value in values {
        if value.is_none() {
            let marker = beside.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(marker);
        }
    }
}

/// Starts a receiver, which ends with its channel.
fn spawn_receiver<T: Send + 'static>(
    values: impl IntoIterator<Item = Option<T>> + Send + 'static,
) -> Beside {
    let beside = Beside::default();
    let there = beside.clone();
    thread::spawn(move || receive(values, &there));
    beside
}

fn put(beside: &Beside, marker: Marker) {
    *beside.lock().unwrap_or_else(PoisonError::into_inner) = Some(marker);
}

/// A thread and std's channel, for one type.
pub struct Mpsc<T>(mpsc::Sender<Option<T>>, Beside);

impl<T: Send + 'static> Way<T> for Mpsc<T> {
    fn name() -> String {
        "a thread, std mpsc channel".to_owned()
    }
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self(sender, spawn_receiver(receiver))
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.0.send(Some(value)).expect("the receiver exists");
    }
    fn mark(&mut self, marker: Marker) {
        put(&self.1, marker);
        self.0.send(None).expect("the receiver exists");
    }
}

/// A thread and crossbeam's channel, for one type.
pub struct Crossbeam<T>(crossbeam_channel::Sender<Option<T>>, Beside);

impl<T: Send + 'static> Way<T> for Crossbeam<T> {
    fn name() -> String {
        "a thread, crossbeam channel".to_owned()
    }
    fn new() -> Self {
        let (sender, receiver) = crossbeam_channel::unbounded();
        Self(sender, spawn_receiver(receiver))
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.0.send(Some(value)).expect("the receiver exists");
    }
    fn mark(&mut self, marker: Marker) {
        put(&self.1, marker);
        self.0.send(None).expect("the receiver exists");
    }
}

/// rayon's global pool, of one thread.
pub struct Rayon;

impl<T: Send + 'static> Way<T> for Rayon {
    fn name() -> String {
        "rayon::spawn".to_owned()
    }
    fn new() -> Self {
        static GLOBAL: Once = Once::new();
        GLOBAL.call_once(|| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
            pool.build_global().expect("nothing has used rayon before");
        });
        Self
    }
    #[inline]
    fn send(&mut self, value: T) {
        rayon::spawn(move || drop(value));
    }
    fn mark(&mut self, marker: Marker) {
        rayon::spawn(move || drop(marker));
    }
}

/// The crate defer-drop.
pub struct Deferred;

impl<T: Send + 'static> Way<T> for Deferred {
    fn name() -> String {
        "defer-drop".to_owned()
    }
    fn new() -> Self {
        Self
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop(DeferDrop::new(value));
    }
    fn mark(&mut self, marker: Marker) {
        drop(DeferDrop::new(marker));
    }
}

/// The crate basedrop. The measured thread runs its collector, which is not timed.
pub struct Basedrop(Handle);

impl<T: Send + 'static> Way<T> for Basedrop {
    const HAS_RECEIVER: bool = false;

    fn name() -> String {
        "basedrop Owned, made and dropped".to_owned()
    }
    fn new() -> Self {
        Self(collector().handle())
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop(Owned::new(&self.0, value));
    }
    fn finish(&mut self) {
        collector().collect();
    }
}

/// A thread for each value.
pub struct Spawned(Vec<JoinHandle<()>>);

impl<T: Send + 'static> Way<T> for Spawned {
    const HAS_RECEIVER: bool = false;

    fn name() -> String {
        "thread::spawn".to_owned()
    }
    fn new() -> Self {
        Self(Vec::new())
    }
    #[inline]
    fn send(&mut self, value: T) {
        self.0.push(thread::spawn(move || drop(value)));
    }
    fn finish(&mut self) {
        for thread in self.0.drain(..) {
            thread.join().expect("a destructor panicked");
        }
    }
}

/// The destruction on the sender itself.
pub struct Here;

impl<T: 'static> Way<T> for Here {
    const ROLE: Role = Role::Reference;
    const HAS_RECEIVER: bool = false;

    fn name() -> String {
        "dropped here".to_owned()
    }
    fn new() -> Self {
        Self
    }
    #[inline]
    fn send(&mut self, value: T) {
        drop(value);
    }
    fn finish(&mut self) {}
}

/// Another way, for vectors of values.
pub struct Collected<W, T> {
    way: W,
    values: Vec<T>,
}

impl<W: Way<Vec<T>>, T: 'static> Way<T> for Collected<W, T> {
    const ROLE: Role = W::ROLE;
    const HAS_RECEIVER: bool = W::HAS_RECEIVER;

    fn name() -> String {
        format!("Vec, {}", W::name())
    }
    fn new() -> Self {
        Self {
            way: W::new(),
            values: Vec::new(),
        }
    }
    #[inline]
    fn send(&mut self, value: T) {
        if self.values.capacity() == 0 {
            self.values.reserve_exact(BATCH as usize);
        }
        self.values.push(value);
    }
    #[inline]
    fn flush(&mut self) {
        self.way.send(take(&mut self.values));
    }
    fn mark(&mut self, marker: Marker) {
        self.way.mark(marker);
    }
    fn finish(&mut self) {
        self.way.finish();
    }
}
