//! Objects of foreign runtimes in pools: GObject, Python, COM, JNI, Objective-C.
//!
//! An entry refers to a counted object. So each foreign reference is put into a small counted
//! object, its *adapter*, whose destructor releases the reference: drains treat all entries alike.
//!
//! `RemoteRelease` takes foreign references from threads that may not release them.

use crate::event::{Event, EventKind, words};
use crate::macros::debug_fields;
use crate::object::destroy::settle_scope;
use crate::object::header::header;
use crate::object::strong::Ref;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::named_scope;
use crate::pool::remote::segments::{Segments, Taken};
use crate::sync::const_fn;
use crate::unwind::FirstPanic;
use std::any::type_name;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::{fmt, mem};

/// A type of objects that a foreign runtime counts.
///
/// The type is opaque: an empty enum or a struct without public fields. No Rust reference to such an
/// object is ever made, so foreign code may change its memory at any time.
///
/// [`AutoreleasePool::adopt`] puts such objects into pools, a [`foreign_scope`] releases them while a
/// token of their runtime is held, and a [`RemoteRelease`] collects references that are
/// given up where they may not be released.
///
/// # Safety
/// `retain` adds a reference and `release` gives one up, by the rules of the foreign runtime.
///
/// ```
/// use releasepool::foreign::Foreign;
/// use releasepool::AutoreleasePool;
/// use std::ptr::NonNull;
/// # mod library {
/// #     pub struct Thing(pub std::cell::Cell<i32>);
/// #     pub unsafe fn thing_new() -> *mut Thing { Box::leak(Box::new(Thing(1.into()))) }
/// #     pub unsafe fn thing_ref(thing: *mut Thing) { unsafe { (*thing).0.set((*thing).0.get() + 1) } }
/// #     pub unsafe fn thing_unref(thing: *mut Thing) {
/// #         let left = unsafe { (*thing).0.get() - 1 };
/// #         unsafe { (*thing).0.set(left) };
/// #         if left == 0 { drop(unsafe { Box::from_raw(thing) }) }
/// #     }
/// # }
/// use library::{Thing, thing_new, thing_ref, thing_unref}; // from C
///
/// unsafe impl Foreign for Thing {
///     unsafe fn retain(this: NonNull<Self>) { unsafe { thing_ref(this.as_ptr()) } }
///     unsafe fn release(this: NonNull<Self>) { unsafe { thing_unref(this.as_ptr()) } }
/// }
///
/// let mut pool = AutoreleasePool::new();
/// let thing = NonNull::new(unsafe { thing_new() }).unwrap();
/// let lent = unsafe { pool.adopt(thing) };
/// assert_eq!(lent.as_ptr(), thing.as_ptr());
/// pool.drain(); // calls thing_unref
/// ```
pub unsafe trait Foreign: 'static {
    /// Adds a reference.
    ///
    /// # Safety
    /// The object is alive, and the foreign runtime's rules allow the call on this thread, now.
    unsafe fn retain(this: NonNull<Self>);

    /// Gives up a reference.
    ///
    /// # Safety
    /// The caller owns the reference, and the foreign runtime's rules allow the call on this thread,
    /// now.
    unsafe fn release(this: NonNull<Self>);
}

/// The adapter: owns one foreign reference.
struct Adopted<F: Foreign>(NonNull<F>);

impl<F: Foreign> Drop for Adopted<F> {
    fn drop(&mut self) {
        // SAFETY: by the contract of `adopt`, the adapter owns the reference, which may be given up
        // wherever the pool's entries are released.
        unsafe { F::release(self.0) };
    }
}

