//! Programs on several threads at once. Their results are not determined as those of threads that
//! take turns, but these statements always hold: every object dies exactly once; a thread's pools
//! hold and release only what that thread put there; an object that was never shown to another
//! thread dies on the thread that made it.

use super::meeting::Meeting;
use super::run::{Place, live_objects};
use releasepool::{
    AutoreleasePool, PoolManager, PoolToken, PopError, Ref, ThreadHandle, Weak, autorelease,
};
use std::cell::RefCell;
use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

pub const THREADS: usize = 3;
/// The number of objects that all threads have from the beginning.
const SHARED: usize = 5;

/// One step of a thread. Indices are modulo the number of what they refer to; a step that refers to
/// nothing is skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Free {
    Create(End),
    CreateLocal,
    CloneShared(u8),
    Drop(u8),
    DropLocals,
    Upgrade(u8),
    Open,
    Close,
    Drain(u8),
    Autorelease(u8, u8),
    AutoreleaseImplicitly(u8),
    AutoreleaseLocals,
    Push,
    /// Pops a token on another thread, which must fail.
    PopElsewhere(u8),
    DrainRoot,
    /// Sends a reference to another thread, which releases it.
    Release(u8, u8),
    /// Posts a closure to another thread, which drops a reference.
    Post(u8, u8),
    RunInbox,
    Quiesce,
    /// Asks all threads of the process to drain their root pools.
    Shutdown,
    /// Waits for the others, if the run is in lock step.
    Meet,
    /// Ends the thread, with all pools open.
    Exit,
}

/// Work that an object's destructor does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum End {
    Quiet,
    /// Sends a new object to a thread.
    Send(u8),
    /// Opens a pool, fills it, and closes it.
    Nest,
}

/// State that all threads of a program share.
#[derive(Default)]
struct World {
    made: AtomicU32,
    /// The ids of destroyed objects.
    log: Mutex<Vec<u32>>,
    /// The ids of objects that were destroyed on a thread that must not destroy them.
    strayed: Mutex<Vec<u32>>,
    handles: OnceLock<Vec<ThreadHandle>>,
    meeting: Option<Meeting>,
}

struct Object {
    id: u32,
    end: End,
    home: ThreadId,
    /// True if another thread may have seen the object.
    shown: AtomicBool,
    world: Arc<World>,
}

impl Object {
    fn new(world: &Arc<World>, end: End) -> Self {
        Self {
            id: world.made.fetch_add(1, Relaxed),
            end,
            home: thread::current().id(),
            shown: AtomicBool::new(false),
            world: world.clone(),
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let world = &self.world;
        world.log.lock().unwrap().push(self.id);
        if !self.shown.load(Relaxed) && self.home != thread::current().id() {
            world.strayed.lock().unwrap().push(self.id);
        }
        let new = || Self::new(world, End::Quiet);
        match self.end {
            End::Quiet => {}
            End::Send(to) => {
                let object = Ref::new(new());
                object.shown.store(true, Relaxed);
                world.handles.get().unwrap()[to as usize % THREADS].release(object);
            }
            End::Nest => _ = AutoreleasePool::new().create(new()).id,
        }
    }
}

/// An object that is not `Send`, so that it never leaves its thread.
struct Local {
    _value: Object,
    not_send: PhantomData<*mut ()>,
}

thread_local! {
    /// Pools that are open when the thread exits. This thread-local is used before the crate, so it
    /// is dropped after the crate's exit hook.
    static KEPT: RefCell<Vec<AutoreleasePool>> = const { RefCell::new(Vec::new()) };
}

/// One thread, and how many entries it expects in its pools.
#[derive(Default)]
struct Worker {
    objects: Vec<Ref<Object>>,
    locals: Vec<Ref<Local>>,
    /// References to the objects that all threads have.
    shared: Vec<Ref<Object>>,
    weaks: Vec<Weak<Object>>,
    /// Open pools, oldest first. Only the last is ever closed, so the current pool is always known.
    pools: Vec<Pool>,
    root: usize,
    /// True if another thread may ask for the root pool, which is then drained at any time.
    asked: bool,
}

enum Pool {
    Guard(AutoreleasePool, usize),
    Token(PoolToken, usize),
}

impl Worker {
    fn run(&mut self, world: &Arc<World>, program: &[Free]) {
        let manager = PoolManager::global();
        for op in program {
            if *op == Free::Exit {
                self.leave_all_open();
                return;
            }
            self.step(world, *op);
            let me = manager.current_thread().unwrap().key();
            let seen = manager.snapshot().thread(me).unwrap().clone();
            self.assert_root(seen.root_entries, *op);
            assert_eq!(seen.open_pools, self.pools.len(), "after {op:?}");
            for pool in &self.pools {
                if let Pool::Guard(pool, entries) = pool {
                    assert_eq!(pool.len(), *entries, "after {op:?}");
                }
            }
        }
        while self.close() {}
    }

