//! The destruction of objects, in constant stack space.
//!
//! If a destructor makes a last release, the object is destroyed at once, depth first, as with
//! `Arc`, until destructors use [`LIMIT`] bytes of stack since the outermost release on this
//! thread. A deeper last release queues its object, and the outermost release runs the queue. So
//! shallow structures are destroyed in `Arc`'s order, and a chain of any length takes little more
//! than [`LIMIT`] bytes of stack.
//!
//! While the queue is being run, last releases that are not deep queue their objects, too, as long
//! as few objects wait. So a chain is freed node by node, from one end to the other: an allocator
//! that reuses the latest freed block first then places the next chain in order, too.
//!
//! This also works during the teardown of a thread, as the state is a thread-local without a
//! destructor.

use super::header::{Thin, checked, header};
use crate::ledger::{self, ReleasedBy};
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{SMALL, local, stack_address, with_room};
use crate::thread::current::tally_destroyed;
use crate::unwind::{FirstPanic, Payload, resume_or_report};
use std::mem::ManuallyDrop;

/// Bytes of stack that nested destructors may use before further last releases queue their objects.
const LIMIT: usize = if SMALL { 2_048 } else { 32_768 };

/// A high bit of an address. Flipping this bit in `Nesting::base` makes all releases look deep.
const FAR: usize = 1 << (usize::BITS - 2);

/// The rule that says which nested last releases queue their objects.
#[derive(Clone, Copy, PartialEq)]
enum QueueMode {
    /// Deep ones.
    DeepOnly,
    /// All.
    All,
    /// While the queue is being run: all, as long as few objects are queued; then only deep ones.
    Running,
}

/// With this many objects in the queue, `QueueMode::Running` queues only those of deep releases.
const RUN_LIMIT: usize = if SMALL { 2 } else { 32 };

/// The state of the nested releases of a thread.
struct Nesting {
    /// The stack address of the outermost release, with [`FAR`] flipped unless the mode is
    /// `DeepOnly`; 0 if no release is in progress, or a [`settle_scope`] hides those in progress.
    pub(super) base: Cell<usize>,
    pub(super) mode: Cell<QueueMode>,
    /// The queue of dead objects. Never borrowed while other code runs (invariant 7 of `object`);
    /// empty, and without memory, while `base` is 0.
    pub(super) pending: ManuallyDrop<UnsafeCell<Vec<Thin>>>,
    /// The number of nested [`settle_scope`]s inside destructors.
    pub(super) isolated: Cell<usize>,
    /// True if the next release is probably the last one of its object. A last release and the
    /// beginning of an outermost scope set it, because most parts of a structure have one owner; a
    /// release outside of destructors that was not the last clears it. For speed only: either value
    /// is safe.
    likely_last: Cell<bool>,
}

local! {
    static NESTING: Nesting = Nesting {
        base: Cell::new(0),
        mode: Cell::new(QueueMode::DeepOnly),
        pending: ManuallyDrop::new(UnsafeCell::new(Vec::new())),
        isolated: Cell::new(0),
        likely_last: Cell::new(false),
    };
}

impl Nesting {
    fn push(&self, thin: Thin) {
        let queue = |f: &mut dyn FnMut(&mut Vec<_>)| {
            // SAFETY: the queue is the thread's own, and no foreign code runs (invariant 7 of
            // `object`).
            self.pending.with_mut(|all| f(unsafe { &mut *all }));
        };
        with_room(queue, |all| all.push(thin));
    }

    fn pop(&self) -> Option<Thin> {
        // SAFETY: invariant 7 of `object`.
        self.pending.with_mut(|all| unsafe { (*all).pop() })
    }

    pub(super) fn take(&self) -> Vec<Thin> {
        // SAFETY: invariant 7 of `object`.
        self.pending
            .with_mut(|all| unsafe { std::mem::take(&mut *all) })
    }

    pub(super) fn is_empty(&self) -> bool {
        // SAFETY: invariant 7 of `object`.
        self.pending.with(|all| unsafe { (*all).is_empty() })
    }

    fn is_deep(&self, here: usize) -> bool {
        here.abs_diff(self.base.get()) >= LIMIT
    }

