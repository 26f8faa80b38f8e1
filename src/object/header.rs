//! What stands before every payload, and how objects come by their memory.
//!
//! ```text
//! [padding] [length, slices only] [count word] [class] payload...
//!                                                      ^ every handle points here
//! ```
//!
//! The header is right before the payload, whatever the payload's alignment,
//! and slices keep their length in the allocation. So the thin address of the
//! payload names any object: pools, inboxes and C hold just that.

use super::count::{Count, Misuse};
use crate::sync::{CHECKED, Witness, alloc, dealloc};
use crate::thread::current::tally_created;
use std::alloc::Layout;
use std::mem::needs_drop;
use std::ptr::{self, NonNull};

/// The thin address of an object's payload, with the provenance of the whole
/// allocation.
pub(crate) type Thin = NonNull<u8>;

#[repr(C)]
pub(crate) struct Header {
    pub(crate) count: Count,
    pub(crate) type_info: &'static TypeInfo,
    /// Stands for the payload, in models: written with it, read by whoever looks at it. No size.
    payload: Witness,
}

// The model checker's atomics are larger than what they stand for.
const _: () = assert!(CHECKED || size_of::<Header>() == 16);

/// What there is to know about all objects of one type from one allocator.
pub(crate) struct TypeInfo {
    pub(super) type_name: fn() -> &'static str,
    /// Whether destroying an object runs any code but the allocator's.
    pub(crate) has_destructor: bool,
    /// If it has none and its memory is a block: which, so that drains need not ask
    /// `destroy`.
    pub(crate) plain_block: Option<PlainBlock>,
    /// Runs the destructor and frees the memory, even if that panics.
    ///
    /// # Safety
    /// The caller is the only one who can reach the object.
    pub(crate) destroy: unsafe fn(Thin),
    /// Runs the destructor.
    ///
    /// # Safety
    /// The value is there, and the caller alone may touch it.
    pub(crate) drop_value: unsafe fn(Thin),
    /// Frees the memory.
    ///
    /// # Safety
    /// The value is gone, and nobody has a reference of any kind.
    pub(crate) free: unsafe fn(Thin),
}

/// A block right before whose payload is nothing but the header.
#[derive(Clone, Copy)]
pub(crate) struct PlainBlock {
    /// Index of its size.
    pub(super) size: u8,
    pub(super) waste: u8,
}

impl TypeInfo {
    pub(crate) fn type_name(&self) -> &'static str {
        (self.type_name)()
    }
}

/// The header of a live object.
///
/// # Safety
/// `thin` is the payload of an object whose memory has not been freed, for as
/// long as `'a`.
#[inline(always)]
pub(crate) unsafe fn header<'a>(thin: Thin) -> &'a Header {
    // SAFETY: the header is right before the payload, in the same allocation.
    unsafe { thin.cast::<Header>().sub(1).as_ref() }
}

impl Header {
    /// Just before the memory is given back.
    #[inline(always)]
    pub(super) fn freed(&mut self) {
        self.count.freed();
        self.payload.write();
    }
}

/// Writes the value of a new object.
///
/// # Safety
/// `payload` is memory for a `T` behind a header, and the caller's alone.
#[inline(always)]
pub(super) unsafe fn write_value<T>(payload: NonNull<T>, value: T) {
    // SAFETY: by the caller's promise.
    unsafe {
        payload.write(value);
        note_write(payload.cast());
    }
}

/// Tells the model checker that the calling thread changes the payload, or takes it away.
///
/// # Safety
/// As [`header`].
#[inline(always)]
pub(super) unsafe fn note_write(thin: Thin) {
    // SAFETY: by the caller's promise.
    unsafe { header(thin) }.payload.write();
}

/// Tells the model checker that the calling thread looks at the payload.
///
/// # Safety
/// As [`header`].
#[inline(always)]
pub(crate) unsafe fn note_read(thin: Thin) {
    // SAFETY: by the caller's promise.
    unsafe { header(thin) }.payload.read();
}