    /// Asserts that the root pool has this many entries, or had them if it may have been drained.
    fn assert_root(&mut self, seen: usize, op: Free) {
        if self.asked && seen < self.root {
            self.root = seen;
        }
        assert_eq!(seen, self.root, "after {op:?}");
    }

    fn step(&mut self, world: &Arc<World>, op: Free) {
        let manager = PoolManager::global();
        match op {
            Free::Create(end) => {
                let object = Ref::new(Object::new(world, end));
                assert!(!manager.contains(&object));
                self.objects.push(object);
            }
            Free::CreateLocal => {
                self.locals.push(Ref::new(Local {
                    _value: Object::new(world, End::Nest),
                    not_send: PhantomData,
                }));
            }
            Free::CloneShared(i) => self.objects.push(self.shared[i as usize % SHARED].clone()),
            Free::Drop(i) => drop(self.take(i)),
            Free::DropLocals => self.locals.clear(),
            Free::Upgrade(i) => self
                .objects
                .extend(self.weaks[i as usize % SHARED].upgrade()),
            Free::Open => self.pools.push(Pool::Guard(AutoreleasePool::new(), 0)),
            Free::Push => self.pools.push(Pool::Token(manager.push(), 0)),
            Free::Close => _ = self.close(),
            Free::Drain(i) => {
                let len = self.pools.len().max(1);
                if let Some(Pool::Guard(pool, entries)) = self.pools.get_mut(i as usize % len) {
                    assert_eq!(pool.drain(), std::mem::take(entries));
                }
            }
            Free::Autorelease(pool, i) => {
                let len = self.pools.len().max(1);
                let Some(object) = self.take(i) else { return };
                if let Some(Pool::Guard(pool, entries)) = self.pools.get_mut(pool as usize % len) {
                    let id = object.id;
                    assert_eq!(pool.autorelease(object).id, id);
                    *entries += 1;
                }
            }
            Free::AutoreleaseImplicitly(i) => {
                let Some(object) = self.take(i) else { return };
                let kept = object.clone();
                autorelease(object);
                assert!(manager.contains(&kept));
                *self.current() += 1;
            }
            Free::AutoreleaseLocals => {
                for local in std::mem::take(&mut self.locals) {
                    autorelease(local);
                    *self.current() += 1;
                }
            }
            Free::PopElsewhere(i) => {
                let len = self.pools.len().max(1);
                let Some(Pool::Token(token, _)) = self.pools.get(i as usize % len) else {
                    return;
                };
                let token = *token;
                let wrong = thread::spawn(move || PoolManager::global().pop(token)).join();
                assert!(matches!(wrong.unwrap(), Err(PopError::WrongThread { .. })));
            }
            Free::DrainRoot => {
                let released = manager.drain_root();
                self.assert_root(released, op);
                self.root = 0;
            }
            Free::Release(to, i) => {
                let Some(object) = self.take(i) else { return };
                object.shown.store(true, Relaxed);
                world.handles.get().unwrap()[to as usize % THREADS].release(object);
            }
            Free::Post(to, i) => {
                let Some(object) = self.take(i) else { return };
                object.shown.store(true, Relaxed);
                // A closure that is refused comes back and is dropped here.
                let to = &world.handles.get().unwrap()[to as usize % THREADS];
                _ = to.post(move || drop(object));
            }
            Free::RunInbox => _ = manager.run_inbox(),
            Free::Quiesce => _ = manager.quiesce(Duration::ZERO),
            Free::Shutdown => {
                let (Ok(report) | Err(report)) = manager.shutdown(Duration::ZERO);
                self.assert_root(report.released, op);
                self.root = 0;
            }
            Free::Meet => {
                if let Some(meeting) = &world.meeting {
                    meeting.wait();
                }
            }
            Free::Exit => unreachable!("it is done by `run`"),
        }
    }

    /// Returns the expected number of entries of the current pool.
    fn current(&mut self) -> &mut usize {
        match self.pools.last_mut() {
            Some(Pool::Guard(_, entries) | Pool::Token(_, entries)) => entries,
            None => &mut self.root,
        }
    }

