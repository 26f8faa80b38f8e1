//! Use of hot objects while a thread is torn down, before and after its pools have gone.

use super::handles::hot;
use crate::support::teardown::When::{AfterOurExit, BeforeOurExit, FirstUse};
use crate::support::teardown::{ALWAYS, at_teardown};
use crate::support::{Log, alone, global, wait_until, with_log};
use releasepool::{AutoreleasePool, Hot};

#[test]
fn handles_work_in_every_tls_destructor() {
    for when in ALWAYS {
        let log = Log::new();
        let owner = hot(log.probe(1));
        let reference = owner.get();
        at_teardown(when, move || {
            let clones = [reference.clone(), owner.get(), reference.clone()];
            drop(reference);
            assert!(clones.iter().all(|clone| clone.id == 1));
            let another = hot(2);
            assert_eq!(*another.get(), 2);
            drop(owner);
            assert_eq!(clones[1].clone().id, 1);
        });
        wait_until(|| {
            Hot::review();
            drop(AutoreleasePool::new());
            log.count() == 1
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
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
#[cfg_attr(miri, ignore = "starts a process")]
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
#[cfg_attr(miri, ignore = "starts a process")]
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
#[cfg_attr(miri, ignore = "starts a process")]
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
