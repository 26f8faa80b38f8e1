//! All small programs of some forms, each of which the crate and the naive model run beside each other (see
//! [`crate::model`]).

use crate::model::run::one_thread;
use crate::model::{Op, Op::*, Plan};
use crate::random::AMONG_OTHERS;
use crate::support::{on_drop, sized};
use std::thread;

/// Runs a program. Shows one that fails.
fn run(program: &[Op]) {
    let _shown = on_drop(|| {
        if thread::panicking() {
            eprintln!("{program:?}");
        }
    });
    one_thread(program, AMONG_OTHERS);
}

/// Puts an object into the pool that is current.
fn fill(plan: Plan) -> [Op; 2] {
    [Create(plan), AutoreleaseImplicitly(0, 0)]
}

/// Runs a program, and fills the current pool after each step.
fn run_and_fill(plan: Plan, program: impl IntoIterator<Item = Op>) {
    let filling = |op| [op].into_iter().chain(fill(plan));
    run(&program.into_iter().flat_map(filling).collect::<Vec<_>>());
}

/// Returns all sequences of `n` items of a slice.
fn sequences<T: Copy>(of: &[T], n: usize) -> impl Iterator<Item = Vec<T>> {
    let digits = move |code: usize| (0..n as u32).map(move |at| code / of.len().pow(at) % of.len());
    (0..of.len().pow(n as u32)).map(move |code| digits(code).map(|digit| of[digit]).collect())
}

/// Returns all orders of so many numbers.
fn orders(n: usize) -> impl Iterator<Item = Vec<usize>> {
    let all = Vec::from_iter(0..n);
    let is_order = |order: &Vec<usize>| (0..n).all(|i| order.contains(&i));
    sequences(&all, n)
        .filter(is_order)
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn pools_are_opened_in_any_way_and_closed_in_any_order() {
    for (ways, n) in [
        (&[Open(0), Push(0), Enter][..], 3),
        (&[Open(0), Push(0)], 4),
    ] {
        for opened in sequences(ways, if cfg!(miri) { 2 } else { n }) {
            for order in orders(opened.len()) {
                // Guards are numbered among those that are open, tokens among all.
                let close = |(at, &i): (usize, &usize)| {
                    let like_it = (0..i).filter(|other| opened[*other] == opened[i]);
                    match opened[i] {
                        Enter => Leave,
                        Push(_) => Pop(like_it.count() as u8),
                        _ => Close(like_it.filter(|i| !order[..at].contains(i)).count() as u8),
                    }
                };
                let closed = order.iter().enumerate().map(close);
                run_and_fill(Plan::Nothing, opened.iter().copied().chain(closed));
            }
        }
    }
}

#[test]
fn guards_move_into_scopes_and_out_of_them() {
    const STEPS: [Op; 10] = [
        Open(0),
        Enter,
        Leave,
        LeavePanicking,
        Swap(0),
        Swap(1),
        Forget(0),
        Close(0),
        Push(0),
        Pop(0),
    ];
    for steps in sequences(&STEPS, sized(1, 3, 4)) {
        let loud = steps.contains(&Swap(0));
        let plan = if loud { Plan::Panic } else { Plan::Nothing };
        run_and_fill(plan, [Open(0), Enter].into_iter().chain(steps));
    }
}

/// The work of destructors, of which each pair runs in one pool, one after the other.
const PLANS: [Plan; 17] = [
    Plan::Nothing,
    Plan::Relay(2),
    Plan::Nest,
    Plan::NestToken,
    Plan::NestScope,
    Plan::NestPanic,
    Plan::DrainRoot(0),
    Plan::DrainRoot(1),
    Plan::Pop(0),
    Plan::Push(0),
    Plan::Forget,
    Plan::KeepOpen(0),
    Plan::Panic,
    Plan::Drop(0),
    Plan::UpgradeSelf,
    Plan::RunInbox,
    Plan::Links(5),
];

/// Ways to have objects released: what comes before they are autoreleased, and after.
const WAYS: [(&[Op], &[Op]); 11] = [
    (&[Push(0), Open(0)], &[Drain(0), Drain(0)]),
    (&[Open(0)], &[Close(0)]),
    (&[Open(0)], &[Open(0), Close(0)]),
    (&[Push(0)], &[PopForeign(0), Pop(0), Pop(0)]),
    (&[Push(0), Push(0)], &[Pop(0)]),
    (&[Enter], &[Leave]),
    (&[Enter], &[LeavePanicking]),
    (
        &[Create(Plan::Nothing), Post(0, 0)],
        &[DrainRoot(0), RunInbox],
    ),
    // Released at the end of the thread, the last after the crate's own exit.
    (&[], &[]),
    (&[Push(0)], &[]),
    (&[Open(0)], &[Forget(0)]),
];

#[test]
fn two_destructors_meet_in_each_kind_of_pool() {
    for (at, (before, after)) in WAYS.iter().enumerate() {
        let pairs = sequences(&PLANS, 2).skip(at);
        for pair in pairs.step_by(sized(100, 3, 1)) {
            // The first object has two entries, one of them below that of the second.
            let filled = [
                Create(pair[0]),
                Clone(0),
                AutoreleaseImplicitly(0, 0),
                CreateCyclic(pair[1]),
                AutoreleaseImplicitly(0, 1),
                AutoreleaseImplicitly(0, 0),
            ];
            let others = [Plan::Nothing; 2].map(fill).concat();
            run(&[before, &filled[..], &others[..2], after, &others[2..]].concat());
        }
    }
}
