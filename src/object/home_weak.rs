//! `HomeWeak`, and the coercions of `HomeRef` and `HomeWeak`.

use super::strong::Ref;
use super::thread_bound::{HomeRef, ThreadBound};
use super::weak::Weak;
use crate::unsizing::{Coercible, coerced, sealed};
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// A counted reference to a value with a home; it keeps only the memory alive, not the value.
///
/// It is to [`HomeRef`] what [`Weak`] is to [`Ref`]: a child's reference to its parent, so that the
/// two do not keep each other alive, or an observer on another thread. It gives no access to the
/// value; [`upgrade`](Self::upgrade) returns a `HomeRef`, which gives access at home.
///
/// # Threads
/// Any thread may hold, clone, upgrade and drop a `HomeWeak`, whatever `T` is. If an upgrade
/// returned the last `HomeRef`, the drop of that sends the value
/// [home](HomeRef#where-it-is-destroyed). Dropping a `HomeWeak` never destroys the value; the
/// thread that drops the last reference of any kind frees the memory.
///
/// # When not to use it
/// If the other reference is on the same thread and the value has one owner, use `std::rc::Weak`
/// or an index.
///
/// # Cost
/// One word, two for trait objects and slices. `clone` and `drop` are one read-modify-write each,
/// an upgrade at least one. More than 2³⁰ weak references at once abort the process.
///
/// ```
/// use releasepool::{HomeRef, HomeWeak};
/// use std::cell::RefCell;
///
/// struct Node {
///     parent: HomeWeak<Node>,
///     children: RefCell<Vec<HomeRef<Node>>>,
/// }
/// let node = |parent| HomeRef::new(Node { parent, children: RefCell::default() });
/// let root = node(HomeWeak::new());
/// let child = node(HomeRef::downgrade(&root));
/// root.with(|root| root.children.borrow_mut().push(child.clone()));
///
/// assert!(child.with(|child| child.parent.upgrade()).is_some());
/// drop(root);
/// assert!(child.with(|child| child.parent.upgrade()).is_none());
/// ```
#[repr(transparent)]
pub struct HomeWeak<T: ?Sized + 'static>(Weak<ThreadBound<T>>);

// SAFETY: it gives no access to the value, and its upgrade is a `HomeRef`, which any thread may
// have. Freeing the memory accesses no value.
unsafe impl<T: ?Sized> Send for HomeWeak<T> {}
// SAFETY: a `&HomeWeak` allows nothing that a clone does not, and clones may be sent.
unsafe impl<T: ?Sized> Sync for HomeWeak<T> {}

impl<T: ?Sized + RefUnwindSafe> UnwindSafe for HomeWeak<T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for HomeWeak<T> {}

impl<T> HomeWeak<T> {
    /// Returns a reference to no object, which can never be upgraded. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self(Weak::new())
    }
}

impl<T: ?Sized> HomeRef<T> {
    /// Returns a weak reference, which does not keep the value alive. May be called on any thread.
    ///
    /// One read-modify-write. Aborts at more than 2³⁰ weak references.
    #[inline]
    #[must_use = "a weak reference does nothing unless it is kept"]
    pub fn downgrade(this: &Self) -> HomeWeak<T> {
        // SAFETY: `this` keeps the object alive. The reference that this `Ref` stands for is not
        // given up: it is never dropped, nor passed on.
        let strong = ManuallyDrop::new(unsafe { Ref::adopt(this.payload()) });
        HomeWeak(Ref::downgrade(&strong))
    }
}

impl<T: ?Sized> HomeWeak<T> {
    /// Returns a `HomeRef` if the value is still alive, on any thread.
    ///
    /// Lock-free. Concurrently with the last release, it returns either a valid reference or
    /// `None`; after it, it returns `None`, even if the value is still on its way home and not
    /// destroyed yet. Aborts at more than 2³¹ strong references.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn upgrade(&self) -> Option<HomeRef<T>> {
        let payload = Ref::into_payload(self.0.upgrade()?);
        // SAFETY: the object was made by `HomeRef::make`, as `downgrade` alone makes weak
        // references to a `ThreadBound`; the reference is that of the `Ref`.
        Some(unsafe { HomeRef::adopt(payload) })
    }

    /// Returns the number of strong references; 0 after the last release.
    pub fn strong_count(&self) -> usize {
        self.0.strong_count()
    }

    /// Returns the number of weak references; 0 after the last strong release.
    pub fn weak_count(&self) -> usize {
        self.0.weak_count()
    }

    /// Returns whether both refer to the same object, or both to none.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl<T: ?Sized> Clone for HomeWeak<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for HomeWeak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for HomeWeak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(HomeWeak)")
    }
}

/// Coerces a pointer to a payload by a coercion of pointers to its value.
///
/// # Safety
/// The contract of [`Coercible::coerce`].
unsafe fn coerced_payload<T: ?Sized, U: ?Sized>(
    payload: NonNull<ThreadBound<T>>,
    coerce: impl FnOnce(*mut T) -> *mut U,
) -> NonNull<ThreadBound<U>> {
    // A pointer to a value and a pointer to its payload have the same metadata. The casts keep
    // metadata and address, so the pointer that `coerce` gets points to the front. `coerce` reads
    // nothing there: an unsizing only adds or changes metadata.
    let coerce = |payload: *mut ThreadBound<T>| coerce(payload as *mut T) as *mut ThreadBound<U>;
    // SAFETY: by the contract, this neither reads the payload nor changes its address.
    unsafe { coerced(payload, coerce) }
}

impl<T: ?Sized> sealed::Sealed for HomeRef<T> {}

impl<T: ?Sized> Coercible for HomeRef<T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = HomeRef<U>;

    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut T) -> *mut U,
    ) -> HomeRef<U> {
        let payload = ManuallyDrop::new(self).payload();
        // SAFETY: the contract says that `coerce` keeps the object, whose reference moves.
        unsafe { HomeRef::adopt(coerced_payload(payload, coerce)) }
    }
}

impl<T: ?Sized> sealed::Sealed for HomeWeak<T> {}

impl<T: ?Sized> Coercible for HomeWeak<T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = HomeWeak<U>;

    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut T) -> *mut U,
    ) -> HomeWeak<U> {
        let payload = self.0.into_payload();
        // SAFETY: the contract says that `coerce` keeps the object, whose reference moves; a
        // dangling pointer stays one.
        HomeWeak(unsafe { Weak::adopt(coerced_payload(payload, coerce)) })
    }
}
