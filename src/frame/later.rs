//! The reclaimer of the process: `drop_later`, `finish_drops` and `Later`.

use super::looper::Looper;
use super::reclaimer_config::ReclaimerConfig;
use crate::event::{Event, EventKind};
use crate::sync::{Setting, lazy};
use crate::thread::current::current_label;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

lazy! {
    /// The reclaimer of the process; `None` if its thread could not be started.
    static PROCESS: Option<Looper> = {
        STARTED.set(1);
        ReclaimerConfig::new().spawn("reclaimer").ok()
    };
}

/// 1 once the reclaimer of the process was started.
static STARTED: Setting = Setting::new(0);

/// Has the reclaimer of the process destroy `value`, as [`Looper::drop_later`] does.
///
/// The first call starts the reclaimer: a thread named "reclaimer", with the
/// [default bounds](crate::ReclaimerConfig), at which senders wait. If the thread cannot be started,
/// values are destroyed at once. Nothing ends the reclaimer: call [`finish_drops`] before the process
/// ends, or values that still wait are lost. For bounds or an end of your own, spawn a
/// [`Looper::reclaimer`].
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
    match &*PROCESS {
        // SAFETY: by the contract.
        Some(reclaimer) => unsafe { reclaimer.drop_later_from(value, 0) },
        // SAFETY: by the contract.
        None => unsafe { ManuallyDrop::drop(value) },
    }
}

/// Waits until the reclaimer of the process has destroyed all values that were passed to
/// [`drop_later`], or for `deadline` at most. Returns whether it has; if not, an
/// [event](crate::event::EventKind::DropsLeft) says how many values of which types are left.
///
/// Call it at the end of `main`: Rust runs no code at the end of a process, so values that still wait
/// then are lost, with what their destructors would have done. The reclaimer goes on, and may be used
/// again.
///
/// Returns false at once in a destructor that the reclaimer itself runs.
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
    // A value that another thread sends at the same time may be missed, as one that it sends later is.
    if STARTED.get() == 0 {
        return true;
    }
    let Some(reclaimer) = &*PROCESS else {
        return true;
    };
    let is_done = reclaimer.wait_idle(deadline);
    if !is_done {
        let left = reclaimer.pending();
        let event = Event::new(EventKind::DropsLeft, current_label());
        let sampled = left.types.iter().map(|(_, n)| n).sum();
        event.count(left.values).types(left.types, sampled).emit();
    }
    is_done
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