/// Ends the process: the counts are off, and going on would be a use after free.
///
/// # Safety
/// As [`header`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn abort_misuse(thin: Thin, misuse: Misuse) -> ! {
    use std::io::Write;
    // SAFETY: by the caller's promise.
    let name = unsafe { header(thin) }.type_info.type_name();
    let what = match misuse {
        Misuse::RetainedDead => "retained after its last release",
        Misuse::ReleasedDead => "released more often than it was retained",
        Misuse::TooManyStrong => "retained more than 2^31 times",
        Misuse::TooManyWeak => "downgraded more than 2^30 times",
    };
    let thread = crate::thread::current::current_key();
    let thread = thread.map_or_else(|| "without a key".to_owned(), |key| key.to_string());
    let _ = writeln!(
        std::io::stderr(),
        "releasepool: {name} at {thin:p} {what} (thread {thread}); aborting"
    );
    crate::sync::abort(what)
}

/// Unwraps what a count operation said, or aborts.
///
/// # Safety
/// As [`header`].
#[inline(always)]
pub(crate) unsafe fn checked<R>(thin: Thin, result: Result<R, Misuse>) -> R {
    match result {
        Ok(r) => r,
        // SAFETY: by the caller's promise.
        Err(misuse) => unsafe { abort_misuse(thin, misuse) },
    }
}

/// Where things are in an allocation.
#[derive(Clone, Copy)]
pub(super) struct ObjectLayout {
    pub(super) layout: Layout,
    /// Offset of the payload.
    pub(super) payload_offset: usize,
}

/// `prefix` bytes, then a payload of this layout; `None` if it does not fit the
/// address space.
const fn object_layout(prefix: usize, payload: Layout) -> Option<ObjectLayout> {
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

const SIZED: usize = size_of::<Header>();
const SLICE: usize = size_of::<Header>() + size_of::<usize>();

pub(super) const fn layout_of<T>() -> ObjectLayout {
    match object_layout(SIZED, Layout::new::<T>()) {
        Some(layout) => layout,
        None => panic!("the type leaves no room for a header"),
    }
}

fn layout_of_slice<T>(len: usize) -> Option<ObjectLayout> {
    object_layout(SLICE, Layout::array::<T>(len).ok()?)
}

/// Memory for an object, its header written.
#[inline]
fn allocate(layout: ObjectLayout, type_info: &'static TypeInfo, count: Count) -> Thin {
    // SAFETY: there is a header in it, so the layout has a size.
    let base = unsafe { alloc(layout.layout) };
    let Some(base) = NonNull::new(base) else {
        std::alloc::handle_alloc_error(layout.layout)
    };
    // SAFETY: fresh memory for it.
    unsafe { write_header(base, layout, type_info, count) }
}

/// Writes the header.
///
/// # Safety
/// `base` is the caller's, and allocated by this layout.
#[inline]
pub(super) unsafe fn write_header(
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
    // SAFETY: the payload's offset leaves room for a header before it, and is a
    // multiple of the header's alignment.
    let place = unsafe { thin.cast::<Header>().sub(1) };
    // SAFETY: as above.
    unsafe { place.write(header) };
    crate::sync::note_created(place.cast(), type_info.type_name);
    tally_created(1);
    thin
}

/// # Safety
/// `thin` was allocated by this layout, and nobody uses it any more.
#[inline]
unsafe fn deallocate(thin: Thin, layout: ObjectLayout) {
    // SAFETY: ours alone by the caller's promise.
    unsafe { thin.cast::<Header>().sub(1).as_mut() }.freed();
    // SAFETY: the base of the allocation.
    unsafe { dealloc(thin.sub(layout.payload_offset).as_ptr(), layout.layout) };
}

/// Memory for a `T`, which the caller writes.
#[inline]
pub(crate) fn allocate_sized<T>(count: Count) -> NonNull<T> {
    allocate_named(SizedInfo::<T>::TYPE_INFO, count)
}

/// The same; the class is one that [`SizedInfo::named`] made for `T`.
#[inline]
pub(crate) fn allocate_named<T>(type_info: &'static TypeInfo, count: Count) -> NonNull<T> {
    allocate(layout_of::<T>(), type_info, count).cast()
}

/// Memory for `len` of `T`, which the caller writes.
pub(crate) fn allocate_slice<T>(len: usize, type_info: &'static TypeInfo) -> NonNull<[T]> {
    let layout = layout_of_slice::<T>(len).expect("a slice fits the address space");
    let thin = allocate(layout, type_info, Count::unique());
    // SAFETY: the layout has a word for the length before the header.
    unsafe {
        length(thin).write(len);
        note_write(thin);
    }
    NonNull::slice_from_raw_parts(thin.cast(), len)
}

/// Frees memory that never had a value, or has it no more.
///
/// # Safety
/// As [`TypeInfo::free`].
pub(crate) unsafe fn free(thin: Thin) {
    // SAFETY: by the caller's promise.
    unsafe { (header(thin).type_info.free)(thin) };
}

/// Where a slice keeps its length.
///
/// # Safety
/// `thin` is an object of a slice class.
unsafe fn length(thin: Thin) -> NonNull<usize> {
    // SAFETY: by the caller's promise, the word is there.
    unsafe { thin.cast::<Header>().sub(1).cast::<usize>().sub(1) }
}

/// Frees the memory when dropped: also if the destructor panics.
struct FreeOnDrop {
    thin: Thin,
    layout: ObjectLayout,
}

impl Drop for FreeOnDrop {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made only by `destroy` functions, whose caller is the only one
        // who can reach the object.
        unsafe { deallocate(self.thin, self.layout) };
    }
}