/// A reference to a foreign object that a pool keeps alive: free to copy, valid until the pool is
/// drained. It gives out only the object's address.
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Thing(std::cell::Cell<i32>);
/// # unsafe fn thing_value(thing: *const Thing) -> i32 { unsafe { &*thing }.0.get() }
/// # unsafe impl releasepool::foreign::Foreign for Thing {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # let thing = Thing(5.into());
/// # let thing_new = || NonNull::from(&thing);
/// use releasepool::foreign::ForeignRef;
/// use releasepool::AutoreleasePool;
///
/// fn value(thing: ForeignRef<'_, Thing>) -> i32 {
///     unsafe { thing_value(thing.as_ptr()) } // a function of C
/// }
///
/// let pool = AutoreleasePool::new();
/// let lent = unsafe { pool.adopt(thing_new()) };
/// assert_eq!(value(lent) + value(lent), 10);
/// ```
pub struct ForeignRef<'pool, F> {
    object: NonNull<F>,
    pool: PhantomData<&'pool ()>,
}

impl<F> ForeignRef<'_, F> {
    /// Returns the object's address, for calls of the foreign runtime. The object is alive until the
    /// pool is drained.
    pub fn as_ptr(self) -> *mut F {
        self.object.as_ptr()
    }

    /// Returns the object's address, which is not null.
    pub fn as_non_null(self) -> NonNull<F> {
        self.object
    }
}

impl<F> Clone for ForeignRef<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for ForeignRef<'_, F> {}

impl<F> fmt::Debug for ForeignRef<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignRef({:p})", self.object)
    }
}

impl AutoreleasePool {
    /// Takes over one reference to a foreign object. The pool gives the reference up with its other
    /// entries, newest first, and lends the object until then.
    ///
    /// Costs an object of 24 bytes, in a block of 32, besides the entry.
    ///
    /// # Safety
    /// The caller owns one reference and passes it on. The reference may be given up wherever this
    /// thread releases entries of this pool:
    ///
    /// * in a drain of the pool, or when the pool is closed, even during a panic;
    /// * after a [drain within a budget](Self::drain_within), in any later drain of this thread's backlog;
    /// * if the pool was drained inside a destructor, when the outermost release of this thread is
    ///   done;
    /// * when the thread exits, while its thread-locals are destroyed; never, if the pool is forgotten.
    ///
    /// At all of these times the foreign runtime must allow the release. If it allows it only while
    /// this thread holds something, such as Python's lock, use a [`foreign_scope`].
    ///
    /// # Panics
    /// Not here: if `F::release` panics, the panic comes out of the drain.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn adopt<F: Foreign>(&self, object: NonNull<F>) -> ForeignRef<'_, F> {
        self.create(Adopted(object));
        let pool = PhantomData;
        ForeignRef { object, pool }
    }

    /// Takes back the newest entry if it is for this foreign object; the caller then owns the
    /// reference again. Returns whether the entry was taken back.
    ///
    /// For a caller that would retain an object that a function has just returned autoreleased:
    /// `take_back` replaces that retain and the pool's release. Borrows the pool exclusively, so
    /// nothing that the pool has lent is in use.
    ///
    /// # Safety
    /// `object` is of type `F`, if the pool has adopted an object at this address.
    pub unsafe fn take_back<F: Foreign>(&mut self, object: NonNull<F>) -> bool {
        let entries = &self.state().entries;
        let Some(thin) = entries.newest(&self.thread_pools().pages) else {
            return false;
        };
        // SAFETY: the entry's reference keeps the object alive (invariant 5 of `pool`).
        if !unsafe { header(thin) }
            .type_info
            .is_named_as::<Adopted<F>>()
        {
            return false;
        }
        let adapter = thin.cast::<Adopted<F>>();
        // SAFETY: the type's name says that the object is an adapter, and each adapter consists of
        // one address; the entry's reference keeps the adapter alive.
        if unsafe { adapter.as_ref() }.0 != object {
            return false;
        }
        // SAFETY: nothing has changed the entries since `newest` returned the newest one.
        unsafe { entries.pop() };
        // SAFETY: the entry's reference is ours; by the contract, the object is an `Adopted<F>`.
        let adapter = Ref::try_unwrap(unsafe { Ref::adopt(adapter) });
        // Each adapter is made for one entry, and nothing else refers to the adapter.
        adapter.map_or_else(|_| unreachable!("adapters are not shared"), mem::forget);
        true
    }
}

