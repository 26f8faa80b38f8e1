//! Token pools.

use crate::pool::nesting::open_pools;
use crate::support::{
    Log, events, events_of, fresh, fresh_to_the_end, global, listen, named_to_the_end, on_drop,
    panic_of,
};
use releasepool::event::EventKind;
use releasepool::{
    AutoreleasePool, FrameConfig, FrameLoop, PoolManager, PopError, Ref, autorelease,
    autoreleasepool, callback_scope, pooled,
};
use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

#[test]
fn pop_that_destructors_feed_with_new_token_pools_is_reported_once() {
    struct Pushing(u32);
    impl Drop for Pushing {
        fn drop(&mut self) {
            if self.0 > 0 {
                let _left = PoolManager::global().push();
                autorelease(Ref::new(Pushing(self.0 - 1)));
            }
        }
    }
    fresh(|| {
        listen();
        let token = PoolManager::global().push();
        autorelease(Ref::new(Pushing(2_500)));
        assert_eq!(PoolManager::global().pop(token), Ok(2_501));
        let told = events(EventKind::EndlessDrain);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(
            (told[0].pool.as_deref(), told[0].count),
            (Some("token"), 1_000)
        );
    });
}

#[test]
fn pop_of_a_thousand_token_pools_is_not_endless() {
    fresh(|| {
        let push = |_| {
            let token = global().push();
            autorelease(Ref::new(0));
            token
        };
        let tokens: Vec<_> = (0..1_000).map(push).collect();
        assert_eq!(global().pop(tokens[0]), Ok(1_000));
        assert_eq!(events(EventKind::EndlessDrain).len(), 0);
    });
}

#[test]
fn tokens_of_many_pools_each_name_their_own() {
    fresh(|| {
        let manager = PoolManager::new();
        let log = Log::new();
        let push = |id| {
            let token = manager.push();
            manager.autorelease(Ref::new(log.probe(id)));
            token
        };
        let tokens: Vec<_> = (0..100).map(push).collect();
        for (id, &token) in tokens.iter().enumerate().rev() {
            assert_eq!(manager.pop(token), Ok(1));
            assert_eq!(log.ids().last(), Some(&(id as u32)));
        }
    });
}

#[test]
fn a_token_pool_is_current_until_it_is_popped() {
    fresh(|| {
        let log = Log::new();
        let token = global().push();
        autorelease(Ref::new(log.probe(0)));
        autorelease(Ref::new(log.probe(1)));
        assert_eq!(global().pop(token), Ok(2));
        assert_eq!(log.ids(), [1, 0]);
        autorelease(Ref::new(log.probe(2)));
        assert_eq!(global().drain_root(), 1);
    });
}

#[test]
fn token_popped_with_inner_token_pools_open_drains_them_too() {
    fresh(|| {
        let log = Log::new();
        let outermost = global().push();
        let outer = global().push();
        autorelease(Ref::new(log.probe(0)));
        let inner: Vec<_> = (1..=3)
            .map(|id| {
                let token = global().push();
                autorelease(Ref::new(log.probe(id)));
                token
            })
            .collect();
        assert_eq!(global().pop(outer), Ok(4));
        assert_eq!(log.ids(), [3, 2, 1, 0], "inner pools first");
        for token in inner {
            assert_eq!(global().pop(token), Err(PopError::Stale));
        }
        assert_eq!(
            global().pop(outermost),
            Ok(0),
            "the outer one was left alone"
        );
    });
}

#[test]
fn token_popped_with_an_inner_guard_pool_open_leaves_it_valid_and_untouched() {
    fresh(|| {
        let log = Log::new();
        let outer = global().push();
        autorelease(Ref::new(log.probe(0)));
        let guard = AutoreleasePool::new();
        let lent = guard.create(log.probe(1));
        let inner = global().push();
        autorelease(Ref::new(log.probe(2)));

        assert_eq!(global().pop(outer), Ok(2));
        assert_eq!(log.ids(), [2, 0], "token pools drain");
        assert_eq!((guard.len(), lent.id), (1, 1));
        assert_eq!(global().pop(inner), Err(PopError::Stale));
        autorelease(Ref::new(log.probe(3)));
        assert_eq!(
            guard.len(),
            1,
            "the pool that was current before the push is current again"
        );
        guard.create(log.probe(4));
        drop(guard);
        assert_eq!(log.ids(), [2, 0, 4, 1]);
        assert_eq!(global().drain_root(), 1);
    });
}

#[test]
fn guard_dropped_with_an_inner_token_pool_open_leaves_it_valid() {
    fresh(|| {
        let log = Log::new();
        let guard = AutoreleasePool::new();
        let token = global().push();
        autorelease(Ref::new(log.probe(0)));
        drop(guard);
        assert_eq!(log.count(), 0);
        assert_eq!(global().pop(token), Ok(1));
        assert_eq!(log.ids(), [0]);
    });
}

