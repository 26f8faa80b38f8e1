//! The header before every payload, the layout of objects, and their type infos.
//!
//! The header is right before the payload, whatever the payload's alignment, and slices keep their
//! length in the allocation (see the picture in [`object`](crate::object)). So the thin address of
//! the payload identifies any object: pools, inboxes and C code store nothing else.

use super::count::{Count, Misuse};
use super::raw_checks;
use crate::ledger::object_name::ObjectName;
use crate::ledger::{self, ObjectDescription};
use crate::sync::{CHECKED, Witness, described};
use crate::thread::current::{current_label, tally_created};
use std::alloc::Layout;
use std::any::type_name;
use std::ptr::{self, NonNull, fn_addr_eq};

/// The header of an object.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) count: Count,
    pub(crate) type_info: &'static TypeInfo,
    /// A witness for the payload: code marks its accesses to the payload here. Zero-sized, except
    /// in models.
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
    // SAFETY: the header is right before the payload (invariant 1 of `object`); by the contract,
    // the memory is not freed.
    unsafe { thin.cast::<Header>().sub(1).as_ref() }
}

/// Returns the name of an object, for reports: its own, or else that of its type.
///
/// # Safety
/// The object is alive, or its destructor is running.
pub(crate) unsafe fn name_of(thin: Thin) -> ObjectName {
    // SAFETY: forwards the contract.
    unsafe {
        let type_info = header(thin).type_info;
        ObjectName::of(thin, ptr::from_ref(type_info).cast(), type_info.type_name)
    }
}

