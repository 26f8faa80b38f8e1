//! Getting at the value, or getting it back out, when nobody else can.

use super::count::Count;
use super::destroy::release_weak;
use super::header::{SliceInfo, allocate_sized, allocate_slice, checked, header, note_write};
use super::strong::Ref;
use crate::thread::current::tally_destroyed;
use std::ptr::{self, NonNull};

fn count<T: ?Sized>(this: &Ref<T>) -> &Count {
    // SAFETY: alive by `this`.
    &unsafe { header(Ref::thin(this)) }.count
}

/// # Safety
/// Nobody else can reach the object.
#[inline(always)]
unsafe fn value_mut<T: ?Sized>(this: &mut Ref<T>) -> &mut T {
    // SAFETY: alive by `this`, which is borrowed; the rest is the caller's promise.
    unsafe {
        note_write(Ref::thin(this));
        Ref::payload(this).as_mut()
    }
}

/// Gives up a weak reference at the end, also of a panic.
struct EmptiedObject<T: ?Sized + 'static>(NonNull<T>);

impl<T: ?Sized> Drop for EmptiedObject<T> {
    fn drop(&mut self) {
        // SAFETY: the reference that `Count::take_value` gave us.
        unsafe { release_weak(self.0.cast()) };
    }
}

impl<T> EmptiedObject<T> {
    /// # Safety
    /// The value is the caller's, and is moved out once.
    #[inline(always)]
    unsafe fn take_value(&self) -> T {
        // SAFETY: by the caller's promise; the memory is there by our reference.
        unsafe {
            note_write(self.0.cast());
            self.0.read()
        }
    }
}

impl<T> Ref<T> {
    /// The value, if this is the only strong reference; weak ones then fail to
    /// upgrade.
    ///
    /// # Errors
    /// The reference itself, if there are others.
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if !count(&this).take_value() {
            return Err(this);
        }
        tally_destroyed(1);
        let emptied = EmptiedObject(Ref::into_payload(this));
        // SAFETY: `take_value` made the value ours; it is moved out once.
        Ok(unsafe { emptied.take_value() })
    }

    /// The value, if this is the last strong reference; else the reference is
    /// released. Of several threads that call this for all references of an
    /// object, exactly one gets the value.
    pub fn into_inner(this: Self) -> Option<T> {
        let payload = Ref::into_payload(this);
        let thin = payload.cast::<u8>();
        // SAFETY: our reference, given up here.
        let perhaps = unsafe { checked(thin, header(thin).count.release()) };
        // SAFETY: the memory is there until we give it up.
        if !perhaps || !unsafe { header(thin) }.count.was_last() {
            return None;
        }
        tally_destroyed(1);
        // SAFETY: as above.
        let count = unsafe { &header(thin).count };
        if count.begin_destruction() {
            // As for a destructor: from here one weak reference, ours, stands for
            // the memory.
            count.begin_unique_destruction();
        }
        let emptied = EmptiedObject(payload);
        // SAFETY: ours was the last reference; the value is moved out once.
        Some(unsafe { emptied.take_value() })
    }

    /// The value, cloned if there are other references.
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }
}

impl<T: ?Sized> Ref<T> {
    /// The value, mutably, if there is no other reference, strong or weak. A pool
    /// that holds the object counts.
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        if count(this).is_unique() {
            // SAFETY: nobody else can reach the object, and `this` is borrowed.
            Some(unsafe { value_mut(this) })
        } else {
            None
        }
    }
}

/// What [`Ref::make_mut`] needs to know: how to make a new object of the same
/// kind. For every `T: Clone`, `[T]` of such, and `str`; sealed.
pub trait Renew {
    /// A new object with a clone of the value.
    #[doc(hidden)]
    fn renew(this: &Ref<Self>) -> Ref<Self>;

    /// A new object's memory, of the same size and class.
    ///
    /// # Safety
    /// The object of `this` is there.
    #[doc(hidden)]
    unsafe fn same(this: NonNull<Self>) -> NonNull<Self>;
}

impl<T: Clone + 'static> Renew for T {
    fn renew(this: &Ref<T>) -> Ref<T> {
        Ref::new((**this).clone())
    }

    unsafe fn same(_: NonNull<T>) -> NonNull<T> {
        allocate_sized::<T>(Count::unique())
    }
}

impl<T: Clone + 'static> Renew for [T] {
    fn renew(this: &Ref<[T]>) -> Ref<[T]> {
        Ref::from(&**this)
    }

    unsafe fn same(this: NonNull<[T]>) -> NonNull<[T]> {
        allocate_slice::<T>(this.len(), SliceInfo::<T>::TYPE_INFO)
    }
}

impl Renew for str {
    fn renew(this: &Ref<str>) -> Ref<str> {
        Ref::from(&**this)
    }

    unsafe fn same(this: NonNull<str>) -> NonNull<str> {
        let len = (this.as_ptr() as *const [u8]).len();
        let bytes = allocate_slice::<u8>(len, super::make::STR);
        // SAFETY: not null.
        unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut str) }
    }
}

impl<T: ?Sized + Renew> Ref<T> {
    /// The value, mutably; for `T: Clone`, `[T]` of such, and `str`. If there are
    /// other strong references it is cloned first, into an object of its own; if
    /// there are weak ones only, it is moved, and they no longer upgrade.
    ///
    /// # Panics
    /// If cloning does; nothing has changed then.
    pub fn make_mut(this: &mut Self) -> &mut T {
        if count(this).is_unique() {
            // Nothing to do.
        } else if count(this).take_value() {
            Self::move_out(this);
        } else {
            *this = T::renew(this);
        }
        // SAFETY: nobody else can reach the object, and `this` is borrowed.
        unsafe { value_mut(this) }
    }

    /// Only weak references besides `this`, whose value `Count::take_value` has
    /// made ours: leaves them the old memory and moves the value. Nothing here can
    /// panic.
    fn move_out(this: &mut Self) {
        let old = Ref::payload(this);
        // SAFETY: the memory is there by the weak reference that we now have.
        let new = unsafe { T::same(old) };
        // SAFETY: ours by `take_value`.
        let size = size_of_val(unsafe { old.as_ref() });
        let (from, to) = (old.cast::<u8>(), new.cast::<u8>());
        // SAFETY: both are of this size, and do not overlap; the old value is not
        // used again.
        unsafe {
            note_write(from);
            note_write(to);
            ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), size);
        }
        // SAFETY: a new object with its value, and our reference.
        let new = unsafe { Ref::adopt(new) };
        std::mem::forget(std::mem::replace(this, new));
        tally_destroyed(1);
        drop(EmptiedObject(old));
    }
}
