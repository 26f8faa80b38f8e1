//! Random programs on several threads at once. What can be said of them is less than of
//! one thread, but nothing less than this: every object dies exactly once; nobody's
//! pools hold or release anything but what their own thread put there; what was never
//! shown to another thread dies at home.

use crate::support::Log;
use proptest::prelude::*;
use releasepool::{
    AutoreleasePool, PoolManager, PoolToken, PopError, Ref, ThreadHandle, Weak, autorelease,
};
use std::collections::HashSet;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;

const THREADS: usize = 3;
/// Objects that all threads have from the beginning.
const SHARED: u32 = 5;

#[derive(Clone, Debug)]
enum Op {
    Create,
    CloneShared(usize),
    Drop(usize),
    Upgrade(usize),
    Open,
    Close,
    Drain(usize),
    Autorelease(usize, usize),
    AutoreleaseImplicitly(usize),
    Push,
    Pop(usize),
    DrainRoot,
    /// Has another thread release it.
    Release(usize, usize),
    /// Has another thread drop it in a closure.
    Post(usize, usize),
    RunInbox,
    /// Waits for the others, if the run is in lock step.
    Meet,
}

fn op() -> impl Strategy<Value = Op> {
    let i = || 0..6usize;
    prop_oneof![
        5 => Just(Op::Create),
        3 => i().prop_map(Op::CloneShared),
        3 => i().prop_map(Op::Drop),
        2 => i().prop_map(Op::Upgrade),
        3 => Just(Op::Open),
        2 => Just(Op::Close),
        2 => i().prop_map(Op::Drain),
        5 => (i(), i()).prop_map(|(a, b)| Op::Autorelease(a, b)),
        4 => i().prop_map(Op::AutoreleaseImplicitly),
        2 => Just(Op::Push),
        2 => i().prop_map(Op::Pop),
        1 => Just(Op::DrainRoot),
        4 => (i(), i()).prop_map(|(a, b)| Op::Release(a, b)),
        3 => (i(), i()).prop_map(|(a, b)| Op::Post(a, b)),
        2 => Just(Op::RunInbox),
        1 => Just(Op::Meet),
    ]
}

type Object = Ref<crate::support::Probe>;

/// What the threads have in common.
struct World {
    log: Log,
    shared: Vec<Object>,
    weaks: Vec<Weak<crate::support::Probe>>,
    handles: Vec<ThreadHandle>,
    meeting: Option<Meeting>,
}

/// A barrier that one can leave for good, as a thread does that panics.
struct Meeting {
    /// Who takes part, who waits, and how often all have met.
    state: Mutex<(usize, usize, usize)>,
    met: Condvar,
}

impl Meeting {
    fn new(members: usize) -> Self {
        Self {
            state: Mutex::new((members, 0, 0)),
            met: Condvar::new(),
        }
    }

    fn wait(&self) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.go_on_if_all_are_here(&mut state);
        let round = state.2;
        if state.1 > 0 {
            drop(
                self.met
                    .wait_while(state, |state| state.2 == round)
                    .unwrap(),
            );
        }
    }

    fn leave(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 -= 1;
        self.go_on_if_all_are_here(&mut state);
    }

    fn go_on_if_all_are_here(&self, state: &mut (usize, usize, usize)) {
        if state.1 >= state.0 {
            (state.1, state.2) = (0, state.2 + 1);
            self.met.notify_all();
        }
    }
}

/// One thread, and how many entries it expects in its pools.
struct Worker {
    me: usize,
    made: u32,
    objects: Vec<Object>,
    /// Oldest first. Only the last is ever closed, so it is always clear which pool is
    /// current.
    pools: Vec<Pool>,
    root: usize,
    /// Objects that were shown to another thread.
    shown: HashSet<u32>,
}

enum Pool {
    Guard(AutoreleasePool, usize),
    Token(PoolToken, usize),
}

impl Worker {
    fn run(&mut self, world: &World, program: &[Op]) {
        let manager = PoolManager::global();
        for op in program {
            self.step(world, op);
            let me = manager.current_thread().unwrap().key();
            let seen = manager.snapshot().thread(me).unwrap().clone();
            assert_eq!(seen.root_entries, self.root, "after {op:?}");
            assert_eq!(seen.open_pools, self.pools.len(), "after {op:?}");
            for pool in &self.pools {
                if let Pool::Guard(pool, entries) = pool {
                    assert_eq!(pool.len(), *entries, "after {op:?}");
                }
            }
        }
        while self.close() {}
    }

