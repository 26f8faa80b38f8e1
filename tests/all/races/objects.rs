//! Objects and drains: the scenarios of the models on real threads.
//!
//! loom checks every interleaving of the operations that it knows. These tests are for the checkers
//! that see what it does not: Miri (aliasing, provenance, bounds, data races under weak memory, by
//! many seeds), ThreadSanitizer and AddressSanitizer. The scenarios are those of the models, from
//! the same files; each outcome must be one of the model's.

use super::probe;
use super::rounds;
use crate::support::listen;
use releasepool::{AutoreleasePool, PoolRef, Ref};
use scenario::*;

#[path = "../../../loom_tests/src/checks/count.rs"]
mod count;
#[path = "../../../loom_tests/src/checks/drain.rs"]
mod drain;
#[path = "../../../loom_tests/src/checks/manager.rs"]
mod manager;
#[path = "../../../loom_tests/src/checks/model.rs"]
#[allow(dead_code, reason = "loom needs the rest")]
mod model;
#[path = "../../../loom_tests/src/checks/remote_release.rs"]
pub mod remote_release;
#[path = "../../../loom_tests/src/checks/scenario.rs"]
pub mod scenario;

fn race(models: Vec<model::Model>, name: &str) {
    let model = models.into_iter().find(|model| model.name == name);
    let model = model.unwrap();
    // Objects that are autoreleased without a pool are reported: a hook takes these events.
    listen();
    rounds(1, || {
        let outcome = (model.body)();
        assert!(model.outcomes.contains(&&*outcome), "{outcome}");
    });
}

/// Makes a test of each model in these files, and one that none is missing.
macro_rules! races {
    ($($file:ident: $($name:ident)*;)*) => {
        $($(
            #[test]
            fn $name() {
                race($file::models(), stringify!($name));
            }
        )*)*

        #[test]
        fn every_model_is_a_race() {
            $(
                let models = $file::models().into_iter().map(|model| model.name);
                assert!(models.eq([$(stringify!($name)),*]));
            )*
        }
    };
}

races! {
    count: retain_release_last release_after_death weak_outlives_strong cyclic_upgrade cyclic_last
        cyclic_panics take_value_race into_inner_race get_mut_race get_mut_weak counts_seen
        make_mut_race destructor_panics;
    drain: drain_load_only drain_upgrade drain_downgrade drain_duplicates deep_drain drain_feeds
        two_drains;
    manager: classic_timeline foreign_token first_use exit_drains_root;
    remote_release: remote_release_drain remote_release_late remote_release_close
        remote_release_owners remote_release_ends;
}

#[test]
fn no_upgrade_fails_while_there_is_a_handle() {
    rounds(4, || {
        let r = Ref::new(Probe::new());
        let upgraders = [(); 6].map(|()| {
            let weak = Ref::downgrade(&r);
            spawn(move || (0..4).all(|_| weak.upgrade().is_some()))
        });
        go();
        let all = join_all(upgraders);
        assert_eq!(all, [true; 6], "an upgrade failed while there was a handle");
        drop(r);
        assert_eq!(deaths(), [me()]);
    });
}

#[test]
fn what_a_pool_lends_is_shared_until_the_drain() {
    let mut pool = AutoreleasePool::new();
    rounds(1, || {
        let arrived = AtomicUsize::new(0);
        let lent = pool.create(Probe::new());
        let arrive = || {
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < 3 {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    arrive();
                    let kept = PoolRef::retain(lent);
                    lent.look();
                    let weak = Ref::downgrade(&kept);
                    drop(kept);
                    let upgraded = weak.upgrade().map(|r| r.look());
                    assert!(upgraded.is_some(), "the pool has it");
                });
            }
            arrive();
            lent.look();
        });
        assert_eq!(deaths(), []);
        assert_eq!(pool.drain(), 1);
        assert_eq!(deaths(), [me()]);
    });
}
