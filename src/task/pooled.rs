//! `pooled` and `callback_scope`: pools for polls of tasks and for foreign callbacks.

use crate::object::destroy::{in_destructor, settle_scope};
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::named_scope;
use crate::pool::drain::{engine, this_thread};
use crate::pool::stack::budget::{Limit, Meter};
use crate::unwind::FirstPanic;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future that has a pool of its own in each poll; made by [`pooled`].
///
/// ```
/// use releasepool::task::Pooled;
/// use releasepool::{Ref, autorelease, pooled};
/// # use std::{pin::pin, task::{Context, Poll, Waker}};
///
/// fn load(name: &'static str) -> Pooled<impl Future<Output = usize>> {
///     pooled(async move {
///         autorelease(Ref::<str>::from(name)); // released when this poll ends
///         name.len()
///     })
/// }
/// # let poll = pin!(load("level")).poll(&mut Context::from_waker(Waker::noop()));
/// # assert_eq!(poll, Poll::Ready(5));
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Pooled<F>(
    /// Pinned whenever the `Pooled` is. So the type has no `Drop`, and is `Unpin` only by the auto
    /// trait, if `F` is.
    F,
);

/// Gives each poll of `future` a pool of its own, named "poll": it is the current pool during the
/// poll, and is drained at the poll's end, even if the poll panics.
///
/// A task that may move between threads cannot keep a guard pool across an `.await`, but the code
/// that it calls may autorelease objects. These objects are released at the next `.await` that
/// suspends the task, or at its end; retain objects that must live longer. With tokio, write
/// `tokio::spawn(pooled(async { ... }))`; `examples/tasks` in the repository has whole programs for
/// tokio and rayon.
///
/// An executor may poll a task inside a destructor that waits for another task. Even then, objects
/// that the poll and its pool release are destroyed before the poll returns: each poll is a
/// [`settle_scope`].
///
/// # When not to use it
/// On a thread that has a pool around its executor and drains it often enough.
///
/// # Threads
/// `Pooled<F>` is Send if `F` is; each poll's pool belongs to the thread that polls.
///
/// # Cost
/// Each poll opens and closes a named pool: some tens of nanoseconds. No allocation.
///
/// # Panics
/// If a poll of `future` panics, and with the first panic of a destructor in the pool's drain; the
/// poll's result is then lost.
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
    Pooled(future)
}

impl<F: Future> Future for Pooled<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future does not move while its `Pooled` is pinned: the field says why nobody can move
        // it, and the fields are private to this file, where nothing else takes `&mut` of the future.
        let future = unsafe { self.map_unchecked_mut(|pooled| &mut pooled.0) };
        settle_scope(|| named_scope("poll", |_| future.poll(cx)))
    }
}

/// Runs `f` with a pool, in a callback on a thread that a foreign host owns: an audio thread, or
/// one of an SDK or driver. Nothing else would release the objects that such a thread autoreleases.
///
/// The pool is drained when `f` returns. Then, unless another pool of the global manager is open on
/// the thread or a destructor is running on it, the thread's root pool and backlog are drained,
/// too, and the releases that other threads have sent to it are made. Closures that were posted to
/// the thread do not run: see [`run_inbox`](crate::PoolManager::run_inbox).
///
/// The host may make the callback inside a destructor: a work-stealing runtime such as rayon runs
/// jobs while another job waits. Even then, objects that `f` and its pool release are destroyed
/// before `callback_scope` returns: it is a [`settle_scope`].
///
/// # When not to use it
/// On the thread of a [`FrameLoop`](crate::FrameLoop) or [`Looper`](crate::Looper), or where a pool
/// is open anyway: in these places, except inside a destructor,
/// [`autoreleasepool`](crate::autoreleasepool()) does the same.
///
/// # Panics
/// If `f` panics, and with the first panic of a destructor; everything is drained even then.
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
    let outermost = !in_destructor() && this_thread::with(|p| p.is_some_and(|p| p.first.at_root()));
    let _root = outermost.then(|| DrainRoot);
    settle_scope(|| named_scope("callback", f))
}

/// A guard. Dropping it drains the thread's root pool and backlog, and makes its remote releases.
struct DrainRoot;

impl Drop for DrainRoot {
    fn drop(&mut self) {
        this_thread::with(|pools| {
            let Some(pools) = pools else { return };
            let mut panics = FirstPanic::default();
            engine::empty_stack(&pools.first, Limit::SOME).keep(&mut panics);
            // Makes releases claimed by budgeted drains, too: they may feed the root pool.
            if pools.has_claimed() {
                this_thread::serve(Meter::unlimited(Limit::SOME), &mut panics);
                engine::empty_stack(&pools.first, Limit::SOME).keep(&mut panics);
            }
            // Destructors of the root pool's entries may have left a backlog.
            if pools.first.backlog.len() != 0 {
                engine::empty_root_first(&pools.first, Limit::SOME).keep(&mut panics);
            }
            panics.resume();
        });
    }
}
