//! Use of hot objects while a thread is torn down, before and after its pools have gone.

#![cfg(not(miri))] // Miri starts no processes.

use super::handles::hot;
use crate::support::teardown::When::{AfterOurExit, BeforeOurExit, FirstUse};
use crate::support::teardown::at_teardown;
use crate::support::{Log, alone, global, with_log};
use releasepool::{AutoreleasePool, Hot};

#[test]
fn what_dies_before_the_exit_dies_in_it() {
    alone!(|| {
        for when in [BeforeOurExit, FirstUse] {
            let log = Log::new();
            let owner = hot(log.probe(1));
            at_teardown(when, move || drop(owner));
            assert_eq!(log.count(), 1, "{when:?}");
        }
        assert_eq!(global().snapshot().hot_objects, 0);
    });
}

#[test]
fn what_dies_after_the_exit_becomes_an_orphan() {
    alone!(with_log(|log| {
        let owner = hot(log.probe(1));
        let reference = owner.get();
        drop(owner);
        let owner = hot(log.probe(2));
        at_teardown(AfterOurExit, move || drop((reference, owner)));
        assert_eq!(log.count(), 0, "not in the drop");
        let snapshot = global().snapshot();
        assert_eq!((snapshot.orphans, snapshot.hot_objects), (2, 0));
        drop(AutoreleasePool::new());
        assert_eq!(log.threads(), [std::thread::current().id(); 2]);
    }));
}

#[test]
fn births_and_deaths_of_threads_that_have_exited_count() {
    alone!(with_log(|log| {
        let owner = hot(log.probe(1));
        // Each thread takes over the book of the one before.
        for _ in 0..10 {
            let (first, second) = (owner.get(), owner.get());
            let kept = std::thread::spawn(move || {
                drop(first);
                second.clone()
            });
            drop(kept.join().unwrap());
            at_teardown(AfterOurExit, {
                let reference = owner.get();
                move || drop(reference.clone())
            });
        }
        let last = owner.get();
        drop(owner);
        assert_eq!((Hot::review(), last.id), (0, 1));
        drop(last);
        assert_eq!((Hot::review(), log.count()), (1, 1));
    }));
}

#[test]
fn a_thread_ends_though_destructors_let_others_die_for_ever() {
    // Not of size 0: the leak sanitizer does not follow the pointer to the end of a block.
    struct Endless(u8);
    impl Drop for Endless {
        fn drop(&mut self) {
            drop(hot(Endless(self.0)));
        }
    }
    alone!(|| {
        let thread = std::thread::spawn(|| drop(hot(Endless(1))));
        thread.join().unwrap();
        let snapshot = global().snapshot();
        assert_eq!((snapshot.hot_objects, snapshot.hot_let_go), (1, 1));
    });
}