#[test]
fn token_popped_by_a_destructor_that_the_same_drain_runs_is_an_error() {
    fresh(|| {
        let outer = global().push();
        let token = global().push();
        let seen = Rc::new(Cell::new(None));
        let keep = seen.clone();
        autorelease(Ref::new(on_drop(move || {
            keep.set(Some((global().pop(token), global().pop(outer))));
        })));
        assert_eq!(global().pop(token), Ok(1), "the drain continues");
        let draining = Err(PopError::Draining);
        assert_eq!(
            seen.get(),
            Some((draining, draining)),
            "the drained pool is inside the outer one"
        );
        assert_eq!(global().pop(token), Err(PopError::Stale));
        assert_eq!(global().pop(outer), Ok(0));
    });
}

#[test]
fn destructor_autoreleases_while_its_pool_is_popped() {
    // If a lock were held during the drain, this thread would take it twice.
    fresh(|| {
        let log = Log::new();
        let token = global().push();
        let inner_log = log.clone();
        autorelease(Ref::new(on_drop(move || {
            let token = global().push();
            autorelease(Ref::new(inner_log.probe(0)));
            assert!(global().current_thread().is_some());
            assert_eq!(global().pop(token), Ok(1));
            autorelease(Ref::new(inner_log.probe(1)));
        })));
        assert_eq!(global().pop(token), Ok(2));
        assert_eq!(log.ids(), [0, 1]);
    });
}

#[test]
fn token_pushed_and_popped_by_a_destructor_that_a_drain_runs_is_fine() {
    fresh(|| {
        let log = Log::new();
        let token = global().push();
        let inner_log = log.clone();
        autorelease(Ref::new(on_drop(move || {
            let nested = global().push();
            autorelease(Ref::new(inner_log.probe(0)));
            assert_eq!(global().pop(nested), Ok(1));
            assert_eq!(global().pop(nested), Err(PopError::Stale));
        })));
        assert_eq!(global().pop(token), Ok(1));
        assert_eq!(log.ids(), [0]);
    });
}

#[test]
fn token_pushed_by_a_destructor_and_left_is_drained_by_the_same_pop() {
    fresh(|| {
        let log = Log::new();
        let token = global().push();
        let left = Rc::new(Cell::new(None));
        let (keep, inner_log) = (left.clone(), log.clone());
        autorelease(Ref::new(on_drop(move || {
            keep.set(Some(global().push()));
            autorelease(Ref::new(inner_log.probe(0)));
        })));
        assert_eq!(global().pop(token), Ok(2));
        assert_eq!(log.ids(), [0]);
        assert_eq!(global().pop(left.get().unwrap()), Err(PopError::Stale));
        autorelease(Ref::new(0));
        assert_eq!(global().drain_root(), 1, "no pool is current");
    });
}

#[test]
fn outer_token_popped_by_a_destructor_in_a_guard_pools_drain() {
    fresh(|| {
        let log = Log::new();
        let token = global().push();
        autorelease(Ref::new(log.probe(0)));
        let mut guard = AutoreleasePool::new();
        guard.create(log.probe(1));
        let inner_log = log.clone();
        guard.create(on_drop(move || {
            assert_eq!(global().pop(token), Ok(1));
            inner_log.note(2);
            autorelease(Ref::new(inner_log.probe(3)));
        }));
        assert_eq!(guard.drain(), 3, "the drain's own pool stays current in it");
        assert_eq!(log.ids(), [0, 2, 3, 1]);
        assert_eq!(guard.drain(), 0);
    });
}

#[test]
fn token_popped_twice_is_stale() {
    fresh(|| {
        let token = global().push();
        assert_eq!(global().pop(token), Ok(0));
        assert_eq!(global().pop(token), Err(PopError::Stale));
        // Also after its pool state has been reused.
        let again = global().push();
        assert_ne!(again, token);
        assert_eq!(global().pop(token), Err(PopError::Stale));
        assert_eq!(global().pop(again), Ok(0));
        let guard = AutoreleasePool::new();
        assert_eq!(global().pop(token), Err(PopError::Stale));
        assert_eq!(global().pop(again), Err(PopError::Stale));
        drop(guard);
    });
}

#[test]
fn stale_tokens_stay_stale_however_often_their_place_is_reused() {
    fresh(|| {
        let mut old = Vec::new();
        for _ in 0..if cfg!(miri) { 20 } else { 200 } {
            let token = global().push();
            for stale in &old {
                assert_eq!(global().pop(*stale), Err(PopError::Stale));
            }
            global().pop(token).unwrap();
            old.push(token);
        }
    });
}