    /// Runs the queue until it is empty; returns how many objects were destroyed, and the first
    /// panic.
    fn settle(&self) -> (usize, Option<Payload>) {
        let mut panics = FirstPanic::default();
        let mut destroyed = 0;
        let before = self.mode.replace(QueueMode::Running);
        if before == QueueMode::DeepOnly {
            self.toggle_far();
        }
        while !self.is_empty() {
            while let Some(thin) = self.pop() {
                destroyed += 1;
                // SAFETY: the queue holds dead objects, each once (invariant 5 of `object`).
                panics.guard(|| unsafe { destroy_dead(thin) });
            }
            // Frees the queue's buffer, as the thread-local has no destructor that would free it.
            // The global allocator is foreign code, and may queue objects as it frees the buffer.
            drop(self.take());
        }
        self.mode.set(before);
        if before == QueueMode::DeepOnly {
            self.toggle_far();
        }
        (destroyed, panics.into_first())
    }

    /// Returns whether a release that is deep, or looks deep by [`FAR`], must queue its object.
    fn should_queue(&self) -> bool {
        // SAFETY: invariant 7 of `object`.
        let waiting = self.pending.with(|all| unsafe { (*all).len() });
        let really_deep = || stack_address().abs_diff(self.base.get() ^ FAR) >= LIMIT;
        self.mode.get() != QueueMode::Running || waiting < RUN_LIMIT || really_deep()
    }

    /// Makes all releases look deep, or undoes that.
    fn toggle_far(&self) {
        self.base.set(self.base.get() ^ FAR);
    }

    #[cold]
    fn finish_outermost(&self) {
        let (_, panic) = self.settle();
        self.base.set(0);
        if let Some(payload) = panic {
            resume_or_report(payload);
        }
    }
}

/// A scope in which objects may be destroyed, such as a drain. Nested releases measure their depth
/// from the stack address at which the outermost scope begins.
pub(crate) struct ReleaseScope {
    /// True if no release or drain is in progress further up the call stack, up to the innermost
    /// [`settle_scope`]. If true, this scope must run the queue.
    pub(crate) outermost: bool,
    /// True if objects must be queued rather than destroyed.
    pub(crate) deep: bool,
    /// The mode to restore at the end, if the scope has changed it.
    before: Option<QueueMode>,
}

impl ReleaseScope {
    /// Enters a scope.
    #[inline]
    pub(crate) fn enter() -> Self {
        NESTING.with(|nesting| {
            if nesting.base.get() == 0 {
                return Self::enter_outermost(nesting);
            }
            let mode = nesting.mode.get();
            // A drain inside a destructor destroys its own objects, which must not wait for an
            // outer run of the queue.
            let in_run = mode == QueueMode::Running;
            if in_run {
                nesting.mode.set(QueueMode::DeepOnly);
                nesting.toggle_far();
            }
            Self {
                outermost: false,
                deep: nesting.is_deep(stack_address()),
                before: in_run.then_some(mode),
            }
        })
    }

    #[inline]
    fn enter_outermost(nesting: &Nesting) -> Self {
        nesting.base.set(stack_address());
        nesting.likely_last.set(true);
        Self {
            outermost: true,
            deep: false,
            before: None,
        }
    }

    /// Returns whether this scope may do work for the whole thread, such as running the messages of
    /// other threads: only if no destructor is in progress, hidden by a [`settle_scope`] or not.
    // Out of line, as drains call this only if a duty may be due.
    #[cold]
    #[inline(never)]
    pub(crate) fn serves_thread(&self) -> bool {
        self.outermost && NESTING.with(|nesting| nesting.isolated.get() == 0)
    }

    /// Enters a scope in which all objects that destructors release are queued, however shallow;
    /// the caller takes them out by [`ReleaseScope::next_dead`]. Within another scope, does only
    /// what [`ReleaseScope::enter`] does.
    pub(crate) fn enter_queueing() -> Self {
        let mut scope = Self::enter();
        if scope.outermost {
            NESTING.with(|nesting| {
                nesting.toggle_far();
                scope.before = Some(nesting.mode.replace(QueueMode::All));
            });
        }
        scope
    }

