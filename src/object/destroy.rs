//! The end of an object: its destructor, in constant stack.
//!
//! A last release inside a destructor runs at once, depth first, just as with
//! `Arc`, until [`LIMIT`] bytes of stack are used since the outermost release on
//! this thread. A deeper one is queued, and the outermost release runs the
//! queue. So shallow structures die in `Arc`'s order, and a chain of a million
//! nodes in a few stack frames more than a chain of a hundred.
//!
//! While the queue is run, a few more may queue, even if they are not deep: so a chain
//! dies node by node, and is freed from one end to the other, and an allocator that hands
//! out latest first builds the next one just as straight.
//!
//! Code that some other code runs inside a destructor without knowing what that is, as a
//! work-stealing runtime does with its jobs, is *isolated* by [`settle_scope`]: it finds the
//! state of a thread that releases nothing, so that its own releases are outermost. What is
//! queued beneath waits until it is done. That the thread is inside a destructor is still
//! known, by [`in_destructor`] and [`ReleaseScope::serves_thread`]: what the whole thread has to do is
//! no business of such code.
//!
//! A thread that is being torn down can still do all this: the state is a
//! thread-local without a destructor.

use super::header::{Thin, checked, header};
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{SMALL, local, stack_address};
use crate::thread::current::tally_destroyed;
use crate::unwind::{FirstPanic, Payload, resume_or_report};
use std::mem::ManuallyDrop;

/// Stack, in bytes, that nested destructors may use before they queue.
pub(crate) const LIMIT: usize = if SMALL { 2_048 } else { 32_768 };

/// What a stack address is no closer to than [`LIMIT`] if the bit is changed.
const FAR: usize = 1 << (usize::BITS - 2);

/// What becomes of nested releases.
#[derive(Clone, Copy, PartialEq)]
enum QueueMode {
    /// Those that are deep queue.
    DeepOnly,
    /// All queue.
    All,
    /// The queue is being run: all queue, unless many do already.
    Running,
}

/// Objects in the queue beyond which only deep releases are put there while it is run.
const RUN_LIMIT: usize = if SMALL { 2 } else { 32 };

struct Nesting {
    /// Stack address of the outermost release, or [`FAR`] from it if the mode is not
    /// `Depth`; 0 when there is none.
    base: Cell<usize>,
    mode: Cell<QueueMode>,
    /// Objects that are dead and wait for their destructor. Never borrowed while
    /// other code runs; empty, and without memory, when `base` is 0.
    pending: ManuallyDrop<UnsafeCell<Vec<Thin>>>,
    /// How many [`Isolated`] there are on the stack.
    isolated: Cell<usize>,
}

local! {
    static NESTING: Nesting = Nesting {
        base: Cell::new(0),
        mode: Cell::new(QueueMode::DeepOnly),
        pending: ManuallyDrop::new(UnsafeCell::new(Vec::new())),
        isolated: Cell::new(0),
    };
}

impl Nesting {
    fn push(&self, thin: Thin) {
        // SAFETY: the thread's own, and `push` runs no foreign code.
        self.pending.with_mut(|all| unsafe { (*all).push(thin) });
    }

    fn pop(&self) -> Option<Thin> {
        // SAFETY: as in `push`.
        self.pending.with_mut(|all| unsafe { (*all).pop() })
    }

    fn take(&self) -> Vec<Thin> {
        // SAFETY: as in `push`.
        self.pending
            .with_mut(|all| unsafe { std::mem::take(&mut *all) })
    }

    fn is_empty(&self) -> bool {
        // SAFETY: as in `push`.
        self.pending.with(|all| unsafe { (*all).is_empty() })
    }

    fn is_deep(&self, here: usize) -> bool {
        here.abs_diff(self.base.get()) >= LIMIT
    }

