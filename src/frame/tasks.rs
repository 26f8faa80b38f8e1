//! Pools for code that others call: tasks and callbacks.

use crate::object::destroy::{in_destructor, settle_scope};
use crate::pool::budget::Budget;
use crate::pool::budgeted_drain;
use crate::pool::drain;
use crate::pool::guard::{AutoreleasePool, named_scope};
use crate::pool::remote_release;
use crate::pool::this_thread;
use crate::unwind::{FirstPanic, resume_or_report};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A future each poll of which has a pool of its own: by [`pooled`].
    #[must_use = "futures do nothing unless polled"]
    #[derive(Clone)]
    pub struct Pooled<F> {
        #[pin]
        future: F,
    }
}

/// Gives every poll of `future` a pool of its own, named "poll", which is the current
/// one meanwhile and is drained at the poll's end, also when that is a panic.
///
/// A guard pool cannot be kept across an `.await` in a task that may go to another
/// thread, and code that the task calls may autorelease without one. What it
/// autoreleases is released at the next `.await` that really waits, or at the task's end.
/// What must live longer, retain. With tokio it is `tokio::spawn(pooled(async { ... }))`;
/// `examples/tasks` in the repository has whole programs, for tokio and rayon.
///
/// An executor may poll a task inside a destructor that waits for another. Even then, objects
/// released by the poll and its pool are destroyed before the poll returns: each poll is a
/// [`settle_scope`].
///
/// # When not to use it
/// On a thread that has a pool around its executor, and clears it often enough.
///
/// # Threads
/// `Pooled<F>` is Send if `F` is; each poll's pool is on the thread that polls.
///
/// # Cost
/// A pool with a name: some tens of nanoseconds. No allocation.
///
/// # Panics
/// As polls of `future`, and with the first panic of a destructor in the pool's drain;
/// what the poll gave is lost then.
///
/// ```
/// use releasepool::{Ref, autorelease, pooled};
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
/// let r = Ref::new(1);
/// let kept = r.clone();
/// let task = pooled(async {
///     autorelease(r);
///     "done"
/// });
/// let poll = pin!(task).poll(&mut Context::from_waker(Waker::noop()));
/// assert_eq!(poll, Poll::Ready("done"));
/// assert_eq!(Ref::strong_count(&kept), 1);
/// ```
pub fn pooled<F: Future>(future: F) -> Pooled<F> {
    Pooled { future }
}

impl<F: Future> Future for Pooled<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        settle_scope(|| named_scope("poll", |_| self.project().future.poll(cx)))
    }
}

impl<F: fmt::Debug> fmt::Debug for Pooled<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pooled").field(&self.future).finish()
    }
}

/// Runs `f` with a pool, for callbacks that a foreign host makes on threads which have
/// no loop of ours: audio, an SDK's, a driver's. Nobody else would ever drain what such
/// a thread autoreleases.
///
/// The pool is drained when `f` is done. If no other pool is open on this thread, its
/// root pool is drained then, too, and its backlog; what other threads have sent to it is
/// released.
/// Closures that were posted to it do not run: see
/// [`run_inbox`](crate::PoolManager::run_inbox).
///
/// The host may make the callback inside a destructor, as a work-stealing runtime such as rayon
/// does with jobs while another one waits. What `f` and its pool release is destroyed before the
/// end even then: this is a [`settle_scope`].
///
/// # When not to use it
/// Inside a loop of ours, or where a pool is open anyway:
/// [`autoreleasepool`](crate::autoreleasepool()) is the same there, except inside a destructor.
///
/// # Panics
/// As `f`, and with the first panic of a destructor; everything is drained all the same.
///
/// ```
/// use releasepool::{autorelease, callback_scope, Ref};
/// extern "C" fn on_audio() {
///     callback_scope(|pool| {
///         let _buffer = pool.create([0u8; 64]);
///         autorelease(Ref::new("temporary"));
///     });
/// }
/// on_audio();
/// ```
pub fn callback_scope<R>(f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    let outermost = !in_destructor() && this_thread::with(|l| l.is_some_and(|l| l.first.at_root()));
    let _root = outermost.then(|| DrainRoot);
    settle_scope(|| named_scope("callback", f))
}

/// Drains the root pool at its end.
struct DrainRoot;

impl Drop for DrainRoot {
    fn drop(&mut self) {
        this_thread::with(|local| {
            let Some(local) = local else { return };
            let mut panics = FirstPanic::default();
            // Before the root pool, which destructors feed.
            budgeted_drain::drain(&local.first, Budget::All)
                .into_iter()
                .for_each(|p| panics.note(p));
            remote_release::deliver_left(local)
                .into_iter()
                .for_each(|p| panics.note(p));
            drain::drain(&local.first.root, None)
                .panic
                .into_iter()
                .for_each(|p| panics.note(p));
            panics.into_first().into_iter().for_each(resume_or_report);
        });
    }
}