    /// A scope for releases that run no destructor, so that no other release nests in them.
    pub(crate) const NONE: Self = Self {
        outermost: false,
        deep: false,
        before: None,
    };

    /// Returns whether this scope queues all objects that destructors release, however shallow.
    pub(crate) fn queues_all(&self) -> bool {
        self.outermost && self.before.is_some()
    }

    /// Pops the object that was queued last, if this scope is the outermost. The caller must call
    /// [`destroy_dead`] for it.
    pub(crate) fn next_dead(&self) -> Option<Thin> {
        if self.outermost {
            NESTING.with(Nesting::pop)
        } else {
            None
        }
    }

    /// Takes all objects out of the queue, oldest first, if this scope is the outermost.
    pub(crate) fn take_dead(&self) -> Vec<Thin> {
        if self.outermost {
            NESTING.with(Nesting::take)
        } else {
            Vec::new()
        }
    }

    /// Queues an object whose unique owner is the caller. To be called if the scope is deep.
    ///
    /// # Safety
    /// `Count::release_many` returned `Unique`, and the caller gives the object up.
    pub(crate) unsafe fn queue_unique(&self, thin: Thin) {
        // SAFETY: the caller is the unique owner, so the memory has not been freed.
        unsafe { header(thin) }.count.release_unique();
        NESTING.with(|nesting| nesting.push(thin));
    }

    /// Queues a dead object. To be called if the scope is deep.
    ///
    /// # Safety
    /// The caller made the last release, and gives the object up (invariant 5 of `object`).
    pub(crate) unsafe fn queue_dead(&self, thin: Thin) {
        NESTING.with(|nesting| nesting.push(thin));
    }

    /// Returns whether nested releases have queued an object.
    #[inline(always)]
    pub(crate) fn has_queued(&self) -> bool {
        NESTING.with(|nesting| !nesting.is_empty())
    }

    /// Destroys the objects that nested releases have queued. To be called on the outermost scope.
    #[inline]
    pub(crate) fn settle(&self) {
        debug_assert!(self.outermost);
        if NESTING.with(|nesting| !nesting.is_empty()) {
            settle_now();
        }
    }

    /// Destroys the objects that nested releases have queued, if this scope is the outermost, and
    /// keeps panics. Repeats until the queue is empty, as dropping the payload of a reported panic
    /// may queue more objects. Returns whether any object was destroyed.
    pub(crate) fn settle_all(&self, panics: &mut FirstPanic) -> bool {
        let mut any = false;
        while self.outermost && NESTING.with(|nesting| !nesting.is_empty()) {
            any = true;
            panics.guard(|| {
                settle_now();
            });
        }
        any
    }
}

impl Drop for ReleaseScope {
    #[inline]
    fn drop(&mut self) {
        if self.outermost {
            NESTING.with(|nesting| {
                if let Some(mode) = self.before {
                    nesting.mode.set(mode);
                    nesting.toggle_far();
                }
                if nesting.is_empty() {
                    nesting.base.set(0);
                } else {
                    nesting.finish_outermost();
                }
            });
        } else if let Some(mode) = self.before {
            NESTING.with(|nesting| {
                nesting.mode.set(mode);
                nesting.toggle_far();
            });
        }
    }
}

/// Returns whether a release or drain is in progress on this thread, even if a [`settle_scope`]
/// hides it from other functions.
#[inline]
pub(crate) fn in_destructor() -> bool {
    NESTING.with(|nesting| nesting.base.get() != 0 || nesting.isolated.get() != 0)
}

/// Destroys the queued objects, and returns how many.
#[cold]
fn settle_now() -> usize {
    let (destroyed, panic) = NESTING.with(Nesting::settle);
    if let Some(payload) = panic {
        resume_or_report(payload);
    }
    destroyed
}

/// Completes the drop of a handle that may have been the last strong reference.
///
/// # Safety
/// The caller's [`Count::release`](super::count::Count::release) returned true, and it gives the
/// object up.
#[inline(never)]
pub(crate) unsafe fn last_release(thin: Thin) {
    // SAFETY: `release` returned true: either the object is dead and belongs to this thread, or
    // more than 2³¹ other references keep it.
    if unsafe { header(thin) }.count.was_last() {
        NESTING.with(|nesting| nesting.likely_last.set(true));
        // SAFETY: `was_last` says that this was the last release.
        unsafe { destroy_nested(thin) };
    }
}

