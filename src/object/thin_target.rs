//! `ThinTarget`: types whose objects can be reached by a pointer of one word.

use super::boxed;
use super::header::{ObjectKind, Thin, header};
use super::payload::length;
use std::ptr::NonNull;

/// Types whose objects a [`Slot`](crate::Slot) can hold if they are `Send` and `Sync`: every sized
/// type, `str`, and slices. Sealed.
///
/// A slot is one word, so the length of a `str` or of a slice must stand in the object itself. The
/// vtable of a `dyn Trait` need not stand there: let the slot hold a `Ref<dyn Trait>`, as
/// [`Slot::load_dyn`](crate::Slot::load_dyn) shows. Code that is generic over what slots hold has the
/// bound `T: ?Sized + ThinTarget + Send + Sync`; for sized types, `T: Send + Sync + 'static` suffices.
///
/// ```
/// use releasepool::object::ThinTarget;
/// use releasepool::{Ref, Slot};
///
/// /// Stores what is equal to the present value only once.
/// fn update<T: ?Sized + ThinTarget + PartialEq + Send + Sync>(slot: &Slot<T>, new: Ref<T>) -> bool {
///     let differs = slot.with(|old| *old != *new);
///     if differs {
///         slot.store(new);
///     }
///     differs
/// }
///
/// let title = Slot::new(Ref::<str>::from("Level 1"));
/// assert!(!update(&title, Ref::from("Level 1")));
/// let scores = Slot::new(Ref::<[u32]>::from([3, 5]));
/// assert!(update(&scores, Ref::from([3, 6])));
/// ```
///
/// # Safety
/// No type outside of this crate may implement this trait.
#[diagnostic::on_unimplemented(
    message = "a slot cannot hold a `{Self}`",
    label = "slots hold sized types, `str` and slices",
    note = "a trait object goes into a slot as a `Ref<dyn Trait>`: see `Slot::load_dyn`"
)]
pub unsafe trait ThinTarget: 'static {
    /// The type of the value itself, or of the first value of a slice.
    #[doc(hidden)]
    type First;

    /// Returns the pointer to the whole value.
    ///
    /// # Safety
    /// `first` is the payload of a live object that a `Ref<Self>` has referred to, and for which
    /// `is_found` has returned true.
    #[doc(hidden)]
    unsafe fn whole(first: NonNull<Self::First>) -> NonNull<Self>;

    /// Returns whether [`whole`](Self::whole) finds the value by the address alone.
    ///
    /// # Safety
    /// `whole` is the payload of a live object that a `Ref<Self>` refers to.
    #[doc(hidden)]
    unsafe fn is_found(whole: NonNull<Self>) -> bool;
}

// SAFETY: the address of a sized value is the pointer to it.
unsafe impl<T: 'static> ThinTarget for T {
    type First = T;

    #[inline(always)]
    unsafe fn whole(first: NonNull<T>) -> NonNull<T> {
        first
    }

    #[inline(always)]
    unsafe fn is_found(_: NonNull<T>) -> bool {
        true
    }
}

// SAFETY: `whole` returns a pointer to as many values as the object has; `is_found` compares that
// number with the length in the pointer of a `Ref`.
unsafe impl<T: 'static> ThinTarget for [T] {
    type First = T;

    #[inline]
    unsafe fn whole(first: NonNull<T>) -> NonNull<[T]> {
        // SAFETY: a live object of a slice, by the contract.
        NonNull::slice_from_raw_parts(first, unsafe { values_in::<T>(first.cast()) })
    }

    unsafe fn is_found(whole: NonNull<[T]>) -> bool {
        // SAFETY: a live object of a slice, by the contract.
        unsafe { values_in::<T>(whole.cast()) == whole.len() }
    }
}

// SAFETY: a `str` is its bytes, and the functions of `[u8]` find and compare their number.
unsafe impl ThinTarget for str {
    type First = u8;

    #[inline]
    unsafe fn whole(first: NonNull<u8>) -> NonNull<str> {
        // SAFETY: a live object of a text, whose bytes have the layout of a slice.
        let bytes = unsafe { <[u8]>::whole(first) };
        // SAFETY: the pointer is not null.
        unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut str) }
    }

    unsafe fn is_found(whole: NonNull<str>) -> bool {
        // SAFETY: the pointer is not null.
        let bytes = unsafe { NonNull::new_unchecked(whole.as_ptr() as *mut [u8]) };
        // SAFETY: a live object of a text, by the contract.
        unsafe { <[u8]>::is_found(bytes) }
    }
}

/// Returns the number of values in the object of a slice, whatever the object was made of. For
/// zero-sized values returns 0, unless the object was made as a slice and so stores their number.
///
/// # Safety
/// `thin` is a live object that a `Ref<[T]>` has referred to.
#[inline]
unsafe fn values_in<T>(thin: Thin) -> usize {
    // SAFETY: the object is alive, by the contract.
    let type_info = unsafe { header(thin) }.type_info;
    let bytes = match type_info.kind {
        // SAFETY: an object of this kind has the layout of a slice.
        ObjectKind::Slice | ObjectKind::BlockSlice => return unsafe { length(thin).read() },
        // SAFETY: an object of this kind was made of a box.
        ObjectKind::Boxed => unsafe { boxed::size(thin) },
        // The object was made as an array; `unsize!` has turned its `Ref` into one of a slice.
        _ => type_info.bytes,
    };
    bytes.checked_div(size_of::<T>()).unwrap_or(0)
}
