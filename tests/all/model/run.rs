//! Runs the crate and the model beside each other.

use super::{Note, Op, State, naive, real};
use releasepool::PoolManager;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
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

/// Runs a program on a fresh thread, to that thread's end; returns the states between its steps.
///
/// # Panics
/// If the crate does anything that the model does not.
pub fn one_thread(program: &[Op], place: Place) -> Vec<State> {
    let program: Vec<_> = program.iter().map(|&op| (0, op)).collect();
    in_turns(&program, 1, place)
}

/// Runs a program on this many fresh threads, which take turns: each step is done on its thread
/// while the others wait. Returns the states of the thread that ends last.
///
/// # Panics
/// If the crate does anything that the model does not.
pub fn in_turns(program: &[(u8, Op)], threads: usize, place: Place) -> Vec<State> {
    let before = live_objects();
    let both = Both {
        real: real::program::world::World::new(threads),
        model: naive::program::world::World::new(threads),
        place,
    };
    let mut pairs: Vec<_> = (0..threads).map(|me| Some(both.start(me))).collect();
    for (at, &(me, op)) in program.iter().enumerate() {
        let me = me as usize % threads;
        let exits = matches!(op, Op::Exit(_));
        if let Some(pair) = pairs[me].as_mut().filter(|_| me != 0 || !exits) {
            pair.send(at, op);
            if exits {
                both.end(pairs[me].take());
            } else if threads > 1 {
                pair.compare();
            }
        }
    }
    // The first thread ends last, as it clears up.
    let states = pairs.into_iter().rev().map(|pair| both.end(pair)).last();
    // Other threads release what ended threads left to others.
    let mut janitors = threads..;
    while naive::has_orphans(both.model.manager(0)) {
        let mut janitor = both.start(janitors.next().expect("there are enough numbers"));
        janitor.send(program.len(), Op::Quiesce);
        both.end(Some(janitor));
    }
    let alive = [&both.real.alive, &both.model.alive].map(|alive| alive.load(Relaxed));
    assert_eq!(alive, [0, 0], "the crate's values, and the model's");
    if place.alone {
        assert_eq!(live_objects(), before, "objects live that nobody has");
    }
    states.unwrap_or_default()
}

/// The crate's program, and the model's.
struct Both {
    real: Arc<real::program::world::World>,
    model: Arc<naive::program::world::World>,
    place: Place,
}

impl Both {
    fn start(&self, me: usize) -> Pair {
        let (place, real, model) = (self.place, self.real.clone(), self.model.clone());
        let mut pair = Pair {
            sides: [
                Side::start(move |steps, seen| {
                    (place.on_thread)();
                    real::program::live(real, me, place.alone, steps, seen);
                }),
                Side::start(move |steps, seen| {
                    naive::program::live(model, me, place.alone, steps, seen);
                }),
            ],
            sent: Vec::new(),
            seen: Vec::new(),
        };
        pair.compare();
        pair
    }

    /// Has a thread end; returns the states that it has told.
    fn end(&self, pair: Option<Pair>) -> Vec<State> {
        let Some(mut pair) = pair else {
            return Vec::new();
        };
        for side in &mut pair.sides {
            side.steps = None;
        }
        while pair.compare() {}
        let Pair { sides, sent, seen } = pair;
        for side in sides {
            let id = side.thread.thread().id();
            // Waits until the thread's thread-locals are dropped, too.
            let result = side.thread.join();
            self.real.forget_thread(id);
            self.model.forget_thread(id);
            naive::THREADS.remove(id);
            result.unwrap_or_else(|payload| resume_unwind(payload));
        }
        let logs: [Vec<Note>; 2] = [self.real.take_log(), self.model.take_log()];
        assert_eq!(
            logs[0],
            logs[1],
            "at the end of a thread, after {:?}",
            sent.last()
        );
        seen
    }
}

/// A thread of the crate's program and one of the model's, which do the same.
struct Pair {
    sides: [Side; 2],
    /// The steps that were sent, with their places in the program.
    sent: Vec<(usize, Op)>,
    /// The states so far, of both.
    seen: Vec<State>,
}

impl Pair {
    fn send(&mut self, at: usize, op: Op) {
        self.sent.push((at, op));
        for side in &self.sides {
            // The receiver is gone if the test has failed: then `end` resumes the panic.
            _ = side.steps.as_ref().expect("not ended").send(op);
        }
    }

    /// Compares the next states of both; returns false if neither has another.
    fn compare(&mut self) -> bool {
        let [real, model] = self.sides.each_ref().map(|side| side.states.recv().ok());
        // The first state is that before all steps.
        let step = self
            .seen
            .len()
            .checked_sub(1)
            .and_then(|n| self.sent.get(n));
        assert_eq!(real, model, "the crate and the model, after {step:?}");
        self.seen.extend(real);
        model.is_some()
    }
}

struct Side {
    steps: Option<Sender<Op>>,
    states: Receiver<State>,
    thread: JoinHandle<()>,
}

impl Side {
    fn start(live: impl FnOnce(Receiver<Op>, Sender<State>) + Send + 'static) -> Self {
        let (steps, to_do) = channel();
        let (seen, states) = channel();
        Self {
            steps: Some(steps),
            states,
            thread: thread::spawn(move || live(to_do, seen)),
        }
    }
}