pub(crate) struct SizedInfo<T>(std::marker::PhantomData<T>);

impl<T> SizedInfo<T> {
    const LAYOUT: ObjectLayout = layout_of::<T>();
    pub(crate) const TYPE_INFO: &'static TypeInfo = &Self::named(std::any::type_name::<T>);

    pub(crate) const fn named(type_name: fn() -> &'static str) -> TypeInfo {
        TypeInfo {
            type_name,
            has_destructor: needs_drop::<T>(),
            plain_block: None,
            destroy: Self::destroy,
            drop_value: Self::drop_value,
            free: Self::free,
        }
    }

    /// # Safety
    /// See [`TypeInfo::destroy`].
    unsafe fn destroy(thin: Thin) {
        let _free = FreeOnDrop {
            thin,
            layout: Self::LAYOUT,
        };
        if needs_drop::<T>() {
            // SAFETY: the object is there.
            unsafe { header(thin) }.count.begin_unique_destruction();
            // SAFETY: by the caller's promise.
            unsafe { Self::drop_value(thin) };
        }
    }

    /// # Safety
    /// See [`TypeInfo::drop_value`].
    #[inline(always)]
    pub(super) unsafe fn drop_value(thin: Thin) {
        // SAFETY: by the caller's promise.
        unsafe {
            note_write(thin);
            ptr::drop_in_place(thin.cast::<T>().as_ptr());
        }
    }

    /// # Safety
    /// See [`TypeInfo::free`].
    unsafe fn free(thin: Thin) {
        // SAFETY: by the caller's promise.
        unsafe { deallocate(thin, Self::LAYOUT) };
    }
}

pub(crate) struct SliceInfo<T>(std::marker::PhantomData<T>);

impl<T> SliceInfo<T> {
    pub(crate) const TYPE_INFO: &'static TypeInfo = &Self::named(std::any::type_name::<[T]>);

    pub(crate) const fn named(type_name: fn() -> &'static str) -> TypeInfo {
        TypeInfo {
            type_name,
            has_destructor: needs_drop::<T>(),
            plain_block: None,
            destroy: Self::destroy,
            drop_value: Self::drop_value,
            free: Self::free,
        }
    }

    /// # Safety
    /// `thin` is an object of this class.
    unsafe fn layout(thin: Thin) -> ObjectLayout {
        // SAFETY: by the caller's promise.
        let len = unsafe { length(thin).read() };
        layout_of_slice::<T>(len).expect("it was allocated")
    }

    /// # Safety
    /// See [`TypeInfo::destroy`].
    unsafe fn destroy(thin: Thin) {
        // SAFETY: by the caller's promise.
        let layout = unsafe { Self::layout(thin) };
        let _free = FreeOnDrop { thin, layout };
        if needs_drop::<T>() {
            // SAFETY: the object is there.
            unsafe { header(thin) }.count.begin_unique_destruction();
            // SAFETY: by the caller's promise.
            unsafe { Self::drop_value(thin) };
        }
    }

    /// # Safety
    /// See [`TypeInfo::drop_value`].
    unsafe fn drop_value(thin: Thin) {
        // SAFETY: by the caller's promise.
        let len = unsafe { length(thin).read() };
        let slice = ptr::slice_from_raw_parts_mut(thin.cast::<T>().as_ptr(), len);
        // SAFETY: by the caller's promise.
        unsafe {
            note_write(thin);
            ptr::drop_in_place(slice);
        }
    }

    /// # Safety
    /// See [`TypeInfo::free`].
    unsafe fn free(thin: Thin) {
        // SAFETY: by the caller's promise.
        unsafe { deallocate(thin, Self::layout(thin)) };
    }
}