#[test]
fn token_popped_on_another_thread_is_an_error() {
    fresh(|| {
        let log = Log::new();
        let token = global().push();
        autorelease(Ref::new(log.probe(0)));
        let owner = global().current_thread().unwrap().key();
        let wrong = fresh(move || global().pop(token));
        assert_eq!(wrong, Err(PopError::WrongThread { owner }));
        assert_eq!(log.count(), 0, "the failed pop has done nothing");
        assert_eq!(global().pop(token), Ok(1));
        assert_eq!(
            fresh(move || global().pop(token)),
            Err(PopError::WrongThread { owner })
        );
    });
}

#[test]
fn token_of_a_thread_that_has_ended_is_an_error_even_on_its_successor() {
    // The next thread is likely to get the registry slot of the previous one.
    for _ in 0..20 {
        let (token, owner) = fresh(|| (global().push(), global().current_thread().unwrap().key()));
        let popped = fresh(move || {
            let mine = global().push();
            assert_ne!(token, mine);
            let popped = global().pop(token);
            assert_eq!(global().pop(mine), Ok(0));
            popped
        });
        assert_eq!(popped, Err(PopError::WrongThread { owner }));
    }
}

#[test]
fn token_popped_by_another_manager_is_an_error() {
    fresh(|| {
        let other = PoolManager::new();
        let token = global().push();
        assert_eq!(other.pop(token), Err(PopError::WrongManager));
        let theirs = other.push();
        assert_eq!(global().pop(theirs), Err(PopError::WrongManager));
        assert_eq!(
            other.clone().pop(theirs),
            Ok(0),
            "a clone is the same manager"
        );
        assert_eq!(global().pop(token), Ok(0));
    });
}

#[test]
fn pops_out_of_order_never_pop_the_wrong_pool() {
    fresh(|| {
        let log = Log::new();
        let tokens: Vec<_> = (0..3)
            .map(|id| {
                let token = global().push();
                autorelease(Ref::new(log.probe(id)));
                token
            })
            .collect();
        assert_eq!(global().pop(tokens[1]), Ok(2));
        assert_eq!(log.ids(), [2, 1]);
        assert_eq!(global().pop(tokens[2]), Err(PopError::Stale));
        autorelease(Ref::new(log.probe(3)));
        assert_eq!(global().pop(tokens[0]), Ok(2));
        assert_eq!(log.ids(), [2, 1, 3, 0]);
    });
}

#[test]
fn pop_errors_say_what_is_wrong() {
    let key = global().current_thread().unwrap().key();
    let errors = [
        PopError::Stale,
        PopError::WrongThread { owner: key },
        PopError::WrongManager,
        PopError::Draining,
    ];
    for (i, error) in errors.iter().enumerate() {
        let text = error.to_string();
        assert!(!text.is_empty() && !format!("{error:?}").is_empty());
        assert!(errors[..i].iter().all(|other| other.to_string() != text));
    }
    assert!(errors[1].to_string().contains(&key.to_string()));
}

/// Autoreleases, into the current pool, an object that panics in its destructor, after another one,
/// when the pool is popped: its payload is only reported, and `then` runs when it is dropped.
fn panic_and_then(then: impl FnOnce() + Send + 'static) {
    let payload = on_drop(then);
    autorelease(Ref::new(on_drop(move || std::panic::panic_any(payload))));
    let _inner = global().push();
    autorelease(Ref::new(on_drop(|| panic!("the first"))));
}

#[test]
fn token_popped_by_the_payload_of_a_panic_in_its_own_pop_closes_no_other_pool() {
    fresh(|| {
        let log = Log::new();
        let outer = global().push();
        autorelease(Ref::new(log.probe(0)));
        let token = global().push();
        let _middle = global().push();
        let popped = Log::new();
        let inner_popped = popped.clone();
        panic_and_then(move || {
            assert_eq!(global().pop(token), Ok(0), "it is empty, but still open");
            inner_popped.note(0);
        });
        assert_eq!(panic_of(|| global().pop(token)), "the first");
        assert_eq!(popped.count(), 1);
        assert_eq!(log.count(), 0, "the outer pool is still open");
        assert_eq!(global().pop(outer), Ok(1));
    });
}

#[test]
fn token_pushed_by_the_payload_of_a_panic_in_a_pop_is_distinct_from_the_popped_one() {
    let log = Log::new();
    let inner_log = log.clone();
    fresh_to_the_end(move || {
        let token = global().push();
        panic_and_then(move || {
            let _ = global().pop(token);
            let _left = global().push();
            autorelease(Ref::new(inner_log.probe(0)));
        });
        assert_eq!(panic_of(|| global().pop(token)), "the first");
        assert_eq!(global().pop(token), Err(PopError::Stale));
    });
    assert_eq!(log.ids(), [0], "at the end of the thread at the latest");
}

