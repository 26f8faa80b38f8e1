//! Runs the crate and the model beside each other.

use super::naive::Naive;
use super::real::world::World;
use super::real::{Real, Script};
use super::{Note, Op, State};
use releasepool::PoolManager;
use std::sync::Arc;
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

/// Runs a program on a fresh thread, to that thread's end.
///
/// # Panics
/// If the crate does anything that the model does not.
pub fn one_thread(program: &[Op], place: Place) {
    let before = live_objects();
    let world = World::new(1);
    let script = Alone {
        model: Naive::new(1),
        program: program.to_vec(),
        at: 0,
        op: None,
    };
    let its_world = world.clone();
    let thread = thread::spawn(move || {
        (place.on_thread)();
        let mut script = script;
        let real = Real::new(its_world, 0);
        script.model.begin(0);
        real.run(&mut script);
        real.clear();
        script.model.clear(0);
        assert_eq!(real.state(), script.model.state(0), "after all handles");
        real.leave(false);
        script.model.leave(0, false);
        assert_eq!(real.state(), script.model.state(0), "after all guards");
        script.model
    });
    let mut model = joined(thread, &world);
    model.exit(0);
    compare_logs(&world, &mut model, "at the end of the thread");
    tidy_up(&world, &mut model, place, before);
}

/// The script of the only thread of a program, which compares itself with the model.
struct Alone {
    model: Naive,
    program: Vec<Op>,
    at: usize,
    op: Option<Op>,
}

impl Script for Alone {
    fn next(&mut self) -> Option<Op> {
        let op = self.program.get(self.at).copied();
        // All scopes end with the program.
        let op = op.or_else(|| (self.model.scopes(0) > 0).then_some(Op::Leave));
        self.at += 1;
        self.op = op;
        op
    }

    fn done(&mut self, real: &Real) {
        // Each step that `next` gave is done once; the step that ends a scope, after the scope has
        // ended.
        let op = self.op.take().expect("a step");
        self.model.step(0, &op);
        let at = self.at - 1;
        assert_eq!(real.state(), self.model.state(0), "after step {at}, {op:?}");
    }
}

/// Runs a program on this many fresh threads, which take turns: each step is done on its thread
/// while the others wait.
///
/// # Panics
/// If the crate does anything that the model does not.
pub fn in_turns(program: &[(u8, Op)], threads: usize, place: Place) {
    let before = live_objects();
    let world = World::new(threads);
    let model = Naive::new(threads);
    let mut turns = Turns {
        threads: (0..threads)
            .map(|me| Some(Remote::start(me, &world, place)))
            .collect(),
        model,
        world,
    };
    for me in 0..threads {
        turns.model.begin(me);
    }
    for (at, &(me, op)) in program.iter().enumerate() {
        let me = me as usize % threads;
        match op {
            _ if turns.threads[me].is_none() => {}
            Op::Exit(_) if me == 0 => {}
            Op::Exit(keep) => turns.end(me, End { clear: false, keep }, at),
            _ => turns.step(me, op, at),
        }
    }
    // The first thread ends last, as it clears up.
    for me in (0..threads).rev() {
        if turns.threads[me].is_some() {
            let (clear, keep) = (me == 0, false);
            turns.end(me, End { clear, keep }, program.len());
        }
    }
    let Turns {
        world, mut model, ..
    } = turns;
    tidy_up(&world, &mut model, place, before);
}

/// How a thread ends.
struct End {
    clear: bool,
    keep: bool,
}

enum Order {
    Step(Op),
    End(End),
}

struct Remote {
    orders: Sender<Order>,
    states: Receiver<State>,
    thread: JoinHandle<()>,
}

impl Remote {
    fn start(me: usize, world: &Arc<World>, place: Place) -> Self {
        let (orders, to_do) = channel();
        let (seen, states) = channel();
        let world = world.clone();
        let thread = thread::spawn(move || {
            (place.on_thread)();
            let real = Real::new(world, me);
            seen.send(State::default()).unwrap();
            let mut script = Ordered {
                to_do,
                seen,
                end: None,
            };
            real.run(&mut script);
            let Some(End { clear, keep }) = script.end else {
                return;
            };
            if clear {
                real.clear();
                real.do_step(&Op::Quiesce);
            }
            real.leave(keep);
            script.done(&real);
        });
        assert!(states.recv().is_ok(), "a thread begins");
        Self {
            orders,
            states,
            thread,
        }
    }

    fn order(&self, order: Order) -> State {
        let sent = self.orders.send(order).is_ok();
        match self.states.recv() {
            Ok(state) if sent => state,
            _ => panic!("the thread has panicked: see above"),
        }
    }
}

/// The script of a thread that is sent one step at a time.
struct Ordered {
    to_do: Receiver<Order>,
    seen: Sender<State>,
    end: Option<End>,
}

impl Script for Ordered {
    fn next(&mut self) -> Option<Op> {
        match self.to_do.recv() {
            Ok(Order::Step(op)) => Some(op),
            Ok(Order::End(end)) => {
                self.end = Some(end);
                None
            }
            Err(_) => None,
        }
    }

    fn done(&mut self, real: &Real) {
        // The receiver is gone if the test has failed.
        _ = self.seen.send(real.state());
    }
}

struct Turns {
    threads: Vec<Option<Remote>>,
    model: Naive,
    world: Arc<World>,
}

impl Turns {
    fn step(&mut self, me: usize, op: Op, at: usize) {
        let remote = self.threads[me].as_ref().expect("it has not ended");
        let real = remote.order(Order::Step(op));
        self.model.step(me, &op);
        let model = self.model.state(me);
        assert_eq!(real, model, "after step {at}, {op:?} on thread {me}");
    }

    fn end(&mut self, me: usize, end: End, at: usize) {
        while self.model.scopes(me) > 0 {
            self.step(me, Op::Leave, at);
        }
        if end.clear {
            self.model.clear(me);
            self.model.step(me, &Op::Quiesce);
        }
        self.model.leave(me, end.keep);
        let remote = self.threads[me].take().expect("it has not ended");
        let real = remote.order(Order::End(end));
        let model = self.model.state(me);
        assert_eq!(real, model, "at step {at}, before the end of thread {me}");
        joined(remote.thread, &self.world);
        self.model.exit(me);
        let when = format!("at step {at}, at the end of thread {me}");
        compare_logs(&self.world, &mut self.model, &when);
    }
}

/// Waits until the thread's thread-locals are dropped, too.
fn joined<R>(thread: JoinHandle<R>, world: &World) -> R {
    let id = thread.thread().id();
    let result = thread.join();
    world.forget_thread(id);
    result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

fn compare_logs(world: &World, model: &mut Naive, when: &str) {
    let (real, model): (Vec<Note>, Vec<Note>) = (world.take_log(), model.take_log());
    assert_eq!(real, model, "{when}");
}

/// Releases what ended threads left to others, and asserts that nothing remains.
fn tidy_up(world: &Arc<World>, model: &mut Naive, place: Place, before: u64) {
    while model.has_orphans() {
        let me = model.add_thread();
        model.begin(me);
        model.step(me, &Op::Quiesce);
        let its_world = world.clone();
        let janitor = thread::spawn(move || {
            (place.on_thread)();
            let real = Real::new(its_world, me);
            real.do_step(&Op::Quiesce);
        });
        joined(janitor, world);
        model.exit(me);
        compare_logs(world, model, "after the orphans");
    }
    assert_eq!(model.live_objects(), 0, "the model's");
    if place.alone {
        assert_eq!(live_objects(), before, "objects live that nobody has");
    }
}
