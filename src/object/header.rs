//! The header before every payload, type info, layout and allocation.
//!
//! The header is right before the payload, whatever the payload's alignment, and slices keep their
//! length in the allocation (see the picture in [`object`](crate::object)). So the thin address of
//! the payload identifies any object: pools, inboxes and C code store nothing else.

use super::count::{Count, Misuse};
use super::raw_checks;
use super::type_info::{MAGIC, ObjectKind, TypeShape};
pub(crate) use super::type_info::{PlainBlock, Thin, TypeInfo};
use crate::ledger::{self, ObjectDescription};
use crate::sync::{CHECKED, Witness, alloc, dealloc, described};
use crate::thread::current::{current_label, tally_created};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

/// The header of an object.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) count: Count,
    pub(crate) type_info: &'static TypeInfo,
    /// Stands for the payload in models: written and read together with the payload. Zero-sized.
    payload: Witness,
}

// The model checker's atomics are larger than native ones.
const _: () = assert!(CHECKED || size_of::<Header>() == 16);

/// Returns the header of an object.
///
/// # Safety
/// `thin` is the payload of an object whose memory is not freed during `'a`.
#[inline(always)]
pub(crate) unsafe fn header<'a>(thin: Thin) -> &'a Header {
    // SAFETY: the header is right before the payload (invariant 1 of `object`), and the memory is
    // there by the contract.
    unsafe { thin.cast::<Header>().sub(1).as_ref() }
}

impl Header {
    /// Tells the model checker that the memory is about to be freed.
    #[inline(always)]
    pub(super) fn freed(&mut self) {
        // SAFETY: the payload begins at the end of the header.
        ledger::freed(unsafe { NonNull::from(&mut *self).add(1) }.cast());
        self.count.freed();
        self.payload.write();
    }
}

/// Writes the value of a new object.
///
/// # Safety
/// `payload` is uninitialized memory for a `T` behind a header, to which the caller has exclusive
/// access.
#[inline(always)]
pub(super) unsafe fn write_value<T>(payload: NonNull<T>, value: T) {
    // SAFETY: memory for a `T` behind a header, by the contract.
    unsafe {
        payload.write(value);
        note_write(payload.cast());
    }
}

/// Tells the model checker that the calling thread writes the payload, or moves it out.
///
/// # Safety
/// The contract of [`header`].
#[inline(always)]
pub(super) unsafe fn note_write(thin: Thin) {
    // SAFETY: the contract of this function is that of `header`.
    unsafe { header(thin) }.payload.write();
}

/// Tells the model checker that the calling thread reads the payload.
///
/// # Safety
/// The contract of [`header`].
#[inline(always)]
pub(crate) unsafe fn note_read(thin: Thin) {
    // SAFETY: the contract of this function is that of `header`.
    unsafe { header(thin) }.payload.read();
}

/// Aborts the process: the counts are wrong, so going on would be a use after free.
///
/// # Safety
/// The contract of [`header`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn abort_misuse(thin: Thin, misuse: Misuse) -> ! {
    // SAFETY: the contract of this function is that of `header`.
    let name = unsafe { raw_checks::type_name(thin) };
    let what = match misuse {
        Misuse::RetainedDead => "retained after its last release",
        Misuse::ReleasedDead => "released more often than it was retained",
        Misuse::TooManyStrong => "retained more than 2^31 times",
        Misuse::TooManyWeak => "downgraded more than 2^30 times",
    };
    let (thread, rest) = (current_label(), ledger::describe_live(thin));
    let here = ledger::here(",");
    raw_checks::abort(&format!(
        "{name} at {thin:p} {what}{here} (thread {thread}{rest})"
    ))
}

/// Unwraps the result of a count operation, or aborts.
///
/// # Safety
/// The contract of [`header`].
#[inline(always)]
pub(crate) unsafe fn checked<R>(thin: Thin, result: Result<R, Misuse>) -> R {
    match result {
        Ok(r) => r,
        // SAFETY: the contract of this function is that of `header`.
        Err(misuse) => unsafe { abort_misuse(thin, misuse) },
    }
}

/// The layout of an object.
#[derive(Clone, Copy)]
pub(super) struct ObjectLayout {
    pub(super) layout: Layout,
    /// The offset of the payload.
    pub(super) payload_offset: usize,
}

