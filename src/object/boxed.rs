//! Objects whose value was moved out of a `Box`, of any type.
//!
//! The type may be unsized in any way, such as `dyn Trait`, so only the box's pointer knows the size
//! and the destructor. The object stores the pointer's metadata and the value's layout before the
//! header:
//!
//! ```text
//! allocation   [padding] [metadata] [size and alignment] [count word] [type info] payload...
//! ```

use super::header::{Header, ObjectKind, ObjectLayout, Thin, TypeShape, note_write, object_layout};
use super::object_memory::{Global, Source};
use super::payload::Payload;
use super::strong::Ref;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, needs_drop, transmute_copy};
use std::ptr::{self, NonNull};

/// The memory before the header of a boxed value.
#[repr(C)]
struct Prefix {
    /// The metadata of pointers to the value; null if they have none.
    metadata: *mut (),
    /// The size and alignment of the value, packed by [`pack`].
    layout: usize,
}

/// Bytes before the payload of an object that is not over-aligned.
const BOXED: usize = size_of::<Header>() + size_of::<Prefix>();

/// Returns the layout of an object with a value of this layout.
fn layout_for(value: Layout) -> ObjectLayout {
    object_layout(BOXED, value).expect("a value and its header fit the address space")
}

/// Returns a size and an alignment in one word: the alignment is the lowest bit that is set.
const fn pack(layout: Layout) -> usize {
    // A size is at most `isize::MAX`, and a multiple of the alignment, so the two do not overlap.
    (layout.size() << 1) | layout.align()
}

/// Returns the layout that [`pack`] has packed.
fn unpack(packed: usize) -> Layout {
    let align = 1 << packed.trailing_zeros();
    Layout::from_size_align((packed ^ align) >> 1, align).expect("the word of a layout")
}

/// Returns the metadata of a pointer; null if it has none.
fn metadata_of<T: ?Sized>(pointer: *mut T) -> *mut () {
    if size_of::<*mut T>() == size_of::<*mut ()>() {
        return ptr::null_mut();
    }
    assert_eq!(size_of::<*mut T>(), size_of::<[*mut (); 2]>());
    // SAFETY: a wide pointer and the array are two words each, as asserted.
    let words = |pointer| unsafe { transmute_copy::<*mut T, [*mut (); 2]>(&pointer) };
    let ([address, metadata], [moved, unmoved]) =
        (words(pointer), words(pointer.wrapping_byte_add(1)));
    // The language does not specify the order of the two words, so this tests it. Optimized code
    // does not contain the test.
    let address_is_first = address.addr() == pointer.addr() && moved != address;
    assert!(address_is_first && unmoved == metadata);
    metadata
}

/// Returns a pointer with this address and metadata.
///
/// # Safety
/// The metadata is that of a pointer to a `T`, from [`metadata_of`].
unsafe fn pointer_to<T: ?Sized>(thin: Thin, metadata: *mut ()) -> *mut T {
    // SAFETY: a thin pointer is its address, and a wide one is its address and then its metadata, as
    // `metadata_of` has asserted; `metadata` is valid, by the contract.
    unsafe {
        if size_of::<*mut T>() == size_of::<*mut ()>() {
            transmute_copy::<*mut u8, *mut T>(&thin.as_ptr())
        } else {
            transmute_copy::<[*mut (); 2], *mut T>(&[thin.cast().as_ptr(), metadata])
        }
    }
}

/// Returns the prefix, which is before the header.
///
/// # Safety
/// `thin` is an object that `Ref::from` has made of a box.
unsafe fn prefix(thin: Thin) -> NonNull<Prefix> {
    // SAFETY: the layout of a boxed value has a prefix right before the header.
    unsafe { thin.cast::<Header>().sub(1).cast::<Prefix>().sub(1) }
}

/// Returns the size of the value.
///
/// # Safety
/// The contract of [`prefix`].
pub(super) unsafe fn size(thin: Thin) -> usize {
    // SAFETY: the contract of this function is that of `prefix`.
    unpack(unsafe { (*prefix(thin).as_ptr()).layout }).size()
}

/// A value of any type that was moved out of a box.
pub(super) struct Boxed<T: ?Sized>(PhantomData<T>);

impl<T: ?Sized> Payload for Boxed<T> {
    type ReportedAs = T;
    const HAS_DESTRUCTOR: bool = needs_drop::<T>();
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::Boxed,
        payload: Layout::new::<()>(),
        payload_offset: BOXED,
    };
    const LAYOUT: Option<ObjectLayout> = None;

    unsafe fn layout(thin: Thin) -> ObjectLayout {
        // SAFETY: only `Ref::from` makes such objects; the destructor does not change the prefix.
        layout_for(unpack(unsafe { (*prefix(thin).as_ptr()).layout }))
    }

    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the object has a `T`, which the caller owns, and its metadata.
        unsafe {
            let value = pointer_to::<T>(thin, (*prefix(thin).as_ptr()).metadata);
            note_write(thin);
            ptr::drop_in_place(value);
        }
    }
}

/// Moves the value out of the box, as `Arc` does. The type may be unsized in any way: `dyn Trait`,
/// a slice, `str`.
///
/// The object has 32 bytes before its value, as only the box's pointer knows the value's size and
/// destructor. For a sized value, [`Ref::new`]`(*boxed)` makes a smaller object; for a slice,
/// `Ref::from(boxed.into_vec())`.
impl<T: ?Sized> From<Box<T>> for Ref<T> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn from(value: Box<T>) -> Self {
        let value_layout = Layout::for_value(&*value);
        let boxed = Box::into_raw(value);
        let metadata = metadata_of(boxed);
        let layout = layout_for(value_layout);
        let Ok(thin) = Global.allocate::<Boxed<T>>(layout);
        // SAFETY: the object was just allocated for a prefix and a value of this layout. The box is
        // dropped after its value has moved, and so frees only its memory.
        unsafe {
            prefix(thin).write(Prefix {
                metadata,
                layout: pack(value_layout),
            });
            ptr::copy_nonoverlapping(boxed.cast::<u8>(), thin.as_ptr(), value_layout.size());
            note_write(thin);
            drop(Box::from_raw(boxed as *mut ManuallyDrop<T>));
        }
        // SAFETY: the metadata is that of a pointer to this value, and the address is not null.
        let value = unsafe { NonNull::new_unchecked(pointer_to::<T>(thin, metadata)) };
        // SAFETY: a new object with its value; the new handle owns the object's one reference.
        unsafe { Self::adopt(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_packed_and_unpacked() {
        let largest = isize::MAX as usize;
        for (size, align) in [
            (0, 1),
            (0, 4096),
            (1, 1),
            (24, 8),
            (64, 64),
            (largest, 1),
            (1 << 29, 1 << 29),
        ] {
            let layout = Layout::from_size_align(size, align).unwrap();
            assert_eq!(unpack(pack(layout)), layout);
        }
    }
}
