//! The reclaimer of the process: `drop_later`, `finish_drops` and `Later`; and the end of a thread with
//! loops, which closes its frame loops, runs the closures that they accepted, and gives up the thread's
//! reference to that reclaimer.

use super::config::ReclaimerConfig;
use super::drop_later::PendingDrops;
use super::loop_state::{LoopState, Task, run_in_pool};
use super::looper::Looper;
use super::proxy::LooperProxy;
use crate::event::{Event, EventKind};
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Budget;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::{Cell, RefCell};
use crate::sync::{Monitor, Setting, elapsed, lazy, local};
use crate::thread::current::{
    current, current_key, current_label, is_exiting, set_first_exit_hook,
};
use crate::thread::record::Record;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The reclaimers of the process: the one that runs, and those that [`finish_drops`] has told to end.
#[derive(Default)]
pub(crate) struct Process {
    /// How many were started.
    started: u64,
    /// True if the last attempt to start one has failed.
    has_failed: bool,
    running: Option<Looper>,
    ending: Vec<Looper>,
    /// True while a thread waits in `finish_drops`; others wait for their turn.
    is_finishing: bool,
}

lazy! {
    /// No foreign code runs under this lock.
    static PROCESS: Monitor<Process> = Monitor::new(Process::default());
}

/// The number of the reclaimer that runs; 0 if none does. A thread that sees an old number sends to a
/// reclaimer that is ending, or has ended: the value is destroyed there, or by its sender.
static RUNNING: Setting = Setting::new(0);

/// The reclaimer that a thread has used last, so that its sends neither lock nor count anything.
struct Near {
    number: Cell<u64>,
    reclaimer: ManuallyDrop<RefCell<Option<Rc<LooperProxy>>>>,
}

local! {
    /// The thread's exit empties it.
    static NEAR: Near = Near {
        number: Cell::new(0),
        reclaimer: ManuallyDrop::new(RefCell::new(None)),
    };
}

impl Near {
    fn set(&self, number: u64, reclaimer: Option<Rc<LooperProxy>>) {
        self.number.set(number);
        // The old one is dropped when the cell is no longer borrowed.
        drop(self.reclaimer.take());
        *self.reclaimer.borrow_mut() = reclaimer;
    }
}

/// Gives up the calling thread's reference to the reclaimer.
fn forget_reclaimer() {
    NEAR.with(|near| near.set(0, None));
}

/// Returns the running reclaimer, which it starts if there is none; `None` if values must be destroyed
/// on the calling thread.
fn reclaimer() -> Option<Rc<LooperProxy>> {
    let near = NEAR.with(|near| match near.number.get() == RUNNING.get() {
        true => near.reclaimer.borrow_mut().clone(),
        false => None,
    });
    near.or_else(look_up)
}

#[cold]
#[inline(never)]
fn look_up() -> Option<Rc<LooperProxy>> {
    // Nothing would empty `NEAR` in the thread's exit or after it.
    if is_exiting() || current().is_none() {
        return None;
    }
    let found = {
        let process = PROCESS.lock();
        if process.is_own_thread() {
            return None;
        }
        match process.number_and_proxy() {
            None if process.has_failed => return None,
            found => found,
        }
    };
    let (number, proxy) = found.or_else(start)?;
    let proxy = Rc::new(proxy);
    set_hook();
    NEAR.with(|near| near.set(number, Some(proxy.clone())));
    Some(proxy)
}

/// Starts a reclaimer, unless another thread has just done so.
fn start() -> Option<(u64, LooperProxy)> {
    // Not under the lock: this runs the global allocator and another thread.
    let mut new = ReclaimerConfig::new().spawn("reclaimer").ok();
    let mut process = PROCESS.lock();
    if process.running.is_none() {
        process.has_failed = new.is_none();
        process.running = new.take();
        process.started += u64::from(!process.has_failed);
        RUNNING.set(if process.has_failed {
            0
        } else {
            process.started
        });
    }
    let found = process.number_and_proxy();
    drop(process);
    // Waits for the thread of one that was not needed.
    drop(new);
    found
}

impl Process {
    /// Returns whether the calling thread is that of a reclaimer.
    fn is_own_thread(&self) -> bool {
        let mut all = self.ending.iter().chain(&self.running);
        all.any(|looper| Some(looper.thread().key()) == current_key())
    }

    fn number_and_proxy(&self) -> Option<(u64, LooperProxy)> {
        let running = self.running.as_ref()?;
        Some((self.started, running.proxy()))
    }
}

