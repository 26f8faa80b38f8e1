//! Token pools.

use crate::pool::nesting::open_pools;
use crate::support::{
    Chain, Log, events, events_of, figures, fresh, fresh_to_the_end, global, here, listen, me,
    named_to_the_end, on_drop, only_event, panic_of, react, with_log,
};
use releasepool::event::EventKind;
use releasepool::frame::FrameConfig;
use releasepool::pool::PopError;
use releasepool::raw::close_pool;
use releasepool::{
    AutoreleasePool, FrameLoop, PoolManager, Ref, autorelease, autoreleasepool, callback_scope,
    pooled,
};
use std::cell::Cell;
use std::pin::pin;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};

/// Pushes a token pool when it is dropped, and autoreleases the next one into it.
struct Pushing(u32);

impl Drop for Pushing {
    fn drop(&mut self) {
        if self.0 > 0 {
            _ = global().push();
            autorelease(Ref::new(Pushing(self.0 - 1)));
        }
    }
}

#[test]
fn pop_that_destructors_feed_with_new_token_pools_is_reported_once() {
    listen();
    let token = global().push();
    autorelease(Ref::new(Pushing(2_500)));
    assert_eq!(global().pop(token), Ok(2_501));
    let told = only_event(EventKind::EndlessDrain);
    assert_eq!((told.pool.as_deref(), told.count), (Some("token"), 1_000));
}

#[test]
fn pop_of_a_thousand_token_pools_is_not_endless() {
    listen();
    let push = |_| {
        let token = global().push();
        autorelease(Ref::new(0));
        token
    };
    let empty = global().push();
    (0..1_000).map(push).for_each(drop);
    assert_eq!(global().pop(empty), Ok(1_000));
    let lowest = global().push();
    (0..1_000).for_each(|_| _ = global().push());
    assert_eq!(global().pop(lowest), Ok(0), "all are empty");
    assert_eq!(events(EventKind::EndlessDrain).len(), 0);
}

