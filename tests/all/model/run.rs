//! Runs the crate and the model beside each other.

use super::naive::Naive;
use super::program::world::World;
use super::program::{Real, Script};
use super::{Note, Op};
use releasepool::PoolManager;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

/// The process in which programs run.
#[derive(Clone, Copy)]
pub struct Place {
    /// Each thread that is started calls this first.
    pub on_thread: fn(),
    /// True if nothing else in the process uses the crate.
    pub alone: bool,
}

pub fn live_objects() -> u64 {
    PoolManager::global().snapshot().live_objects()
}

/// Runs a program on a fresh thread, to that thread's end.
///
/// # Panics
/// If the crate does anything that the model does not.
pub fn one_thread(program: &[Op], place: Place) {
    let program: Vec<_> = program.iter().map(|&op| (0, op)).collect();
    in_turns(&program, 1, place);
}

/// Runs a program on this many fresh threads, which take turns: each step is done on its thread
/// while the others wait.
///
/// # Panics
/// If the crate does anything that the model does not.
pub fn in_turns(program: &[(u8, Op)], threads: usize, place: Place) {
    let before = live_objects();
    let both = Arc::new(Both {
        world: World::new(threads),
        model: Mutex::new(Naive::new(threads)),
        place,
    });
    let mut remotes: Vec<_> = (0..threads)
        .map(|me| Some(Remote::start(&both, me)))
        .collect();
    for (at, &(me, op)) in program.iter().enumerate() {
        let me = me as usize % threads;
        let ends = matches!(op, Op::Exit(_));
        if let Some(remote) = remotes[me].take_if(|_| ends && me != 0) {
            remote.end(at, Some(op));
        } else if let Some(remote) = remotes[me].as_ref().filter(|_| !ends) {
            remote.step(at, op, threads > 1);
        }
    }
    // The first thread ends last, as it clears up.
    for remote in remotes.into_iter().rev().flatten() {
        remote.end(program.len(), None);
    }
    // These release what ended threads left to others.
    while both.model().has_orphans() {
        let me = both.model().add_thread();
        let janitor = Remote::start(&both, me);
        janitor.step(program.len(), Op::Quiesce, true);
        janitor.end(program.len(), None);
    }
    assert_eq!(both.model().live_objects(), 0, "the model's");
    if place.alone {
        assert_eq!(live_objects(), before, "objects live that nobody has");
    }
}

/// The crate's program, and the model's.
struct Both {
    world: Arc<World>,
    model: Mutex<Naive>,
    place: Place,
}

impl Both {
    fn model(&self) -> MutexGuard<'_, Naive> {
        self.model.lock().expect("a thread has panicked: see above")
    }
}

/// A thread that is sent one step at a time.
struct Remote {
    both: Arc<Both>,
    me: usize,
    steps: Sender<(usize, Op)>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

impl Remote {
    fn start(both: &Arc<Both>, me: usize) -> Self {
        let (steps, to_do) = channel();
        let (is_done, done) = channel();
        let mut script = Steps {
            both: both.clone(),
            me,
            to_do,
            is_done,
            now: None,
            keep: None,
        };
        let thread = thread::spawn(move || script.run());
        assert!(done.recv().is_ok(), "a thread begins");
        Self {
            both: both.clone(),
            me,
            steps,
            done,
            thread,
        }
    }

    /// Has the thread do a step, and waits for that if `waits`.
    fn step(&self, at: usize, op: Op, waits: bool) {
        // The receiver is gone if the test has failed: then `end` resumes the panic.
        let sent = self.steps.send((at, op));
        let failed = waits && (sent.is_err() || self.done.recv().is_err());
        assert!(!failed, "the thread has panicked: see above");
    }

    /// Has the thread end, and waits until its thread-locals are dropped, too.
    fn end(self, at: usize, exit: Option<Op>) {
        exit.into_iter().for_each(|op| self.step(at, op, false));
        drop(self.steps);
        let id = self.thread.thread().id();
        let result = self.thread.join();
        self.both.world.forget_thread(id);
        result.unwrap_or_else(|payload| resume_unwind(payload));
        let mut model = self.both.model();
        model.exit(self.me);
        let (real, model): (Vec<Note>, Vec<Note>) = (self.both.world.take_log(), model.take_log());
        let me = self.me;
        assert_eq!(real, model, "at step {at}, at the end of thread {me}");
    }
}

/// The steps of a thread, which compares itself with the model after each.
struct Steps {
    both: Arc<Both>,
    me: usize,
    to_do: Receiver<(usize, Op)>,
    is_done: Sender<()>,
    now: Option<(usize, Op)>,
    /// Whether the thread leaves its guards open, if it exits before the program's end.
    keep: Option<bool>,
}

impl Steps {
    fn run(&mut self) {
        let (me, both) = (self.me, self.both.clone());
        (both.place.on_thread)();
        let real = Real::new(both.world.clone(), me);
        both.model().begin(me);
        // The other end is gone if the test has failed.
        _ = self.is_done.send(());
        real.run(self);
        if me == 0 {
            real.clear();
            both.model().clear(me);
            self.compare(&real, "after all handles");
            if both.place.alone {
                real.do_step(&Op::Quiesce);
                both.model().step(me, &Op::Quiesce);
            }
        }
        let keep = self.keep.unwrap_or(false);
        real.leave(keep);
        both.model().leave(me, keep);
        self.compare(&real, "after all guards");
    }

    fn compare(&self, real: &Real, when: &str) {
        let me = self.me;
        let (real, model) = (real.state(), self.both.model().state(me));
        assert_eq!(real, model, "{when}, on thread {me}");
    }
}

impl Script for Steps {
    fn next(&mut self) -> Option<Op> {
        let next = match self.to_do.recv() {
            Ok((_, Op::Exit(keep))) => {
                self.keep = Some(keep);
                None
            }
            next => next.ok(),
        };
        // All scopes end with the program.
        let is_open = || self.both.model().scopes(self.me) > 0;
        self.now = next.or_else(|| is_open().then_some((usize::MAX, Op::Leave)));
        self.now.map(|(_, op)| op)
    }

    fn done(&mut self, real: &Real) {
        // Each step that `next` gave is done once; the step that ends a scope, after the scope has
        // ended.
        let (at, op) = self.now.take().expect("a step");
        self.both.model().step(self.me, &op);
        self.compare(real, &format!("after step {at}, {op:?}"));
        _ = self.is_done.send(());
    }
}
