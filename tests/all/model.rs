//! Random programs, run by the crate and by a naive model of it; step by step they must
//! agree on what is where, what is counted, and who died in which order.
//!
//! * [`naive`]: objects are indices, pools are vectors, nothing is clever
//! * [`real`]: the same operations, done by the crate

mod naive;
mod real;

use crate::support::fresh_to_the_end;
use proptest::prelude::*;
use releasepool::PoolManager;

/// What an object does when it dies, before its children do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plan {
    Nothing,
    /// Autoreleases a new object, which does so in turn, this often.
    Relay(u8),
    /// Opens a pool, fills it, and closes it.
    Nest,
    /// The same with a token pool of the other manager.
    NestToken,
    /// Drains the root pool of the process's manager.
    DrainRoot,
    /// Pops this token, whatever has become of it, and notes the outcome.
    Pop(usize),
    /// Opens a pool and forgets it, and autoreleases into it.
    Forget,
}

/// One step. Indices are taken modulo what there is; a step for which there is nothing
/// is skipped. A manager is 0, the process's own, or 1.
#[derive(Clone, Debug)]
pub enum Op {
    Create(Plan),
    Clone(usize),
    Drop(usize),
    /// The second becomes a child of the first, by a reference of its own.
    Adopt(usize, usize),
    Downgrade(usize),
    Upgrade(usize),
    DropWeak(usize),
    Open(usize),
    Close(usize),
    Forget(usize),
    Drain(usize),
    /// Into the pool by the first index goes the object by the second.
    Autorelease(usize, usize),
    AutoreleaseImplicitly(usize, usize),
    Push(usize),
    Pop(usize),
    DrainRoot(usize),
    /// In an `autoreleasepool`.
    Scope(Vec<Op>),
}

/// What is seen from outside after each step.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// Who died, and what was noted, in order.
    pub log: Vec<u32>,
    /// Strong and weak counts of the objects that there are handles to, and which of the
    /// guard pools have an entry for it.
    pub handles: Vec<Option<(usize, usize, Vec<bool>)>>,
    /// Strong counts by weak reference.
    pub weaks: Vec<Option<usize>>,
    /// Entries of the guard pools.
    pub guards: Vec<Option<usize>>,
    /// Entries of the two root pools, and pools open by manager.
    pub roots: [usize; 2],
    pub open: [usize; 2],
    /// What the last step gave back.
    pub result: Option<usize>,
}

/// Notes in the log that are not the id of an object.
pub const NOTE: u32 = 1_000_000;
pub const STALE: u32 = 2_000_000;
pub const DRAINING: u32 = 2_000_001;
/// The result of a pop that is an error.
pub const STALE_POP: usize = usize::MAX;

fn plan() -> impl Strategy<Value = Plan> {
    prop_oneof![
        6 => Just(Plan::Nothing),
        2 => (0..4u8).prop_map(Plan::Relay),
        1 => Just(Plan::Nest),
        1 => Just(Plan::NestToken),
        1 => Just(Plan::DrainRoot),
        2 => (0..4usize).prop_map(Plan::Pop),
        1 => Just(Plan::Forget),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let i = || 0..8usize;
    let step = prop_oneof![
        8 => plan().prop_map(Op::Create),
        3 => i().prop_map(Op::Clone),
        4 => i().prop_map(Op::Drop),
        2 => (i(), i()).prop_map(|(a, b)| Op::Adopt(a, b)),
        2 => i().prop_map(Op::Downgrade),
        2 => i().prop_map(Op::Upgrade),
        1 => i().prop_map(Op::DropWeak),
        4 => (0..2usize).prop_map(Op::Open),
        3 => i().prop_map(Op::Close),
        1 => i().prop_map(Op::Forget),
        3 => i().prop_map(Op::Drain),
        6 => (i(), i()).prop_map(|(a, b)| Op::Autorelease(a, b)),
        6 => (0..2usize, i()).prop_map(|(a, b)| Op::AutoreleaseImplicitly(a, b)),
        3 => (0..2usize).prop_map(Op::Push),
        3 => i().prop_map(Op::Pop),
        2 => (0..2usize).prop_map(Op::DrainRoot),
    ];
    step.prop_recursive(2, 16, 8, |step| {
        prop::collection::vec(step, 0..8).prop_map(Op::Scope)
    })
}

/// Runs a program on a thread of its own, to that thread's end, beside the model.
fn check(program: Vec<Op>) {
    let manager = PoolManager::new();
    let log = crate::support::Log::new();
    let (their_manager, their_log) = (manager.clone(), log.clone());
    let mut model = fresh_to_the_end(move || {
        let mut real = real::Real::new([PoolManager::global().clone(), their_manager], their_log);
        let mut model = naive::Naive::default();
        run(&program, &mut model, &mut real);
        real.end();
        model.end();
        model
    });
    model.exit_thread();
    assert_eq!(log.ids(), model.state().log, "at the end of the thread");
}

fn run(program: &[Op], model: &mut naive::Naive, real: &mut real::Real) {
    for (at, op) in program.iter().enumerate() {
        if let Op::Scope(inner) = op {
            model.enter_scope();
            real.scope(|real| run(inner, model, real));
            model.leave_scope();
        } else {
            model.step(op);
            real.step(op);
        }
        assert_eq!(real.state(), model.state(), "after step {at}, {op:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 300 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_programs_do_what_the_naive_model_does(
        program in prop::collection::vec(op(), 0..if cfg!(miri) { 25 } else { 60 })
    ) {
        check(program);
    }
}

#[test]
fn the_model_is_right_about_an_example() {
    use Op::{AutoreleaseImplicitly, Close, Create, Open, Push, Scope};
    let mut model = naive::Naive::default();
    let program = [
        Create(Plan::Relay(1)),
        Create(Plan::Nothing),
        Open(0),
        Push(0),
    ];
    program.iter().for_each(|op| model.step(op));
    model.step(&AutoreleaseImplicitly(0, 0));
    model.step(&AutoreleaseImplicitly(0, 0));
    assert_eq!(model.state().guards, [Some(0)], "the token pool is current");
    model.step(&Op::Pop(0));
    assert_eq!(
        model.state().log,
        [1, 0, 2, 3],
        "newest first, then what 0 left, and that one"
    );
    assert_eq!(model.state().result, Some(4));
    model.step(&Close(0));
    assert_eq!(model.state().open, [0, 0]);
    check(vec![
        Create(Plan::Nest),
        Scope(vec![AutoreleaseImplicitly(0, 0)]),
    ]);
}
