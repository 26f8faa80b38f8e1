//! Programs that the fuzz targets have found, and programs for known edge cases, each under a name
//! of its own. See fuzz/README.md.

use super::{ALONE, AMONG_OTHERS};
use crate::model::Op::*;
use crate::model::run::{in_turns, one_thread};
use crate::model::{Op, Plan, THREADS};
use crate::support::alone;

fn on_one_thread(program: &[Op]) {
    one_thread(program, AMONG_OTHERS);
}

#[test]
fn a_pool_that_a_destructor_leaves_open_outlives_the_drain() {
    on_one_thread(&[
        Open(0),
        Create(Plan::KeepOpen(0)),
        Create(Plan::Nothing),
        Autorelease(0, 0),
        Drain(0),
        // It is not the current pool any more: this goes to the first pool.
        AutoreleaseImplicitly(0, 0),
        Create(Plan::Nothing),
        Autorelease(1, 0),
        Close(0),
        Drain(0),
    ]);
}

#[test]
fn many_entries_of_one_object_end_exactly_at_a_page_boundary() {
    on_one_thread(&[
        Open(0),
        Create(Plan::Nothing),
        Create(Plan::Relay(3)),
        Flood(0, 0, 127),
        Flood(0, 1, 1),
        Flood(0, 0, 255),
        Autorelease(0, 1),
        Drain(0),
        Flood(0, 0, 254),
        Drop(0),
        Close(0),
    ]);
}

#[test]
fn tokens_go_stale_although_their_place_is_reused() {
    on_one_thread(&[
        Push(0),
        Push(1),
        Pop(0),
        Push(0),
        Pop(0),
        PopForeign(1),
        PopForeign(2),
        Create(Plan::Pop(2)),
        AutoreleaseImplicitly(0, 0),
        Pop(2),
        Pop(2),
    ]);
}

#[test]
fn a_value_that_is_moved_out_leaves_its_weak_references() {
    on_one_thread(&[
        CreateCyclic(Plan::UpgradeSelf),
        GetMut(0, Plan::Nothing),
        Downgrade(0),
        MakeMut(0, Plan::UpgradeSelf),
        Upgrade(0),
        Clone(0),
        TryUnwrap(0),
        MakeMut(1, Plan::Panic),
        IntoInner(1),
        TryUnwrap(0),
        CreateCyclicPanics,
        UnsizeWeak(1),
        Upgrade(1),
    ]);
}

/// Defines tests of programs on several threads that take turns, in processes of their own.
macro_rules! in_turns {
    ($(#[test] fn $name:ident() { $($step:expr,)* })*) => {$(
        #[test]
        fn $name() {
            alone!(|| _ = in_turns(&[$($step),*], THREADS, ALONE));
        }
    )*};
}

in_turns! {
    #[test]
    fn remote_releases_to_a_thread_that_has_ended_with_open_pools() {
        (1, Open(0)),
        (1, Push(1)),
        (1, Create(Plan::Send(1))),
        (1, CreateInPool(0, Plan::NestToken)),
        (1, AutoreleaseImplicitly(1, 0)),
        (0, Create(Plan::Panic)),
        (0, Release(1, 0)),
        (0, Create(Plan::Forget)),
        (0, Post(1, 0)),
        (2, Pop(0)),
        (1, Exit(true)),
        (0, Create(Plan::Nothing)),
        (0, Release(1, 0)),
        (0, Create(Plan::Panic)),
        (0, Post(1, 0)),
        (2, DrainRoot(1)),
        (2, Quiesce),
        (0, Pop(0)),
    }

    #[test]
    fn shutdown_asks_and_each_thread_drains_its_root_pool_in_its_next_drain() {
        (1, Create(Plan::Panic)),
        (1, AutoreleaseImplicitly(0, 0)),
        (2, Push(0)),
        (0, Create(Plan::Panic)),
        (0, AutoreleaseImplicitly(0, 0)),
        (0, Shutdown(0)),
        (0, Shutdown(0)),
        (1, Open(1)),
        (1, Close(0)),
        (1, Open(0)),
        (1, Close(0)),
        (2, Pop(0)),
        (2, Shutdown(0)),
    }

    #[test]
    fn what_the_last_remote_release_autoreleases_does_not_go_to_a_pool_left_open() {
        (1, Open(0)),
        (0, Create(Plan::Relay(1))),
        (0, Release(1, 0)),
        (1, Exit(true)),
    }

    #[test]
    fn an_exit_goes_on_with_all_pools_after_an_empty_one_has_answered_shutdown() {
        (0, Create(Plan::Send(0))),
        (0, Create(Plan::Relay(0))),
        (1, Shutdown(1)),
        (0, AutoreleaseImplicitly(1, 0)),
        (0, AutoreleaseImplicitly(1, 0)),
        (0, Push(1)),
    }
}
