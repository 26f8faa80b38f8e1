//! `StackAllocator`: a stack of entries, after Box2D's `b2StackAllocator`.
//!
//! This file reserves and frees memory; `stack_box.rs` makes values in it. The invariants are those
//! of [`arena`](super).

use super::overflow::Overflow;
use crate::macros::debug_fields;
use crate::memory::block::shared::AllocError;
use crate::sync::cell::Cell;
use crate::sync::{alloc, const_fn, dealloc};
use std::alloc::Layout;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// The header of an entry, right before the value.
#[derive(Clone, Copy)]
#[repr(C)]
struct EntryHeader {
    /// The offset of the next lower entry's value, or `NONE`; with `HOLE` set if this is a hole.
    link: usize,
    /// The position of the top before this entry was made.
    start: usize,
}

const HEADER_BYTES: usize = size_of::<EntryHeader>();
/// The alignment of the arena's memory. The offset of a value of at most this alignment does not
/// depend on the memory's address.
const ALIGN: usize = align_of::<Aligned>();
#[repr(align(64))]
struct Aligned;
/// The bit of `link` that marks a hole. Offsets of values are multiples of a header's alignment,
/// so the bit is free.
const HOLE: usize = 1;
/// Stands for "no value". It is no value's offset, as it is not a multiple of a header's alignment;
/// its bit `HOLE` is 0.
const NONE: usize = !HOLE;

/// An allocator for values that are dropped in about the reverse of the order in which they were
/// made, such as the temporary values of a function or a frame; after Box2D's `b2StackAllocator`.
///
/// A [`StackBox`](crate::memory::StackBox) owns a value and drops it like a `Box`, in *any* order:
/// the value's memory is used again when everything newer has been dropped, too. A box that is
/// forgotten or leaked holds its memory, and that of older values, until [`reset`](Self::reset).
/// Values that do not fit are on the heap, and `reset` then enlarges the arena to one and a half
/// times the [high-water mark](Self::high_water); between resets nothing ever moves.
///
/// # When not to use it
/// For values that live long, or are dropped in no particular order: use `Box`. For values without
/// destructors, or if all memory is freed at once: the crate `bumpalo` needs no headers. Counted
/// objects cannot be in an arena, as they are `'static`. A frame [has an
/// arena](crate::frame::Frame::arena).
///
/// # Threads
/// An arena is `Send` (no box exists while it moves) and not `Sync`. Boxes stay on its thread.
///
/// # Cost
/// Making a value or dropping the newest one takes a few instructions and no call. Each value has a
/// header of two words, and padding; values of size 0 take no memory. A value on the heap costs an
/// allocation.
///
/// # Panics and errors
/// Functions named `try_...` return an [`AllocError`]. The others panic if a size overflows, and
/// call `handle_alloc_error` if memory is exhausted. If a closure or a destructor panics, the arena
/// stays usable, and the value's memory is freed.
///
/// ```
/// use releasepool::memory::StackAllocator;
/// let mut arena = StackAllocator::with_capacity(4096);
/// let squares = arena.alloc_slice(100, |i| i * i);
/// let name = arena.alloc(format!("{} contacts", squares.len()));
/// drop(squares); // not the newest: its memory comes back with that of `name`
/// drop(name);
/// assert_eq!(arena.used(), 0);
/// arena.reset();
/// ```
pub struct StackAllocator {
    /// The arena's memory; dangling if the capacity is 0.
    base: NonNull<u8>,
    capacity: usize,
    /// The top, as an offset.
    used: Cell<usize>,
    /// The offset of the topmost value, which is not a hole, or `NONE`.
    last: Cell<usize>,
    /// How many entries are holes.
    holes: Cell<usize>,
    /// The greatest result of `used()` since the last reset, minus what `overflow.bytes()` returns
    /// now: so the fast path need not read `overflow`. Never less than the field `used`.
    peak: Cell<usize>,
    /// The greatest result of `used()` from the arena's beginning to the last reset.
    record: usize,
    overflow: Overflow,
}

// SAFETY: the arena owns its memory. Boxes borrow the arena, so it moves to another thread only if
// no box exists (invariant 3 of `arena`); values that were forgotten in it are never accessed
// again.
unsafe impl Send for StackAllocator {}
// No panic leaves an arena in a broken state: foreign code runs only between complete operations
// (invariant 4 of `arena`).
impl UnwindSafe for StackAllocator {}
impl RefUnwindSafe for StackAllocator {}

impl StackAllocator {
    const_fn! {
        /// Creates an arena without memory: all values are on the heap until the first
        /// [`reset`](Self::reset) gives the arena the memory that they needed.
        pub fn new() -> Self {
            Self {
                base: NonNull::<Aligned>::dangling().cast(),
                capacity: 0,
                used: Cell::new(0),
                last: Cell::new(NONE),
                holes: Cell::new(0),
                peak: Cell::new(0),
                record: 0,
                overflow: Overflow::new(),
            }
        }
    }