/// A pool for foreign objects that must not outlive a token of their runtime: see [`foreign_scope`].
///
/// A function that lends a new object takes the scope:
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Python; // a token
/// # struct Object(std::cell::Cell<u32>);
/// # unsafe impl releasepool::foreign::Foreign for Object {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # unsafe fn new_list(_: &Python) -> NonNull<Object> { Box::leak(Box::new(Object(1.into()))).into() }
/// use releasepool::foreign::{ForeignRef, ForeignScope, foreign_scope};
///
/// fn list<'s>(python: &Python, scope: &'s ForeignScope<'_>) -> ForeignRef<'s, Object> {
///     unsafe { scope.adopt(new_list(python)) }
/// }
///
/// # let python = Python;
/// # let mut object = None;
/// foreign_scope(&python, |scope| {
///     let (first, second) = (list(&python, scope), list(&python, scope));
///     assert_ne!(first.as_ptr(), second.as_ptr());
/// #   object = Some(first.as_non_null());
/// }); // both are released here
/// # assert_eq!(unsafe { object.unwrap().as_ref() }.0.get(), 0);
/// ```
#[derive(Debug)]
pub struct ForeignScope<'s>(&'s AutoreleasePool);

impl ForeignScope<'_> {
    /// Takes over one reference to a foreign object, and lends the object until the scope ends. The
    /// end of the scope gives such references up, newest first.
    ///
    /// # Safety
    /// The caller owns one reference and passes it on. The foreign runtime allows its release on this
    /// thread as long as the scope's token is borrowed.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn adopt<F: Foreign>(&self, object: NonNull<F>) -> ForeignRef<'_, F> {
        // SAFETY: before `foreign_scope` returns, the scope's pool is drained, never within a
        // budget, and `settle_scope` has destroyed the adapters; the rest is the contract.
        unsafe { self.0.adopt(object) }
    }
}