/// Has the reclaimer of the process destroy `value`, as [`Looper::drop_later`] does.
///
/// The first call starts the reclaimer: a thread named "reclaimer", with the
/// [default bounds](crate::ReclaimerConfig), at which senders wait. If the thread cannot be started,
/// values are destroyed at once. [`finish_drops`] ends the reclaimer: call it before the process
/// ends, or values that still wait are lost; the next call of this function starts another one. For bounds
/// of your own, spawn a [`Looper::reclaimer`].
///
/// When not to use it, where the destructor runs, deadlocks and cost: see
/// [`Looper`](Looper#impl-Looper-1).
///
/// ```
/// use releasepool::{drop_later, finish_drops};
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
        // SAFETY: by the contract.
        Some(reclaimer) => unsafe { reclaimer.send(value, 0) },
        // SAFETY: by the contract.
        None => unsafe { ManuallyDrop::drop(value) },
    }
}

/// Waits until the reclaimer of the process has destroyed all values that were passed to
/// [`drop_later`], then ends its thread and waits for that, too; all for `deadline` at most. Returns
/// whether all values are destroyed; if not, an [event](crate::event::EventKind::DropsLeft) says how many
/// values of which types are left, and the reclaimer goes on.
///
/// Call it at the end of `main`: Rust runs no code at the end of a process, so values that still wait
/// then are lost, with what their destructors would have done. Call it at the end of a test, too: Miri
/// [reports](crate::guide::checking#threads-that-are-left) a thread that is still there when the process ends. The next `drop_later`
/// starts the thread again, which takes some ten microseconds.
///
/// Returns false at once in a destructor that the reclaimer itself runs. Values that other threads send at
/// the same time may be missed, as those are that they send later.
///
/// ```
/// use releasepool::{drop_later, finish_drops};
/// use std::time::Duration;
///
/// drop_later(vec![String::from("a log that its destructor writes")]);
/// // At the end of `main`:
/// if !finish_drops(Duration::from_secs(10)) {
///     eprintln!("some values are not destroyed yet");
/// }
/// ```
pub fn finish_drops(deadline: Duration) -> bool {
    let until = elapsed().saturating_add(deadline);
    let left = || until.saturating_sub(elapsed());
    let mut process = PROCESS.lock();
    if process.is_own_thread() {
        return false;
    }
    while process.is_finishing && !left().is_zero() {
        process = PROCESS.wait(process, Some(left()));
    }
    let turn = (!process.is_finishing).then(|| {
        process.is_finishing = true;
        Turn
    });
    let running = process.running.as_ref().map(Looper::proxy);
    let mut all: Vec<_> = process.ending.iter().map(Looper::proxy).collect();
    drop(process);
    if turn.is_some() {
        let idle = running.iter().filter(|r| r.is_idle_within(left()));
        idle.for_each(close);
    }
    all.extend(running);
    // One that has ended has destroyed all; it may still count a value that it is about to refuse.
    all.retain(|r| !(turn.is_some() && r.is_closed() && has_ended(r, left())));
    drop(turn);
    tell_left(all.iter().map(LooperProxy::pending))
}

/// The turn of a thread in [`finish_drops`].
struct Turn;

impl Drop for Turn {
    fn drop(&mut self) {
        PROCESS.lock().is_finishing = false;
        PROCESS.notify();
    }
}

/// Tells the running reclaimer to end. The calling thread has the turn, so this is still that one.
fn close(running: &LooperProxy) {
    RUNNING.set(0);
    {
        let mut process = PROCESS.lock();
        let looper = process.running.take();
        process.ending.extend(looper);
    }
    forget_reclaimer();
    running.state.ask_to_close();
}

/// Waits until a reclaimer that was told to end has ended, for `limit` at most; then waits for its thread, which
/// has nothing left to do. Returns whether it has ended.
fn has_ended(closed: &LooperProxy, limit: Duration) -> bool {
    if !closed.reclaim.has_ended_within(limit) {
        return false;
    }
    let looper = {
        let ending = &mut PROCESS.lock().ending;
        let at = ending.iter().position(|e| e.thread() == closed.thread());
        at.map(|at| ending.swap_remove(at))
    };
    drop(looper);
    true
}

/// Returns whether nothing is left; emits an event if something is.
fn tell_left(pending: impl Iterator<Item = PendingDrops>) -> bool {
    let left: Vec<_> = pending.filter(|pending| pending.values != 0).collect();
    if left.is_empty() {
        return true;
    }
    let values = left.iter().map(|pending| pending.values).sum();
    let types: Vec<_> = left.into_iter().flat_map(|pending| pending.types).collect();
    let sampled = types.iter().map(|(_, n)| n).sum();
    let event = Event::new(EventKind::DropsLeft, current_label());
    event.count(values).types(types, sampled).emit();
    false
}

