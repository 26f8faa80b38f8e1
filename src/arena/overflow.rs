//! What did not fit into an arena: on the heap, and in a list, so that what is forgotten is
//! given back with the arena's own memory.

use super::dump::{Label, Place, Seen};
use crate::block::error::AllocError;
use crate::sync::cell::Cell;
use crate::sync::{alloc, const_fn, dealloc};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Stands right before the value.
struct Node {
    newer: Cell<Option<NonNull<Node>>>,
    older: Cell<Option<NonNull<Node>>>,
    /// Of the whole allocation.
    layout: Layout,
    label: Cell<Label>,
}

/// Where the value begins in an allocation of this alignment.
fn value_at(align: usize) -> usize {
    size_of::<Node>().next_multiple_of(align)
}

/// That of the allocation for a value of this layout.
fn outer(layout: Layout) -> Option<Layout> {
    let align = layout.align().max(align_of::<Node>());
    let size = value_at(align).checked_add(layout.size())?;
    Layout::from_size_align(size, align).ok()
}

pub(super) struct Overflow {
    newest: Cell<Option<NonNull<Node>>>,
    /// What all allocations come to.
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

    pub(super) fn is_empty(&self) -> bool {
        self.newest.get().is_none()
    }

    /// Memory for a value.
    pub(super) fn push(&self, layout: Layout, label: Label) -> Result<NonNull<u8>, AllocError> {
        let Some(outer) = outer(layout) else {
            return Err(AllocError::TooLarge { count: 1, layout });
        };
        // SAFETY: a node has a size.
        let Some(memory) = NonNull::new(unsafe { alloc(outer) }) else {
            return Err(AllocError::OutOfMemory { layout: outer });
        };
        let older = self.newest.get();
        // SAFETY: within the allocation, by `outer`.
        let value = unsafe { memory.add(value_at(outer.align())) };
        let node = node_of(value);
        // SAFETY: fresh memory, aligned as both are multiples of a node's alignment.
        unsafe {
            node.write(Node {
                newer: Cell::new(None),
                older: Cell::new(older),
                layout: outer,
                label: Cell::new(label),
            });
        }
        if let Some(older) = older {
            // SAFETY: what is in the list is there.
            unsafe { older.as_ref() }.newer.set(Some(node));
        }
        self.newest.set(Some(node));
        self.bytes.set(self.bytes.get() + outer.size());
        Ok(value)
    }

    /// Gives memory back, and says how much.
    ///
    /// # Safety
    /// It came from `push`, as this pointer, and is not used any more.
    pub(super) unsafe fn remove(&self, value: NonNull<u8>) -> usize {
        // SAFETY: by the caller's promise there is one.
        let Node {
            newer,
            older,
            layout,
            ..
        } = unsafe { node_of(value).read() };
        if let Some(older) = older.get() {
            // SAFETY: what is in the list is there.
            unsafe { older.as_ref() }.newer.set(newer.get());
        }
        if let Some(newer) = newer.get() {
            // SAFETY: what is in the list is there.
            unsafe { newer.as_ref() }.older.set(older.get());
        } else {
            self.newest.set(older.get());
        }
        self.bytes.set(self.bytes.get() - layout.size());
        // SAFETY: where `push` put the value, in an allocation of this layout.
        unsafe { dealloc(value.sub(value_at(layout.align())).as_ptr(), layout) };
        layout.size()
    }

    /// Returns the list's own pointer to a value of a collection. Only the address of `value`
    /// counts.
    ///
    /// # Safety
    /// `value` has the address that `push` gave, and was not removed. Its provenance was exposed.
    #[cfg(feature = "allocator-api2")]
    pub(super) unsafe fn own(&self, value: NonNull<u8>) -> NonNull<u8> {
        let node = node_of(crate::block::exposed::recover(value));
        // SAFETY: the node is there, by the caller's promise. A copy: no reference to it is made
        // by the exposed provenance.
        let newer = unsafe { (&raw const (*node.as_ptr()).newer).read() };
        let own = match newer.get() {
            // SAFETY: what is in the list is there.
            Some(newer) => unsafe { newer.as_ref() }.older.get(),
            None => self.newest.get(),
        };
        debug_assert_eq!(own, Some(node));
        let own = own.expect("what is in the list is found from its neighbour");
        // SAFETY: where `push` has put the value.
        unsafe { own.add(1).cast() }
    }

    /// Gives back what was forgotten.
    pub(super) fn clear(&mut self) {
        while let Some(node) = self.newest.get() {
            // SAFETY: the list is borrowed mutably: nobody has the value.
            unsafe { self.remove(node.add(1).cast()) };
        }
    }

    /// # Safety
    /// `value` came from `push`, and was not removed.
    pub(super) unsafe fn set_label(&self, value: NonNull<u8>, label: Label) {
        // SAFETY: by the caller's promise there is one.
        unsafe { node_of(value).as_ref() }.label.set(label);
    }

    /// Newest first.
    ///
    /// # Safety
    /// Nothing is removed until the last `next`.
    pub(super) unsafe fn iter(&self) -> impl Iterator<Item = Seen> {
        let mut next = self.newest.get();
        std::iter::from_fn(move || {
            let node = next?;
            // SAFETY: what is in the list is there, by the caller's promise still.
            let Node {
                older,
                layout,
                label,
                ..
            } = unsafe { node.as_ref() };
            next = older.get();
            Some(Seen {
                address: node.addr().get() + size_of::<Node>(),
                size: layout.size() - value_at(layout.align()),
                label: label.get(),
                place: Place::Heap,
            })
        })
    }
}

fn node_of(value: NonNull<u8>) -> NonNull<Node> {
    // SAFETY: `push` has put it there.
    unsafe { value.cast::<Node>().sub(1) }
}
