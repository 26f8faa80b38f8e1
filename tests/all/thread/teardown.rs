//! Use of the crate in destructors of thread-locals, before and after the crate's own exit hook.
//!
//! Thread-locals are torn down newest first, in the order of their first use. One that was used
//! before the crate is torn down after the crate's exit hook.

use crate::support::teardown::When::AfterOurExit;
use crate::support::teardown::{
    ALWAYS, at_teardown, notes, push_work, thread_to_the_end, use_the_crate,
};
use crate::support::{Log, alone, fresh, fresh_to_the_end, global, log_to_the_end, on_drop};
use releasepool::object::settle;
use releasepool::pool::PopError;
use releasepool::raw::words_of;
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, Weak, autorelease, autoreleasepool};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self};
use std::time::Duration;

thread_local! {
    static GUARDS: RefCell<Vec<AutoreleasePool>> = const { RefCell::new(Vec::new()) };
    static REFS: RefCell<Vec<Ref<dyn Fn()>>> = const { RefCell::new(Vec::new()) };
}

/// Asserts what is noted, in the destructors of thread-locals that run before or after the crate's.
#[track_caller]
fn assert_always_notes(work: fn(&Log), expected: &[u32]) {
    for when in ALWAYS {
        assert_eq!(notes(when, work), expected, "{when:?}");
    }
}

#[test]
fn a_token_popped_after_our_exit_may_end_the_pools_of_the_thread() {
    thread_to_the_end(|| {
        let guard = std::rc::Rc::new(Cell::new(None));
        let there = guard.clone();
        push_work(move || {
            let token = global().push();
            drop(there.take());
            // The last pool that is left.
            assert_eq!(global().pop(token), Ok(0));
        });
        guard.set(Some(AutoreleasePool::new()));
    });
}

#[test]
fn autorelease_from_another_tls_destructor_after_ours_ran_is_released_at_once() {
    let autoreleased = |log: &Log| {
        autorelease(Ref::new(log.probe(0)));
        Ref::autorelease(Ref::new(log.probe(1)));
        PoolManager::new().autorelease(Ref::new(log.probe(2)));
    };
    assert_eq!(notes(AfterOurExit, autoreleased), [0, 1, 2, 1_000]);
    // Not kept by what was open at our exit, of whichever manager.
    let log = log_to_the_end(|log| {
        let other = PoolManager::new();
        let late = other.clone();
        push_work(move || {
            assert!(global().current_thread().is_none(), "after our exit");
            late.autorelease(Ref::new(log.probe(0)));
        });
        std::mem::forget([global().pool(), other.pool()]);
    });
    assert_eq!(log.ids(), [0]);
}

#[test]
fn autorelease_in_every_tls_destructor_goes_to_a_pool_that_is_open() {
    for when in ALWAYS {
        let noted = notes(when, move |log| {
            let manager = PoolManager::new();
            let (pool, theirs) = (AutoreleasePool::new(), manager.pool());
            let kept = Ref::new(log.probe(0));
            autorelease(kept.clone());
            manager.autorelease(Ref::new(log.probe(1)));
            assert_eq!((pool.len(), theirs.len(), log.count()), (1, 1, 0));
            assert!(global().contains(&kept) && !manager.contains(&kept));
            autoreleasepool(|inner| {
                autorelease(Ref::new(log.probe(2)));
                let _left = global().push();
                autorelease(Ref::new(log.probe(3)));
                assert_eq!((inner.len(), log.count()), (1, 0));
            });
            log.note(4);
            drop((theirs, pool));
            drop(kept);
            let at_once = if when == AfterOurExit { 1 } else { 0 };
            let before = log.count();
            autorelease(Ref::new(log.probe(5)));
            assert_eq!(log.count() - before, at_once, "{when:?}: no pool is open");
        });
        let mut expected = vec![3, 2, 4, 1, 0, 5, 1_000];
        if when != AfterOurExit {
            expected.swap(5, 6);
        }
        assert_eq!(noted, expected, "{when:?}");
    }
}

