//! Type infos, which all objects of one type share.

use crate::sync::described;
use std::alloc::Layout;
use std::any::type_name;
use std::ptr::{NonNull, fn_addr_eq};

/// The thin address of an object's payload, with the provenance of the whole allocation.
pub(crate) type Thin = NonNull<u8>;

/// The first word of every type info, by which a reader outside of the process recognizes it.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"RPtypeV1");

/// The kind of an object's payload, and the source of its memory.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum ObjectKind {
    /// One value, from the global allocator.
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
    pub(super) kind: ObjectKind,
    /// The layout of the payload; for slices, of one element; unused for boxed values.
    pub(super) payload: Layout,
    /// The offset of the payload from the beginning of the memory. For boxed values, the least
    /// offset: their alignment may demand more.
    pub(super) payload_offset: usize,
}

/// The vtable shared by all objects of one type and one source of memory.
#[repr(C)]
pub(crate) struct TypeInfo {
    pub(super) magic: u64,
    pub(super) type_name: fn() -> &'static str,
    /// The size of the payload and, in `align`, its alignment; for slices, those of one element.
    pub(super) bytes: usize,
    pub(super) payload_offset: usize,
    pub(super) align: u32,
    pub(super) kind: ObjectKind,
    /// True if destroying an object runs any code other than the allocator's.
    pub(crate) has_destructor: bool,
    /// True if the type info is that of a [`ForeignClass`](super::foreign_class::ForeignClass).
    pub(crate) is_foreign: bool,
    /// The block of the object, if it has no destructor and its memory is a block: drains then need
    /// not call `destroy`.
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

/// The block of an object whose payload comes right after the header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainBlock {
    /// The index of the block's size class.
    pub(super) size: u8,
    /// Bytes of the block that the object does not need.
    pub(super) waste: u8,
}

impl TypeInfo {
    pub(crate) fn type_name(&self) -> &'static str {
        (self.type_name)()
    }

    /// Returns whether the type has the name of `T`. The compiler may make several functions for one
    /// name, so only equal addresses tell something.
    pub(crate) fn is_named_as<T: ?Sized>(&self) -> bool {
        fn_addr_eq(self.type_name, type_name::<T> as fn() -> &'static str)
            || self.type_name() == type_name::<T>()
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
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