    fn take(&mut self, i: u8) -> Option<Ref<Object>> {
        let len = self.objects.len();
        (len > 0).then(|| self.objects.swap_remove(i as usize % len))
    }

    fn close(&mut self) -> bool {
        match self.pools.pop() {
            Some(Pool::Guard(pool, entries)) => assert_eq!(pool.len(), entries),
            Some(Pool::Token(token, entries)) => {
                assert_eq!(PoolManager::global().pop(token), Ok(entries));
            }
            None => return false,
        }
        true
    }

    fn leave_all_open(&mut self) {
        for pool in self.pools.drain(..) {
            if let Pool::Guard(pool, _) = pool {
                KEPT.with_borrow_mut(|kept| kept.push(pool));
            }
        }
    }
}

/// Runs each program on a thread of its own, and checks at the end that nothing is left.
///
/// # Panics
/// If something was lost, released twice or by the wrong thread, or was never released.
pub fn run_free(mut programs: Vec<Vec<Free>>, in_lock_step: bool, place: Place) {
    let before = live_objects();
    // This thread has a slot of its own, so it may run closures that the others left.
    let manager = PoolManager::global();
    assert!(manager.current_thread().is_some());
    programs.resize(THREADS, Vec::new());
    if in_lock_step {
        // All threads meet after each step, so every program gets as many steps as the longest.
        let longest = programs.iter().map(Vec::len).max().unwrap_or(0);
        for program in &mut programs {
            program.retain(|op| *op != Free::Meet);
            program.resize(longest, Free::RunInbox);
            *program = program.drain(..).flat_map(|op| [op, Free::Meet]).collect();
        }
    }
    let asked = programs.iter().flatten().any(|op| *op == Free::Shutdown);
    let world = Arc::new(World {
        meeting: in_lock_step.then(|| Meeting::new(THREADS)),
        ..World::default()
    });
    let started = Arc::new(Barrier::new(THREADS + 1));
    let handles = Arc::new(Mutex::new(vec![None; THREADS]));
    let shared: Vec<_> = (0..SHARED)
        .map(|_| Ref::new(Object::new(&world, End::Quiet)))
        .collect();
    shared.iter().for_each(|o| o.shown.store(true, Relaxed));
    let weaks: Vec<_> = shared.iter().map(Ref::downgrade).collect();
    let threads: Vec<_> = (0..THREADS)
        .zip(programs)
        .map(|(me, program)| {
            let (world, started, handles) = (world.clone(), started.clone(), handles.clone());
            let (shared, weaks) = (shared.clone(), weaks.clone());
            thread::spawn(move || {
                (place.on_thread)();
                KEPT.with_borrow(|kept| assert!(kept.is_empty()));
                handles.lock().unwrap()[me] = PoolManager::global().current_thread();
                started.wait();
                // Every thread knows the handles of all.
                started.wait();
                let _leaves = world.meeting.as_ref().map(Meeting::leave_at_the_end);
                let mut worker = Worker {
                    shared,
                    weaks,
                    asked,
                    ..Worker::default()
                };
                worker.run(&world, &program);
            })
        })
        .collect();
    drop(shared);
    started.wait();
    let all = std::mem::take(&mut *handles.lock().unwrap());
    let all = all.into_iter().map(Option::unwrap);
    assert!(world.handles.set(all.collect()).is_ok());
    started.wait();
    for thread in threads {
        if let Err(payload) = thread.join() {
            std::panic::resume_unwind(payload);
        }
    }
    drop(weaks);
    // Other threads release what was sent to a thread that had already ended.
    let died = || world.log.lock().unwrap().len();
    let begun = Instant::now();
    while died() < world.made.load(Relaxed) as usize {
        manager.quiesce(Duration::from_millis(1));
        assert!(begun.elapsed() < NEVER, "something is never released");
    }
    let log = world.log.lock().unwrap();
    let different: HashSet<_> = log.iter().collect();
    assert_eq!(different.len(), log.len(), "nobody dies twice");
    assert_eq!(log.len(), world.made.load(Relaxed) as usize);
    assert_eq!(
        *world.strayed.lock().unwrap(),
        Vec::<u32>::new(),
        "died away from home"
    );
    if place.alone {
        assert_eq!(live_objects(), before, "objects live that nobody has");
    }
}

/// A test that waits for something that never happens should fail, not hang.
const NEVER: Duration = Duration::from_secs(120);
