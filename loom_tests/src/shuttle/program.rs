//! A program: what its threads share, how it begins, and the checks at its end.

use crate::objects::{End, ForeignThing, Known, Object, Thing};
use crate::run::LOG;
use crate::worker::{self, Random};
use releasepool::model::{self, JoinHandle};
use releasepool::{
    FrameProxy, Hot, Looper, LooperProxy, OptionSlot, PoolManager, Ref, RemoteRelease, Slot,
    ThreadHandle,
};
use shuttle::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Threads that run at once, without the main thread, a looper and a reclaimer.
const THREADS: u64 = 8;
/// The steps of all threads together, and in one program of eight those of each.
const STEPS: u64 = 200;
/// How many releases may wait for the reclaimer.
const BOUND: usize = 3;
/// Longer than any program, as only naps take time.
const FOREVER: Duration = Duration::from_secs(3_600);

/// What all threads share. The locks of std are never held while threads may switch.
pub struct World {
    pub objects: std::sync::Mutex<Vec<Arc<Known>>>,
    pub threads: std::sync::Mutex<Vec<JoinHandle<()>>>,
    /// Of all threads so far, some of which have exited.
    handles: std::sync::Mutex<Vec<ThreadHandle>>,
    pub loops: std::sync::Mutex<Vec<FrameProxy>>,
    /// Of all threads so far that have made one. Those of threads that have exited are closed.
    pub queues: std::sync::Mutex<Vec<Arc<Queue>>>,
    pub foreign: std::sync::Mutex<Vec<Arc<ForeignThing>>>,
    pub mail: Mutex<Vec<Thing>>,
    pub slots: Mutex<Option<Arc<Slots>>>,
    pub looper: LooperProxy,
    pub reclaimer: LooperProxy,
    /// The kinds of steps that threads choose from.
    pub steps: Vec<usize>,
}

/// Foreign references that any thread gives up and that one thread releases.
pub type Queue = RemoteRelease<ForeignThing, Box<dyn Fn() -> bool + Send + Sync>>;

pub struct Slots {
    pub full: Arc<Slot<Object>>,
    pub option: OptionSlot<Object>,
    /// How many changes of `full` have begun, and how many have ended.
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Slots {
    pub fn change<R>(&self, f: impl FnOnce(&Slot<Object>) -> R) -> R {
        self.begun.fetch_add(1, Relaxed);
        let result = f(&self.full);
        self.ended.fetch_add(1, Relaxed);
        result
    }

    /// Returns how many changes of `full` have begun, and how many have ended.
    pub fn changes(&self) -> (usize, usize) {
        (self.begun.load(Relaxed), self.ended.load(Relaxed))
    }
}

impl World {
    pub fn handle(&self, which: usize) -> ThreadHandle {
        let handles = self.handles.lock().unwrap();
        handles[which % handles.len()].clone()
    }

    pub fn add_handle(&self) {
        let handle = PoolManager::global().current_thread();
        let handle = handle.expect("the thread has not exited");
        self.handles.lock().unwrap().push(handle);
    }
}

pub fn run(seed: u64) {
    model::begin();
    let mut random = Random::new(seed);
    let manager = PoolManager::global();
    let looper = Looper::spawn("looper").unwrap();
    let reclaimer = Looper::reclaimer_bounded("reclaimer", BOUND).unwrap();
    let world = Arc::new(World {
        objects: Default::default(),
        threads: Default::default(),
        handles: Default::default(),
        loops: Default::default(),
        queues: Default::default(),
        foreign: Default::default(),
        mail: Default::default(),
        slots: Default::default(),
        looper: looper.proxy(),
        reclaimer: reclaimer.proxy(),
        steps: worker::draw_steps(&mut random),
    });
    world.add_handle();
    let first = Ref::new(Object::new(&world, End::Quiet, None, Vec::new()));
    let slots = Arc::new(Slots {
        full: Arc::new(Slot::new(first.clone())),
        option: OptionSlot::empty(),
        begun: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
    });
    *world.slots.lock().unwrap() = Some(slots);
    let steps = if random.one_in(8) {
        STEPS
    } else {
        STEPS / THREADS
    };
    for thread in 1..=THREADS {
        let (random, things) = (random.branch(thread), vec![Thing::strong(first.clone())]);
        worker::start(&world, random, steps, things);
    }
    drop(first);
    // They end while others send to them, or later.
    let mut loopers = vec![looper, reclaimer];
    if random.one_in(2) {
        loopers.remove(random.below(2)).shutdown().unwrap();
    }
    if random.one_in(3) {
        // Returns when no other thread has anything left. It runs no closures that were posted to
        // this thread, and waits for nothing if only these are left.
        if let Err(report) = manager.shutdown(FOREVER) {
            let me = manager.current_thread().unwrap().key();
            assert!(report.holders.iter().all(|t| t.key == me), "{report}");
            assert_eq!((report.orphans, report.hot), (0, 0), "{report}");
        }
    }
    // Each thread adds those that follow it before it exits.
    while let Some(thread) = { world.threads.lock().unwrap().pop() } {
        thread.join();
    }
    for looper in loopers {
        looper.shutdown().unwrap();
    }
    let mail = std::mem::take(&mut *world.mail.lock().unwrap());
    drop(mail);
    let slots = world.slots.lock().unwrap().take();
    drop(slots);
    check_end(&world);
    drop(world);
    model::end();
    if LOG.load(Relaxed) {
        println!("{} switches", shuttle::current::context_switches());
    }
}

/// Checks that all threads have left, that nothing waits, and that each object died once.
fn check_end(world: &World) {
    let manager = PoolManager::global();
    manager.drain_root();
    manager.run_inbox();
    Hot::review();
    model::quiesce();
    let report = manager.shutdown(Duration::ZERO).unwrap();
    assert_eq!((report.orphans, report.hot), (0, 0), "{report}");
    let snapshot = manager.snapshot();
    assert_eq!(snapshot.threads.len(), 1, "{snapshot:?}");
    assert_eq!((snapshot.orphans, snapshot.hot_objects), (0, 0));
    // The values of `HomeRef`s that were dropped after their home's exit are kept.
    let objects = world.objects.lock().unwrap().clone();
    let of_home = |known: &Arc<Known>| known.home.is_some() && known.deaths.load(Relaxed) == 0;
    let kept = objects.iter().filter(|known| of_home(known)).count();
    let dead = |known: &Arc<Known>| known.deaths.load(Relaxed);
    let deaths: usize = objects.iter().map(dead).sum();
    assert_eq!(deaths + kept, objects.len(), "an object did not die");
    assert_eq!(snapshot.kept, kept as u64);
    assert_eq!(snapshot.live_objects(), kept as u64);
    assert_eq!(model::free_kept(), kept);
}
