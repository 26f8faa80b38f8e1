//! The reclaimer of the process: `drop_later`, `try_drop_later`, `finish_drops` and `Later`.

use super::reclaimer::{Full, PendingDrops, Reclaimer};
use crate::event::{Event, EventKind};
use crate::sync::cell::{Cell, RefCell};
use crate::sync::{Lock, Setting, elapsed, lazy, local};
use crate::thread::current::{
    HookOf, current, current_key, current_label, is_exiting, set_exit_hook,
};
use crate::thread::key::ThreadKey;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, iter};

/// The reclaimers of the process: the latest one, and those before it, which may not have ended.
#[derive(Default)]
pub(crate) struct Process {
    /// How many reclaimers of the process were ever started.
    started_count: u64,
    /// True if the last attempt to start a reclaimer has failed.
    has_failed: bool,
    /// True if the latest reclaimer has not been told to end.
    is_running: bool,
    latest: Option<Arc<Started>>,
}

/// A reclaimer of the process, and the one before it, which was told to end but may still run.
struct Started {
    reclaimer: Reclaimer,
    before: Option<Arc<Started>>,
}

/// Drops the chain in a loop, not by recursion: while one reclaimer is held up by a destructor that
/// does not end, any number of reclaimers may be started after it.
impl Drop for Started {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut before) = next.and_then(Arc::into_inner) {
            next = before.before.take();
        }
    }
}

/// Returns the reclaimer `latest`, if there is one, and those before it, newest first.
fn chain(latest: Option<&Arc<Started>>) -> impl Iterator<Item = &Reclaimer> {
    let all = iter::successors(latest, |started| started.before.as_ref());
    all.map(|started| &started.reclaimer)
}

lazy! {
    /// No foreign code runs under this lock, not even the global allocator.
    static PROCESS: Lock<Process> = Lock::new(Process::default());
}

/// The `started_count` of the reclaimer that runs; 0 if none runs. A thread that sees an old number
/// sends to a reclaimer that is ending or has ended: the value is destroyed there or by the sender.
static RUNNING: Setting = Setting::new(0);

/// A thread's reference to a reclaimer of the process. Its clones change only the `Rc`'s count.
#[allow(
    clippy::redundant_allocation,
    reason = "a send changes no count that other threads change, too"
)]
type NearReclaimer = Rc<Arc<Started>>;

/// The reclaimer that a thread has used last. Sends to it take no lock and change no shared count.
struct Near {
    number: Cell<u64>,
    reclaimer: ManuallyDrop<RefCell<Option<NearReclaimer>>>,
}

local! {
    /// The thread's exit removes the reference.
    static NEAR: Near = Near {
        number: Cell::new(0),
        reclaimer: ManuallyDrop::new(RefCell::new(None)),
    };
}

impl Near {
    fn set(&self, number: u64, reclaimer: Option<NearReclaimer>) {
        self.number.set(number);
        // Drops the former reference last: the drop may run foreign code, which may call this, too.
        drop(self.reclaimer.replace(reclaimer));
    }
}

/// Gives up the calling thread's reference to the reclaimer.
fn forget_reclaimer() {
    NEAR.with(|near| near.set(0, None));
}

/// Returns the running reclaimer, and starts one if there is none; `None` if values must be
/// destroyed on the calling thread.
fn reclaimer() -> Option<NearReclaimer> {
    let near = NEAR.with(|near| match near.number.get() == RUNNING.get() {
        true => near.reclaimer.borrow_mut().clone(),
        false => None,
    });
    near.or_else(look_up)
}

#[cold]
#[inline(never)]
fn look_up() -> Option<NearReclaimer> {
    // Nothing would empty a `NEAR` that is set in the thread's exit or after it.
    let current = current().filter(|_| !is_exiting())?;
    let found = PROCESS.lock().find(current.key())?;
    let (number, reclaimer) = found.or_else(start)?;
    let reclaimer = Rc::new(reclaimer);
    set_exit_hook(HookOf::Reclaimer, |_| forget_reclaimer());
    NEAR.with(|near| near.set(number, Some(reclaimer.clone())));
    Some(reclaimer)
}

/// Starts a reclaimer, unless another thread has just done so.
fn start() -> Option<(u64, Arc<Started>)> {
    // Makes the reclaimer without the lock, as that runs the global allocator and another thread.
    let new = Reclaimer::new("reclaimer").ok();
    let before = None;
    let mut new = new.map(|reclaimer| Arc::new(Started { reclaimer, before }));
    // One that is not needed is dropped without the lock, too, as that waits for its thread.
    PROCESS.lock().install(&mut new)
}

