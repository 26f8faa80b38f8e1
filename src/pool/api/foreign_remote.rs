//! `RemoteRelease`: foreign references that are given up where they may not be released.

use super::foreign::Foreign;
use crate::event::{Event, EventKind, thread_label};
use crate::pool::remote::segments::{Segments, Taken};
use crate::sync::const_fn;
use crate::unwind::{FirstPanic, resume_or_report};
use std::any::type_name;
use std::fmt;
use std::ptr::NonNull;

/// The error of [`RemoteRelease::drain`] and [`RemoteRelease::close`] on a thread that is not the owner.
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Widget(std::cell::Cell<u32>);
/// # unsafe impl releasepool::Foreign for Widget {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # let widget = NonNull::from(Box::leak(Box::new(Widget(1.into()))));
/// use releasepool::{NotOwner, RemoteRelease};
/// use std::thread;
///
/// let ui = thread::current().id();
/// let given_up = RemoteRelease::<Widget, _>::new(move || thread::current().id() == ui);
/// assert!(unsafe { given_up.push(widget) });
/// thread::scope(|s| {
///     s.spawn(|| assert_eq!(given_up.drain(), Err(NotOwner))); // the widget still waits
/// });
/// assert_eq!(given_up.drain()?, 1);
/// # Ok::<(), NotOwner>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "only the owner of these foreign references may release them, such as a thread with the runtime's lock"
)]
pub struct NotOwner;

/// References to [foreign objects](Foreign) that any thread gives up, and that only the *owner* may
/// release: a thread that holds Python's lock, that is attached to a Java machine, or that runs
/// GTK's main loop.
///
/// Any thread [pushes](Self::push) references; the owner [drains](Self::drain) now and then, such as
/// each time that it gets the lock. The owner is bound when the queue is made: by a function that
/// returns whether the calling thread is the owner at this moment. A drain elsewhere is an error.
///
/// ```
/// use releasepool::{Foreign, NotOwner, RemoteRelease};
/// use std::ptr::NonNull;
/// # mod python {
/// #     pub struct PyObject(pub std::sync::atomic::AtomicUsize);
/// #     thread_local! { pub static HELD: std::cell::Cell<bool> = const { std::cell::Cell::new(false) }; }
/// #     pub fn with_gil(f: impl FnOnce()) { HELD.set(true); f(); HELD.set(false) }
/// #     pub unsafe fn check() -> i32 { HELD.get().into() }
/// #     pub unsafe fn incref(o: *mut PyObject) { unsafe { &*o }.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst); }
/// #     pub unsafe fn decref(o: *mut PyObject) { unsafe { &*o }.0.fetch_sub(1, std::sync::atomic::Ordering::SeqCst); }
/// # }
/// use python::{PyObject, check as PyGILState_Check, decref as Py_DecRef, incref as Py_IncRef};
///
/// unsafe impl Foreign for PyObject {
///     unsafe fn retain(this: NonNull<Self>) { unsafe { Py_IncRef(this.as_ptr()) } }
///     unsafe fn release(this: NonNull<Self>) { unsafe { Py_DecRef(this.as_ptr()) } }
/// }
///
/// /// References that were dropped on threads without Python's lock.
/// static DROPPED: RemoteRelease<PyObject> = RemoteRelease::new(|| unsafe { PyGILState_Check() } == 1);
///
/// # let object = PyObject(1.into());
/// # let new_object = || NonNull::from(&object);
/// # let address = new_object().as_ptr().expose_provenance();
/// # std::thread::scope(|s| { s.spawn(move || {
/// # let object = NonNull::new(std::ptr::with_exposed_provenance_mut::<PyObject>(address)).unwrap();
/// // On a thread without the lock:
/// let accepted = unsafe { DROPPED.push(object) };
/// # assert!(accepted);
/// assert_eq!(DROPPED.drain(), Err(NotOwner));
/// # }); });
/// // On a thread that has just got the lock:
/// # python::with_gil(|| {
/// assert_eq!(DROPPED.drain(), Ok(1));
/// # });
/// # assert_eq!(object.0.load(std::sync::atomic::Ordering::SeqCst), 0);
/// ```
///
/// # Why a function names the owner
/// A queue for one thread would not replace the mutex of PyO3's reference pool, nor JNI's list of
/// deferred deletions: their owner is whoever holds the lock, and in a Python without one it is
/// every attached thread, several at a time. Runtimes have a function that answers the question
/// (`PyGILState_Check`, `GetEnv`, `g_main_context_is_owner`), and a queue for one thread compares that
/// thread's id: `RemoteRelease::new(move || thread::current().id() == home)`. Tokens such as
/// `Python<'py>` have lifetimes, so a static could not name their type.
///
/// # When not to use it
/// Where every thread may release the objects, as with most of GObject's, release them at once. For
/// values of one thread that are not counted by a foreign runtime, [`HomeRef`](crate::HomeRef) needs
/// neither a drain nor `unsafe`, and [wakes](crate::PoolManager::set_inbox_hook) its home's loop. Nothing
/// here wakes the owner.
///
/// # The end
/// When the runtime ends, its owner [closes](Self::close) the queue: later pushes are refused. Dropping
/// the queue on an owner releases what is left. Dropped elsewhere, it leaks these references, and an
/// [event](crate::event::EventKind::ForeignLeft) says how many. A queue in a static is never dropped.
///
/// # Cost
/// A push is two atomic exchanges, and one in 62 allocates 512 bytes; after a drain, the next push
/// does. A drain of an empty queue is one load; else one exchange a reference. Lock-free: no thread waits for
/// another one.
pub struct RemoteRelease<F: Foreign, C: Fn() -> bool = fn() -> bool> {
    given_up: Segments<F>,
    is_owner: C,
}