#[test]
fn nested_and_large_pools_work_in_every_tls_destructor() {
    const POOLS: usize = if cfg!(miri) { 3 } else { 40 };
    let work = |log: &Log| {
        let pools: Vec<_> = (0..POOLS).map(|_| AutoreleasePool::named("late")).collect();
        for pool in &pools {
            (0..300).for_each(|_| assert_eq!(*pool.create(1), 1));
            pool.create(log.probe(1));
        }
        assert_eq!(
            pools.iter().map(AutoreleasePool::len).sum::<usize>(),
            POOLS * 301
        );
        assert_eq!(pools[1].name(), "late");
        drop(pools);
        autoreleasepool(|pool| {
            pool.create(log.probe(2));
            assert_eq!(pool.drain(), 1);
            drop(std::mem::take(pool));
            pool.create(log.probe(3));
        });
        drop(autoreleasepool(|pool| {
            pool.create(log.probe(4));
            std::mem::take(pool)
        }));
        let manager = PoolManager::new();
        let theirs = manager.pool();
        autoreleasepool(|pool| {
            pool.create(log.probe(5));
            theirs.create(log.probe(6));
        });
        drop(manager);
    };
    assert_always_notes(work, &[&[1; POOLS][..], &[2, 3, 4, 5, 6, 1_000]].concat());
}

#[test]
fn refs_die_in_every_tls_destructor() {
    struct Node(Log, Option<Ref<Node>>);
    impl Drop for Node {
        fn drop(&mut self) {
            if self.1.is_none() {
                self.0.note(7);
            }
        }
    }
    const DEPTH: usize = if cfg!(miri) { 600 } else { 50_000 };
    let work = |log: &Log| {
        let mut head = None;
        for _ in 0..DEPTH {
            head = Some(Ref::new(Node(*log, head)));
        }
        let weak = Ref::downgrade(head.as_ref().unwrap());
        assert!(weak.upgrade().is_some());
        drop(head);
        assert!(weak.upgrade().is_none());
        assert_eq!(settle(), 0);
        drop(Ref::<[_]>::from(vec![log.probe(8)]));
        assert_eq!(Ref::into_inner(Ref::new(9)), Some(9));
        drop(Weak::<u8>::new());
    };
    assert_always_notes(work, &[7, 8, 1_000]);
}

#[test]
fn tokens_in_every_tls_destructor() {
    let work = |log: &Log| {
        let token = global().push();
        autorelease(Ref::new(log.probe(0)));
        assert_eq!(log.count(), 0);
        assert_eq!(global().pop(token), Ok(1));
        assert_eq!(global().pop(token), Err(PopError::Stale));
        let other = PoolManager::new();
        assert_eq!(other.pop(token), Err(PopError::WrongManager));
    };
    assert_always_notes(work, &[0, 1_000]);
}

#[test]
fn tokens_after_our_exit_are_all_different() {
    alone!();
    // The first manager: its number is 0, as are those of the token's pool and thread.
    global();
    at_teardown(AfterOurExit, || {
        let first = global().push();
        assert_ne!(words_of(first), [0; 3]);
        assert_eq!(global().pop(first), Ok(0));
        // The first one's pools are freed, so this one's have the same numbers.
        let next = global().push();
        assert_eq!(global().pop(first), Err(PopError::Stale));
        assert_eq!(global().pop(next), Ok(0));
    });
}

#[test]
fn token_left_open_in_a_tls_destructor_is_drained_in_the_end() {
    for when in ALWAYS {
        // A probe would ask std for the thread, which std may have forgotten by then.
        let drained = Arc::new(AtomicUsize::new(0));
        let (inner, ended) = (drained.clone(), drained.clone());
        at_teardown(when, move || {
            let _left = global().push();
            autorelease(Ref::new(on_drop(move || {
                inner.fetch_add(1, Ordering::Relaxed);
            })));
            assert_eq!(ended.load(Ordering::Relaxed), 0, "{when:?}");
        });
        assert_eq!(drained.load(Ordering::Relaxed), 1, "{when:?}");
    }
}

