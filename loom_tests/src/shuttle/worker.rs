//! A thread of a program, and its steps.

use crate::objects::{End, ForeignThing, Known, Object, Thing};
use crate::program::{Queue, Slots, World};
use crate::run::LOG;
use releasepool::{
    AutoreleasePool, Budget, FrameConfig, FrameLoop, HandoffPool, HomeRef, Hot, InboxHook,
    PendingHome, PoolManager, PoolRef, PoolToken, Ref, RemoteRelease, Slot, SlotCache,
    ThreadHandle, autorelease, model,
};
use shuttle::thread::current;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A sequence of pseudo-random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns another sequence, for a thread.
    pub fn branch(&mut self, thread: u64) -> Self {
        Self(self.next() ^ thread)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A thread with more handles drops some.
const MANY: usize = 12;

/// How many steps a thread makes, on average, before another one goes on in its place.
const STEPS_OF_A_LIFE: usize = 20;

/// Starts a thread that makes this many steps.
pub fn start(world: &Arc<World>, random: Random, steps: u64, things: Vec<Thing>) {
    let shared = world.clone();
    let thread = model::spawn(move || live(&shared, random, steps, things));
    world.threads.lock().unwrap().push(thread);
}

fn live(world: &Arc<World>, random: Random, steps: u64, things: Vec<Thing>) {
    world.add_handle();
    let mut worker = Worker {
        world: world.clone(),
        random,
        things,
        pools: Vec::new(),
        frames: None,
        hook: None,
        pending: None,
        queue: None,
        cache: None,
    };
    for left in (0..steps).rev() {
        worker.step();
        if left > 0 && worker.random.one_in(STEPS_OF_A_LIFE) {
            // Another thread goes on while this one exits.
            let random = worker.random.branch(0);
            start(world, random, left, std::mem::take(&mut worker.things));
            break;
        }
    }
    worker.close_queue();
    worker.clear_cache();
    // Token pools may stay open at the exit. Guards, and what they lend, go with this thread's stack.
    while worker.random.one_in(2) && worker.close() {}
    while let Some(pool) = worker.pools.pop() {
        pool.held.iter().for_each(|known| known.let_go());
    }
}

enum Opened {
    Guard(AutoreleasePool),
    Token(PoolToken),
}

struct Pool {
    opened: Opened,
    entries: usize,
    /// The objects that the pool keeps alive: its entries, and what slots have lent it.
    held: Vec<Arc<Known>>,
}

struct Worker {
    world: Arc<World>,
    random: Random,
    things: Vec<Thing>,
    /// Open pools, oldest first. Only the last is ever closed.
    pools: Vec<Pool>,
    frames: Option<FrameLoop>,
    hook: Option<InboxHook>,
    /// An object that another thread was asked to make.
    pending: Option<PendingHome<Object>>,
    /// The foreign references that this thread releases.
    queue: Option<Arc<Queue>>,
    cache: Option<Cache>,
}

/// A reader of the slot, and the object that it keeps.
struct Cache {
    reader: SlotCache<Arc<Slot<Object>>, Object>,
    keeps: Arc<Known>,
}

/// How many kinds of steps there are.
const KINDS: usize = 44;

/// Draws the steps of a program. Most leave out half of the kinds, so that threads meet more often
/// in the others.
pub fn draw_steps(random: &mut Random) -> Vec<usize> {
    let has_all = random.one_in(4);
    // The first make objects.
    let drawn = |kind: &usize| *kind < 3 || has_all || random.one_in(2);
    (0..KINDS).filter(drawn).collect()
}

impl Worker {
    fn step(&mut self) {
        let manager = PoolManager::global();
        let steps = &self.world.steps;
        let step = steps[self.random.below(steps.len())];
        if LOG.load(Relaxed) {
            let (pools, things) = (self.pools.len(), self.things.len());
            println!(
                "{:?}: step {step}, {pools} pools, {things} handles",
                current().id()
            );
        }
        match step {
            0..3 => self.create(),
            3..6 => {
                let another = self.any().and_then(Thing::another);
                self.things.extend(another);
            }
            6 => {
                let weak = self.any().and_then(Thing::downgrade);
                self.things.extend(weak);
            }
            7..9 => drop(self.take()),
            9 => {
                let end = self.end();
                let object = Object::new(&self.world, end, Some(current().id()), Vec::new());
                self.things.push(Thing::at_home(object));
            }
            10 => {
                let owner = self.any().and_then(Thing::to_ref).map(Thing::hot);
                let handles = owner.iter().filter_map(Thing::another);
                self.things.extend(handles);
                // Else the owner lets the object go while there is a handle.
                let kept = owner.filter(|_| self.random.one_in(2));
                self.things.extend(kept);
            }
            11 => _ = Hot::review(),
            12 => self.open(Opened::Guard(AutoreleasePool::new())),
            13 => self.open(Opened::Token(manager.push())),
            14 => _ = self.close(),
            15 => self.drain(),
            16..18 => self.autorelease(),
            18 => {
                let thing = self.take();
                self.world.mail.lock().unwrap().extend(thing);
            }
            19 => {
                let thing = self.world.mail.lock().unwrap().pop();
                self.things.extend(thing);
            }
            20..22 => {
                let to = self.someone();
                self.take().into_iter().for_each(|t| t.release_on(&to));
            }
            22 => {
                // A closure that is refused comes back and is dropped here.
                let (to, thing) = (self.someone(), self.take());
                _ = to.post(move || drop(thing));
            }
            23 => {
                let (mut pool, to) = (HandoffPool::new(), self.someone());
                for _ in 0..self.random.below(3) {
                    pool.create(self.object()).look();
                }
                pool.drain_on(&to);
            }
            24 => _ = manager.run_inbox(),
            25 => {
                let thing = self.take();
                let looper = &self.world.looper;
                _ = looper.call(move || thing.iter().for_each(Thing::look));
            }
            26..29 => self.use_slots(),
            29 => self.frame(),
            30 => {
                let loops = self.world.loops.lock().unwrap().clone();
                let thing = self.take();
                if let Some(to) = loops.get(self.random.below(loops.len() + 1)) {
                    _ = to.post(move || drop(thing));
                }
            }
            31 => _ = manager.quiesce(Duration::ZERO),
            32 => _ = manager.shutdown(Duration::ZERO),
            33 => self.drop_later(),
            34 => {
                // The hook of the loop, if there is one, is asked instead of this.
                let is_set = self.hook.take().is_some();
                self.hook = (!is_set).then(|| manager.set_inbox_hook(|| ()));
            }
            35 => self.make_elsewhere(),
            36 => self.load_from_cache(),
            37 => self.clear_cache(),
            38 => self.adopt(),
            39..41 => self.give_up(),
            41..43 => self.release_given_up(),
            _ => {
                manager.drain_root();
                manager.drain_backlog(Budget::Count(self.random.below(3)));
                let me = manager.current_thread().expect("not exited").key();
                let seen = manager.snapshot();
                assert_eq!(seen.thread(me).unwrap().open_pools, self.pools.len());
            }
        }
        while self.things.len() > MANY {
            drop(self.take());
        }
    }

    fn any(&mut self) -> Option<&Thing> {
        let which = self.random.below(self.things.len().max(1));
        let thing = self.things.get(which);
        thing.into_iter().for_each(Thing::look);
        thing
    }

    fn take(&mut self) -> Option<Thing> {
        let len = self.things.len();
        (len > 0).then(|| self.things.swap_remove(self.random.below(len)))
    }

    fn someone(&mut self) -> ThreadHandle {
        match self.random.below(3) {
            0 => self.world.reclaimer.thread().clone(),
            _ => self.world.handle(self.random.below(1 << 20)),
        }
    }

    fn end(&mut self) -> End {
        match self.random.below(6) {
            0 => End::Send(self.random.below(1 << 20)),
            1 => End::Nest,
            _ => End::Quiet,
        }
    }

    fn object(&mut self) -> Object {
        let (end, inner) = (self.end(), self.random.below(2));
        let inner = (0..inner).filter_map(|_| self.take()).collect();
        Object::new(&self.world, end, None, inner)
    }

    /// Makes an object, in memory of blocks if a pool makes it.
    fn create(&mut self) {
        let object = self.object();
        let known = object.known.clone();
        let object = match self.pools.last_mut() {
            Some(Pool {
                opened: Opened::Guard(pool),
                entries,
                held,
            }) => {
                let lent = pool.create(object);
                known.hold();
                held.push(known);
                *entries += 1;
                PoolRef::retain(lent)
            }
            _ => Ref::new(object),
        };
        self.things.push(Thing::strong(object));
    }

    fn open(&mut self, opened: Opened) {
        self.pools.push(Pool {
            opened,
            entries: 0,
            held: Vec::new(),
        });
    }

    fn close(&mut self) -> bool {
        let Some(pool) = self.pools.pop() else {
            return false;
        };
        pool.held.iter().for_each(|known| known.let_go());
        match pool.opened {
            Opened::Guard(guard) => assert_eq!(guard.len(), pool.entries),
            Opened::Token(token) => {
                assert_eq!(PoolManager::global().pop(token), Ok(pool.entries));
            }
        }
        true
    }

    /// Drains the last pool, perhaps only in part; the rest then waits in the backlog.
    fn drain(&mut self) {
        let budget = self.random.below(4);
        if let Some(Pool {
            opened: Opened::Guard(pool),
            entries,
            held,
        }) = self.pools.last_mut()
        {
            held.drain(..).for_each(|known| known.let_go());
            let entries = std::mem::take(entries);
            if budget == 0 {
                assert_eq!(pool.drain(), entries);
            } else {
                pool.drain_within(Budget::Count(budget));
            }
        }
    }

    fn autorelease(&mut self) {
        let Some(object) = self.any().and_then(Thing::to_ref) else {
            return;
        };
        let known = object.known.clone();
        match (self.pools.last_mut(), self.random.one_in(2)) {
            (Some(pool), explicit) => {
                known.hold();
                match &pool.opened {
                    Opened::Guard(guard) if explicit => guard.autorelease(object).look(),
                    _ => autorelease(object),
                }
                pool.entries += 1;
                pool.held.push(known);
            }
            // To the root pool, which others may ask this thread to drain.
            (None, _) => autorelease(object),
        }
    }

    fn slots(&self) -> Arc<Slots> {
        let slots = self.world.slots.lock().unwrap().clone();
        slots.expect("they are there until all threads are joined")
    }

    fn use_slots(&mut self) {
        let slots = self.slots();
        let new = self.any().and_then(Thing::to_ref);
        let old = match (self.random.below(6), new) {
            (0..3, _) => {
                if let Some(Pool {
                    opened: Opened::Guard(pool),
                    held,
                    ..
                }) = self.pools.last_mut()
                {
                    let lent = slots.full.load(pool);
                    lent.look();
                    let more = slots.option.load(pool);
                    for lent in [Some(lent), more].into_iter().flatten() {
                        lent.known.hold();
                        held.push(lent.known.clone());
                    }
                }
                slots.option.load_full()
            }
            (3, Some(new)) => Some(slots.change(|full| full.swap(new))),
            (4, Some(new)) => Some(slots.change(|full| full.rcu(|_| new.clone()))),
            (_, new) => slots.option.swap(new),
        };
        self.things.extend(old.map(Thing::strong));
    }

    fn load_from_cache(&mut self) {
        let slots = self.slots();
        let mut reader = match self.cache.take() {
            // It may let go of what it keeps.
            Some(Cache { reader, keeps }) => {
                keeps.let_go();
                reader
            }
            None => SlotCache::new(slots.full.clone()),
        };
        let (begun, ended) = slots.changes();
        let seen = reader.load();
        let keeps = seen.known.clone();
        keeps.hold();
        let now = slots.full.load_full();
        let was_changed = begun != ended || slots.changes().0 != begun;
        assert!(was_changed || Ref::ptr_eq(seen, &now), "an old object");
        self.cache = Some(Cache { reader, keeps });
        self.things.push(Thing::strong(now));
    }

    fn clear_cache(&mut self) {
        if let Some(Cache { mut reader, keeps }) = self.cache.take() {
            keeps.let_go();
            reader.clear();
        }
    }

    /// Has a pool keep a foreign object, or takes it back at once.
    fn adopt(&mut self) {
        let Some(object) = self.any().and_then(Thing::to_ref) else {
            return;
        };
        if let Some(Pool {
            opened: Opened::Guard(pool),
            entries,
            held,
        }) = self.pools.last_mut()
        {
            let known = object.known.clone();
            let foreign = ForeignThing::new(&self.world, Thing::strong(object));
            // SAFETY: its only reference, which any thread may release.
            unsafe { pool.adopt(foreign) };
            if self.random.one_in(2) {
                known.hold();
                held.push(known);
                *entries += 1;
            } else {
                // SAFETY: of this type, and the program goes on.
                let (taken, thing) =
                    unsafe { (pool.take_back(foreign), ForeignThing::take(foreign)) };
                assert!(taken, "the newest entry");
                self.things.push(thing);
            }
        }
    }

    /// Gives foreign objects up to a thread, which may have exited.
    fn give_up(&mut self) {
        let queues = self.world.queues.lock().unwrap().clone();
        let Some(to) = queues.get(self.random.below(queues.len() + 1)) else {
            return;
        };
        for _ in 0..self.random.below(4) {
            let Some(thing) = self.take() else {
                break;
            };
            let foreign = ForeignThing::new(&self.world, thing);
            // SAFETY: its only reference, which any thread may release.
            if !unsafe { to.push(foreign) } {
                // SAFETY: the program goes on.
                drop(unsafe { ForeignThing::take(foreign) });
            }
        }
    }

    /// Releases what others have given up to this thread.
    fn release_given_up(&mut self) {
        let world = &self.world;
        let queue = self.queue.get_or_insert_with(|| {
            let me = current().id();
            let queue: Arc<Queue> =
                Arc::new(RemoteRelease::new(Box::new(move || me == current().id())));
            world.queues.lock().unwrap().push(queue.clone());
            queue
        });
        queue.drain().expect("this thread is the owner");
        if self.random.one_in(8) {
            self.close_queue();
        }
    }

    fn close_queue(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.close().expect("this thread is the owner");
            assert!(queue.is_empty(), "a closed queue accepts nothing");
        }
    }

    /// Has the reclaimer destroy something, if it has room, or the looper.
    fn drop_later(&mut self) {
        let (thing, world) = (self.take(), self.world.clone());
        match self.random.below(3) {
            0 => world.reclaimer.drop_later(thing),
            // Here, if it does not fit.
            1 => drop(world.reclaimer.try_drop_later(thing)),
            _ => world.looper.drop_later_weighed(thing, 8),
        }
    }

    /// Has another thread make an object that stays there.
    fn make_elsewhere(&mut self) {
        if let Some(Ok(object)) = self.pending.as_ref().and_then(PendingHome::try_get) {
            object.get().into_iter().for_each(Object::look);
        }
        let (home, world, end) = (self.someone(), self.world.clone(), self.end());
        let make = move || Object::new(&world, end, Some(current().id()), Vec::new());
        self.pending = Some(HomeRef::new_on(&home, make));
    }

    /// Makes a frame of this thread's loop, to which others post.
    fn frame(&mut self) {
        let thing = self.take();
        if self.frames.is_none() {
            let frames = FrameLoop::new(FrameConfig::new().unlimited());
            self.world.loops.lock().unwrap().push(frames.proxy());
            self.frames = Some(frames);
        }
        if let Some(frames) = &mut self.frames {
            frames.tick(|_| drop(thing));
        }
    }
}