/// Destroys a dead object at once, or queues the object for the outermost release.
///
/// # Safety
/// The contract of [`destroy_dead`].
#[inline(always)]
unsafe fn destroy_nested(thin: Thin) {
    // SAFETY: a dead object has its memory until it is destroyed (invariant 2 of `object`).
    let head = unsafe { header(thin) };
    // Each case ends in a tail call, so that a chain of objects needs only one return address for
    // each object: processors predict only some dozens of return addresses.
    if head.type_info.has_destructor {
        let (base, here) = (NESTING.with(|nesting| nesting.base.get()), stack_address());
        if base == 0 {
            // SAFETY: the contract of this function is that of `destroy_dead`.
            return unsafe { outermost_release(thin) };
        }
        if here.abs_diff(base) >= LIMIT {
            // SAFETY: the contract of this function is that of `destroy_dead`.
            return unsafe { deep_release(thin) };
        }
    }
    // Destroys the object at once: it is not deep, or no release can nest in its destruction.
    // SAFETY: the contract of this function is that of `destroy_dead`.
    unsafe { destroy_dead(thin) };
}

/// Destroys a dead object, and then the objects that its destructor has queued.
///
/// # Safety
/// The contract of [`destroy_dead`].
#[inline(never)]
unsafe fn outermost_release(thin: Thin) {
    let _scope = NESTING.with(ReleaseScope::enter_outermost);
    // SAFETY: the contract of this function is that of `destroy_dead`.
    unsafe { destroy_dead(thin) };
}

/// Queues a dead object, or destroys it if it need not be queued.
///
/// # Safety
/// The contract of [`destroy_dead`].
#[inline(never)]
unsafe fn deep_release(thin: Thin) {
    if !NESTING.with(Nesting::should_queue) {
        // SAFETY: the contract of this function is that of `destroy_dead`.
        return unsafe { destroy_dead(thin) };
    }
    // SAFETY: a dead object has its memory until it is destroyed (invariant 2 of `object`).
    let count = unsafe { &header(thin).count };
    if count.is_all(1) {
        count.release_unique();
    }
    NESTING.with(|nesting| nesting.push(thin));
}

/// Gives up a strong reference.
///
/// # Safety
/// The caller owns such a reference, to the object at `thin`.
#[inline]
pub(crate) unsafe fn release(thin: Thin) {
    ledger::released(thin, 1, ReleasedBy::Handle);
    if NESTING.with(|nesting| nesting.likely_last.get()) {
        // SAFETY: forwards the contract.
        return unsafe { release_likely_last(thin) };
    }
    // SAFETY: the caller's reference keeps the object alive.
    let may_be_last = unsafe { checked(thin, header(thin).count.release()) };
    if may_be_last {
        // SAFETY: `Count::release` returned true.
        unsafe { last_release(thin) };
    }
}

/// Gives up a strong reference that is probably the only one. If it is, a load suffices; if not,
/// the load fetches the cache line for reading, and the release fetches it again for writing.
///
/// # Safety
/// The contract of [`release`].
#[inline(never)]
unsafe fn release_likely_last(thin: Thin) {
    // SAFETY: the caller's reference keeps the object alive.
    let count = unsafe { &header(thin).count };
    if count.is_all(1) {
        // SAFETY: the caller has the only reference of any kind, and gives the object up.
        return unsafe { destroy_nested(thin) };
    }
    NESTING.with(|nesting| {
        if nesting.base.get() == 0 {
            nesting.likely_last.set(false);
        }
    });
    // SAFETY: the caller's reference keeps the object alive.
    if unsafe { checked(thin, count.release()) } {
        // SAFETY: `Count::release` returned true.
        unsafe { last_release(thin) };
    }
}

/// Gives up a weak reference.
///
/// # Safety
/// The caller owns such a reference, to the object at `thin`.
#[inline]
pub(crate) unsafe fn release_weak(thin: Thin) {
    // SAFETY: the caller's reference keeps the memory.
    if unsafe { header(thin) }.count.release_weak() {
        // SAFETY: that was the last reference of any kind, and the value is gone.
        unsafe { super::header::free(thin) };
    }
}