impl Process {
    /// Returns whether `thread` is that of a reclaimer of the process.
    fn has_thread(&self, thread: Option<ThreadKey>) -> bool {
        chain(self.latest.as_ref()).any(|reclaimer| Some(reclaimer.thread().key()) == thread)
    }

    /// Returns the reclaimer that runs, `Some(None)` if one must be started, or `None` if `thread`
    /// must destroy its values itself.
    fn find(&self, thread: ThreadKey) -> Option<Option<(u64, Arc<Started>)>> {
        let must_stay = self.has_failed || self.has_thread(Some(thread));
        (!must_stay).then(|| self.number_and_reclaimer())
    }

    /// Makes `new` the reclaimer that runs, unless one runs already. Returns the one that runs.
    fn install(&mut self, new: &mut Option<Arc<Started>>) -> Option<(u64, Arc<Started>)> {
        if !self.is_running {
            self.has_failed = new.is_none();
            if let Some(started) = new.as_mut().and_then(Arc::get_mut) {
                started.before = self.latest.take();
                self.latest = new.take();
                self.is_running = true;
                self.started_count += 1;
                RUNNING.set(self.started_count);
            }
        }
        self.number_and_reclaimer()
    }

    /// Makes threads send no more to the reclaimer that runs. Returns the latest reclaimer.
    fn stop(&mut self) -> Option<Arc<Started>> {
        RUNNING.set(0);
        self.is_running = false;
        self.latest.clone()
    }

    fn number_and_reclaimer(&self) -> Option<(u64, Arc<Started>)> {
        let latest = self.latest.clone().filter(|_| self.is_running)?;
        Some((self.started_count, latest))
    }
}

/// Makes the reclaimer of the process destroy `value`, as [`Reclaimer::drop_later`] does.
///
/// The first call starts the reclaimer: a thread named "reclaimer", with the [default
/// bounds](Reclaimer::builder), at which senders wait; [`try_drop_later`] gives the value back
/// instead. If the thread cannot be started, values are destroyed at once. [`finish`](crate::finish)
/// ends the reclaimer: call it before the process ends, or values that still wait are lost; the next
/// call of this function starts another one. For bounds of your own, make a [`Reclaimer`].
///
/// A tree that several owners share, each of which may be the last, belongs in a
/// [`Ref<Later<T>>`](crate::reclaim::Later): its last release, on whatever thread and in whatever
/// drain, calls this function.
///
/// When not to use it, where the destructor runs, deadlocks and cost: see [`Reclaimer`].
///
/// ```
/// use releasepool::{drop_later, reclaim::finish_drops};
/// use std::time::Duration;
/// let modules: Vec<String> = (0..1_000).map(|n| format!("module {n}")).collect();
/// drop_later(modules); // returns at once
/// assert!(finish_drops(Duration::from_secs(10)));
/// ```
///
/// # Panics
/// With the panic of the value's destructor, if that runs on the calling thread.
#[doc(alias = "defer_drop")]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub fn drop_later<T: Send + 'static>(value: T) {
    // SAFETY: the value is not used again.
    unsafe { drop_later_from(&mut ManuallyDrop::new(value)) };
}

/// Does what [`drop_later`] does.
///
/// # Safety
/// Takes the value: the caller does not use it again.
#[cfg_attr(feature = "leak-detection", track_caller)]
unsafe fn drop_later_from<T: Send + 'static>(value: &mut ManuallyDrop<T>) {
    match reclaimer() {
        // SAFETY: by the contract, the caller does not use the value again.
        Some(started) => unsafe { started.reclaimer.send(value, 0) },
        // SAFETY: by the contract, the caller does not use the value again.
        None => unsafe { ManuallyDrop::drop(value) },
    }
}

/// Makes the reclaimer of the process destroy `value` like [`drop_later`], if there is room for it.
/// Waits only if it starts the reclaimer, for its thread. Destroys the value on no other thread
/// than the reclaimer's. So it is safe under any lock.
///
/// # Errors
/// Returns [`Full`] with the value under the conditions of [`Reclaimer::try_drop_later`], and if
/// the reclaimer's thread cannot be started.
///
/// ```
/// use releasepool::reclaim::{Full, finish_drops, try_drop_later};
/// use std::time::Duration;
/// if let Err(Full(modules)) = try_drop_later(vec![String::from("module")]) {
///     println!("{} modules stay here", modules.len());
/// }
/// assert!(finish_drops(Duration::from_secs(10)));
/// ```
#[cfg_attr(feature = "leak-detection", track_caller)]
pub fn try_drop_later<T: Send + 'static>(value: T) -> Result<(), Full<T>> {
    match reclaimer() {
        Some(started) => started.reclaimer.try_drop_later(value),
        None => Err(Full(value)),
    }
}