#[test]
fn token_of_a_thread_that_has_ended_is_an_error_even_on_its_successor() {
    // The next thread is likely to get the registry slot of the previous one.
    for _ in 0..20 {
        let (token, owner) = fresh(|| (global().push(), me().key()));
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
fn pop_errors_say_what_is_wrong() {
    let key = me().key();
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
    let log = Log::new();
    let outer = global().push();
    autorelease(Ref::new(log.probe(0)));
    let token = global().push();
    let _middle = global().push();
    let popped = Log::new();
    panic_and_then(move || {
        assert_eq!(global().pop(token), Ok(0), "it is empty, but still open");
        popped.note(0);
    });
    assert_eq!(panic_of(|| global().pop(token)), "the first");
    assert_eq!(popped.count(), 1);
    assert_eq!(log.count(), 0, "the outer pool is still open");
    assert_eq!(global().pop(outer), Ok(1));
}

#[test]
fn token_pushed_by_the_payload_of_a_panic_in_a_pop_is_distinct_from_the_popped_one() {
    let log = Log::new();
    fresh_to_the_end(move || {
        let token = global().push();
        panic_and_then(move || {
            let _ = global().pop(token);
            let _left = global().push();
            autorelease(Ref::new(log.probe(0)));
        });
        assert_eq!(panic_of(|| global().pop(token)), "the first");
        assert_eq!(global().pop(token), Err(PopError::Stale));
    });
    assert_eq!(log.ids(), [0], "at the end of the thread at the latest");
}

/// Pushes a token and does not pop it; returns the line of the push.
fn left_open(log: Log, id: u32) -> u32 {
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
        with_log(|log| {
            let outermost = global().push();
            let outer = AutoreleasePool::new();
            let line = Cell::new(0);
            scope(&|| {
                left_open(log, 1);
                line.set(left_open(log, 2));
                std::mem::forget(AutoreleasePool::new());
            });
            assert_eq!(log.ids(), [2, 1], "{name}");
            assert_eq!(open_pools(), 3, "{name}: both outer and the forgotten one");
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
            assert_eq!(global().pop(outermost), Ok(0), "{name}");
        });
    }
}

#[test]
fn tokens_that_a_destructor_leaves_open_are_popped_by_the_drain_however_many_lead_to_others() {
    const N: u32 = if cfg!(miri) { 50 } else { 20_000 };
    let mut pool = AutoreleasePool::new();
    pool.create(Pushing(N));
    pool.drain();
    assert_eq!(open_pools(), 1);
    let token = global().push();
    autorelease(Ref::new(Pushing(N)));
    assert_eq!(global().pop(token), Ok(N as usize + 1));
    assert_eq!(open_pools(), 1);
}

#[test]
fn pools_that_pile_up_are_reported_while_they_do() {
    named_to_the_end("piles up", || {
        let guard = AutoreleasePool::new();
        let log = Log::new();
        for id in 0..5_000 {
            left_open(log, id);
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
fn a_token_pool_that_is_closed_alone_leaves_those_above_it_open() {
    let tokens = [(); 4].map(|()| global().push());
    assert_eq!(close_pool(tokens[0]), Ok(0));
    assert_eq!((open_pools(), global().pop(tokens[1])), (3, Ok(0)));
    assert_eq!(open_pools(), 0);
}

#[test]
fn token_with_one_inside_that_is_being_drained_is_refused_whatever_the_destructor_pushes() {
    let outer = global().push();
    let inner = global().push();
    autorelease(Ref::new(on_drop(move || {
        let last = global().push();
        assert_eq!(global().pop(outer), Err(PopError::Draining));
        assert_eq!(global().pop(last), Ok(0));
        assert_eq!(global().pop(outer), Err(PopError::Draining));
    })));
    assert_eq!(global().pop(inner), Ok(1));
    assert_eq!(global().pop(outer), Ok(0));
}

#[test]
fn the_hook_may_open_all_pools_that_were_made_and_is_told_of_tokens_of_any_manager() {
    static MANAGER: LazyLock<PoolManager> = LazyLock::new(PoolManager::new);
    named_to_the_end("opens in the hook", || {
        react(|event| {
            if event.kind == EventKind::PoolsOpen {
                // Pools are made 32 at a time.
                (0..32).for_each(|_| _ = MANAGER.push());
            }
        });
        let tokens = [(); 1_025].map(|()| MANAGER.push());
        assert!(only_event(EventKind::PoolsOpen).site.is_some());
        assert_eq!(figures(&MANAGER).open_pools, 1_025 + 32);
        assert_eq!(MANAGER.pop(tokens[0]), Ok(0));
    });
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn a_thread_ends_with_more_open_tokens_than_generations_are_allowed() {
    let log = Log::new();
    let thread = named_to_the_end("many tokens", move || {
        // More than 100,000.
        for id in 0..110_000 {
            left_open(log, id);
        }
        here()
    });
    assert_eq!(log.count(), 110_000);
    let told = events_of(thread);
    assert!(
        told.iter().all(|event| event.kind == EventKind::PoolsOpen),
        "{told:?}"
    );
}

#[test]
fn tokens_that_objects_of_the_hook_leave_open_in_a_drain_are_popped_too() {
    react(|event| {
        if event.pool.as_deref() == Some("the hook is told of") {
            autorelease(Ref::new(on_drop(|| _ = global().push())));
        }
    });
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(|| _ = global().push_named("the hook is told of")));
    assert_eq!(pool.drain(), 2, "the hook's object, too");
    assert_eq!(open_pools(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "a long chain takes minutes")]
fn tokens_that_objects_push_which_the_hook_has_queued_are_popped_too() {
    static RELEASED: AtomicU32 = AtomicU32::new(0);
    react(|event| {
        if event.pool.as_deref() == Some("the hook queues") {
            let count = || _ = RELEASED.fetch_add(1, Ordering::Relaxed);
            drop(Chain::ending_in(move || {
                _ = global().push();
                autorelease(Ref::new(on_drop(count)));
            }));
        }
    });
    let pool = AutoreleasePool::new();
    // More than few.
    (0..100).for_each(|n| _ = pool.create(n));
    pool.create(on_drop(|| _ = global().push_named("the hook queues")));
    drop(pool);
    assert_eq!((RELEASED.load(Ordering::Relaxed), open_pools()), (1, 0));
}