/// Returns the layout of `prefix` bytes followed by a payload; `None` if it does not fit the
/// address space.
pub(super) const fn object_layout(prefix: usize, payload: Layout) -> Option<ObjectLayout> {
    let align = if payload.align() > align_of::<Header>() {
        payload.align()
    } else {
        align_of::<Header>()
    };
    let offset = prefix.next_multiple_of(align);
    let Some(size) = offset.checked_add(payload.size()) else {
        return None;
    };
    match Layout::from_size_align(size, align) {
        Ok(layout) => Some(ObjectLayout {
            layout,
            payload_offset: offset,
        }),
        Err(_) => None,
    }
}

/// Bytes before the payload of a sized object.
const SIZED: usize = size_of::<Header>();
/// Bytes before the payload of a slice: the header, and the slice's length.
const SLICE: usize = size_of::<Header>() + size_of::<usize>();

pub(super) const fn layout_of<T>() -> ObjectLayout {
    match object_layout(SIZED, Layout::new::<T>()) {
        Some(layout) => layout,
        None => panic!("the type leaves no room for a header"),
    }
}

pub(super) fn layout_of_slice<T>(len: usize) -> Option<ObjectLayout> {
    object_layout(SLICE, Layout::array::<T>(len).ok()?)
}

/// Allocates an object and writes its header.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn allocate(layout: ObjectLayout, type_info: &'static TypeInfo, count: Count) -> Thin {
    // SAFETY: just allocated with this layout.
    unsafe { write_header(memory(layout), layout, type_info, count) }
}

#[inline]
fn memory(layout: ObjectLayout) -> NonNull<u8> {
    // SAFETY: the layout is not zero-sized, as it contains a header.
    let base = unsafe { alloc(layout.layout) };
    let Some(base) = NonNull::new(base) else {
        std::alloc::handle_alloc_error(layout.layout)
    };
    base
}

/// Writes the header of a new object; returns the address of its payload.
///
/// # Safety
/// `base` was allocated with this layout, and the caller has exclusive access to it.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) unsafe fn write_header(
    base: NonNull<u8>,
    layout: ObjectLayout,
    type_info: &'static TypeInfo,
    count: Count,
) -> Thin {
    // The count enters the thread, so that the ledger can name it by its key. Without the ledger,
    // counting last saves `pool.create` an instruction.
    const FIRST: bool = cfg!(feature = "leak-detection");
    if FIRST {
        tally_created(1);
    }
    // SAFETY: the contract of this function is that of `write_uncounted_header`.
    let thin = unsafe { write_uncounted_header(base, layout, type_info, count) };
    if !FIRST {
        tally_created(1);
    }
    thin
}

/// Writes the header of an object that replaces another one, so the figures do not count it.
///
/// # Safety
/// The contract of [`write_header`].
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
unsafe fn write_uncounted_header(
    base: NonNull<u8>,
    layout: ObjectLayout,
    type_info: &'static TypeInfo,
    count: Count,
) -> Thin {
    // SAFETY: the offset lies within the allocation.
    let thin = unsafe { base.add(layout.payload_offset) };
    let header = Header {
        count,
        type_info,
        payload: Witness::new(),
    };
    // SAFETY: the payload's offset leaves room for a header before it, and is a multiple of the
    // header's alignment (see `object_layout`).
    let place = unsafe { thin.cast::<Header>().sub(1) };
    // SAFETY: within the allocation, and aligned, for the reason just given.
    unsafe { place.write(header) };
    crate::sync::note_created(place.cast(), type_info.type_name);
    let object = ObjectDescription {
        type_info: ptr::from_ref(type_info).cast(),
        type_name: type_info.type_name,
        bytes: layout.layout.size(),
    };
    ledger::created(thin, object);
    raw_checks::note_type_info(type_info);
    thin
}

/// Frees the memory of an object.
///
/// # Safety
/// `thin` is an object that was allocated with this layout; there is no value in it, and no
/// reference of any kind.
#[inline]
pub(super) unsafe fn deallocate(thin: Thin, layout: ObjectLayout) {
    // SAFETY: no reference is left, so the access is exclusive.
    unsafe { thin.cast::<Header>().sub(1).as_mut() }.freed();
    // SAFETY: the payload is at this offset from the base of the allocation.
    unsafe { dealloc(thin.sub(layout.payload_offset).as_ptr(), layout.layout) };
}

