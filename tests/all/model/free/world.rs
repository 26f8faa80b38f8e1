//! What all threads of a program share, and the checks at its end.

use super::super::seam::{self, Thread};
use super::objects::{ForeignThing, Object, Shared, Thing, survive};
use releasepool::foreign::RemoteRelease;
use releasepool::frame::LoopProxy;
use releasepool::slot::OptionSlot;
use releasepool::{
    AutoreleasePool, Budget, Hot, Looper, PoolManager, Reclaimer, Ref, Slot, ThreadHandle,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many releases may wait for the reclaimer.
const BOUND: usize = 3;

/// Foreign references that any thread gives up and that one thread releases.
pub type Queue = RemoteRelease<ForeignThing, Box<dyn Fn() -> bool + Send + Sync>>;

/// How a program runs.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Destructors autorelease, and so the numbers of entries are not known.
    pub relays: bool,
    /// Destructors panic.
    pub panics: bool,
    /// Each step is followed by a check.
    pub checks: bool,
    /// Each step is printed.
    pub log: bool,
}

impl Setting {
    /// Threads check their pools after each step.
    pub const CHECKED: Self = Self {
        relays: false,
        panics: false,
        checks: true,
        log: false,
    };
    /// Destructors autorelease and panic; for the kinds of steps of hot objects only.
    pub const PANICKING: Self = Self {
        relays: true,
        panics: true,
        ..Self::CHECKED
    };
}

pub struct World {
    pub setting: Setting,
    pub shared: Arc<Shared>,
    threads: Mutex<Vec<Thread>>,
    pub loops: Mutex<Vec<LoopProxy>>,
    /// The queues of all threads so far. Those of threads that have exited are closed.
    pub queues: Mutex<Vec<Arc<Queue>>>,
    slots: Mutex<Option<Arc<Slots>>>,
    pub looper: LoopProxy,
    pub reclaimer: Reclaimer,
    /// True if any thread may be asked to drain its root pool.
    asked: AtomicBool,
}

pub struct Slots {
    pub full: Arc<Slot<Object>>,
    pub option: OptionSlot<Object>,
    /// How many changes of `full` have begun, and how many have ended.
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Slots {
    pub fn change<R>(&self, f: impl FnOnce(&Slot<Object>) -> R) -> R {
        self.begun.fetch_add(1, Ordering::AcqRel);
        let result = f(&self.full);
        self.ended.fetch_add(1, Ordering::AcqRel);
        result
    }

    /// Returns how many changes of `full` have begun, and how many have ended.
    pub fn changes(&self) -> (usize, usize) {
        let ended = self.ended.load(Ordering::Acquire);
        (self.begun.load(Ordering::Acquire), ended)
    }
}

impl World {
    /// Begins a program; returns its looper, and a first object.
    pub fn new(setting: Setting, others: &[ThreadHandle]) -> (Arc<Self>, Looper, Thing) {
        let looper = Looper::spawn("looper").unwrap();
        let reclaimer = Reclaimer::builder().values(BOUND).spawn("reclaimer");
        let shared = Arc::new(Shared::new(!setting.relays, setting.panics, others));
        shared.add_current_thread();
        let first = Ref::new(Object::new(&shared, 16, Vec::new()).shown());
        let slots = Arc::new(Slots {
            full: Arc::new(Slot::new(first.clone())),
            option: OptionSlot::empty(),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        });
        let world = Self {
            setting,
            shared,
            threads: Mutex::default(),
            loops: Mutex::default(),
            queues: Mutex::default(),
            slots: Mutex::new(Some(slots)),
            looper: looper.proxy(),
            reclaimer: reclaimer.unwrap(),
            asked: AtomicBool::new(false),
        };
        (Arc::new(world), looper, Thing::strong(first))
    }

    pub fn spawn(self: &Arc<Self>, body: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let world = self.clone();
        let thread = seam::spawn(move || body(&world));
        self.threads.lock().unwrap().push(thread);
    }

    /// Notes that a thread is about to call `shutdown`.
    pub fn asks(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    pub fn slots(&self) -> Arc<Slots> {
        let slots = self.slots.lock().unwrap().clone();
        slots.expect("they are there until all threads are joined")
    }

    /// Returns the handle of a thread, which may have exited.
    pub fn thread(&self, which: u8) -> ThreadHandle {
        match which % 3 {
            0 => self.reclaimer.thread().clone(),
            _ => self.shared.handle(which / 3),
        }
    }

    /// Returns the handle of a thread that can make values which stay there: any, if values whose
    /// home has exited are kept.
    pub fn home(&self, which: u8) -> ThreadHandle {
        if seam::KEEPS {
            self.thread(which)
        } else {
            self.looper.thread().clone()
        }
    }

    /// Has the reclaimer destroy something, if it has room.
    pub fn drop_later(&self, thing: Option<Thing>, how: u8) {
        thing.iter().for_each(Thing::show);
        match how % 3 {
            0 => self.reclaimer.drop_later(thing),
            // Here, if it does not fit.
            1 => drop(self.reclaimer.try_drop_later(thing)),
            _ => self.reclaimer.drop_later_weighed(thing, 8),
        }
    }

    pub fn join(&self) {
        // Each thread adds the one that follows it before it exits.
        while let Some(thread) = { self.threads.lock().unwrap().pop() } {
            seam::join(thread);
        }
    }

    /// Releases what is left when all threads have been joined, and checks that each object died
    /// once; returns how many are kept, as their home has exited.
    pub fn end(&self) -> usize {
        assert!(self.reclaimer.finish(Duration::MAX));
        let (shared, manager) = (&self.shared, PoolManager::global());
        let slots = self.slots.lock().unwrap().take();
        drop(slots);
        // Read once in a pass: a destructor on another program's thread may then make objects.
        let mut alive = (0, 0);
        for _ in 0..seam::PASSES {
            // Destructors send, too.
            while let Some(thing) = shared.receive() {
                survive(|| drop(thing));
            }
            survive(|| _ = manager.drain_root());
            survive(|| _ = manager.drain_backlog(Budget::All));
            survive(|| _ = manager.run_inbox());
            survive(|| _ = Hot::review());
            survive(|| drop(AutoreleasePool::new()));
            survive(seam::quiesce);
            alive = (shared.alive(), shared.at_home());
            if alive.0 == alive.1 {
                break;
            }
        }
        assert_eq!(*shared.failed.lock().unwrap(), None);
        assert_eq!(alive.0, alive.1, "an object did not die");
        shared.at_home()
    }
}
