//! A thread of a program, and its steps.

use super::super::seam::{ROOM, at_teardown, current_id, outlive_the_exit};
use super::objects::{ForeignThing, Known, Local, Object, Shared, Thing, survive};
use super::step::{Kind, Step};
use super::world::{Queue, World};
use releasepool::foreign::RemoteRelease;
use releasepool::frame::FrameConfig;
use releasepool::home::PendingHome;
use releasepool::pool::InboxHook;
use releasepool::pool::{PoolToken, PopError};
use releasepool::slot::SlotCache;
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, HomeRef, Hot, PoolManager, PoolRef, Ref, Slot,
    autorelease, autoreleasepool,
};
use std::marker::PhantomData;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// The destructor of an object that does nothing.
const QUIET: u8 = 16;

/// A thread with more handles drops some.
const MANY: usize = 12;

/// Starts a thread that runs a program, with its first handle.
pub fn start(world: &Arc<World>, program: Vec<Step>, first: Option<Thing>) {
    let weak = first.as_ref().and_then(Thing::downgrade);
    let things = first.into_iter().chain(weak).collect();
    world.spawn(move |world| live(world, &program, things));
}

fn live(world: &Arc<World>, program: &[Step], things: Vec<Thing>) {
    if program.len() % 2 == 0 {
        outlive_the_exit();
    }
    world.shared.add_current_thread();
    let mut worker = Worker::new(world, things);
    for (at, &step) in program.iter().enumerate() {
        if let Step(Kind::Exit, a, _) = step {
            let threads = || PoolManager::global().snapshot().threads.len();
            if ROOM.is_some_and(|room| threads() >= room) {
                continue;
            }
            // Another thread goes on while this one exits.
            let (rest, things) = (program[at + 1..].to_vec(), mem::take(&mut worker.things));
            things.iter().for_each(Thing::show);
            world.spawn(move |world| live(world, &rest, things));
            return worker.end((a % 4).into());
        }
        survive(|| worker.step(step));
        while worker.things.len() > MANY {
            let thing = worker.take(step.2);
            survive(|| drop(thing));
        }
        if world.setting.checks {
            worker.check();
        }
    }
    worker.end(usize::MAX);
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

impl Pool {
    /// Notes an entry.
    fn keep(&mut self, known: &Arc<Known>) {
        known.hold();
        self.held.push(known.clone());
        self.entries += 1;
    }

    fn let_go(&mut self) -> usize {
        self.held.drain(..).for_each(|known| known.let_go());
        mem::take(&mut self.entries)
    }
}

/// A reader of the slot, and the object that it keeps.
struct Cache {
    reader: SlotCache<Arc<Slot<Object>>, Object>,
    keeps: Arc<Known>,
}

/// Pops its own token when it is drained.
struct Pops(PoolToken);

impl Drop for Pops {
    fn drop(&mut self) {
        assert_eq!(PoolManager::global().pop(self.0), Err(PopError::Draining));
    }
}

/// A thread, and how many entries it expects in its pools.
struct Worker {
    world: Arc<World>,
    things: Vec<Thing>,
    locals: Vec<Ref<Local>>,
    /// Open pools, oldest first. Only the last is ever closed, so the current pool is known.
    pools: Vec<Pool>,
    root: usize,
    frames: Option<FrameLoop>,
    hook: Option<InboxHook>,
    /// An object that another thread was asked to make.
    pending: Option<PendingHome<Object>>,
    /// The foreign references that this thread releases.
    queue: Option<Arc<Queue>>,
    cache: Option<Cache>,
}

impl Worker {
    fn new(world: &Arc<World>, things: Vec<Thing>) -> Self {
        Self {
            world: world.clone(),
            things,
            locals: Vec::new(),
            pools: Vec::new(),
            root: 0,
            frames: None,
            hook: None,
            pending: None,
            queue: None,
            cache: None,
        }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.world.shared
    }

    fn step(&mut self, step: Step) {
        let manager = PoolManager::global();
        if self.world.setting.log {
            let (pools, things) = (self.pools.len(), self.things.len());
            println!(
                "{:?}: {step:?}, {pools} pools, {things} handles",
                current_id()
            );
        }
        let Step(kind, a, b) = step;
        match kind {
            Kind::Create => self.create(a, b),
            Kind::Another => {
                let another = self.any(a).and_then(Thing::another);
                self.things.extend(another);
            }
            Kind::ToRef => {
                let object = self.any(a).and_then(Thing::to_ref);
                self.things.extend(object.map(Thing::strong));
            }
            Kind::Downgrade => {
                let weak = self.any(a).and_then(Thing::downgrade);
                self.things.extend(weak);
            }
            Kind::Drop => drop(self.take(a)),
            Kind::CreateChain => {
                let link = |inner| Thing::strong(Ref::new(self.object(QUIET, inner)));
                let chain = (0..b).fold(link(Vec::new()), |next, _| link(vec![next]));
                self.things.push(chain);
            }
            Kind::CreateLocal => self.locals.push(Ref::new(Local {
                _object: self.object(a, Vec::new()),
                _not_send: PhantomData,
            })),
            Kind::DropLocals => drop(mem::take(&mut self.locals)),
            Kind::AtHome => {
                let object = Object::staying(self.shared(), a);
                self.things.push(Thing::at_home(object));
            }
            Kind::MakeElsewhere => self.make_elsewhere(a, b),
            Kind::Hot => {
                let owner = self.any(a).and_then(Thing::to_ref).map(Thing::hot);
                let handles = owner.iter().filter_map(Thing::another);
                self.things.extend(handles);
                // Otherwise the owner lets the object go while there is a handle.
                self.things.extend(owner.filter(|_| b % 2 == 0));
            }
            Kind::Review => _ = Hot::review(),
            Kind::Open if b % 4 == 0 => {
                self.open(Opened::Guard(AutoreleasePool::named(format!("number {a}"))));
            }
            Kind::Open => self.open(Opened::Guard(AutoreleasePool::new())),
            Kind::Push => self.open(Opened::Token(manager.push())),
            Kind::Close => _ = self.close(),
            Kind::Drain => self.drain(a),
            Kind::DrainWithin => {
                if let Some((pool, _)) = self.guard(a, Pool::let_go) {
                    // The rest then waits in the backlog.
                    pool.drain_within(Budget::Count((b % 4).into()));
                }
            }
            Kind::DrainBacklog => _ = manager.drain_backlog(Budget::Count((b % 4).into())),
            Kind::DrainRoot => {
                let released = manager.drain_root();
                self.root_had(released);
                self.root = 0;
            }
            Kind::Autorelease => self.autorelease(a, b, 1),
            Kind::Flood => self.autorelease(a, b, 2 * usize::from(a ^ b)),
            Kind::AutoreleaseImplicitly => {
                let Some(object) = self.any(a).and_then(Thing::to_ref) else {
                    return;
                };
                match self.pools.last_mut() {
                    Some(pool) => pool.keep(&object.known),
                    None => self.root += 1,
                }
                let kept = object.clone();
                autorelease(object);
                assert!(manager.contains(&kept));
            }
            Kind::AutoreleaseLocals => {
                for local in mem::take(&mut self.locals) {
                    *self.current() += 1;
                    autorelease(local);
                }
            }
            Kind::OtherManager => self.use_another_manager(a),
            Kind::Misuse => self.misuse(a),
            Kind::Send => {
                let thing = self.take(a);
                self.shared().send(thing);
            }
            Kind::Receive => {
                let thing = self.shared().receive();
                self.things.extend(thing);
            }
            Kind::Release => {
                let to = self.world.thread(b);
                self.give(a).into_iter().for_each(|t| t.release_on(&to));
            }
            Kind::Post => {
                let (to, thing) = (self.world.thread(b), self.give(a));
                let was_alive = to.is_alive();
                // A closure that is refused comes back and is dropped here.
                let refused = to.post(move || drop(thing)).err();
                assert!(
                    was_alive || refused.is_some(),
                    "accepted by an ended thread"
                );
            }
            Kind::Handoff => {
                let (mut pool, to) = (HandoffPool::new(), self.world.thread(a));
                let entries = usize::from(b % 3);
                for end in 0..entries {
                    pool.create(self.object(a ^ end as u8, Vec::new()).shown())
                        .look();
                }
                assert_eq!(pool.drain_on(&to), entries);
            }
            Kind::RunInbox => _ = manager.run_inbox(),
            Kind::Call => {
                let thing = self.give(a);
                let look = move || thing.iter().for_each(Thing::look);
                _ = self.world.looper.call(look);
            }
            Kind::Slots => self.use_slots(a, b),
            Kind::LoadFromCache => self.load_from_cache(),
            Kind::ClearCache => self.clear_cache(),
            Kind::Frame => self.frame(a),
            Kind::PostToLoop => {
                let loops = self.world.loops.lock().unwrap().clone();
                let thing = self.give(a);
                if let Some(to) = loops.get(usize::from(b) % (loops.len() + 1)) {
                    _ = to.post(move || drop(thing));
                }
            }
            Kind::DropLater => {
                let thing = self.take(a);
                self.world.drop_later(thing, b);
            }
            Kind::Hook => {
                // The hook of the loop, if there is one, is asked instead of this.
                let is_set = self.hook.take().is_some();
                self.hook = (!is_set).then(|| manager.set_inbox_hook(|| ()));
            }
            Kind::Adopt => self.adopt(a, b),
            Kind::GiveUp => self.give_up(a, b),
            Kind::ReleaseGivenUp => self.release_given_up(a),
            Kind::Quiesce => _ = manager.quiesce(Duration::ZERO),
            Kind::Shutdown => {
                self.world.asks();
                // Also empties the backlog, so that it may release more than the root pool had.
                _ = manager.shutdown(Duration::ZERO);
                self.root = 0;
            }
            Kind::Check => {
                self.check();
                self.look_up(a);
            }
            Kind::Exit => unreachable!("`live` does it"),
        }
    }

    fn object(&self, end: u8, inner: Vec<Thing>) -> Object {
        Object::new(&self.world.shared, end, inner)
    }

    fn any(&self, i: u8) -> Option<&Thing> {
        let thing = self.things.get(usize::from(i) % self.things.len().max(1));
        thing.into_iter().for_each(Thing::look);
        thing
    }

    fn take(&mut self, i: u8) -> Option<Thing> {
        let len = self.things.len();
        (len > 0).then(|| self.things.swap_remove(usize::from(i) % len))
    }

    /// Takes a handle for another thread.
    fn give(&mut self, i: u8) -> Option<Thing> {
        self.take(i).inspect(Thing::show)
    }

    /// Calls `f` with one of the pools, if that is a guard's; returns the guard, and the result.
    fn guard<R>(
        &mut self,
        i: u8,
        f: impl FnOnce(&mut Pool) -> R,
    ) -> Option<(&mut AutoreleasePool, R)> {
        let len = self.pools.len().max(1);
        let pool = self.pools.get_mut(usize::from(i) % len)?;
        let result = matches!(pool.opened, Opened::Guard(_)).then(|| f(pool))?;
        match &mut pool.opened {
            Opened::Guard(guard) => Some((guard, result)),
            Opened::Token(_) => None,
        }
    }

    /// Returns the expected number of entries of the current pool.
    fn current(&mut self) -> &mut usize {
        self.pools
            .last_mut()
            .map_or(&mut self.root, |pool| &mut pool.entries)
    }

    #[track_caller]
    fn assert_entries(&self, seen: usize, expected: usize) {
        assert!(
            seen == expected || !self.shared().exact,
            "{seen} entries, not {expected}"
        );
    }

    /// Asserts that the root pool has this many entries, or had them if it may have been drained.
    #[track_caller]
    fn root_had(&mut self, seen: usize) {
        if self.world.asked() {
            self.root = self.root.min(seen);
        }
        self.assert_entries(seen, self.root);
    }

    /// Compares the thread's pools with those that are expected.
    fn check(&mut self) {
        let manager = PoolManager::global();
        let me = manager.current_thread().expect("not exited").key();
        let seen = manager.snapshot().thread(me).expect("not exited").clone();
        assert_eq!(seen.open_pools, self.pools.len());
        self.root_had(seen.root_entries);
        for pool in &self.pools {
            if let Opened::Guard(guard) = &pool.opened {
                self.assert_entries(guard.len(), pool.entries);
            }
        }
    }

    /// Looks this thread and another one up in the registry.
    fn look_up(&self, other: u8) {
        let manager = PoolManager::global();
        let me = manager.current_thread().expect("not exited");
        assert_eq!(manager.thread(me.key()).as_ref(), Some(&me));
        assert!(manager.threads().contains(&me));
        let other = self.world.thread(other);
        let was_alive = other.is_alive();
        // A thread closes its inbox shortly before it leaves the registry.
        let found = manager.thread(other.key()).filter(|_| !was_alive);
        assert!(found.is_none_or(|found| found == other));
    }

    /// Makes an object, which may own a handle, in memory of a pool or its own.
    fn create(&mut self, end: u8, how: u8) {
        let inner = (how % 2 == 0).then(|| self.take(how / 8)).flatten();
        let object = self.object(end, inner.into_iter().collect());
        let known = object.known.clone();
        let last = (self.pools.len() as u8).wrapping_sub(1);
        let mut object = Some(object);
        let mut created = None;
        if how & 2 == 0 {
            if let Some((pool, ())) = self.guard(last, |pool| pool.keep(&known)) {
                created = object
                    .take()
                    .map(|object| PoolRef::retain(pool.create(object)));
            }
        }
        let alone = object.map(Ref::new);
        assert!(
            alone
                .iter()
                .all(|object| !PoolManager::global().contains(object))
        );
        self.things.extend(created.or(alone).map(Thing::strong));
    }

    fn open(&mut self, opened: Opened) {
        self.pools.push(Pool {
            opened,
            entries: 0,
            held: Vec::new(),
        });
    }

    fn close(&mut self) -> bool {
        let Some(mut pool) = self.pools.pop() else {
            return false;
        };
        let entries = pool.let_go();
        match pool.opened {
            Opened::Guard(guard) => self.assert_entries(guard.len(), entries),
            Opened::Token(token) => {
                let released = PoolManager::global().pop(token).expect("it is open");
                self.assert_entries(released, entries);
            }
        }
        true
    }

    fn drain(&mut self, i: u8) {
        if let Some((pool, entries)) = self.guard(i, Pool::let_go) {
            let released = pool.drain();
            self.assert_entries(released, entries);
        }
    }

    /// Autoreleases an object into a pool, this many times.
    fn autorelease(&mut self, a: u8, b: u8, times: usize) {
        let Some(object) = self.any(b).and_then(Thing::to_ref) else {
            return;
        };
        let counted = |pool: &mut Pool| (0..times).for_each(|_| pool.keep(&object.known));
        if let Some((pool, ())) = self.guard(a, counted) {
            (0..times).for_each(|_| pool.autorelease(object.clone()).look());
        }
    }

    /// Uses pools of another manager, which may be dropped before they are.
    fn use_another_manager(&self, how: u8) {
        let name = format!("manager {how}");
        let manager = PoolManager::builder().name(name).build();
        let new = || Ref::new(self.object(how, Vec::new()));
        let (outer, token) = (manager.pool(), manager.push());
        manager.autorelease(new());
        let inner = manager.named_pool("inner");
        manager.autorelease(new());
        // An autorelease to the process's manager does not reach the pools of this one.
        autoreleasepool(|_| autorelease(new()));
        assert_eq!((outer.len(), inner.len()), (0, 1));
        match how % 3 {
            0 => {
                drop(inner);
                assert_eq!(manager.pop(token), Ok(1));
            }
            1 => {
                drop((manager, outer));
                assert_eq!(inner.len(), 1);
            }
            _ => {
                drop((inner, outer));
                _ = manager.pop(token);
                // This object waits in the root pool of a manager that is dropped.
                manager.autorelease(new());
            }
        }
    }

    /// Pops tokens that must not be popped.
    fn misuse(&mut self, how: u8) {
        let manager = PoolManager::global();
        let token = manager.push();
        match how % 4 {
            0 => {
                let owner = manager.current_thread().expect("not exited").key();
                let elsewhere = move || PoolManager::global().pop(token);
                if let Ok(popped) = self.world.looper.call(elsewhere) {
                    assert_eq!(popped, Err(PopError::WrongThread { owner }));
                }
            }
            1 => {
                let inner = manager.push();
                assert!(manager.pop(token).is_ok());
                // Another pool may reuse the place of a popped one.
                let another = manager.push();
                for stale in [token, inner] {
                    assert_eq!(manager.pop(stale), Err(PopError::Stale));
                }
                assert_eq!(manager.pop(another), Ok(0));
                return;
            }
            2 => {
                let other = PoolManager::new();
                assert_eq!(other.pop(token), Err(PopError::WrongManager));
            }
            _ => autorelease(Ref::new(Pops(token))),
        }
        self.assert_entries(
            manager.pop(token).expect("it is open"),
            usize::from(how % 4 == 3),
        );
    }

    fn use_slots(&mut self, a: u8, b: u8) {
        let slots = self.world.slots();
        let new = self
            .any(b)
            .inspect(|thing| thing.show())
            .and_then(Thing::to_ref);
        let old = match (a % 6, new) {
            (0..3, _) => {
                if let Some(pool) = self.pools.last_mut() {
                    let mut lent = Vec::new();
                    if let Opened::Guard(guard) = &pool.opened {
                        let loaded = [Some(slots.full.load(guard)), slots.option.load(guard)];
                        for object in loaded.into_iter().flatten() {
                            object.look();
                            lent.push(object.known.clone());
                            object.known.hold();
                        }
                    }
                    pool.held.extend(lent);
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
        let slots = self.world.slots();
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
    fn adopt(&mut self, a: u8, b: u8) {
        let Some(object) = self.any(b).and_then(Thing::to_ref) else {
            return;
        };
        let known = object.known.clone();
        let foreign = ForeignThing::new(self.shared(), Thing::strong(object));
        let counted = |pool: &mut Pool| {
            if b % 2 == 0 {
                pool.keep(&known);
            }
        };
        let Some((pool, ())) = self.guard(a, counted) else {
            // SAFETY: the program goes on.
            return drop(unsafe { ForeignThing::take(foreign) });
        };
        // SAFETY: its only reference, which any thread may release.
        unsafe { pool.adopt(foreign) };
        if b % 2 != 0 {
            // SAFETY: of this type, and the program goes on.
            let (taken, thing) = unsafe { (pool.take_back(foreign), ForeignThing::take(foreign)) };
            assert!(taken, "the newest entry");
            self.things.push(thing);
        }
    }

    /// Gives foreign objects up to a thread, which may have exited.
    fn give_up(&mut self, a: u8, b: u8) {
        let queues = self.world.queues.lock().unwrap().clone();
        let Some(to) = queues.get(usize::from(a) % (queues.len() + 1)) else {
            return;
        };
        for _ in 0..b % 4 {
            let Some(thing) = self.give(b / 4) else {
                break;
            };
            let foreign = ForeignThing::new(self.shared(), thing);
            // SAFETY: its only reference, which any thread may release.
            if !unsafe { to.push(foreign) } {
                // SAFETY: the program goes on.
                drop(unsafe { ForeignThing::take(foreign) });
            }
        }
    }

    /// Releases what others have given up to this thread.
    fn release_given_up(&mut self, a: u8) {
        let world = &self.world;
        let queue = self.queue.get_or_insert_with(|| {
            let me = current_id();
            let queue: Arc<Queue> =
                Arc::new(RemoteRelease::new(Box::new(move || me == current_id())));
            world.queues.lock().unwrap().push(queue.clone());
            queue
        });
        queue.drain().expect("this thread is the owner");
        if a % 8 == 0 {
            self.close_queue();
        }
    }

    fn close_queue(&mut self) {
        if let Some(queue) = self.queue.take() {
            queue.close().expect("this thread is the owner");
            assert!(queue.is_empty(), "a closed queue accepts nothing");
        }
    }

    /// Has another thread make an object that stays there.
    fn make_elsewhere(&mut self, a: u8, b: u8) {
        let made = |pending: &PendingHome<_>| pending.wait_within(Duration::ZERO);
        if let Some(Ok(object)) = self.pending.as_ref().and_then(made) {
            object.get().into_iter().for_each(Object::look);
        }
        let (home, shared) = (self.world.home(b), self.shared().clone());
        self.pending = Some(HomeRef::new_on(&home, move || Object::staying(&shared, a)));
    }

    /// Makes a frame of this thread's loop, to which others post.
    fn frame(&mut self, a: u8) {
        let thing = self.take(a);
        let world = &self.world;
        let frames = self.frames.get_or_insert_with(|| {
            let frames = FrameLoop::new(FrameConfig::new().unlimited());
            world.loops.lock().unwrap().push(frames.proxy());
            frames
        });
        frames.tick(|_| drop(thing));
    }

    /// Closes some pools, and leaves the rest to the thread's exit.
    fn end(mut self, closed: usize) {
        survive(|| self.close_queue());
        survive(|| self.clear_cache());
        for _ in 0..closed {
            let mut is_done = false;
            survive(|| is_done = !self.close());
            if is_done {
                break;
            }
        }
        while let Some(pool) = self.pools.pop() {
            let Opened::Guard(guard) = pool.opened else {
                // The exit closes token pools.
                pool.held.iter().for_each(|known| known.let_go());
                continue;
            };
            at_teardown(Box::new(move || {
                pool.held.iter().for_each(|known| known.let_go());
                survive(|| drop(guard));
            }));
        }
        for thing in self.things.drain(..) {
            at_teardown(Box::new(move || {
                let another = thing.another();
                survive(|| drop(thing));
                survive(|| drop(another));
            }));
        }
        for local in self.locals.drain(..) {
            at_teardown(Box::new(move || survive(|| drop(local))));
        }
        let shared = self.shared().clone();
        at_teardown(Box::new(move || {
            survive(|| use_late(&shared, closed as u8))
        }));
        survive(|| drop(self));
    }
}

/// Uses pools, managers and messages while thread-locals are dropped.
fn use_late(shared: &Arc<Shared>, end: u8) {
    let manager = PoolManager::global();
    let new = || Ref::new(Object::new(shared, end, Vec::new()).shown());
    let token = manager.push();
    autorelease(new());
    // Late in the exit `push` has no effect, and `pop` accepts its token.
    assert!(manager.pop(token).is_ok());
    autorelease(new());
    PoolManager::new().autorelease(new());
    if let Some(me) = manager.current_thread() {
        me.release(new());
        let object = new();
        _ = me.post(move || object.look());
    }
}