    fn step(&mut self, world: &World, op: &Op) {
        let manager = PoolManager::global();
        match *op {
            Op::Create => {
                let id = 1_000 * (self.me as u32 + 1) + self.made;
                self.made += 1;
                self.objects.push(Ref::new(world.log.probe(id)));
            }
            Op::CloneShared(i) => self
                .objects
                .push(world.shared[i % world.shared.len()].clone()),
            Op::Drop(i) => drop(self.take(i)),
            Op::Upgrade(i) => {
                let weak = &world.weaks[i % world.weaks.len()];
                self.objects.extend(weak.upgrade());
            }
            Op::Open => self.pools.push(Pool::Guard(AutoreleasePool::new(), 0)),
            Op::Push => self.pools.push(Pool::Token(manager.push(), 0)),
            Op::Close => _ = self.close(),
            Op::Drain(i) => {
                let len = self.pools.len().max(1);
                if let Some(Pool::Guard(pool, entries)) = self.pools.get_mut(i % len) {
                    assert_eq!(pool.drain(), std::mem::take(entries));
                }
            }
            Op::Autorelease(pool, i) => {
                let len = self.pools.len().max(1);
                let Some(object) = self.take(i) else { return };
                if let Some(Pool::Guard(pool, entries)) = self.pools.get_mut(pool % len) {
                    let id = object.id;
                    assert_eq!(pool.autorelease(object).id, id);
                    *entries += 1;
                }
            }
            Op::AutoreleaseImplicitly(i) => {
                let Some(object) = self.take(i) else { return };
                autorelease(object);
                match self.pools.last_mut() {
                    Some(Pool::Guard(_, entries) | Pool::Token(_, entries)) => *entries += 1,
                    None => self.root += 1,
                }
            }
            Op::Pop(i) => {
                let len = self.pools.len().max(1);
                let Some(Pool::Token(token, _)) = self.pools.get(i % len) else {
                    return;
                };
                let token = *token;
                // Another thread cannot, and does no harm.
                let wrong = thread::scope(|scope| scope.spawn(|| manager.pop(token)).join());
                assert!(matches!(wrong.unwrap(), Err(PopError::WrongThread { .. })));
            }
            Op::DrainRoot => assert_eq!(manager.drain_root(), std::mem::take(&mut self.root)),
            Op::Release(to, i) => {
                let Some(object) = self.take(i) else { return };
                self.shown.insert(object.id);
                world.handles[to % THREADS].release(object);
            }
            Op::Post(to, i) => {
                let Some(object) = self.take(i) else { return };
                self.shown.insert(object.id);
                // If it is refused, it comes back and is dropped here.
                let _ = world.handles[to % THREADS].post(move || drop(object));
            }
            Op::RunInbox => _ = manager.run_inbox(),
            Op::Meet => {
                if let Some(meeting) = &world.meeting {
                    meeting.wait();
                }
            }
        }
    }

    fn take(&mut self, i: usize) -> Option<Object> {
        (!self.objects.is_empty()).then(|| self.objects.swap_remove(i % self.objects.len()))
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
}

/// Runs a program on each of some threads, and looks at what has become of everything.
fn check(mut programs: Vec<Vec<Op>>, in_lock_step: bool) {
    crate::support::listen();
    if in_lock_step {
        // All meet as often: after every step.
        let longest = programs.iter().map(Vec::len).max().unwrap_or(0);
        for program in &mut programs {
            program.retain(|op| !matches!(op, Op::Meet));
            program.resize(longest, Op::RunInbox);
            *program = program.drain(..).flat_map(|op| [op, Op::Meet]).collect();
        }
    }
    let log = Log::new();
    let started = Arc::new(Barrier::new(THREADS + 1));
    let (tell, told) = std::sync::mpsc::channel();
    let mut tell_world = Vec::new();
    let threads: Vec<_> = (0..THREADS)
        .zip(programs)
        .map(|(me, program)| {
            let (started, tell) = (started.clone(), tell.clone());
            let (world_to, world_from) = std::sync::mpsc::channel::<Arc<World>>();
            tell_world.push(world_to);
            thread::spawn(move || {
                tell.send((me, PoolManager::global().current_thread().unwrap()))
                    .unwrap();
                started.wait();
                let world = world_from.recv().unwrap();
                let (objects, pools) = (Vec::new(), Vec::new());
                let shown = HashSet::new();
                let mut worker = Worker {
                    me,
                    made: 0,
                    objects,
                    pools,
                    root: 0,
                    shown,
                };
                let _left = crate::support::on_drop(|| {
                    if let Some(meeting) = &world.meeting {
                        meeting.leave();
                    }
                });
                worker.run(&world, &program);
                worker.objects.clear();
                (worker.made, worker.shown, thread::current().id())
            })
        })
        .collect();
    started.wait();
    let mut handles: Vec<_> = told.iter().take(THREADS).collect();
    handles.sort_by_key(|(me, _)| *me);
    let shared: Vec<_> = (0..SHARED).map(|id| Ref::new(log.probe(id))).collect();
    let weaks = shared.iter().map(Ref::downgrade).collect();
    let handles = handles.into_iter().map(|(_, handle)| handle).collect();
    let meeting = in_lock_step.then(|| Meeting::new(THREADS));
    let world = Arc::new(World {
        log: log.clone(),
        shared,
        weaks,
        handles,
        meeting,
    });
    for to in tell_world {
        to.send(world.clone()).unwrap();
    }
    drop(world);
    let results: Vec<_> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();

    let made: u32 = results.iter().map(|(made, ..)| made).sum();
    let all = (SHARED + made) as usize;
    // What was sent to a thread that had already ended is for others to release.
    crate::support::quiesce_until(|| log.count() >= all);
    let ids = log.ids();
    assert_eq!(
        ids.iter().collect::<HashSet<_>>().len(),
        ids.len(),
        "nobody dies twice"
    );
    assert_eq!(ids.len(), all);
    for (id, died_on) in ids.into_iter().zip(log.threads()) {
        if let Some(maker) = (id as usize / 1_000).checked_sub(1) {
            let (_, shown, thread) = &results[maker];
            assert!(
                shown.contains(&id) || died_on == *thread,
                "{id} died away from home"
            );
        }
    }
}

fn programs() -> impl Strategy<Value = Vec<Vec<Op>>> {
    let length = if cfg!(miri) { 15 } else { 60 };
    prop::collection::vec(prop::collection::vec(op(), 0..length), THREADS)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 100 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_programs_on_threads_that_run_free(programs in programs()) {
        check(programs, false);
    }

    #[test]
    fn random_programs_on_threads_in_lock_step(programs in programs()) {
        check(programs, true);
    }
}