impl Header {
    /// Tells the ledger and the model checker that the memory is about to be freed.
    #[inline(always)]
    pub(crate) fn freed(&mut self) {
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
pub(crate) unsafe fn write_value<T>(payload: NonNull<T>, value: T) {
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
    let thread = current_label();
    let (_, rest) = ledger::type_and_rest(thin).unwrap_or_default();
    let here = ledger::here(",");
    ledger::abort(&format!(
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
pub(crate) struct ObjectLayout {
    pub(crate) layout: Layout,
    /// The offset of the payload.
    pub(crate) payload_offset: usize,
}

/// Returns the layout of an object with `prefix` bytes or more before its payload; `None` if the
/// object does not fit the address space.
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

/// Writes the header of a new object; returns the address of its payload.
///
/// # Safety
/// `base` was allocated with this layout, and the caller has exclusive access to it.
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) unsafe fn write_header(
    base: NonNull<u8>,
    layout: ObjectLayout,
    type_info: &'static TypeInfo,
    count: Count,
) -> Thin {
    // `tally_created` gives the thread its key, if it has none yet. The ledger needs the key, so
    // builds with it count first. In others, counting last saves `pool.create` an instruction.
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

/// Writes a header as [`write_header`] does, but does not count the object in the figures.
///
/// # Safety
/// The contract of [`write_header`].
#[inline]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) unsafe fn write_uncounted_header(
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
    // SAFETY: the place is within the allocation, and aligned (see `object_layout`).
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

/// Gives an object another type info.
///
/// # Safety
/// The caller has the only reference of any kind to the object. The new type info fits the type of
/// the object's value, and the layout and source of its memory.
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

// Type infos, which all objects of one type share.

/// The thin address of an object's payload, with the provenance of the whole allocation.
pub(crate) type Thin = NonNull<u8>;

/// The first word of every type info, by which a reader outside of the process recognizes it.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"RPtypeV1");

/// The kind of an object's payload, and the source of its memory.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum ObjectKind {
    /// One value, from the global allocator, or in memory that the destructor of a C++ class frees.
    Sized,
    /// A slice, from the global allocator.
    Slice,
    /// The value of a `HomeRef`, after its message.
    ThreadBound,
    /// One value, in a block.
    Block,
    /// A slice, in a block.
    BlockSlice,
    /// One value that was moved out of a box, from the global allocator. Its size and alignment are
    /// in a word before the header.
    Boxed,
}

/// The part of a type info that readers outside of the process use.
#[derive(Clone, Copy)]
pub(crate) struct TypeShape {
    pub(crate) kind: ObjectKind,
    /// The layout of the payload; for slices, of one element; unused for boxed values.
    pub(crate) payload: Layout,
    /// The offset of the payload from the beginning of the memory. For boxed values, the least
    /// offset: their alignment may demand more.
    pub(crate) payload_offset: usize,
}

/// The vtable shared by all objects of one type and one source of memory.
#[repr(C)]
pub(crate) struct TypeInfo {
    pub(crate) magic: u64,
    pub(crate) type_name: fn() -> &'static str,
    /// The size of the payload and, in `align`, its alignment; for slices, those of one element.
    pub(crate) bytes: usize,
    pub(crate) payload_offset: usize,
    pub(crate) align: u32,
    pub(crate) kind: ObjectKind,
    /// True if destroying an object runs any code other than the allocator's.
    pub(crate) has_destructor: bool,
    /// True if the type info is that of a [`ForeignClass`](crate::foreign::class::ForeignClass).
    pub(crate) is_foreign: bool,
    /// True if the memory begins with a reference to a `BlockAllocator`, for whose caps it counts.
    pub(crate) is_owned: bool,
    /// The size class of the object's block, if the memory is a block that begins with the header,
    /// and the object has no destructor: drains then need not call `destroy`.
    pub(crate) plain_block: Option<PlainBlock>,
    /// Runs the destructor and frees the memory, even if the destructor panics.
    ///
    /// # Safety
    /// The caller is the unique owner of the object.
    pub(crate) destroy: unsafe fn(Thin),
    /// Runs the destructor.
    ///
    /// # Safety
    /// The value is initialized, and the caller has exclusive access to it.
    pub(crate) drop_value: unsafe fn(Thin),
    /// Frees the memory.
    ///
    /// # Safety
    /// The value was dropped, moved out or never written, and there is no reference of any kind.
    pub(crate) free: unsafe fn(Thin),
}

/// The size class and the unused bytes of the block of an object with a certain layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainBlock {
    /// The index of the block's size class.
    pub(crate) size: u8,
    /// Bytes of the block that the object does not need.
    pub(crate) waste: u16,
}

impl TypeInfo {
    pub(crate) fn type_name(&self) -> &'static str {
        (self.type_name)()
    }

    /// Returns whether the type has the name of `T`. The compiler may make several functions for one
    /// name: if the addresses differ, compares the names.
    pub(crate) fn is_named_as<T: ?Sized>(&self) -> bool {
        fn_addr_eq(self.type_name, type_name::<T> as fn() -> &'static str)
            || self.type_name() == type_name::<T>()
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
        }
        type_info {
            size = size_of::<TypeInfo>(),
            magic = offset_of!(TypeInfo, magic),
            magic_value = MAGIC,
            type_name = offset_of!(TypeInfo, type_name),
            bytes = offset_of!(TypeInfo, bytes),
            align = offset_of!(TypeInfo, align),
            kind = offset_of!(TypeInfo, kind),
            payload_offset = offset_of!(TypeInfo, payload_offset),
        }
        kind {
            sized = ObjectKind::Sized,
            slice = ObjectKind::Slice,
            thread_bound = ObjectKind::ThreadBound,
            block = ObjectKind::Block,
            block_slice = ObjectKind::BlockSlice,
            boxed = ObjectKind::Boxed,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{object_memory::Global, object_memory::ObjectType, payload::One};

    #[test]
    fn a_type_is_known_by_its_name_whichever_function_returns_it() {
        fn another() -> &'static str {
            type_name::<u8>()
        }
        let type_info = TypeInfo {
            type_name: another,
            ..*ObjectType::<One<u8>, Global>::TYPE_INFO
        };
        assert!(type_info.is_named_as::<u8>() && !type_info.is_named_as::<u16>());
    }
}
