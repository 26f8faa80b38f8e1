//! Every way of draining, with a destructor inside that exits the process or panics, and at the end of a
//! thread.

use crate::support::teardown::{ALWAYS, at_teardown};
use crate::support::{alone, child, fresh, fresh_to_the_end, global};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, Looper, PoolManager, Ref, autorelease,
    autoreleasepool, callback_scope, frame::FrameConfig, pooled,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::time::Duration;

/// Calls a function when it is dropped.
struct Calls(fn());

impl Drop for Calls {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn object(act: fn()) -> Ref<Calls> {
    Ref::new(Calls(act))
}

/// Drains, one way each, while one object's destructor calls `act`; all others call `quiet`.
mod ways {
    use super::*;

    pub fn guard_drop(act: fn()) {
        let pool = AutoreleasePool::new();
        pool.create(Calls(quiet));
        pool.create(Calls(act));
    }

    pub fn guard_drain(act: fn()) {
        let mut pool = AutoreleasePool::new();
        for act in [quiet, act, quiet, quiet, quiet, quiet] {
            pool.create(Calls(act));
        }
        pool.drain();
    }

    pub fn drain_within(act: fn()) {
        let mut pool = AutoreleasePool::new();
        pool.create(Calls(act));
        pool.drain_within(Budget::Count(5));
    }

    pub fn drain_backlog(act: fn()) {
        let mut pool = AutoreleasePool::new();
        pool.create(Calls(act));
        pool.drain_within(Budget::Count(0));
        global().drain_backlog(Budget::All);
    }

    pub fn scope(act: fn()) {
        autoreleasepool(|_| autorelease(object(act)));
    }

    pub fn scope_whose_guard_is_replaced(act: fn()) {
        autoreleasepool(|pool| {
            autorelease(object(quiet));
            *pool = AutoreleasePool::new();
            autorelease(object(act));
        });
    }

    pub fn token(act: fn()) {
        let token = global().push();
        autorelease(object(act));
        _ = global().pop(token);
    }

    pub fn outer_token(act: fn()) {
        let outer = global().push();
        autorelease(object(quiet));
        _ = global().push();
        autorelease(object(act));
        _ = global().push_named("innermost");
        autorelease(object(quiet));
        _ = global().pop(outer);
    }

    pub fn token_of_another_manager(act: fn()) {
        let manager = PoolManager::new();
        let token = manager.push();
        manager.autorelease(object(act));
        _ = manager.pop(token);
    }

    pub fn token_left_in_a_scope(act: fn()) {
        autoreleasepool(|_| {
            _ = global().push();
            autorelease(object(act));
        });
    }

    pub fn token_left_in_a_drain(act: fn()) {
        struct Leaves(fn());
        impl Drop for Leaves {
            fn drop(&mut self) {
                _ = global().push();
                autorelease(object(self.0));
            }
        }
        AutoreleasePool::new().create(Leaves(act));
    }

    pub fn root(act: fn()) {
        autorelease(object(act));
        autorelease(object(quiet));
        global().drain_root();
    }

    pub fn handoff(act: fn()) {
        let mut pool = HandoffPool::new();
        pool.autorelease(object(act));
        pool.drain();
    }

    pub fn inbox(act: fn()) {
        match global().current_thread() {
            Some(me) => me.release(object(act)),
            None => drop(object(act)),
        }
        global().run_inbox();
    }

    pub fn frame(act: fn()) {
        if global().current_thread().is_some() {
            let mut frames = FrameLoop::new(FrameConfig::new());
            frames.tick(|_| autorelease(object(act)));
        } else {
            act();
        }
    }

    pub fn callback(act: fn()) {
        autorelease(object(act));
        callback_scope(|_| autorelease(object(quiet)));
    }

    pub fn poll(act: fn()) {
        let future = pin!(pooled(async { autorelease(object(act)) }));
        _ = future.poll(&mut Context::from_waker(Waker::noop()));
    }

    pub fn looper(act: fn()) {
        let looper = Looper::spawn("looper").unwrap();
        looper.post(move || autorelease(object(act))).unwrap();
        looper.call(|| ()).unwrap();
    }

    pub fn shutdown(act: fn()) {
        autorelease(object(act));
        _ = global().shutdown(Duration::ZERO);
    }

    pub fn end_of_a_thread(act: fn()) {
        fresh_to_the_end(move || {
            autorelease(object(act));
            _ = global().push();
            autorelease(object(quiet));
        });
    }
}

/// The ways that report a panic of another thread instead of resuming it.
const REPORT: [&str; 2] = ["looper", "end_of_a_thread"];

static QUIET: AtomicUsize = AtomicUsize::new(0);

fn quiet() {
    QUIET.fetch_add(1, SeqCst);
}

fn panics() {
    if !std::thread::panicking() {
        panic!("in a destructor");
    }
}

fn exits() {
    std::process::exit(7);
}

macro_rules! ways {
    ($($way:ident)*) => {
        const WAYS: &[(&str, fn(fn()))] = &[$((stringify!($way), ways::$way)),*];

        mod the_process_exits {
            use super::*;
            $(
                #[test]
                #[cfg_attr(
                    target_env = "musl",
                    ignore = "the exit runs no thread-local destructors there"
                )]
                fn $way() {
                    let child = child!(|| {
                        // Pools that the exit drains, besides those of this way.
                        _ = global().push();
                        autorelease(object(quiet));
                        ways::$way(exits);
                    });
                    assert_eq!(child.status.code(), Some(7), "{}", child.stderr);
                }
            )*
        }
    };
}

ways! {
    guard_drop guard_drain drain_within drain_backlog scope scope_whose_guard_is_replaced token outer_token
    token_of_another_manager token_left_in_a_scope token_left_in_a_drain root handoff inbox frame callback
    poll looper shutdown end_of_a_thread
}

/// Asserts that everything works as before.
fn works() {
    let open = global()
        .snapshot()
        .threads
        .iter()
        .map(|t| t.open_pools)
        .sum::<usize>();
    assert_eq!(open, 0);
    let pool = AutoreleasePool::new();
    autorelease(Ref::new(0));
    assert_eq!(pool.len(), 1);
}

#[test]
fn a_destructor_panics_in_each_way_of_draining() {
    alone!();
    for (name, way) in WAYS {
        fresh(move || {
            let result = catch_unwind(AssertUnwindSafe(|| way(panics)));
            assert_eq!(result.is_ok(), REPORT.contains(name), "{name}");
            works();
        });
    }
    assert_eq!(global().snapshot().live_objects(), 0);
}

#[test]
fn each_way_of_draining_works_at_the_end_of_a_thread() {
    alone!();
    for when in ALWAYS {
        for (name, way) in WAYS {
            at_teardown(when, move || {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    way(quiet);
                    way(panics);
                }));
                let may_not = REPORT.contains(name) || *name == "shutdown";
                assert!(result.is_err() || may_not, "{name}, {when:?}");
            });
        }
    }
    assert_eq!(global().snapshot().live_objects(), 0);
}
