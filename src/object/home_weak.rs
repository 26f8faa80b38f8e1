//! `HomeWeak`, and the coercions of `HomeRef` and `HomeWeak`.

use super::strong::Ref;
use super::thread_bound::{HomeRef, ThreadBound};
use super::weak::Weak;
use crate::unsizing::{Coercible, sealed};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A counted reference to a value with a home, which keeps only the memory alive, not the value.
///
/// It is to [`HomeRef`] what [`Weak`] is to [`Ref`]: a child's reference to its parent, so that the
/// two do not keep each other alive, or an observer on another thread. It gives no access to the
/// value; [`upgrade`](Self::upgrade) returns a `HomeRef`, which gives access at home.
///
/// # Threads
/// Any thread may hold, clone, upgrade and drop a `HomeWeak`, whatever `T` is. If an upgrade
/// returned the last `HomeRef`, the drop of this `HomeRef` sends the value
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

// SAFETY: a `HomeWeak` gives no access to the value; upgrading it makes a `HomeRef`, which any
// thread may have. Freeing the memory accesses no value.
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
        HomeWeak(Ref::downgrade(this.inner()))
    }
}

impl<T: ?Sized> HomeWeak<T> {
    /// Returns a `HomeRef` if the value is still alive, on any thread.
    ///
    /// Lock-free. A call that is concurrent with the last release returns either a valid reference
    /// or `None`; a later call returns `None`, even if the value is still on its way home and not
    /// destroyed yet. Aborts at more than 2³¹ strong references.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn upgrade(&self) -> Option<HomeRef<T>> {
        Some(HomeRef::from_inner(self.0.upgrade()?))
    }

    /// Returns the number of strong references; 0 after the last release.
    ///
    /// It orders nothing, as [`Ref::strong_count`](crate::Ref::strong_count): 0 does not say that the value has been
    /// destroyed, and 1 not that its home alone has a reference from now on.
    pub fn strong_count(&self) -> usize {
        self.0.strong_count()
    }

    /// Returns the number of weak references; 0 after the last strong release. It orders nothing, as
    /// [`Ref::strong_count`](crate::Ref::strong_count).
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

/// Turns a coercion of pointers to a value into the coercion of pointers to its payload.
///
/// A pointer to a value and a pointer to its payload have the same metadata. The casts keep
/// metadata and address, so the pointer that `coerce` gets points to the front. `coerce` reads
/// nothing there: an unsizing only adds or changes metadata.
fn of_payload<T: ?Sized, U: ?Sized>(
    coerce: impl FnOnce(*mut T) -> *mut U,
) -> impl FnOnce(*mut ThreadBound<T>) -> *mut ThreadBound<U> {
    |payload| coerce(payload as *mut T) as *mut ThreadBound<U>
}

impl<T: ?Sized> sealed::Sealed for HomeRef<T> {}

impl<T: ?Sized> Coercible for HomeRef<T> {
    type Target = T;
    type Of<U: ?Sized + 'static> = HomeRef<U>;

    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut T) -> *mut U,
    ) -> HomeRef<U> {
        // SAFETY: the contract allows `coerce`, and `of_payload` neither reads the payload nor
        // changes its address.
        HomeRef::from_inner(unsafe { self.into_inner().coerce(of_payload(coerce)) })
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
        // SAFETY: the contract allows `coerce`, and `of_payload` neither reads the payload nor
        // changes its address.
        HomeWeak(unsafe { self.0.coerce(of_payload(coerce)) })
    }
}