/// Destroys a dead object at once.
///
/// # Safety
/// There is no strong reference, `held` is 1, and the caller made the last release or took the
/// object over from the thread that did (invariant 5 of [`object`](crate::object)). Or the caller
/// has the only reference of any kind. The caller gives the object up.
#[inline(always)]
pub(crate) unsafe fn destroy_dead(thin: Thin) {
    tally_destroyed(1);
    // SAFETY: a dead object has its memory until it is destroyed (invariant 2 of `object`).
    let head = unsafe { header(thin) };
    if head.count.begin_destruction() {
        // SAFETY: `begin_destruction` says that the caller is the unique owner.
        unsafe { (head.type_info.destroy)(thin) };
    } else {
        // SAFETY: `begin_destruction` gave the caller a weak reference; the caller owns the value.
        unsafe { drop_value(thin) };
    }
}

/// Drops the value, and gives up a weak reference, even if the destructor panics.
///
/// # Safety
/// The caller owns the weak reference and the value: there is no strong reference, and none can be
/// gained.
#[inline(never)]
unsafe fn drop_value(thin: Thin) {
    struct ReleaseWeakOnDrop(Thin);
    impl Drop for ReleaseWeakOnDrop {
        fn drop(&mut self) {
            ledger::died(self.0);
            // SAFETY: this guard is made only below, and owns the caller's weak reference.
            unsafe { release_weak(self.0) };
        }
    }
    let _weak = ReleaseWeakOnDrop(thin);
    // SAFETY: the caller owns the value, and its weak reference keeps the memory.
    unsafe { (header(thin).type_info.drop_value)(thin) };
}

// `settle` and `settle_scope`: for code that must be sure that the objects that it drops are
// destroyed.
//
// A work-stealing runtime, for example, may run an unrelated job inside a destructor.
// [`settle_scope`] *isolates* such code: the code finds the state of a thread without a release in
// progress, so its own releases are outermost. Objects that were queued before wait until the code
// is done. Only [`in_destructor`] and [`ReleaseScope::serves_thread`] still tell that the thread is
// inside a destructor, as work of the whole thread must not run in such code.

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
            // Holds because all releases that the code in this scope began have ended, perhaps by a
            // panic, and the outermost of them has run the queue.
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
/// use releasepool::object::settle_scope;
/// use releasepool::Ref;
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
/// Objects are queued only inside destructors: once these use 32 KiB of stack since the outermost
/// release, while the queue is being run, or in a drain [within a
/// budget](crate::AutoreleasePool::drain_within). A destructor that must be sure that the objects
/// that it dropped are destroyed calls `settle`; code that cannot know where it runs should use a
/// [`settle_scope`]. If each destructor of a deep structure calls `settle` after it has dropped the
/// next part, nothing bounds the stack that the structure takes. Outside destructors, `settle`
/// returns 0. If a destructor drains a pool, the pool's entries are released at once, but their
/// objects may be queued. Threads that destroy deep structures need about 64 KiB of stack more than
/// their own code does.
///
/// # Panics
/// With the first panic of a destructor that it runs, after it has run all.
///
/// ```
/// let r = releasepool::Ref::new(String::from("gone at once"));
/// drop(r);
/// assert_eq!(releasepool::object::settle(), 0);
/// ```
pub fn settle() -> usize {
    if NESTING.with(Nesting::is_empty) {
        return 0;
    }
    settle_now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ref;

    /// An object whose destructor, called by a scope that destroys queued objects, enters another scope.
    struct Nested;
    impl Drop for Nested {
        fn drop(&mut self) {
            let inner = ReleaseScope::enter();
            assert!(!inner.outermost && !inner.queues_all());
        }
    }

    #[test]
    fn a_scope_queues_all_if_it_is_the_outermost_and_knows_what_was_queued() {
        assert!(!ReleaseScope::enter().queues_all());
        let scope = ReleaseScope::enter_queueing();
        assert!(scope.queues_all() && !scope.has_queued());
        drop(Ref::new(Nested));
        assert!(scope.has_queued());
        scope.settle();
        assert!(!scope.has_queued());
    }
}