    /// Creates an arena of this many bytes, which are allocated now.
    ///
    /// # Panics
    /// If `bytes` is more than the address space holds. Aborts if memory is exhausted.
    pub fn with_capacity(bytes: usize) -> Self {
        Self::try_with_capacity(bytes).unwrap_or_else(|error| error.fail())
    }

    /// Creates an arena of this many bytes, or returns an error.
    ///
    /// # Errors
    /// If `bytes` is more than the address space holds, or memory is exhausted.
    pub fn try_with_capacity(bytes: usize) -> Result<Self, AllocError> {
        let mut arena = Self::new();
        if bytes != 0 {
            arena.base = allocate_region(bytes)?;
            arena.capacity = bytes;
        }
        Ok(arena)
    }

    /// Empties the arena. Frees the heap memory of values that did not fit. Keeps the arena's own
    /// memory, unless the [high-water mark](Self::high_water) exceeds its capacity: then replaces
    /// it by memory of one and a half times that mark, or keeps it if memory is exhausted.
    ///
    /// No box exists during a reset, as boxes borrow the arena. Values that were forgotten or
    /// leaked are not dropped: their memory is used again.
    pub fn reset(&mut self) {
        self.record = self.high_water();
        self.overflow.clear();
        self.used.set(0);
        self.last.set(NONE);
        self.holes.set(0);
        self.peak.set(0);
        if self.record > self.capacity {
            let capacity = self.record.saturating_add(self.record / 2);
            if let Ok(base) = allocate_region(capacity) {
                self.free_region();
                self.base = base;
                self.capacity = capacity;
            }
        }
    }

    /// Returns the size of the arena's own memory, in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns how many bytes are in use: up to the end of the newest value, and on the heap.
    /// Headers and padding count, and so do dropped values as long as newer values hold their
    /// memory.
    pub fn used(&self) -> usize {
        self.used.get() + self.overflow.bytes()
    }

    /// Returns the most bytes that have been in [use](Self::used) at once since the arena was made.
    pub fn high_water(&self) -> usize {
        self.record.max(self.peak())
    }

    /// Returns the most bytes that have been in use at once since the last reset.
    pub(crate) fn peak(&self) -> usize {
        self.peak.get() + self.overflow.bytes()
    }

    /// Reserves memory of this layout, which must not be of size 0.
    #[inline(always)]
    pub(super) fn reserve_bytes(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let used = self.used.get();
        let align = layout.align().max(align_of::<EntryHeader>());
        let after_header = self.base.addr().get().wrapping_add(used + HEADER_BYTES);
        let padding = after_header.wrapping_neg() & (align - 1);
        // Does not overflow: a layout's size and `align - 1` are at most `isize::MAX` together.
        let need = HEADER_BYTES + padding + layout.size();
        if need > self.capacity - used {
            return self.reserve_on_heap(layout);
        }
        let offset = used + HEADER_BYTES + padding;
        let header = EntryHeader {
            link: self.last.get(),
            start: used,
        };
        // SAFETY: the header and the value are above the top, where no entry is (invariant 1 of
        // `arena`), and within the capacity. The value is aligned as a header at least.
        let value = unsafe {
            self.header(offset).write(header);
            self.base.add(offset)
        };
        self.last.set(offset);
        self.raise(used + need);
        Ok(value)
    }

    /// Sets the top, and raises the peak to it.
    #[inline(always)]
    fn raise(&self, used: usize) {
        self.used.set(used);
        if used > self.peak.get() {
            self.peak.set(used);
        }
    }

    #[cold]
    #[inline(never)]
    fn reserve_on_heap(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        let peak = self.peak();
        let value = self.overflow.push(layout)?;
        self.peak.set(peak.max(self.used()) - self.overflow.bytes());
        Ok(value)
    }

    /// Frees memory.
    ///
    /// # Safety
    /// `value` is the pointer that `reserve_bytes` returned, or that `own` returned for that
    /// pointer; the caller gives the memory up.
    #[inline(always)]
    pub(super) unsafe fn free(&self, value: NonNull<u8>) {
        let offset = self.offset(value);
        if offset == self.last.get() && self.holes.get() == 0 {
            // SAFETY: `last` is the offset of an entry (invariant 1 of `arena`).
            let header = unsafe { self.header(offset).read() };
            self.used.set(header.start);
            self.last.set(header.link);
        } else {
            // SAFETY: the contract of this function is that of `free_slowly`.
            unsafe { self.free_slowly(value) };
        }
    }

