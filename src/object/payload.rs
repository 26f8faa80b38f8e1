//! The payloads of objects: a value, or a slice of values. The payload of a value that was moved
//! out of a box is in [`boxed`](super::boxed).

use super::header::{Header, ObjectKind, ObjectLayout, Thin, TypeShape, note_write, object_layout};
use crate::sync::described;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

/// The payload of the objects of one type, wherever their memory comes from.
pub(crate) trait Payload {
    /// The type whose name reports show.
    type ReportedAs: ?Sized;
    const HAS_DESTRUCTOR: bool;
    /// The shape of objects with memory of the global allocator.
    const SHAPE: TypeShape;
    /// The layout of all objects with such a payload; `None` if their layouts differ.
    const LAYOUT: Option<ObjectLayout>;

    /// Returns the layout of an object, whose value may have been dropped.
    ///
    /// # Safety
    /// `thin` is an object with such a payload, whose memory is not freed.
    unsafe fn layout(thin: Thin) -> ObjectLayout;

    /// Runs the destructor.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::drop_value`](super::header::TypeInfo::drop_value), for an
    /// object with such a payload.
    unsafe fn drop_value(thin: Thin);
}

/// The payload that is one value of type `T`. Reports show it under the name of `ReportedAs`.
pub(crate) struct One<T, ReportedAs: ?Sized = T>(PhantomData<T>, PhantomData<ReportedAs>);

impl<T> One<T> {
    pub(crate) const OBJECT: ObjectLayout = match object_layout(PREFIX, Layout::new::<T>()) {
        Some(layout) => layout,
        None => panic!("the type leaves no room for a header"),
    };
}

/// Bytes before the payload of an object with one value.
const PREFIX: usize = size_of::<Header>();

impl<T, ReportedAs: ?Sized> Payload for One<T, ReportedAs> {
    type ReportedAs = ReportedAs;
    const HAS_DESTRUCTOR: bool = needs_drop::<T>();
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::Sized,
        payload: Layout::new::<T>(),
        payload_offset: One::<T>::OBJECT.payload_offset,
    };
    const LAYOUT: Option<ObjectLayout> = Some(One::<T>::OBJECT);

    #[inline(always)]
    unsafe fn layout(_: Thin) -> ObjectLayout {
        One::<T>::OBJECT
    }

    #[inline(always)]
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the object has a `T`, which the caller owns, by the contract.
        unsafe {
            note_write(thin);
            ptr::drop_in_place(thin.cast::<T>().as_ptr());
        }
    }
}

/// A slice of values of type `T`, or a text, which is a slice of bytes with the name of the text's
/// type. Its length is stored before the header.
pub(crate) struct Slice<T, ReportedAs: ?Sized = [T]>(PhantomData<T>, PhantomData<ReportedAs>);

/// Bytes before the payload of a slice: the header, and the slice's length.
const SLICE_PREFIX: usize = size_of::<Header>() + size_of::<usize>();

impl<T> Slice<T> {
    /// The offset of the values.
    pub(super) const OFFSET: usize = match object_layout(SLICE_PREFIX, Layout::new::<T>()) {
        Some(layout) => layout.payload_offset,
        None => panic!("the type leaves no room for a header"),
    };

    /// Returns the layout of a slice of `len` values.
    ///
    /// # Panics
    /// If it does not fit the address space.
    #[inline]
    pub(super) fn layout_of(len: usize) -> ObjectLayout {
        let object = match Layout::array::<T>(len) {
            Ok(values) => object_layout(SLICE_PREFIX, values),
            Err(_) => None,
        };
        object.expect("a slice fits the address space")
    }
}

impl<T, ReportedAs: ?Sized> Payload for Slice<T, ReportedAs> {
    type ReportedAs = ReportedAs;
    const HAS_DESTRUCTOR: bool = needs_drop::<T>();
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::Slice,
        payload: Layout::new::<T>(),
        payload_offset: Slice::<T>::OFFSET,
    };
    const LAYOUT: Option<ObjectLayout> = None;

    #[inline]
    unsafe fn layout(thin: Thin) -> ObjectLayout {
        // SAFETY: every object with such a payload has the layout of a slice; the destructor does
        // not change the length.
        Slice::<T>::layout_of(unsafe { length(thin).read() })
    }

    #[inline]
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: every object with such a payload has the layout of a slice.
        let len = unsafe { length(thin).read() };
        let slice = ptr::slice_from_raw_parts_mut(thin.cast::<T>().as_ptr(), len);
        // SAFETY: the object has `len` values, which the caller owns, by the contract.
        unsafe {
            note_write(thin);
            ptr::drop_in_place(slice);
        }
    }
}

/// Writes the length of a new slice; returns a pointer to the slice.
///
/// # Safety
/// `thin` is a new object with the layout of a slice of `len` values, to which the caller has
/// exclusive access.
#[inline]
pub(super) unsafe fn write_length<T>(thin: Thin, len: usize) -> NonNull<[T]> {
    // SAFETY: the layout is that of a slice, and the access exclusive, by the contract.
    unsafe {
        length(thin).write(len);
        note_write(thin);
    }
    NonNull::slice_from_raw_parts(thin.cast(), len)
}

/// Returns the place of a slice's length.
///
/// # Safety
/// `thin` is an object with the layout of a slice.
#[inline]
pub(super) unsafe fn length(thin: Thin) -> NonNull<usize> {
    // SAFETY: the layout of a slice has a word for the length right before the header.
    unsafe { thin.cast::<Header>().sub(1).cast::<usize>().sub(1) }
}

described! {
    use crate::layout::{Entry, entries};

    pub(crate) const NOTE: &[Entry] = entries! {
        header {
            length_before = SLICE_PREFIX,
        }
    };
}
