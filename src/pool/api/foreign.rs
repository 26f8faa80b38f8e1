//! Objects of foreign runtimes in pools: GObject, Python, COM, JNI, Objective-C.
//!
//! An entry is a counted object. A foreign one gets a small counted object of its own, its *adapter*,
//! whose destructor gives up the foreign reference; so drains, budgets and exits know nothing of it.

use super::guard::AutoreleasePool;
use super::scope::named_scope;
use crate::object::header::header;
use crate::object::settle::settle_scope;
use crate::object::strong::Ref;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ptr::NonNull;

/// A type of objects that a foreign runtime counts.
///
/// The type is opaque: an empty enum or a struct without public fields. No Rust reference to such an
/// object is ever made, so foreign code may change its memory at any time.
///
/// [`AutoreleasePool::adopt`] puts such objects into pools, a [`foreign_scope`] releases them while a
/// token of their runtime is held, and a [`RemoteRelease`](crate::RemoteRelease) collects references that are
/// given up where they may not be released.
///
/// # Safety
/// `retain` adds a reference and `release` gives one up, by the rules of the foreign runtime.
///
/// ```
/// use releasepool::{AutoreleasePool, Foreign};
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
        // SAFETY: the adapter owns the reference, by the contract of `adopt`, which also says that
        // it may be given up wherever entries are released.
        unsafe { F::release(self.0) };
    }
}

/// A foreign object that a pool keeps alive: free to copy, valid until the pool is drained. It gives out
/// only the object's address.
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Thing(std::cell::Cell<i32>);
/// # unsafe fn thing_value(thing: *const Thing) -> i32 { unsafe { &*thing }.0.get() }
/// # unsafe impl releasepool::Foreign for Thing {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # let thing = Thing(5.into());
/// # let thing_new = || NonNull::from(&thing);
/// use releasepool::{AutoreleasePool, ForeignRef};
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
    /// Takes over one reference to a foreign object, which the pool gives up with its other entries,
    /// newest first, and lends the object until then.
    ///
    /// Costs a block of 24 bytes besides the entry.
    ///
    /// # Safety
    /// The caller owns one reference and passes it on. The reference may be given up wherever this
    /// thread releases entries of this pool:
    ///
    /// * in a drain of the pool, or when the pool is closed, also by a panic;
    /// * after a [drain within a budget](Self::drain_within), in any later drain of this thread's backlog;
    /// * if the pool was drained inside a destructor, when the outermost release of this thread is
    ///   done;
    /// * when the thread exits, while its thread-locals are destroyed; never, if the pool is forgotten.
    ///
    /// At all of these times the foreign runtime must allow it. If it does only while this thread holds
    /// something, such as Python's lock or a JNI environment, use a [`foreign_scope`].
    ///
    /// # Panics
    /// Not here: if `F::release` panics, the panic comes out of the drain.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn adopt<F: Foreign>(&self, object: NonNull<F>) -> ForeignRef<'_, F> {
        self.create(Adopted(object));
        ForeignRef {
            object,
            pool: PhantomData,
        }
    }

    /// Takes back the newest entry if it is this foreign object; the caller then owns the reference
    /// again. Returns whether it was.
    ///
    /// For a function that returns an autoreleased object to a caller that retains it: taking it back
    /// replaces a retain and a release. Borrows the pool exclusively, so nothing that the pool has lent
    /// is in use.
    ///
    /// # Safety
    /// `object` is of type `F`, if the pool has adopted an object at this address.
    pub unsafe fn take_back<F: Foreign>(&mut self, object: NonNull<F>) -> bool {
        let entries = &self.state().entries;
        let Some(thin) = entries.newest(&self.thread_pools().pages) else {
            return false;
        };
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        if !unsafe { header(thin) }
            .type_info
            .is_named_as::<Adopted<F>>()
        {
            return false;
        }
        let adapter = thin.cast::<Adopted<F>>();
        // SAFETY: the type's name says that the entry is an adapter, and all adapters are one address;
        // alive as above.
        if unsafe { adapter.as_ref() }.0 != object {
            return false;
        }
        // SAFETY: no code has run since `newest` returned the entry.
        unsafe { entries.pop() };
        // SAFETY: the entry's reference, which is ours now. Its type is `Adopted<F>` by the contract.
        let adapter = Ref::try_unwrap(unsafe { Ref::adopt(adapter) });
        // Only entries refer to adapters, and this object was adopted once for each entry.
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
/// # unsafe impl releasepool::Foreign for Object {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # unsafe fn new_list(_: &Python) -> NonNull<Object> { Box::leak(Box::new(Object(1.into()))).into() }
/// use releasepool::{ForeignRef, ForeignScope, foreign_scope};
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
pub struct ForeignScope<'s> {
    pool: &'s AutoreleasePool,
}

impl ForeignScope<'_> {
    /// Takes over one reference to a foreign object, which is given up when the scope ends, newest first,
    /// and lends the object until then.
    ///
    /// # Safety
    /// The caller owns one reference and passes it on. The foreign runtime allows its release on this
    /// thread as long as the scope's token is borrowed.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub unsafe fn adopt<F: Foreign>(&self, object: NonNull<F>) -> ForeignRef<'_, F> {
        // SAFETY: the scope's pool is drained before `foreign_scope` returns, never within a budget,
        // and a settle scope has destroyed the adapters by then; the rest is the contract.
        unsafe { self.pool.adopt(object) }
    }
}

impl fmt::Debug for ForeignScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignScope").field(self.pool).finish()
    }
}

/// Runs `f` with a pool for foreign objects that may be released only while the caller has `token`: the
/// proof of Python's lock, a JNI environment, a graphics context.
///
/// The scope's entries are released when `f` returns or panics, before `token` may be used
/// mutably, moved or dropped again; no entry goes to a backlog, and nothing that the scope has lent can
/// leave it. The scope's pool is current meanwhile, so counted objects that `f` autoreleases are
/// released then, too.
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Python; // a token
/// # struct Object(std::cell::Cell<u32>);
/// # unsafe impl releasepool::Foreign for Object {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(this: NonNull<Self>) { unsafe { this.as_ref() }.0.set(0) }
/// # }
/// # let object = Object(std::cell::Cell::new(1));
/// # let new_object = |_: &Python| NonNull::from(&object);
/// # let python = Python;
/// releasepool::foreign_scope(&python, |scope| {
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
/// releasepool::foreign_scope(&python, |_| drop(python)); // the scope still needs the lock
/// ```
///
/// # Panics
/// If `f` panics, and with the first panic of a release.
pub fn foreign_scope<Token: ?Sized, R>(token: &Token, f: impl FnOnce(&ForeignScope<'_>) -> R) -> R {
    let _ = token;
    settle_scope(|| named_scope("foreign", |pool| f(&ForeignScope { pool })))
}
