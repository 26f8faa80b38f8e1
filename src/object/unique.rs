//! Exclusive access to the value, and moving it out.

use super::count::Count;
use super::destroy::release_weak;
use super::header::{checked, header, note_write};
use super::object_memory::{allocate_sized, allocate_slice};
use super::strong::Ref;
use crate::ledger::{self, ReleasedBy};
use crate::thread::current::tally_destroyed;
use std::ptr::{self, NonNull};

/// Returns the count of the object.
fn count<T: ?Sized>(this: &Ref<T>) -> &Count {
    // SAFETY: `this` keeps the object alive.
    &unsafe { header(Ref::thin(this)) }.count
}

/// Returns exclusive access to the value.
///
/// # Safety
/// `this` is the only reference of any kind.
#[inline(always)]
unsafe fn value_mut<T: ?Sized>(this: &mut Ref<T>) -> &mut T {
    // SAFETY: `this` keeps the object alive, is the only reference, and is borrowed exclusively
    // (invariant 6 of `object`).
    unsafe {
        note_write(Ref::thin(this));
        Ref::payload(this).as_mut()
    }
}

/// A weak reference to an object whose value was taken; dropping it releases the reference.
struct EmptiedObject<T: ?Sized + 'static>(NonNull<T>);

impl<T: ?Sized> Drop for EmptiedObject<T> {
    fn drop(&mut self) {
        ledger::died(self.0.cast());
        // SAFETY: an `EmptiedObject` owns a weak reference; each of its three makers in this file
        // gives it one.
        unsafe { release_weak(self.0.cast()) };
    }
}

impl<T> EmptiedObject<T> {
    /// Moves the value out.
    ///
    /// # Safety
    /// The caller owns the value, and moves it out once.
    #[inline(always)]
    unsafe fn take_value(&self) -> T {
        // SAFETY: the caller owns the value, and the weak reference keeps the memory.
        unsafe {
            note_write(self.0.cast());
            self.0.read()
        }
    }
}

impl<T> Ref<T> {
    /// Moves the value out if this is the only strong reference; weak references can then no longer
    /// be upgraded.
    ///
    /// ```
    /// use releasepool::Ref;
    /// let a = Ref::new(String::from("one"));
    /// let b = a.clone();
    /// let a = Ref::try_unwrap(a).unwrap_err(); // there is `b`
    /// drop(b);
    /// assert_eq!(Ref::try_unwrap(a), Ok(String::from("one")));
    /// ```
    ///
    /// # Errors
    /// The reference itself, if other strong references exist.
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if !count(&this).take_value() {
            return Err(this);
        }
        tally_destroyed(1);
        let emptied = EmptiedObject(Ref::into_payload(this));
        // SAFETY: `Count::take_value` passed the value to us; it is moved out once.
        Ok(unsafe { emptied.take_value() })
    }

    /// Moves the value out if this is the last strong reference; otherwise releases the reference.
    /// If several threads call this for all references of an object, exactly one gets the value.
    pub fn into_inner(this: Self) -> Option<T> {
        let payload = Ref::into_payload(this);
        let thin = payload.cast::<u8>();
        ledger::released(thin, 1, ReleasedBy::Handle);
        // SAFETY: the reference keeps the object alive; it is given up here. If `release` returns true,
        // either the object is dead and belongs to this thread, or more than 2³¹ other references keep
        // it; `was_last` says which (invariant 5 of `object`).
        let count = unsafe { &header(thin).count };
        // SAFETY: the reference that is given up here keeps the object alive.
        if !unsafe { checked(thin, count.release()) } || !count.was_last() {
            return None;
        }
        tally_destroyed(1);
        if count.begin_destruction() {
            // As before a destructor, turns the reference into a weak one, which keeps the memory
            // from here on.
            count.begin_unique_destruction();
        }
        let emptied = EmptiedObject(payload);
        // SAFETY: this thread made the last release, so it owns the value, which is moved out once.
        Some(unsafe { emptied.take_value() })
    }

    /// Moves the value out if this is the only strong reference, and clones it otherwise.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }
}