/// Tells the reclaimer of the process to destroy all values that were passed to [`drop_later`] and
/// to end, and waits for its thread; in total for `deadline` at most. Returns whether all values
/// are destroyed; if not, an [event](crate::event::EventKind::DropsLeft) says how many values of
/// which types are left, and the reclaimer goes on with them.
///
/// At the end of `main`, [`finish`](crate::finish) does this with all that waits. Call this function
/// at the end of a test: Miri [reports](crate::guide::checking#threads-that-are-left) a thread that
/// is still there when the process ends. The next `drop_later` starts another thread, which takes
/// some ten microseconds; so this is no way to wait now and then.
///
/// Returns false at once in a destructor that the reclaimer itself runs. May miss values that other
/// threads send during the call, and misses those that they send later.
///
/// ```
/// use releasepool::{drop_later, reclaim::finish_drops};
/// use std::time::Duration;
///
/// drop_later(vec![String::from("a log that its destructor writes")]);
/// if !finish_drops(Duration::from_secs(10)) {
///     eprintln!("some values are not destroyed yet");
/// }
/// ```
pub fn finish_drops(deadline: Duration) -> bool {
    if PROCESS.lock().has_thread(current_key()) {
        return false;
    }
    let mut left = end_by(elapsed().saturating_add(deadline));
    left.retain(|(_, pending)| pending.values != 0);
    if left.is_empty() {
        return true;
    }
    let values = left.iter().map(|(_, pending)| pending.values).sum();
    let types: Vec<_> = left.into_iter().flat_map(|(_, left)| left.types).collect();
    let sampled = types.iter().map(|(_, n)| n).sum();
    Event::new(EventKind::DropsLeft, current_label())
        .count(values)
        .types(types, sampled)
        .emit();
    false
}

/// Tells the reclaimers of the process to end, and waits for them until `elapsed` reaches `until`.
/// Returns the thread of each reclaimer that has not ended, and what waits for it.
pub(crate) fn end_by(until: Duration) -> Vec<(ThreadKey, PendingDrops)> {
    let latest = PROCESS.lock().stop();
    forget_reclaimer();
    let mut left: Vec<_> = chain(latest.as_ref()).collect();
    left.retain(|reclaimer| !reclaimer.finish_by(until));
    if left.is_empty() {
        let is_it = |now: &mut Arc<_>| latest.as_ref().is_some_and(|it| Arc::ptr_eq(it, now));
        // No destructor runs under the lock: `latest` refers to what is removed, too.
        PROCESS.lock().latest.take_if(is_it);
    }
    let pending = |left: &Reclaimer| (left.thread().key(), left.pending());
    left.into_iter().map(pending).collect()
}

/// An owner whose value is destroyed by the reclaimer of the process: dropping it calls
/// [`drop_later`].
///
/// A `Ref<Later<T>>`, or an `Arc` of it, is the way to share a tree that another thread must
/// destroy, whoever drops its last reference, also a pool that is drained: no owner has to know
/// that it is the last. Use it, too, for a field or variable that is dropped in many places, or by
/// `?` and panics, where a call of `drop_later` would be forgotten.
///
/// When not to use it, and where the destructor runs: see [`Reclaimer`]. Not for the links of long
/// chains: the reclaimer destroys a `Later` that is inside another value at once, by recursion, as
/// with `Box`; a chain of [`Ref`](crate::Ref)s needs no stack.
///
/// ```
/// use releasepool::{Ref, reclaim::Later};
/// let graph = Ref::new(Later::new(vec![String::from("module")]));
/// let worker = std::thread::spawn({
///     let graph = graph.clone();
///     move || assert_eq!(graph.len(), 1)
/// });
/// drop(graph); // whichever of the two is last, the graph is destroyed on a third thread
/// # worker.join().unwrap();
/// ```
#[doc(alias = "DeferDrop")]
#[derive(Clone, Default)]
pub struct Later<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send + 'static> Later<T> {
    /// Makes an owner of `value`.
    pub fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// Returns the value, which is then dropped like any other.
    pub fn into_inner(this: Self) -> T {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: `this` is not dropped, so the value is taken once.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T: Send + 'static> Drop for Later<T> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn drop(&mut self) {
        // SAFETY: the value is taken once, as `self` is being dropped.
        unsafe { drop_later_from(&mut self.0) };
    }
}

impl<T: Send + 'static> From<T> for Later<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Send + 'static> Deref for Later<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> DerefMut for Later<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Send + fmt::Debug + 'static> fmt::Debug for Later<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Later").field(&**self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_no_thread_could_be_started_values_stay_on_their_threads() {
        let mut process = Process::default();
        let thread = ThreadKey::new(0, 1);
        assert!(process.find(thread).is_some_and(|found| found.is_none()));
        assert!(process.install(&mut None).is_none() && process.find(thread).is_none());
    }
}