    /// Frees memory on the heap, an entry below others, or an entry with holes below it.
    ///
    /// # Safety
    /// The contract of [`free`](Self::free).
    #[inline(never)]
    unsafe fn free_slowly(&self, value: NonNull<u8>) {
        let offset = self.offset(value);
        if offset >= self.capacity {
            // SAFETY: `value` is not in the arena, so it is from `overflow`; the caller gives it
            // up.
            let bytes = unsafe { self.overflow.remove(value) };
            self.peak.set(self.peak.get() + bytes);
            return;
        }
        // SAFETY: the entry of a value that was not freed is below the top (invariant 2 of
        // `arena`).
        let mut header = unsafe { self.header(offset).read() };
        if offset != self.last.get() {
            header.link |= HOLE;
            // SAFETY: the entry is below the top (invariant 2 of `arena`); nothing else refers to
            // its header.
            unsafe { self.header(offset).write(header) };
            self.holes.set(self.holes.get() + 1);
            return;
        }
        let mut last = header.link;
        while last != NONE {
            // SAFETY: links lead to entries below the top (invariant 1 of `arena`).
            let below = unsafe { self.header(last).read() };
            if below.link & HOLE == 0 {
                break;
            }
            self.holes.set(self.holes.get() - 1);
            header = below;
            last = below.link & !HOLE;
        }
        self.used.set(header.start);
        self.last.set(last);
    }

    /// Resizes `value` in place and returns true, if it is the topmost value and there is room.
    ///
    /// # Safety
    /// `value` has the address that `reserve_bytes` returned, and was not freed. Its memory has at
    /// least `old` bytes; `old` is not 0.
    #[cfg(feature = "allocator-api2")]
    pub(super) unsafe fn resize(&self, value: NonNull<u8>, old: usize, new: usize) -> bool {
        let end = self.used.get();
        if self.offset(value) != self.last.get() || new > self.capacity - (end - old) {
            return false;
        }
        self.raise(end - old + new);
        true
    }

    /// Returns the arena's own pointer to a collection's memory; the pointer's provenance includes
    /// the header before that memory. Uses only the address of `value`.
    ///
    /// # Safety
    /// `value` has the address that `reserve_bytes` returned, and was not freed. If it did not fit
    /// into the arena, the provenance of the pointer from `reserve_bytes` was exposed.
    #[cfg(feature = "allocator-api2")]
    #[inline(always)]
    pub(super) unsafe fn own(&self, value: NonNull<u8>) -> NonNull<u8> {
        let offset = self.offset(value);
        if offset < self.capacity {
            // SAFETY: the offset is below the capacity.
            unsafe { self.base.add(offset) }
        } else {
            // SAFETY: `value` is not in the arena, so it is from `overflow`; by the contract it was
            // exposed and not freed.
            unsafe { self.overflow.own(value) }
        }
    }

    /// Returns whether a value did not fit, and is on the heap.
    #[cfg(feature = "allocator-api2")]
    #[inline]
    pub(super) fn is_on_heap(&self, value: NonNull<u8>) -> bool {
        self.offset(value) >= self.capacity
    }

    /// Returns the offset of a value; at least the capacity if it is not in the arena.
    #[inline(always)]
    fn offset(&self, value: NonNull<u8>) -> usize {
        value.addr().get().wrapping_sub(self.base.addr().get())
    }

    /// Returns a pointer to the header of the value at `offset`.
    ///
    /// # Safety
    /// `offset` is below the capacity, and there is room for a header below it.
    #[inline(always)]
    unsafe fn header(&self, offset: usize) -> NonNull<EntryHeader> {
        // SAFETY: by the contract, the header is within the arena's memory.
        unsafe { self.base.add(offset - HEADER_BYTES).cast() }
    }

    /// Frees the arena's own memory, in which only forgotten and leaked values may be left.
    fn free_region(&mut self) {
        if self.capacity != 0 {
            // `allocate_region` has made the same layout.
            let layout = Layout::from_size_align(self.capacity, ALIGN).expect("a valid layout");
            // SAFETY: `allocate_region` has allocated the memory by this layout; boxes borrow the
            // arena, so no box exists during a mutable borrow (invariant 3 of `arena`).
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

/// Allocates `bytes` bytes for an arena; `bytes` is not 0.
fn allocate_region(bytes: usize) -> Result<NonNull<u8>, AllocError> {
    let Ok(layout) = Layout::from_size_align(bytes, ALIGN) else {
        let (count, layout) = (bytes, Layout::new::<u8>());
        return Err(AllocError::TooLarge { count, layout });
    };
    // SAFETY: both callers ask for at least one byte.
    NonNull::new(unsafe { alloc(layout) }).ok_or(AllocError::OutOfMemory { layout })
}

impl Default for StackAllocator {
    fn default() -> Self {
        Self::new()
    }
}

/// Frees all memory. Values that were forgotten are not dropped.
impl Drop for StackAllocator {
    fn drop(&mut self) {
        self.overflow.clear();
        self.free_region();
    }
}

debug_fields! {
    StackAllocator: |this|
        used = this.used(), capacity = this.capacity, high_water = this.high_water(), ..
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_is_taken_again_once_the_top_is_below_the_holes() {
        let arena = StackAllocator::with_capacity(1024);
        let below = arena.alloc(0);
        let [a, b, c] = [1, 2, 3].map(|n| arena.alloc(n));
        drop((a, b));
        assert_eq!(arena.holes.get(), 2);
        drop(c);
        assert_eq!(arena.holes.get(), 0);
        drop(below);
        assert_eq!(arena.used.get(), 0);
    }
}
