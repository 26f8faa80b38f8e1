//! Random programs on several threads: see [`crate::model`]. Those that use what is global to the
//! process, such as orphans, run in a process of their own.

use crate::model::free::{End, Free, THREADS, run_free};
use crate::model::real::world::on_event;
use crate::model::run::{Place, in_turns};
use crate::support::child;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

const AMONG_OTHERS: Place = Place {
    on_thread: || crate::support::react(on_event),
    alone: false,
};

const ALONE: Place = Place {
    alone: true,
    ..AMONG_OTHERS
};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 1 } else { cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn free() -> impl Strategy<Value = Free> {
    let i = || 0..6u8;
    let end = prop_oneof![
        2 => Just(End::Quiet),
        1 => i().prop_map(End::Send),
        1 => Just(End::Nest),
    ];
    prop_oneof![
        5 => end.prop_map(Free::Create),
        1 => Just(Free::CreateLocal),
        3 => i().prop_map(Free::CloneShared),
        3 => i().prop_map(Free::Drop),
        1 => Just(Free::DropLocals),
        2 => i().prop_map(Free::Upgrade),
        3 => Just(Free::Open),
        2 => Just(Free::Close),
        2 => i().prop_map(Free::Drain),
        5 => (i(), i()).prop_map(|(a, b)| Free::Autorelease(a, b)),
        4 => i().prop_map(Free::AutoreleaseImplicitly),
        1 => Just(Free::AutoreleaseLocals),
        2 => Just(Free::Push),
        2 => i().prop_map(Free::PopElsewhere),
        1 => Just(Free::DrainRoot),
        4 => (i(), i()).prop_map(|(a, b)| Free::Release(a, b)),
        3 => (i(), i()).prop_map(|(a, b)| Free::Post(a, b)),
        2 => Just(Free::RunInbox),
        1 => Just(Free::Quiesce),
        1 => Just(Free::Meet),
        1 => Just(Free::Exit),
    ]
}

fn programs() -> impl Strategy<Value = Vec<Vec<Free>>> {
    let length = if cfg!(miri) { 15 } else { 60 };
    prop::collection::vec(prop::collection::vec(free(), 0..length), THREADS)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn random_programs_on_threads_that_run_free(programs in programs()) {
        run_free(programs, false, AMONG_OTHERS);
    }

    #[test]
    fn random_programs_on_threads_in_lock_step(programs in programs()) {
        run_free(programs, true, AMONG_OTHERS);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn random_programs_on_threads_that_take_turns() {
    let child = child!(|| {
        let op = crate::random::programs::op_of_any_kind();
        let program = prop::collection::vec((0..3u8, op), 0..60);
        let mut runner = TestRunner::new(cases(100));
        let run = |program: Vec<_>| {
            in_turns(&program, THREADS, ALONE);
            Ok(())
        };
        runner.run(&program, run).unwrap();
    });
    child.assert_success();
}
