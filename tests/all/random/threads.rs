//! Random programs on several threads: see [`crate::model`]. They run in processes of their own, as
//! they use what is global to the process, such as orphans.

use super::ALONE;
use crate::model::THREADS;
use crate::model::free::{self, Kind, Setting, Step};
use crate::model::run::{in_turns, live_objects};
use crate::support::{alone, listen};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

/// Runs programs that are drawn from a strategy.
fn run<T: std::fmt::Debug>(cases: u32, programs: impl Strategy<Value = T>, run: impl Fn(T)) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let run = |programs| {
        run(programs);
        Ok(())
    };
    runner.run(&programs, run).unwrap();
}

/// Runs programs of these kinds on threads that run free.
fn run_free(mut kinds: Vec<Kind>, length: usize, setting: Setting) {
    listen();
    // Miri starts no processes, so other tests may run meanwhile.
    let alone = !cfg!(miri);
    kinds.retain(|kind| alone || *kind != Kind::Shutdown);
    let step = (select(kinds), any::<u8>(), any::<u8>()).prop_map(|(kind, a, b)| Step(kind, a, b));
    let program = prop::collection::vec(step, 0..if alone { length } else { 15 });
    run(100, prop::collection::vec(program, THREADS), |programs| {
        let before = live_objects();
        free::run(programs, setting, &[]);
        assert!(
            !alone || live_objects() == before,
            "objects live that nobody has"
        );
    });
}

/// Defines tests that run free programs.
macro_rules! free_programs {
    ($(#[test] fn $name:ident($kinds:ident, $length:literal, $setting:expr);)*) => {$(
        #[test]
        fn $name() {
            let all = || run_free(Kind::$kinds(), $length, $setting);
            if cfg!(miri) {
                return all();
            }
            alone!(all);
        }
    )*};
}

const HOT: Setting = Setting {
    panics: false,
    ..Setting::PANICKING
};

free_programs! {
    #[test]
    fn random_programs_on_threads_that_run_free(all, 60, Setting::CHECKED);
    #[test]
    fn random_programs_of_hot_objects(of_hot_objects, 300, HOT);
    #[test]
    fn random_programs_of_hot_objects_with_destructors_that_panic(of_hot_objects, 300, Setting::PANICKING);
}

#[test]
fn random_programs_on_threads_that_take_turns() {
    alone!();
    let op = crate::random::programs::op_of_any_kind();
    let program = prop::collection::vec((0..3u8, op), 0..60);
    run(100, program, |program| {
        _ = in_turns(&program, THREADS, ALONE)
    });
}