/// An owner whose value is destroyed by the reclaimer of the process: dropping it calls
/// [`drop_later`].
///
/// For a field or variable that is dropped in many places, or by `?` and panics, where a call would be
/// forgotten. When not to use it, and where the destructor runs: see
/// [`Looper`](Looper#impl-Looper-1). Not for the links of long chains: a `Later` in a value that the
/// reclaimer destroys is destroyed at once, one in another, as with `Box`; a chain of
/// [`Ref`](crate::Ref)s needs no stack.
///
/// ```
/// use releasepool::Later;
/// struct Build { graph: Later<Vec<String>> }
/// let mut build = Build { graph: Later::new(Vec::new()) };
/// build.graph.push(String::from("module"));
/// assert_eq!(build.graph.len(), 1);
/// drop(build); // the graph is destroyed on another thread
/// ```
#[doc(alias = "DeferDrop")]
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
        // SAFETY: taken once, as `self` is being dropped.
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

local! {
    /// The frame loops of this thread. Taken out while it changes: the global allocator is foreign code, and may
    /// make loops. The thread's exit empties the list.
    static LOOPS: ManuallyDrop<Cell<Loops>> = ManuallyDrop::new(Cell::new(Loops::EMPTY));
}

/// A list of loops. Those that are gone are removed now and then.
struct Loops {
    all: Vec<Weak<LoopState>>,
    /// The length at which those that are gone are removed.
    prune_at: usize,
}

impl Loops {
    const EMPTY: Self = Self {
        all: Vec::new(),
        prune_at: 4,
    };

    /// Adds a loop. Looks for loops that are gone only once the list is twice as long as what the last look has
    /// left: so the time for many loops is linear in their number, also if none is ever gone.
    fn add(&mut self, state: Weak<LoopState>) {
        if self.all.len() >= self.prune_at {
            self.all.retain(|state| state.strong_count() > 0);
            self.prune_at = (2 * self.all.len()).max(Self::EMPTY.prune_at);
        }
        self.all.push(state);
    }
}

/// Registers a loop, so that the end of this thread closes it unless it is closed before.
pub(super) fn register(state: &Arc<LoopState>) {
    LOOPS.with(|place| {
        let mut loops = place.replace(Loops::EMPTY);
        loops.add(Arc::downgrade(state));
        // The allocator may have made others meanwhile.
        loop {
            let others = place.replace(loops);
            if others.all.is_empty() {
                break;
            }
            loops = place.replace(Loops::EMPTY);
            others.all.into_iter().for_each(|state| loops.add(state));
        }
    });
    set_hook();
}

/// Has the calling thread's exit call [`close_all`].
pub(super) fn set_hook() {
    set_first_exit_hook(close_all);
}

/// Closes all loops of the thread, then runs the posts that loops dropped inside a destructor have
/// left to the thread. Panics are reported, not propagated.
fn close_all(_: &Arc<Record>) {
    forget_reclaimer();
    let loops = LOOPS.with(|place| place.replace(Loops::EMPTY));
    run_in_pool("last frame", Budget::All, || {
        for state in loops.all.iter().filter_map(Weak::upgrade) {
            state.close(Task::run);
        }
        this_thread::with(|pools| {
            pools.map(ThreadPools::run_posts_of_loops);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::current::current;
    use crate::thread::thread_handle::ThreadHandle;

    /// Adds `n` loops; returns how many entries of the list that has looked at.
    fn steps(n: usize, mut made: impl FnMut(Arc<LoopState>)) -> usize {
        let record = current().unwrap();
        let mut loops = Loops::EMPTY;
        let mut steps = 0;
        for _ in 0..n {
            let before = loops.all.len();
            if before >= loops.prune_at {
                steps += before;
            }
            let state = Arc::new(LoopState::new(ThreadHandle(record.clone())));
            loops.add(Arc::downgrade(&state));
            made(state);
        }
        let kept = loops.all.iter().filter_map(Weak::upgrade).count();
        assert!(loops.all.len() - kept <= kept.max(4), "all others are gone");
        steps
    }

    #[test]
    fn many_loops_take_linear_time_whether_they_are_kept_or_gone() {
        const MANY: usize = 2_000;
        let mut kept = Vec::new();
        assert!(steps(MANY, |state| kept.push(state)) < 2 * MANY);
        assert!(steps(MANY, drop) < 2 * MANY);
    }
}
