//! Jobs that rayon runs inside destructors: objects that they release must be destroyed before the
//! release returns, not when the destructor has ended.
//!
//! rayon has two threads here, the *victim* and the *helper*. A destructor on the victim calls
//! `rayon::join` and waits for the half that the helper has stolen. That half spawns a job and
//! waits for it. Only the victim can run the job, and it does so inside the destructor.

use rayon::{ThreadPool, ThreadPoolBuilder};
use releasepool::object::settle_scope;
use releasepool::{AutoreleasePool, Budget, Ref, autorelease, callback_scope, pooled};
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// How long to wait for something before the test fails, rather than hangs.
const NEVER: Duration = Duration::from_secs(20);

/// Runs a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Drops the last reference to a sender, and waits for its destructor.
fn drop_and_wait() {
    let (sender, receiver) = channel();
    drop(Ref::new(sender));
    wait(&receiver);
}

fn wait(receiver: &Receiver<()>) {
    let end = receiver.recv_timeout(NEVER);
    assert_eq!(end, Err(RecvTimeoutError::Disconnected), "still alive");
}

/// Makes the victim run `job` while it waits in `join`; returns afterwards.
fn join_and_steal(job: impl FnOnce() + Send) {
    let victim = thread::current().id();
    let stolen = AtomicBool::new(false);
    rayon::join(
        || spin_until(|| stolen.load(Ordering::Acquire)),
        || {
            assert_ne!(thread::current().id(), victim);
            let done = AtomicBool::new(false);
            rayon::scope(|scope| {
                scope.spawn(|_| {
                    // Lets the helper continue even if `job` panics.
                    let _done = OnDrop(|| done.store(true, Ordering::Release));
                    assert_eq!(thread::current().id(), victim, "inside the destructor");
                    job();
                });
                stolen.store(true, Ordering::Release);
                // Waits without rayon, which would run the job on this thread.
                spin_until(|| done.load(Ordering::Acquire));
            });
        },
    );
}

fn spin_until(done: impl Fn() -> bool) {
    while !done() {
        thread::yield_now();
    }
}

fn workers() -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(2).build().unwrap()
}

/// Calls `f` from this many more stack frames of over 1 KiB each.
fn deeper(levels: u32, f: &mut dyn FnMut()) {
    let room = black_box([0u8; 1024]);
    if levels == 0 {
        f();
    } else {
        deeper(levels - 1, f);
    }
    black_box(room);
}

/// Calls `join` in each kind of destructor in which releases are queued.
fn in_destructors(join: fn()) {
    let workers = workers();
    workers.install(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(OnDrop(join));
        pool.drain_within(Budget::All);
    });
    workers.install(|| drop(Ref::new(OnDrop(move || deeper(40, &mut || join())))));
    workers.install(|| {
        let mut queued = Some(Ref::new(OnDrop(join)));
        drop(Ref::new(OnDrop(move || {
            deeper(40, &mut || drop(queued.take()))
        })));
    });
}

#[test]
fn a_destructor_isolates_the_jobs_that_run_while_it_waits() {
    in_destructors(|| settle_scope(|| join_and_steal(drop_and_wait)));
}

#[test]
fn a_job_isolates_itself_from_the_destructor_that_it_runs_in() {
    in_destructors(|| join_and_steal(|| settle_scope(drop_and_wait)));
}

#[test]
fn a_callback_scope_isolates_a_job_and_its_pool() {
    in_destructors(|| {
        join_and_steal(|| {
            let owned = callback_scope(|pool| {
                drop_and_wait();
                let (owned, implicit) = (channel(), channel());
                pool.create(owned.0);
                autorelease(Ref::new(implicit.0));
                [owned.1, implicit.1]
            });
            owned.iter().for_each(wait);
        });
    });
}

#[test]
fn a_poll_isolates_a_task() {
    in_destructors(|| {
        join_and_steal(|| {
            let task = pin!(pooled(async {
                drop_and_wait();
                let (sender, receiver) = channel();
                autorelease(Ref::new(sender));
                receiver
            }));
            let Poll::Ready(receiver) = task.poll(&mut Context::from_waker(Waker::noop())) else {
                unreachable!("it waits for nothing");
            };
            wait(&receiver);
        });
    });
}

/// Jobs whose destructors wait for more jobs, so that they nest on the same stacks.
#[test]
fn many_jobs_in_destructors() {
    fn job(depth: u32) {
        settle_scope(|| {
            drop_and_wait();
            if depth > 0 {
                let mut pool = AutoreleasePool::new();
                pool.create(OnDrop(move || {
                    rayon::join(|| job(depth - 1), || job(depth - 1));
                }));
                pool.drain_within(Budget::All);
            }
        });
    }
    let workers = ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    for _ in 0..20 {
        workers.install(|| job(8));
    }
}