/// Allocates an object for a `T`, which the caller writes.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) fn allocate_sized<T>(count: Count) -> NonNull<T> {
    allocate_named(SizedInfo::<T>::TYPE_INFO, count)
}

/// Allocates an object for a `T`, with type info that [`SizedInfo::named`] made for `T`.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) fn allocate_named<T>(type_info: &'static TypeInfo, count: Count) -> NonNull<T> {
    allocate(layout_of::<T>(), type_info, count).cast()
}

/// Allocates an object for `len` values of type `T`, which the caller writes.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) fn allocate_slice<T>(len: usize, type_info: &'static TypeInfo) -> NonNull<[T]> {
    let layout = layout_of_slice::<T>(len).expect("a slice fits the address space");
    let thin = allocate(layout, type_info, Count::unique());
    // SAFETY: just allocated with the layout of a slice.
    unsafe { write_length(thin, len) }
}

/// Allocates a slice like [`allocate_slice`]. It replaces another slice, so the figures do not count
/// it.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn replace_slice<T>(len: usize) -> NonNull<[T]> {
    let layout = layout_of_slice::<T>(len).expect("a slice fits the address space");
    let (type_info, count) = (SliceInfo::<T>::TYPE_INFO, Count::unique());
    // SAFETY: just allocated with the layout of a slice.
    unsafe {
        write_length(
            write_uncounted_header(memory(layout), layout, type_info, count),
            len,
        )
    }
}

/// Writes the length of a new slice; returns a pointer to it.
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

/// Gives an object another type info.
///
/// # Safety
/// The caller has the only reference of any kind to the object. The object's value has the type,
/// and its memory the layout and source, of the new type info.
pub(super) unsafe fn set_type_info(thin: Thin, type_info: &'static TypeInfo) {
    // SAFETY: the only reference is the caller's, so the access is exclusive (invariant 6 of
    // `object`).
    let header = unsafe { thin.cast::<Header>().sub(1).as_mut() };
    header.payload.write();
    header.type_info = type_info;
    ledger::retyped(thin, ptr::from_ref(type_info).cast(), type_info.type_name);
    raw_checks::note_type_info(type_info);
}

/// Frees the memory of an object without a value.
///
/// # Safety
/// The contract of [`TypeInfo::free`].
pub(crate) unsafe fn free(thin: Thin) {
    // SAFETY: the contract of this function is that of `TypeInfo::free`.
    unsafe { (header(thin).type_info.free)(thin) };
}

/// Returns the place of a slice's length.
///
/// # Safety
/// `thin` is an object with the layout of a slice.
pub(super) unsafe fn length(thin: Thin) -> NonNull<usize> {
    // SAFETY: the layout of a slice has a word for the length right before the header.
    unsafe { thin.cast::<Header>().sub(1).cast::<usize>().sub(1) }
}

/// Destructor and memory of the objects of one type and one source of memory, from which their
/// [`TypeInfo`] is made.
pub(super) trait ObjectType {
    const HAS_DESTRUCTOR: bool;
    const SHAPE: TypeShape;

    /// Runs the destructor.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::drop_value`], for an object of this type.
    unsafe fn drop_value(thin: Thin);

    /// Frees the memory.
    ///
    /// # Safety
    /// The contract of [`TypeInfo::free`], for an object of this type.
    unsafe fn free(thin: Thin);
}

/// Returns the type info of objects of type `O`.
pub(super) const fn type_info_of<O: ObjectType>(
    type_name: fn() -> &'static str,
    shape: TypeShape,
    plain_block: Option<PlainBlock>,
) -> TypeInfo {
    TypeInfo {
        magic: MAGIC,
        type_name,
        bytes: shape.payload.size(),
        payload_offset: shape.payload_offset,
        align: shape.payload.align() as u32,
        kind: shape.kind,
        has_destructor: O::HAS_DESTRUCTOR,
        plain_block,
        destroy: destroy::<O>,
        drop_value: O::drop_value,
        free: O::free,
    }
}