    /// Runs the queue to its end; returns how many died, and the first panic.
    fn settle(&self) -> (usize, Option<Payload>) {
        let mut panics = FirstPanic::default();
        let mut died = 0;
        let before = self.mode.replace(QueueMode::Running);
        if before == QueueMode::DeepOnly {
            self.toggle_far();
        }
        while let Some(thin) = self.pop() {
            died += 1;
            // SAFETY: only dead objects are queued, each once.
            panics.guard(|| unsafe { destroy_dead(thin) });
        }
        self.mode.set(before);
        if before == QueueMode::DeepOnly {
            self.toggle_far();
        }
        // SAFETY: as in `push`; dropping an empty vector runs no foreign code. The
        // thread-local has no destructor that would free its buffer.
        self.pending.with_mut(|all| unsafe { *all = Vec::new() });
        (died, panics.into_first())
    }

    /// Whether a release is to queue that `base` says is deep.
    fn should_queue(&self) -> bool {
        // SAFETY: as in `push`.
        let waiting = self.pending.with(|all| unsafe { (*all).len() });
        let really_deep = || stack_address().abs_diff(self.base.get() ^ FAR) >= LIMIT;
        self.mode.get() != QueueMode::Running || waiting < RUN_LIMIT || really_deep()
    }

    /// Takes `base` far away, or back.
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

/// A stretch of code that may destroy objects, as a drain: nested releases count
/// their stack from its beginning.
pub(crate) struct ReleaseScope {
    /// True if no other release or drain is going on below on this stack, or none since the
    /// innermost [`settle_scope`]: then the queue is this scope's to run.
    pub(crate) outermost: bool,
    /// Whether destructors are to queue rather than run.
    pub(crate) deep: bool,
    /// The mode that was before, if it is another one meanwhile.
    before: Option<QueueMode>,
}

impl ReleaseScope {
    #[inline]
    pub(crate) fn enter() -> Self {
        NESTING.with(|nesting| {
            if nesting.base.get() == 0 {
                return Self::enter_outermost(nesting);
            }
            let mode = nesting.mode.get();
            // What a drain releases is not left to the run of the queue around it.
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
        Self {
            outermost: true,
            deep: false,
            before: None,
        }
    }

    /// Returns whether this is the place for what concerns the whole thread, such as the messages
    /// of others: only if no destructor runs beneath, isolated or not.
    // Out of line, as drains ask only if there is something to do.
    #[cold]
    #[inline(never)]
    pub(crate) fn serves_thread(&self) -> bool {
        self.outermost && NESTING.with(|nesting| nesting.isolated.get() == 0)
    }

    /// The same, where what destructors release is to queue, however shallow it is; the
    /// caller takes it out by [`ReleaseScope::next_dead`]. Only if it is the outermost: within
    /// another, this changes nothing.
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

    /// Takes one object out of the queue, if it is for this scope to do: the latest.
    /// The caller has to [`destroy_dead`] it.
    pub(crate) fn next_dead(&self) -> Option<Thin> {
        if self.outermost {
            NESTING.with(Nesting::pop)
        } else {
            None
        }
    }

    /// Takes all out of the queue, the latest last.
    pub(crate) fn take_dead(&self) -> Vec<Thin> {
        if self.outermost {
            NESTING.with(Nesting::take)
        } else {
            Vec::new()
        }
    }

    /// Queues an object that only the caller can reach: for a deep scope.
    ///
    /// # Safety
    /// `Count::release_many` said `Unique`.
    pub(crate) unsafe fn queue_unique(&self, thin: Thin) {
        // SAFETY: ours alone.
        unsafe { header(thin) }.count.release_unique();
        NESTING.with(|nesting| nesting.push(thin));
    }

    /// Destroys a dead object, or queues it in a deep scope.
    ///
    /// # Safety
    /// The caller made the last release, and gives the object up.
    pub(crate) unsafe fn destroy_last(&self, thin: Thin) {
        if self.deep {
            NESTING.with(|nesting| nesting.push(thin));
        } else {
            // SAFETY: by the caller's promise.
            unsafe { destroy_dead(thin) };
        }
    }

    /// Runs what nested releases queued: for the outermost scope to do.
    #[inline]
    pub(crate) fn settle(&self) {
        debug_assert!(self.outermost);
        if NESTING.with(|nesting| !nesting.is_empty()) {
            settle_now();
        }
    }

    /// The same, if it is for this scope to do, with panics kept: to the end, as the payload of one that is reported
    /// may queue more where it is dropped.
    pub(crate) fn settle_all(&self, panics: &mut FirstPanic) {
        while self.outermost && NESTING.with(|nesting| !nesting.is_empty()) {
            panics.guard(|| {
                settle_now();
            });
        }
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

/// Returns whether a release or drain is going on on this thread, isolated or not.
#[inline]
pub(crate) fn in_destructor() -> bool {
    NESTING.with(|nesting| nesting.base.get() != 0 || nesting.isolated.get() != 0)
}

/// The state of the releases and drains beneath, while it is hidden from the code above: see
/// [`settle_scope`].
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
            // Scopes above have ended, by a panic, too, and the outermost has run its queue.
            debug_assert!(nesting.base.get() == 0 && nesting.is_empty());
            nesting.base.set(self.base);
            nesting.mode.set(self.mode);
            let pending = std::mem::take(&mut self.pending);
            // SAFETY: as in `push`; what is overwritten is empty.
            nesting.pending.with_mut(|all| unsafe { *all = pending });
            nesting.isolated.set(nesting.isolated.get() - 1);
        });
    }
}

/// Runs `f` as if outside any destructor: objects whose last references it drops are destroyed at
/// once and are not queued.
///
/// Inside a destructor, a last release may queue: 32 KiB deep, in a run of the queue, or in a
/// drain [within a budget](crate::AutoreleasePool::drain_within). The object is then destroyed
/// when the outermost release or the drain gets to it. Code that waits for that destructor in the
/// meantime, say for a channel whose sender it has dropped, waits for ever. A destructor can call
/// [`settle`] before it waits. Code that does not know where it runs cannot: a job that a
/// work-stealing runtime runs while another job waits, which may do so in a destructor. In such a
/// scope the drop of a last reference is an outermost release of its own. The same goes for pools
/// that are drained or closed in it.
///
/// [`callback_scope`](crate::callback_scope) and each poll of a [`pooled`](crate::pooled()) future
/// are such scopes, and so are frames of a [`FrameLoop`](crate::FrameLoop).
///
/// The scope is still inside the destructor: closures that were posted to the thread, and what
/// other threads have sent to it, wait until the destructor is done. What was queued before the
/// scope stays in the queue; [`settle`] in the scope does not find it.
///
/// # When to use it
/// Around a job for rayon or another runtime that steals work, if it drops its own objects and
/// waits for what their destructors do; or around the call by which a destructor enters such a
/// runtime (`rayon::join`, `rayon::scope`), for all jobs that the runtime may run meanwhile.
///
/// # When not to use it
/// In the destructors of a structure that may be deep, around the release of its next part: each
/// scope has its own 32 KiB, so nothing bounds the stack that such a structure takes, as with
/// `Arc`.
///
/// # Threads
/// Concerns the calling thread only. May be called at any time, even while the thread's
/// thread-locals are torn down, and nests.
///
/// # Cost
/// Outside destructors, one load and a branch. Inside one, some ten loads and stores; no
/// allocation.
///
/// # Panics
/// As `f`. A panic of a destructor comes out of the release in `f` that runs it.
///
/// ```
/// use releasepool::{Ref, settle_scope};
/// use std::sync::mpsc::channel;
/// // May run inside anybody's destructor.
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

#[cold]
fn settle_now() -> usize {
    let (died, panic) = NESTING.with(Nesting::settle);
    if let Some(payload) = panic {
        resume_or_report(payload);
    }
    died
}

/// Runs the destructors that wait on this thread, and returns how many.
///
/// There are such only inside destructors of structures that are too deep for the stack.
/// Where 32 KiB of it are used since the outermost release, deeper releases queue until
/// that one is done; and what an object that was in the queue releases may queue in its turn,
/// wherever it does so. Code in such a place that must be sure that what it dropped is really
/// gone calls this; code that cannot know where it runs should use a
/// [`settle_scope`]. Anywhere else it returns 0. The same goes for pools that are drained in such a
/// place: their entries are released, but destroyed later. Threads that destroy
/// deep structures need about 64 KiB of stack more than their own code does.
///
/// # Panics
/// With the first panic of a destructor that it runs, after running all.
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

/// What remains of a handle's drop when it may have been the last strong reference.
///
/// # Safety
/// The caller's [`Count::release`](super::count::Count::release) said so, and it gives the
/// object up.
#[inline(never)]
pub(crate) unsafe fn last_release(thin: Thin) {
    // SAFETY: the memory is there until we give it up.
    let head = unsafe { header(thin) };
    if !head.count.was_last() {
        return;
    }
    // What is left to do is the last call in each case, so that a chain of objects has but
    // one return address for each: processors foresee only some dozens of them.
    if head.type_info.has_destructor {
        let (base, here) = (NESTING.with(|nesting| nesting.base.get()), stack_address());
        if base == 0 {
            // SAFETY: by the caller's promise.
            return unsafe { outermost_release(thin) };
        }
        if here.abs_diff(base) >= LIMIT {
            // SAFETY: by the caller's promise.
            return unsafe { deep_release(thin) };
        }
    }
    // SAFETY: by the caller's promise; without a destructor nothing can nesting in it.
    unsafe { destroy_dead(thin) };
}

/// # Safety
/// As [`destroy_dead`].
#[inline(never)]
unsafe fn outermost_release(thin: Thin) {
    let _scope = NESTING.with(ReleaseScope::enter_outermost);
    // SAFETY: by the caller's promise.
    unsafe { destroy_dead(thin) };
}

/// # Safety
/// As [`destroy_dead`].
#[inline(never)]
unsafe fn deep_release(thin: Thin) {
    if !NESTING.with(Nesting::should_queue) {
        // SAFETY: by the caller's promise.
        return unsafe { destroy_dead(thin) };
    }
    // SAFETY: the memory is there.
    let count = unsafe { &header(thin).count };
    if count.is_all(1) {
        count.release_unique();
    }
    NESTING.with(|nesting| nesting.push(thin));
}

/// Gives up a strong reference.
///
/// # Safety
/// The caller has one, to an object at `thin`.
#[inline]
pub(crate) unsafe fn release(thin: Thin) {
    // SAFETY: the object is alive by the caller's reference.
    let perhaps = unsafe { checked(thin, header(thin).count.release()) };
    if perhaps {
        // SAFETY: as said by `release`.
        unsafe { last_release(thin) };
    }
}

/// Gives up a weak reference.
///
/// # Safety
/// The caller has one, to an object at `thin`.
#[inline]
pub(crate) unsafe fn release_weak(thin: Thin) {
    // SAFETY: the memory is there by the caller's reference.
    if unsafe { header(thin) }.count.release_weak() {
        // SAFETY: nobody has a reference of any kind.
        unsafe { super::header::free(thin) };
    }
}

/// Destroys a dead object, at once.
///
/// # Safety
/// Nobody has a strong reference, held is 1, and the caller made it so or took it
/// from the queue. Or the caller has the only reference of any kind, and gives it up.
#[inline(always)]
pub(crate) unsafe fn destroy_dead(thin: Thin) {
    tally_destroyed(1);
    // SAFETY: the memory is there until we give it up.
    let head = unsafe { header(thin) };
    if head.count.begin_destruction() {
        // SAFETY: nobody has a reference of any kind.
        unsafe { (head.type_info.destroy)(thin) };
    } else {
        // SAFETY: `Count::begin_destruction` has given us a weak reference.
        unsafe { drop_value(thin) };
    }
}

/// Destroys the value, and gives up a weak reference.
///
/// # Safety
/// The caller has one; no strong reference is left, and none can be gained.
#[inline(never)]
unsafe fn drop_value(thin: Thin) {
    struct Weak(Thin);
    impl Drop for Weak {
        fn drop(&mut self) {
            // SAFETY: the caller's reference.
            unsafe { release_weak(self.0) };
        }
    }
    let _weak = Weak(thin);
    // SAFETY: by the caller's promise.
    unsafe { (header(thin).type_info.drop_value)(thin) };
}