impl<F: Foreign, C: Fn() -> bool> RemoteRelease<F, C> {
    const_fn! {
        /// Makes an empty queue. `is_owner` returns whether the calling thread may release objects of
        /// this type, from now until the call of `drain`, `close` or `drop` that asked returns.
        pub fn new(is_owner: C) -> Self {
            Self { given_up: Segments::new(), is_owner }
        }
    }

    /// Gives up a reference, which a later drain releases. Returns false if the queue was
    /// [closed](Self::close): the caller then still owns the reference, which nobody may release any
    /// more.
    ///
    /// Lock-free; runs no foreign code. May be called on any thread, the owner included, and also
    /// while references are released.
    ///
    /// # Safety
    /// The caller owns one reference and passes it on. The foreign runtime allows its release on any
    /// thread for which the queue's function returns true, until the call that asked returns.
    #[must_use = "if the queue is closed, the reference was not accepted"]
    pub unsafe fn push(&self, object: NonNull<F>) -> bool {
        self.given_up.push(object)
    }

    /// Returns whether no reference waits. One load; may miss a push that is in progress.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.given_up.is_empty()
    }

    /// Releases all references that were pushed before, in no particular order, and returns their
    /// number. References that are pushed meanwhile may wait for the next drain. If nothing waits, does
    /// not ask for the owner.
    ///
    /// # Errors
    /// [`NotOwner`] if the calling thread is not the owner; the references stay.
    ///
    /// # Panics
    /// With the first panic of a release, after all others have been made.
    #[inline]
    pub fn drain(&self) -> Result<usize, NotOwner> {
        if self.is_empty() {
            return Ok(0);
        }
        self.drain_some(Segments::take)
    }

    /// Ends the queue, on the owner: releases what is left, as [`drain`](Self::drain) does, and refuses
    /// all later pushes. A push at the same time is either refused, or its reference released here.
    ///
    /// # Errors
    /// [`NotOwner`] if the calling thread is not the owner; the queue stays open.
    ///
    /// # Panics
    /// As [`drain`](Self::drain).
    pub fn close(&self) -> Result<usize, NotOwner> {
        self.drain_some(Segments::close)
    }

    #[cold]
    fn drain_some(&self, take: fn(&Segments<F>) -> Taken<F>) -> Result<usize, NotOwner> {
        if !(self.is_owner)() {
            return Err(NotOwner);
        }
        Ok(release_all(take(&self.given_up)))
    }
}

/// Releases references, on their owner; then resumes the first panic. Returns their number.
fn release_all<F: Foreign>(taken: Taken<F>) -> usize {
    let mut released = 0;
    let mut panics = FirstPanic::default();
    taken.for_each(|object| {
        released += 1;
        // SAFETY: by the contract of `push` the queue owns the reference, and the calling thread is
        // the owner.
        panics.guard(|| unsafe { F::release(object) });
    });
    panics.into_first().into_iter().for_each(resume_or_report);
    released
}

impl<F: Foreign, C: Fn() -> bool> Drop for RemoteRelease<F, C> {
    fn drop(&mut self) {
        if self.is_empty() {
            return;
        }
        if (self.is_owner)() {
            release_all(self.given_up.close());
        } else {
            let mut left = 0;
            self.given_up.close().for_each(|_| left += 1);
            let event = Event::new(EventKind::ForeignLeft, thread_label::current());
            event.of_type(type_name::<F>()).count(left).emit();
        }
    }
}

impl<F: Foreign, C: Fn() -> bool> fmt::Debug for RemoteRelease<F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteRelease")
            .field("is_empty", &self.is_empty())
            .finish_non_exhaustive()
    }
}