/// Runs the destructor and frees the memory, even if the destructor panics.
///
/// # Safety
/// The contract of [`TypeInfo::destroy`], for an object of type `O`.
unsafe fn destroy<O: ObjectType>(thin: Thin) {
    struct FreeOnDrop<O: ObjectType>(Thin, PhantomData<O>);
    impl<O: ObjectType> Drop for FreeOnDrop<O> {
        #[inline]
        fn drop(&mut self) {
            // SAFETY: made only below, by the unique owner, which has dropped the value by now.
            unsafe { O::free(self.0) };
        }
    }
    let _free = FreeOnDrop::<O>(thin, PhantomData);
    if O::HAS_DESTRUCTOR {
        // SAFETY: the caller is the unique owner, so the memory is there.
        unsafe { header(thin) }.count.begin_unique_destruction();
        // SAFETY: the value is there, and only the unique owner can reach it.
        unsafe { O::drop_value(thin) };
    }
}

/// A sized object from the global allocator.
pub(crate) struct SizedInfo<T>(PhantomData<T>);

impl<T> SizedInfo<T> {
    const LAYOUT: ObjectLayout = layout_of::<T>();
    pub(crate) const TYPE_INFO: &'static TypeInfo = &Self::named(std::any::type_name::<T>);

    /// Returns the type info of objects with a `T`, with the name replaced.
    pub(crate) const fn named(type_name: fn() -> &'static str) -> TypeInfo {
        Self::with_kind(type_name, ObjectKind::Sized)
    }

    /// Returns the type info of objects with a `T`, with name and kind replaced.
    pub(super) const fn with_kind(type_name: fn() -> &'static str, kind: ObjectKind) -> TypeInfo {
        let shape = TypeShape {
            kind,
            ..Self::SHAPE
        };
        type_info_of::<Self>(type_name, shape, None)
    }
}

impl<T> ObjectType for SizedInfo<T> {
    const HAS_DESTRUCTOR: bool = needs_drop::<T>();
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::Sized,
        payload: Layout::new::<T>(),
        payload_offset: Self::LAYOUT.payload_offset,
    };

    #[inline(always)]
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the object has a `T`, which the caller owns, by the contract.
        unsafe {
            note_write(thin);
            ptr::drop_in_place(thin.cast::<T>().as_ptr());
        }
    }

    #[inline]
    unsafe fn free(thin: Thin) {
        // SAFETY: `allocate_named` allocated it with this layout; the rest is the contract.
        unsafe { deallocate(thin, Self::LAYOUT) };
    }
}

/// A slice from the global allocator.
pub(crate) struct SliceInfo<T>(PhantomData<T>);

impl<T> SliceInfo<T> {
    pub(crate) const TYPE_INFO: &'static TypeInfo = &Self::named(std::any::type_name::<[T]>);

    /// Returns the type info of objects with a `[T]`, with the name replaced.
    pub(crate) const fn named(type_name: fn() -> &'static str) -> TypeInfo {
        type_info_of::<Self>(type_name, Self::SHAPE, None)
    }
}

impl<T> ObjectType for SliceInfo<T> {
    const HAS_DESTRUCTOR: bool = needs_drop::<T>();
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::Slice,
        payload: Layout::new::<T>(),
        payload_offset: match object_layout(SLICE, Layout::new::<T>()) {
            Some(layout) => layout.payload_offset,
            None => panic!("the type leaves no room for a header"),
        },
    };

    #[inline]
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: every object of this type has the layout of a slice.
        let len = unsafe { length(thin).read() };
        let slice = ptr::slice_from_raw_parts_mut(thin.cast::<T>().as_ptr(), len);
        // SAFETY: the object has `len` values, which the caller owns, by the contract.
        unsafe {
            note_write(thin);
            ptr::drop_in_place(slice);
        }
    }

    #[inline]
    unsafe fn free(thin: Thin) {
        // SAFETY: every object of this type has the layout of a slice; the destructor leaves the
        // length.
        let len = unsafe { length(thin).read() };
        let layout = layout_of_slice::<T>(len).expect("it was allocated with this layout");
        // SAFETY: `allocate_slice` allocated it with this layout; the rest is the contract.
        unsafe { deallocate(thin, layout) };
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        header {
            size = size_of::<Header>(),
            count = offset_of!(Header, count),
            type_info = offset_of!(Header, type_info),
            length_before = SLICE,
        }
    };
}