impl<T: ?Sized> Ref<T> {
    /// Returns exclusive access to the value if there is no other reference, strong or weak. An
    /// entry of a pool is a reference, too. The accesses of threads that have released references
    /// happen before the caller's, which [`strong_count`](Self::strong_count) does not ensure.
    ///
    /// ```
    /// use releasepool::{AutoreleasePool, Ref};
    /// let mut pool = AutoreleasePool::new();
    /// let mut list = Ref::new(vec![1]);
    /// pool.autorelease(list.clone());
    /// assert!(Ref::get_mut(&mut list).is_none());
    /// pool.drain();
    /// Ref::get_mut(&mut list).unwrap().push(2);
    /// assert_eq!(*list, [1, 2]);
    /// ```
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if count(this).is_unique() {
            // SAFETY: `is_unique` says that this is the only reference.
            Some(unsafe { value_mut(this) })
        } else {
            None
        }
    }
}

/// Types whose values [`Ref::make_mut`] can clone to a new object. Implemented for every
/// `T: Clone`, for `[T]` of such `T`, and for `str`, `CStr`, `OsStr` and `Path`; sealed.
#[diagnostic::on_unimplemented(
    message = "the value of a `Ref<{Self}>` cannot be cloned",
    label = "`Ref::make_mut` takes `T: Clone`, `[T]` of such, and texts",
    note = "a `Ref<dyn Trait>` does not know how to clone its value"
)]
pub trait Renew {
    /// Returns a new object with a clone of the value.
    #[doc(hidden)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn renew(this: &Ref<Self>) -> Ref<Self>;

    /// Allocates an object of the size and type of `this`, with one reference and no value yet.
    ///
    /// # Safety
    /// `this` is the payload of an object whose memory is not freed.
    #[doc(hidden)]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    unsafe fn same(this: NonNull<Self>) -> NonNull<Self>;
}

impl<T: Clone + 'static> Renew for T {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn renew(this: &Ref<T>) -> Ref<T> {
        Ref::new((**this).clone())
    }

    #[cfg_attr(feature = "leak-detection", track_caller)]
    unsafe fn same(_: NonNull<T>) -> NonNull<T> {
        allocate_sized::<T>(Count::unique())
    }
}

impl<T: Clone + 'static> Renew for [T] {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn renew(this: &Ref<[T]>) -> Ref<[T]> {
        Ref::from(&**this)
    }

    #[cfg_attr(feature = "leak-detection", track_caller)]
    unsafe fn same(this: NonNull<[T]>) -> NonNull<[T]> {
        allocate_slice::<T>(this.len())
    }
}

impl<T: ?Sized + Renew> Ref<T> {
    /// Returns exclusive access to the value. Exists for `T: Clone`, `[T]` of such `T`, `str`,
    /// `CStr`, `OsStr` and `Path`.
    ///
    /// If there are other strong references, first clones the value to a new object. If there are
    /// only weak ones, moves the value to a new object; the weak references can then no longer be
    /// upgraded.
    ///
    /// ```
    /// use releasepool::Ref;
    ///
    /// let mut scores = Ref::<[u32]>::from([3, 5]);
    /// let shown = scores.clone();
    /// Ref::make_mut(&mut scores)[0] = 4; // a new object, as `shown` refers to the old one
    /// assert_eq!((&*scores, &*shown), (&[4, 5][..], &[3, 5][..]));
    /// ```
    ///
    /// # Panics
    /// If cloning panics; the reference is then unchanged.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn make_mut(this: &mut Self) -> &mut T {
        if count(this).is_unique() {
            // Unique: mutate in place.
        } else if count(this).take_value() {
            Self::move_out(this);
        } else {
            *this = T::renew(this);
        }
        // SAFETY: in each case, `this` is now the only reference to its object.
        unsafe { value_mut(this) }
    }

    /// Moves the value to a new object and leaves the old memory to the weak references. To be
    /// called after `Count::take_value` has turned the reference of `this` into a weak one. Cannot
    /// panic.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn move_out(this: &mut Self) {
        let old = Ref::payload(this);
        // SAFETY: the weak reference that we now have keeps the memory.
        let new = unsafe { T::same(old) };
        // SAFETY: `Count::take_value` passed the value to us.
        let size = size_of_val(unsafe { old.as_ref() });
        let (from, to) = (old.cast::<u8>(), new.cast::<u8>());
        // SAFETY: both values have this size, and their memory does not overlap; the old value is
        // not used again.
        unsafe {
            note_write(from);
            note_write(to);
            ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), size);
        }
        // SAFETY: a new object with its value; the handle owns its one reference.
        let new = unsafe { Ref::adopt(new) };
        std::mem::forget(std::mem::replace(this, new));
        tally_destroyed(1);
        drop(EmptiedObject(old));
    }
}
