//! Values that did not fit into an arena, and are on the heap. They are in a list, so that a reset
//! and the arena's destructor can free the memory of forgotten values.

use crate::memory::block::shared::AllocError;
use crate::sync::cell::Cell;
use crate::sync::{alloc, const_fn, dealloc};
use std::alloc::Layout;
use std::ptr::NonNull;

/// A node of the list, right before the value. The list's pointers to a node have provenance for
/// the whole allocation.
struct OverflowNode {
    newer: Cell<Option<NonNull<OverflowNode>>>,
    older: Cell<Option<NonNull<OverflowNode>>>,
    /// The layout of the whole allocation.
    layout: Layout,
}

/// Returns the offset of the value in an allocation of this alignment.
fn value_at(align: usize) -> usize {
    size_of::<OverflowNode>().next_multiple_of(align)
}

/// Returns the layout of the allocation for a value of this layout; `None` if it would be too
/// large.
fn outer(layout: Layout) -> Option<Layout> {
    let align = layout.align().max(align_of::<OverflowNode>());
    let size = value_at(align).checked_add(layout.size())?;
    Layout::from_size_align(size, align).ok()
}

/// The values that did not fit.
pub(super) struct Overflow {
    newest: Cell<Option<NonNull<OverflowNode>>>,
    /// The size of all allocations together.
    bytes: Cell<usize>,
}

impl Overflow {
    const_fn! {
        pub(super) fn new() -> Self {
            Self {
                newest: Cell::new(None),
                bytes: Cell::new(0),
            }
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// Allocates memory for a value.
    pub(super) fn push(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let Some(outer) = outer(layout) else {
            return Err(AllocError::TooLarge { count: 1, layout });
        };
        // SAFETY: the layout includes a node, so its size is not 0.
        let Some(memory) = NonNull::new(unsafe { alloc(outer) }) else {
            return Err(AllocError::OutOfMemory { layout: outer });
        };
        let older = self.newest.get();
        // SAFETY: `outer` has made the allocation large enough.
        let value = unsafe { memory.add(value_at(outer.align())) };
        let node = node_of(value);
        // SAFETY: `value_at` has left room for a node in the fresh memory before the value. The
        // node is aligned, as the allocation's alignment and a node's size are multiples of a
        // node's alignment.
        unsafe {
            node.write(OverflowNode {
                newer: Cell::new(None),
                older: Cell::new(older),
                layout: outer,
            });
        }
        if let Some(older) = older {
            // SAFETY: a node in the list exists until `remove` takes it out.
            unsafe { older.as_ref() }.newer.set(Some(node));
        }
        self.newest.set(Some(node));
        self.bytes.set(self.bytes.get() + outer.size());
        Ok(value)
    }

    /// Frees a value's memory, and returns the size of the allocation.
    ///
    /// # Safety
    /// `value` is the pointer that `push` returned, or that `own` returned for that pointer; the
    /// caller gives the memory up.
    pub(super) unsafe fn remove(&self, value: NonNull<u8>) -> usize {
        // SAFETY: `push` has put a node before the value.
        let node = unsafe { node_of(value).read() };
        let (newer, older, layout) = (node.newer.get(), node.older.get(), node.layout);
        if let Some(older) = older {
            // SAFETY: a node in the list exists until `remove` takes it out.
            unsafe { older.as_ref() }.newer.set(newer);
        }
        if let Some(newer) = newer {
            // SAFETY: a node in the list exists until `remove` takes it out.
            unsafe { newer.as_ref() }.older.set(older);
        } else {
            self.newest.set(older);
        }
        self.bytes.set(self.bytes.get() - layout.size());
        // SAFETY: `push` has put the value at this offset in an allocation of this layout; its node
        // is out of the list.
        unsafe { dealloc(value.sub(value_at(layout.align())).as_ptr(), layout) };
        layout.size()
    }

    /// Returns the list's own pointer to a collection's memory. Uses only the address of `value`.
    ///
    /// # Safety
    /// `push` has returned a pointer to the address of `value`. That pointer was exposed, and its
    /// memory was not removed.
    #[cfg(feature = "allocator-api2")]
    pub(super) unsafe fn own(&self, value: NonNull<u8>) -> NonNull<u8> {
        let node = node_of(crate::memory::block::collections::recover(value));
        // SAFETY: the node exists, as the value was not removed. The field is copied: no reference
        // to the node is made with the exposed provenance.
        let newer = unsafe { (&raw const (*node.as_ptr()).newer).read() };
        let own = match newer.get() {
            // SAFETY: a node in the list exists until `remove` takes it out.
            Some(newer) => unsafe { newer.as_ref() }.older.get(),
            None => self.newest.get(),
        };
        debug_assert_eq!(own, Some(node));
        let own = own.expect("a node in the list has a neighbor or is the newest");
        // SAFETY: `push` has put the value right after the node.
        unsafe { own.add(1).cast() }
    }

    /// Frees the memory of all values.
    pub(super) fn clear(&mut self) {
        while let Some(node) = self.newest.get() {
            // SAFETY: right after the node is the value that `push` returned. Every owner of a
            // value borrows the arena, so no value has an owner during a mutable borrow.
            unsafe { self.remove(node.add(1).cast()) };
        }
    }
}

/// Returns the node of a value that `push` returned.
fn node_of(value: NonNull<u8>) -> NonNull<OverflowNode> {
    // SAFETY: `push` has left room for a node before the value.
    unsafe { value.cast::<OverflowNode>().sub(1) }
}