#[test]
fn token_pushed_before_our_exit_is_refused_after_it() {
    thread_local!(static TOKEN: Cell<Option<releasepool::pool::PoolToken>> = const { Cell::new(None) });
    let log = log_to_the_end(|log| {
        push_work(move || {
            assert!(global().pop(TOKEN.get().unwrap()).is_err());
            log.note(1);
        });
        TOKEN.set(Some(global().push()));
        autorelease(Ref::new(log.probe(0)));
    });
    assert_eq!(log.ids(), [0, 1], "our exit drained it");
}

#[test]
fn the_manager_answers_in_every_tls_destructor() {
    for when in ALWAYS {
        let noted = notes(when, move |_| {
            let manager = global();
            let this = manager.current_thread();
            let known = manager.thread_by_id(thread::current().id());
            let is_known = [this, known].map(|handle| handle.is_some());
            assert_eq!(is_known, [when != AfterOurExit; 2], "{when:?}");
            assert_eq!(manager.drain_root(), 0);
            assert_eq!(manager.drain_root_beyond_watermark(), 0);
            assert_eq!(manager.run_inbox(), 0);
            assert!(!manager.contains(&Ref::new(1)));
            manager.threads();
            assert!(!manager.snapshot().to_string().is_empty());
            manager.quiesce(Duration::ZERO);
            let _ = PoolManager::new().shutdown(Duration::ZERO);
            assert!(PoolManager::builder().name("late").build().name().is_some());
        });
        assert_eq!(noted, [1_000], "{when:?}");
    }
}

#[test]
fn a_thread_can_send_to_itself_until_its_exit_and_nothing_is_lost_after() {
    let log = log_to_the_end(|log| {
        HANDLE.set(None);
        push_work(move || {
            let gone = HANDLE.take().unwrap();
            assert!(!gone.is_alive());
            let refused = gone.post(move || log.note(2)).unwrap_err();
            (refused.0)();
            gone.release(Ref::new(log.probe(3)));
            // Any outermost drain may be the one that finds it.
            drop(AutoreleasePool::new());
        });
        let me = global().current_thread().unwrap();
        use_the_crate();
        me.release(Ref::new(log.probe(1)));
        HANDLE.set(Some(me));
    });
    thread_local! {
        static HANDLE: Cell<Option<releasepool::ThreadHandle>> = const { Cell::new(None) };
    }
    crate::support::quiesce_until(|| log.count() >= 3);
    assert_eq!(log.ids(), [1, 2, 3]);
}

#[test]
fn quiesce_in_every_tls_destructor_releases_what_was_orphaned() {
    // This runs in a process of its own, so that no other thread runs the orphan or adds one.
    alone!();
    for when in ALWAYS {
        let log = Log::new();
        let gone = fresh_to_the_end(|| global().current_thread().unwrap());
        let handed_over = || global().snapshot().departed.handed_over;
        let before = handed_over();
        at_teardown(when, move || {
            gone.release(Ref::new(log.probe(0)));
            assert!(global().quiesce(Duration::ZERO));
            assert_eq!(log.ids(), [0], "{when:?}");
        });
        assert_eq!(log.ids(), [0]);
        assert_eq!(handed_over() - before, 1, "{when:?}");
    }
}

#[test]
fn guards_kept_in_a_thread_local_are_used_by_other_destructors_after_our_exit() {
    let log = log_to_the_end(|log| {
        GUARDS.with(|_| ());
        push_work(move || {
            assert!(global().current_thread().is_none(), "after our exit");
            GUARDS.with(|guards| {
                let mut guards = guards.borrow_mut();
                let lent = guards[0].create(log.probe(1));
                assert_eq!(lent.id, 1);
                assert_eq!(guards[0].drain(), 2);
                guards[0].create(log.probe(2));
                guards.push(AutoreleasePool::new());
                guards[1].create(log.probe(3));
                drop(guards.swap_remove(0));
                log.note(4);
            });
        });
        let pool = AutoreleasePool::new();
        pool.create(log.probe(0));
        GUARDS.with(|guards| guards.borrow_mut().push(pool));
    });
    assert_eq!(log.ids(), [1, 0, 2, 4, 3]);
}