/// Pushes a token and does not pop it; returns the line of the push.
fn left_open(log: &Log, id: u32) -> u32 {
    _ = global().push_named("left");
    autorelease(Ref::new(log.probe(id)));
    line!() - 2
}

#[test]
fn the_end_of_a_scope_pops_the_tokens_that_were_pushed_in_it_and_says_where() {
    type Scope = (&'static str, fn(&dyn Fn()));
    const SCOPES: [Scope; 6] = [
        ("closure", |f| autoreleasepool(|_| f())),
        ("callback", |f| callback_scope(|_| f())),
        ("poll", |f| {
            let poll = pin!(pooled(async { f() })).poll(&mut Context::from_waker(Waker::noop()));
            assert!(poll.is_ready());
        }),
        ("frame", |f| {
            _ = FrameLoop::new(FrameConfig::new().unlimited()).tick(|_| f());
        }),
        ("token", |f| {
            let outer = global().push();
            f();
            assert_eq!(global().pop(outer), Ok(2));
        }),
        ("panic", |f| {
            panic_of(|| {
                autoreleasepool(|_| {
                    f();
                    panic!("out of the scope");
                })
            });
        }),
    ];
    for (name, scope) in SCOPES {
        fresh(|| {
            let log = Log::new();
            let outer = AutoreleasePool::new();
            let line = Cell::new(0);
            scope(&|| {
                left_open(&log, 1);
                line.set(left_open(&log, 2));
                std::mem::forget(AutoreleasePool::new());
            });
            assert_eq!(log.ids(), [2, 1], "{name}");
            assert_eq!(open_pools(), 2, "{name}: the outer and the forgotten one");
            autorelease(Ref::new(log.probe(3)));
            assert_eq!(outer.len(), 1, "{name}");
            for event in events(EventKind::TokenLeft) {
                let site = event.site.unwrap();
                assert_eq!((site.file(), site.line()), (file!(), line.get()), "{name}");
                assert!(
                    event
                        .to_string()
                        .contains("\"left\": the token pool pushed at tests"),
                    "{event}"
                );
            }
        });
    }
}

#[test]
fn a_guard_s_end_leaves_the_tokens_that_were_pushed_under_it() {
    fresh(|| {
        let log = Log::new();
        let guard = AutoreleasePool::new();
        left_open(&log, 1);
        drop(guard);
        assert_eq!((log.count(), open_pools()), (0, 1));
        autorelease(Ref::new(log.probe(2)));
        assert_eq!(global().drain_root(), 0, "it stays current");
    });
}

#[test]
fn tokens_that_a_destructor_leaves_open_are_popped_by_the_drain_however_many_lead_to_others() {
    /// Pushes a token pool, and autoreleases the next one into it.
    struct Next(u32);
    impl Drop for Next {
        fn drop(&mut self) {
            if self.0 > 0 {
                _ = global().push();
                autorelease(Ref::new(Next(self.0 - 1)));
            }
        }
    }
    const N: u32 = if cfg!(miri) { 50 } else { 20_000 };
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(Next(N));
        pool.drain();
        assert_eq!(open_pools(), 1);
        let token = global().push();
        autorelease(Ref::new(Next(N)));
        assert_eq!(global().pop(token), Ok(N as usize + 1));
        assert_eq!(open_pools(), 1);
    });
}

#[test]
fn pools_that_pile_up_are_reported_while_they_do() {
    named_to_the_end("piles up", || {
        let guard = AutoreleasePool::new();
        let log = Log::new();
        for id in 0..5_000 {
            left_open(&log, id);
        }
        let told = events(EventKind::PoolsOpen);
        assert_eq!(
            told.iter().map(|event| event.count).collect::<Vec<_>>(),
            [1_024, 2_048, 4_096]
        );
        assert!(
            told[0]
                .to_string()
                .contains("1,024 pools open, the newest token pool pushed at tests")
        );
        drop(guard);
    });
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn a_thread_ends_with_more_open_tokens_than_generations_are_allowed() {
    let log = Log::new();
    let inner = log.clone();
    let thread = named_to_the_end("many tokens", move || {
        for id in 0..150_000 {
            left_open(&inner, id);
        }
        std::thread::current().id()
    });
    assert_eq!(log.count(), 150_000);
    let told = events_of(thread);
    assert!(
        told.iter().all(|event| event.kind == EventKind::PoolsOpen),
        "{told:?}"
    );
}
