//! `settle` and `settle_scope`: for code that must be sure that the objects that it drops are
//! destroyed.
//!
//! A work-stealing runtime, for example, may run an unrelated job inside a destructor. [`settle_scope`]
//! *isolates* such code: it finds the state of a thread that releases nothing, so its own releases are
//! outermost. Objects that were queued before wait until it is done. Two functions still tell that the thread
//! is inside a destructor: [`in_destructor`](super::destroy::in_destructor) and
//! [`ReleaseScope::serves_thread`](super::destroy::ReleaseScope::serves_thread), as work of the whole thread
//! must not run in such code.

use super::destroy::{NESTING, Nesting, QueueMode, settle_now};
use super::header::Thin;

/// The state of the releases and drains in progress, which is hidden from the code that
/// [`settle_scope`] runs.
struct Isolated {
    base: usize,
    mode: QueueMode,
    pending: Vec<Thin>,
}

impl Isolated {
    #[cold]
    fn begin() -> Self {
        NESTING.with(|nesting| {
            nesting.isolated.set(nesting.isolated.get() + 1);
            Self {
                base: nesting.base.replace(0),
                mode: nesting.mode.replace(QueueMode::DeepOnly),
                pending: nesting.take(),
            }
        })
    }
}

impl Drop for Isolated {
    fn drop(&mut self) {
        NESTING.with(|nesting| {
            // Holds because nested scopes have ended, perhaps by a panic, and the outermost has run
            // its queue.
            debug_assert!(nesting.base.get() == 0 && nesting.is_empty());
            nesting.base.set(self.base);
            nesting.mode.set(self.mode);
            let pending = std::mem::take(&mut self.pending);
            // SAFETY: invariant 7 of `object`; the queue that is overwritten is empty.
            nesting.pending.with_mut(|all| unsafe { *all = pending });
            nesting.isolated.set(nesting.isolated.get() - 1);
        });
    }
}

/// Runs `f` as if outside any destructor: an object whose last reference it drops is destroyed at
/// once and not queued.
///
/// Inside a destructor, the drop of a last reference may queue the object: if 32 KiB of stack are
/// used, while the queue is being run, or in a drain [within a
/// budget](crate::AutoreleasePool::drain_within). The outermost release or the drain then destroys
/// the object later. Code that waits for that destructor in the meantime, for example for a channel
/// whose sender it has dropped, waits forever. A destructor can call [`settle`] before it waits.
/// Code that does not know where it runs cannot: for example a job that a work-stealing runtime
/// runs, perhaps inside a destructor, while another job waits. In a `settle_scope`, the drop of a
/// last reference is an outermost release of its own, and so is the drain or close of a pool.
///
/// [`callback_scope`](crate::callback_scope), each poll of a [`pooled`](crate::pooled()) future and
/// the frames of a [`FrameLoop`](crate::FrameLoop) are such scopes.
///
/// The scope is still inside the destructor: closures that were posted to the thread, and other
/// messages to it, wait until the destructor is done. Objects that were queued before the scope
/// stay in the queue; [`settle`] in the scope does not find them.
///
/// # When to use it
/// Around a job for rayon or another runtime that steals work, if the job drops its own objects and
/// waits for an effect of their destructors; or around the call by which a destructor enters such a
/// runtime (`rayon::join`, `rayon::scope`), for all jobs that the runtime may run meanwhile.
///
/// # When not to use it
/// In the destructors of a structure that may be deep, around the release of its next part: each
/// scope has its own 32 KiB, so, as with `Arc`, nothing bounds the stack that the structure takes.
///
/// # Threads
/// Affects the calling thread only. May be called at any time, even while the thread's
/// thread-locals are torn down. May be nested.
///
/// # Cost
/// Outside destructors, one load and a branch. Inside one, some ten loads and stores; no
/// allocation.
///
/// # Panics
/// If `f` does. A panic of a destructor comes out of the release in `f` that runs it.
///
/// ```
/// use releasepool::{Ref, settle_scope};
/// use std::sync::mpsc::channel;
/// // May run inside a destructor of any other code.
/// fn job() {
///     settle_scope(|| {
///         let (sender, receiver) = channel::<()>();
///         let sender = Ref::new(sender);
///         drop(sender);
///         assert!(receiver.recv().is_err(), "the sender is gone");
///     });
/// }
/// job();
/// ```
#[inline]
pub fn settle_scope<R>(f: impl FnOnce() -> R) -> R {
    let nested = NESTING.with(|nesting| nesting.base.get() != 0);
    let _isolated = nested.then(Isolated::begin);
    f()
}

/// Destroys the objects that are queued on this thread, and returns how many.
///
/// Objects are queued only inside destructors of structures that are too deep for the stack. Once destructors
/// use 32 KiB of it since the outermost release, deeper last releases queue their objects until the outermost
/// one is done; and objects that a queued object releases may be queued in turn, at any depth. A destructor
/// in such a place that must be sure that the objects it dropped are destroyed calls `settle`; code that
/// cannot know where it runs should use a [`settle_scope`]. If each destructor of a deep structure calls
/// `settle` after it has dropped the next part, nothing bounds the stack that the structure takes. Anywhere
/// else `settle` returns 0. A pool that is drained in such a place releases its entries at once, but queues
/// the objects, which are destroyed later. Threads that destroy deep structures need about 64 KiB of stack
/// more than their own code does.
///
/// # Panics
/// With the first panic of a destructor that it runs, after it has run all.
///
/// ```
/// let r = releasepool::Ref::new(String::from("gone at once"));
/// drop(r);
/// assert_eq!(releasepool::settle(), 0);
/// ```
pub fn settle() -> usize {
    if NESTING.with(Nesting::is_empty) {
        return 0;
    }
    settle_now()
}