#[test]
fn what_shutdown_has_asked_before_our_exit_is_not_done_by_a_drain_after_it() {
    thread_to_the_end(|| {
        let manager = PoolManager::new();
        let kept = std::rc::Rc::new(Cell::new(None::<AutoreleasePool>));
        let (there, late) = (kept.clone(), manager.clone());
        push_work(move || _ = there.take().unwrap().drain_within(Budget::All));
        let pool = manager.pool();
        pool.create(on_drop(move || {
            let added = Ref::new(1);
            let weak = Ref::downgrade(&added);
            late.autorelease(added);
            assert!(weak.upgrade().is_some(), "in the pool that is drained");
        }));
        // Counts as two releases, so that the other entry is left to the drain's second round.
        pool.create(Ref::new(String::new()));
        kept.set(Some(pool));
        fresh(|| manager.shutdown(Duration::ZERO)).unwrap_err();
    });
}

#[test]
fn guards_may_be_dropped_after_our_exit_oldest_first() {
    let log = log_to_the_end(|log| {
        GUARDS.with(|_| ());
        for id in 0..3 {
            let pool = AutoreleasePool::new();
            pool.create(log.probe(id));
            GUARDS.with(|guards| guards.borrow_mut().push(pool));
        }
    });
    assert_eq!(log.ids(), [0, 1, 2]);
}

#[test]
fn refs_in_a_thread_local_die_with_it_and_autorelease_then() {
    for late in [false, true] {
        let log = Log::new();
        thread_to_the_end(move || {
            if !late {
                use_the_crate();
            }
            REFS.with(|refs| {
                let held = on_drop(move || {
                    autorelease(Ref::new(log.probe(1)));
                    autoreleasepool(|pool| pool.create(log.probe(2)).id);
                    log.note(3);
                });
                let object = Ref::new(move || _ = &held);
                refs.borrow_mut()
                    .push(releasepool::unsize!(object => dyn Fn()));
            });
        });
        let expected = if late { [1, 2, 3] } else { [2, 3, 1] };
        assert_eq!(log.ids(), expected, "late: {late}");
    }
}

#[test]
fn thread_local_that_is_first_used_by_our_exit_is_torn_down_too() {
    let log = log_to_the_end(|log| {
        autorelease(Ref::new(on_drop(move || {
            push_work(move || {
                autorelease(Ref::new(log.probe(1)));
                log.note(2);
            });
            log.note(0);
        })));
    });
    assert_eq!(log.ids(), [0, 1, 2]);
}

#[test]
fn all_tokens_left_open_after_our_exit_are_drained_in_the_end() {
    let drained = Arc::new(AtomicUsize::new(0));
    let inner = drained.clone();
    at_teardown(AfterOurExit, move || {
        for manager in [global().clone(), global().clone(), PoolManager::new()] {
            let (_left, drained) = (manager.push(), inner.clone());
            let count = move || _ = drained.fetch_add(1, Ordering::Relaxed);
            manager.autorelease(Ref::new(on_drop(count)));
        }
    });
    assert_eq!(drained.load(Ordering::Relaxed), 3);
}

#[test]
fn tokens_that_destructors_push_for_ever_after_our_exit_are_left_in_the_end() {
    static DESTROYED: AtomicUsize = AtomicUsize::new(0);
    fn push(n: u32) {
        let _left = global().push();
        autorelease(Ref::new(on_drop(move || {
            DESTROYED.fetch_add(1, Ordering::Relaxed);
            if n > 0 {
                push(n - 1);
            }
        })));
    }
    // This runs in a process of its own, in which what is left stays.
    alone!();
    at_teardown(AfterOurExit, || push(20_000));
    // The system may run what pops them several times, each time for 1,000 pools.
    let destroyed = DESTROYED.load(Ordering::Relaxed);
    assert!(destroyed > 0 && destroyed % 1_000 == 0, "{destroyed}");
}