/// Runs `f` with a pool for foreign objects that may be released only while the caller has `token`: the
/// proof of Python's lock, a JNI environment, a graphics context.
///
/// The scope's entries are released when `f` returns or panics, before `token` may be used
/// mutably, moved or dropped again; no entry goes to a backlog, and nothing that the scope has lent can
/// leave it. The scope's pool is current while `f` runs, so counted objects that `f` autoreleases
/// are released with the scope's entries.
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Python; // a token
/// # struct Object(std::cell::Cell<u32>);
/// # unsafe impl releasepool::foreign::Foreign for Object {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # let object = Object(std::cell::Cell::new(1));
/// # let new_object = |_: &Python| NonNull::from(&object);
/// # let python = Python;
/// releasepool::foreign::foreign_scope(&python, |scope| {
///     let temporary = unsafe { scope.adopt(new_object(&python)) };
///     assert!(!temporary.as_ptr().is_null());
/// }); // released here, with the lock held
/// drop(python);
/// # assert_eq!(object.0.get(), 0);
/// ```
///
/// ```compile_fail,E0505
/// # struct Python;
/// # let python = Python;
/// releasepool::foreign::foreign_scope(&python, |_| drop(python)); // the scope still needs the lock
/// ```
///
/// # Panics
/// If `f` panics, and with the first panic of a release.
pub fn foreign_scope<Token: ?Sized, R>(
    #[expect(unused_variables, reason = "the borrow lasts until this returns")] token: &Token,
    f: impl FnOnce(&ForeignScope<'_>) -> R,
) -> R {
    settle_scope(|| named_scope("foreign", |pool| f(&ForeignScope(pool))))
}

/// The error of [`RemoteRelease::drain`] and [`RemoteRelease::close`] on a thread that is not the owner.
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Widget(std::cell::Cell<u32>);
/// # unsafe impl releasepool::foreign::Foreign for Widget {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # let widget = NonNull::from(Box::leak(Box::new(Widget(1.into()))));
/// use releasepool::foreign::{NotOwner, RemoteRelease};
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
/// each time that it gets the lock. The queue is made with a function that returns whether the
/// calling thread is the owner at this moment. A drain of references on another thread is an error.
///
/// ```
/// use releasepool::foreign::{Foreign, NotOwner, RemoteRelease};
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
/// deferred deletions: their owner is whoever holds the lock. In a Python without that lock, every
/// attached thread is an owner, several at a time. Runtimes have a function that knows the owner
/// (`PyGILState_Check`, `GetEnv`, `g_main_context_is_owner`), and a queue for one thread compares that
/// thread's id: `RemoteRelease::new(move || thread::current().id() == home)`. Tokens such as
/// `Python<'py>` have lifetimes, so a static could not name their type.
///
/// # When not to use it
/// Where every thread may release the objects, as with most of GObject's, release them at once. For
/// values of one thread that are not counted by a foreign runtime, [`HomeRef`](crate::HomeRef) needs
/// neither a drain nor `unsafe`, and [wakes](crate::PoolManager::set_inbox_hook) its home's loop. A
/// `RemoteRelease` wakes nobody.
///
/// # The end
/// When the runtime ends, the owner [closes](Self::close) the queue: later pushes are refused. A
/// drop on an owner releases what is left. A drop on another thread leaks these references, and an
/// [event](crate::event::EventKind::ForeignLeft) says how many. A queue in a static is never dropped.
///
/// # Cost
/// A push is two atomic exchanges; one in 62, and the first after a drain, allocates 512 bytes.
/// A drain of an empty queue is one load, any other drain one exchange for each reference.
/// Lock-free: no thread waits for another one.
pub struct RemoteRelease<F: Foreign, C: Fn() -> bool = fn() -> bool> {
    given_up: Segments<F>,
    is_owner: C,
}

impl<F: Foreign, C: Fn() -> bool> RemoteRelease<F, C> {
    const_fn! {
        /// Makes an empty queue. `is_owner` returns whether the calling thread may release objects
        /// of this type until the `drain`, `close` or `drop` that has called `is_owner` returns.
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
    /// thread on which `is_owner` returns true, until the call that has called `is_owner` returns.
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
    /// number. References that are pushed during the call may wait for the next drain. If nothing
    /// waits, returns 0 on any thread.
    ///
    /// # Errors
    /// [`NotOwner`] if the calling thread is not the owner; the references stay.
    ///
    /// # Panics
    /// With the first panic of a release, after all other releases.
    #[inline]
    pub fn drain(&self) -> Result<usize, NotOwner> {
        if self.is_empty() {
            return Ok(0);
        }
        self.drain_some(Segments::take)
    }

    /// Ends the queue, on the owner: releases what is left, as [`drain`](Self::drain) does, and refuses
    /// all later pushes. A push at the same time is refused, or this call releases its reference.
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

/// Releases references, on their owner, and resumes the first panic. Returns how many there were.
fn release_all<F: Foreign>(taken: Taken<F>) -> usize {
    let mut released = 0;
    let mut panics = FirstPanic::default();
    taken.for_each(|object| {
        released += 1;
        // SAFETY: by the contract of `push` the queue owns the reference, and the calling thread is
        // the owner.
        panics.guard(|| unsafe { F::release(object) });
    });
    panics.resume();
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
            let event = Event::new(EventKind::ForeignLeft, words::current_label());
            event.of_type(type_name::<F>()).count(left).emit();
        }
    }
}

debug_fields! {
    [F: Foreign, C: Fn() -> bool] RemoteRelease<F, C>: |this| is_empty = this.is_empty(), ..
}
