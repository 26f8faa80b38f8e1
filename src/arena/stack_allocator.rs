//! `StackAllocator`: memory that is given back in the reverse order, after Box2D's
//! `b2StackAllocator`.
//!
//! One block of memory. An entry is padding, a header, the value; a new one begins where the
//! last one ends. Headers are linked downwards.
//!
//! Dropping the topmost entry takes the top back to where it was; dropping another marks it
//! as a *hole*, and the top goes back over holes when it comes to them. So an entry's memory
//! can only be used again when its own value is gone and all that are above it are: in no
//! order of drops, and for nothing that is forgotten, is a value overwritten. A top that is
//! simply reset by a guard to where it was would overwrite what was forgotten, or leaked for
//! the guard's lifetime, in between.
//!
//! No reference to anything here is held while foreign code runs (closures, destructors,
//! formatters): all state is in cells, and each operation is done before, or begun after.

use super::dump::{Label, Place, Seen, StackDump};
use super::entry::{Entry, Filling};
use super::overflow::Overflow;
use super::stack_box::StackBox;
use crate::block::error::AllocError;
use crate::sync::cell::Cell;
use crate::sync::{alloc, const_fn, dealloc};
use std::alloc::Layout;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

/// Stands right before the value.
#[derive(Clone, Copy)]
#[repr(C)]
struct Header {
    /// The offset of the value below, or `NONE`; and `HOLE` if this one is dropped.
    link: usize,
    /// The top before this entry.
    start: usize,
    label: Label,
}

const HEADER: usize = size_of::<Header>();
/// That of the memory: below it, offsets alone decide where entries go.
const ALIGN: usize = align_of::<Aligned>();
#[repr(align(64))]
struct Aligned;
/// Offsets of values are multiples of a header's alignment, so this bit of them is free.
const HOLE: usize = 1;
/// No such multiple, and without that bit.
const NONE: usize = !HOLE;

/// Memory for values that are dropped in about the reverse of the order in which they were
/// made, such as what a function or a frame makes and does not keep: Box2D's
/// `b2StackAllocator`.
///
/// A value that is made in it is owned by a [`StackBox`], which drops it like a `Box`. Its
/// memory is the next to be used if it was the newest one; otherwise it comes back when
/// everything newer is gone, too. *Any* order of drops is allowed. A box that is forgotten, or
/// [leaked](StackBox::leak), holds its memory, and that of what is older, until
/// [`reset`](Self::reset); [`dump`](Self::dump) tells which one it is.
///
/// What does not fit comes from the heap. `reset` then enlarges the arena to one and a half of
/// the [high-water mark](Self::high_water), so that it fits the next time; between resets
/// nothing ever moves.
///
/// # When not to use it
/// For what lives long, or is dropped in an order of its own: that is `Box`. If nothing needs
/// a destructor, or nothing is to be given back until all is, the crate `bumpalo` needs no
/// headers. Counted objects, and what pools own, cannot be in it, as they are `'static`.
/// A [`FrameLoop`](crate::FrameLoop) has an arena, [`Frame::arena`](crate::Frame::arena),
/// which it resets after each frame.
///
/// # Threads
/// It is `Send`, if nothing borrows it, and not `Sync`. Boxes stay on its thread.
///
/// # Cost
/// Making a value or dropping the newest one: a few instructions and no call. 16 bytes to
/// each value (two words; four in debug builds and with the feature `checks`, for the name),
/// and padding. Values without a size take nothing. What is on the heap costs an allocation
/// each.
///
/// # Panics and errors
/// Functions whose names begin with `try_` give an [`AllocError`]. The others panic if a size
/// overflows, and call `handle_alloc_error` if memory is exhausted. Whatever panics, closures
/// or destructors, the arena is in order, and memory is given back.
///
/// ```
/// use releasepool::StackAllocator;
/// let mut arena = StackAllocator::with_capacity(4096);
/// for step in 1..=3 {
///     let squares = arena.alloc_slice(100, |i| i * i);
///     let name = arena.alloc(format!("step {step}, {} contacts", squares.len()));
///     assert!(name.ends_with("100 contacts"));
///     drop(squares); // not the newest: its memory comes back with that of `name`
/// }
/// assert_eq!(arena.used(), 0);
/// assert!(arena.high_water() > 800);
/// arena.reset();
/// ```
pub struct StackAllocator {
    /// Dangling if there is no capacity.
    base: NonNull<u8>,
    capacity: usize,
    /// The top, as an offset.
    used: Cell<usize>,
    /// The offset of the topmost value, which is no hole, or `NONE`.
    last: Cell<usize>,
    /// How many below it are.
    holes: Cell<usize>,
    /// With `overflow.bytes()`, the most that was in use since the last reset: so that the
    /// quick way need not look there. At least `used`.
    peak: Cell<usize>,
    /// The most that was in use before.
    record: usize,
    overflow: Overflow,
}

// SAFETY: it owns its memory. Boxes borrow it, so it goes to another thread only if there
// are none; values that were forgotten in it are never looked at again.
unsafe impl Send for StackAllocator {}
// Whatever panics, it is left in order.
impl UnwindSafe for StackAllocator {}
impl RefUnwindSafe for StackAllocator {}

impl StackAllocator {
    const_fn! {
        /// An arena of no capacity and without memory: everything goes to the heap until the
        /// first [`reset`](Self::reset) gives it what was needed.
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

    /// An arena of so many bytes, which are allocated now.
    ///
    /// # Panics
    /// If that is more than the address space holds. Aborts if memory is exhausted.
    pub fn with_capacity(bytes: usize) -> Self {
        Self::try_with_capacity(bytes).unwrap_or_else(|error| error.fail())
    }

    /// The same.
    ///
    /// # Errors
    /// If there is no such memory.
    pub fn try_with_capacity(bytes: usize) -> Result<Self, AllocError> {
        let mut arena = Self::new();
        if bytes != 0 {
            arena.base = region(bytes)?;
            arena.capacity = bytes;
        }
        Ok(arena)
    }

    /// Moves a value into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    // Always: else the value would be handed over in memory, which costs more than the rest.
    #[inline(always)]
    pub fn alloc<T>(&self, value: T) -> StackBox<'_, T> {
        self.try_alloc(value).unwrap_or_else(|error| error.fail())
    }

    /// The same.
    ///
    /// # Errors
    /// If the heap had to be asked, and has no memory. The value is dropped.
    #[inline(always)]
    pub fn try_alloc<T>(&self, value: T) -> Result<StackBox<'_, T>, AllocError> {
        let entry = self.reserve(Layout::new::<T>(), Label::of::<T>())?;
        let at = entry.into_value().cast::<T>();
        // SAFETY: memory of this layout, which is the box's from here on.
        Ok(unsafe {
            at.write(value);
            StackBox::adopt(self, at)
        })
    }

    /// Makes a slice of what `f` gives for 0, 1, and so on.
    ///
    /// Its memory is reserved before `f` is called for the first time; `f` may use the arena.
    ///
    /// # Panics
    /// As `f`; what it has given until then is dropped. If the size is more than the address
    /// space holds. Aborts if memory is exhausted.
    ///
    /// ```
    /// let arena = releasepool::StackAllocator::with_capacity(1024);
    /// let mut names = arena.alloc_slice(3, |i| arena.alloc(format!("player {i}")));
    /// names.swap(0, 2);
    /// assert_eq!(**names[0], *"player 2");
    /// ```
    #[inline]
    pub fn alloc_slice<T>(&self, n: usize, f: impl FnMut(usize) -> T) -> StackBox<'_, [T]> {
        self.try_alloc_slice(n, f)
            .unwrap_or_else(|error| error.fail())
    }

    /// The same.
    ///
    /// # Errors
    /// If the size is more than the address space holds, or the heap had to be asked, and has
    /// no memory. Then `f` is not called.
    #[inline]
    pub fn try_alloc_slice<T>(
        &self,
        n: usize,
        mut f: impl FnMut(usize) -> T,
    ) -> Result<StackBox<'_, [T]>, AllocError> {
        let Ok(layout) = Layout::array::<T>(n) else {
            let (count, layout) = (n, Layout::new::<T>());
            return Err(AllocError::TooLarge { count, layout });
        };
        let mut filling = Filling::new(self.reserve(layout, Label::of::<[T]>())?);
        for i in 0..n {
            // SAFETY: there is room for `n`.
            unsafe { filling.push(f(i)) };
        }
        // SAFETY: `n` values, which are the box's from here on.
        Ok(unsafe { StackBox::adopt(self, filling.finish()) })
    }

    /// Copies a slice into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    pub fn alloc_slice_copy<T: Copy>(&self, values: &[T]) -> StackBox<'_, [T]> {
        self.alloc_slice(values.len(), |i| values[i])
    }

    /// Copies a string into the arena.
    ///
    /// # Panics
    /// Aborts if memory is exhausted.
    ///
    /// ```
    /// let arena = releasepool::StackAllocator::with_capacity(1024);
    /// assert_eq!(*arena.alloc_str("contacts"), *"contacts");
    /// ```
    pub fn alloc_str(&self, text: &str) -> StackBox<'_, str> {
        let bytes = StackBox::into_ptr(self.alloc_slice_copy(text.as_bytes()));
        let text = NonNull::new(bytes.as_ptr() as *mut str).expect("a value is not at 0");
        // SAFETY: the same memory; the bytes are UTF-8.
        unsafe { StackBox::adopt(self, text) }
    }

    /// Makes the arena empty, and gives back what is on the heap. It keeps its own memory; if
    /// more has been in use at once than fits, it gets one and a half of that instead, unless
    /// memory is exhausted.
    ///
    /// No box is left then, as boxes borrow the arena. What was forgotten or leaked is not
    /// dropped: its memory is used again.
    pub fn reset(&mut self) {
        self.record = self.high_water();
        self.overflow.clear();
        self.used.set(0);
        self.last.set(NONE);
        self.holes.set(0);
        self.peak.set(0);
        if self.record > self.capacity {
            let capacity = self.record.saturating_add(self.record / 2);
            if let Ok(base) = region(capacity) {
                self.free_region();
                self.base = base;
                self.capacity = capacity;
            }
        }
    }

    /// How many bytes there are without the heap.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes are in use: up to the end of the newest value, and on the heap. With
    /// headers and padding, and with the memory of values that are dropped already if newer
    /// ones are above them.
    pub fn used(&self) -> usize {
        self.used.get() + self.overflow.bytes()
    }

    /// The most that has been in [use](Self::used) at once since the arena was made.
    pub fn high_water(&self) -> usize {
        self.record.max(self.peak())
    }

    /// The same since the last reset.
    pub(crate) fn peak(&self) -> usize {
        self.peak.get() + self.overflow.bytes()
    }

    /// Whether nothing is in it, not even what was forgotten. Values without a size do not
    /// count.
    pub fn is_empty(&self) -> bool {
        self.last.get() == NONE && self.overflow.is_empty()
    }

    /// What is in the arena, to be displayed: to find what is held for too long.
    ///
    /// ```
    /// use releasepool::{StackAllocator, StackBox};
    /// let arena = StackAllocator::with_capacity(1024);
    /// let contacts = StackBox::named(arena.alloc_slice(8, |_| 0u32), "contacts");
    /// let dump = arena.dump().to_string();
    /// assert!(dump.starts_with("arena: "));
    /// # if cfg!(debug_assertions) {
    /// assert!(dump.ends_with(" 32 bytes contacts"));
    /// # }
    /// ```
    pub fn dump(&self) -> StackDump<'_> {
        StackDump(self)
    }

    /// Memory of this layout.
    #[inline(always)]
    pub(super) fn reserve(&self, layout: Layout, label: Label) -> Result<Entry<'_>, AllocError> {
        let size = layout.size();
        let value = if size == 0 {
            dangling(layout)
        } else {
            self.reserve_bytes(layout, label)?
        };
        // SAFETY: just so, and new.
        Ok(unsafe { Entry::new(self, value, size) })
    }

    #[inline(always)]
    fn reserve_bytes(&self, layout: Layout, label: Label) -> Result<NonNull<u8>, AllocError> {
        let used = self.used.get();
        let align = layout.align().max(align_of::<Header>());
        let after_header = self.base.addr().get().wrapping_add(used + HEADER);
        let padding = after_header.wrapping_neg() & (align - 1);
        // No overflow: a layout's size and `align - 1` are at most `isize::MAX` together.
        let need = HEADER + padding + layout.size();
        if need > self.capacity - used {
            return self.reserve_on_heap(layout, label);
        }
        let offset = used + HEADER + padding;
        let header = Header {
            link: self.last.get(),
            start: used,
            label,
        };
        // SAFETY: the header and the value are above the top, where nothing is, and within
        // the capacity. The value is aligned, to that of a header at least.
        let value = unsafe {
            self.header(offset).write(header);
            self.base.add(offset)
        };
        self.last.set(offset);
        self.raise(used + need);
        Ok(value)
    }

    #[inline(always)]
    fn raise(&self, used: usize) {
        self.used.set(used);
        if used > self.peak.get() {
            self.peak.set(used);
        }
    }

    #[cold]
    #[inline(never)]
    fn reserve_on_heap(&self, layout: Layout, label: Label) -> Result<NonNull<u8>, AllocError> {
        let peak = self.peak();
        let value = self.overflow.push(layout, label)?;
        self.peak.set(peak.max(self.used()) - self.overflow.bytes());
        Ok(value)
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It came from `reserve_bytes`, as this pointer (or the one that `own` gave for it), and
    /// is not used any more.
    #[inline(always)]
    pub(super) unsafe fn free(&self, value: NonNull<u8>) {
        let offset = self.offset(value);
        if offset == self.last.get() && self.holes.get() == 0 {
            // SAFETY: the topmost entry is there.
            let header = unsafe { self.header(offset).read() };
            self.used.set(header.start);
            self.last.set(header.link);
        } else {
            // SAFETY: by the caller's promise.
            unsafe { self.free_slowly(value) };
        }
    }

    /// # Safety
    /// As `free`.
    #[inline(never)]
    unsafe fn free_slowly(&self, value: NonNull<u8>) {
        let offset = self.offset(value);
        if offset >= self.capacity {
            // SAFETY: not in the arena, so it is on the heap.
            let bytes = unsafe { self.overflow.remove(value) };
            self.peak.set(self.peak.get() + bytes);
            return;
        }
        // SAFETY: by the caller's promise the entry is there.
        let mut header = unsafe { self.header(offset).read() };
        if offset != self.last.get() {
            header.link |= HOLE;
            // SAFETY: as above.
            unsafe { self.header(offset).write(header) };
            self.holes.set(self.holes.get() + 1);
            return;
        }
        let mut last = header.link;
        while last != NONE {
            // SAFETY: what headers are linked to is there, below the top.
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

    /// Makes the topmost entry larger or smaller, where it is, if it can be.
    ///
    /// # Safety
    /// `value` came from `reserve_bytes`, and has this size, which is not 0.
    #[cfg(feature = "allocator-api2")]
    pub(super) unsafe fn resize(&self, value: NonNull<u8>, old: usize, new: usize) -> bool {
        let end = self.used.get();
        if self.offset(value) != self.last.get() || new > self.capacity - (end - old) {
            return false;
        }
        self.raise(end - old + new);
        true
    }

    /// Returns the arena's own pointer to the memory of a collection, with the provenance of the
    /// header before it, too. Only the address of `value` counts.
    ///
    /// # Safety
    /// `value` has the address that `reserve_bytes` gave, and was not given back. If it is on the
    /// heap, its provenance was exposed.
    #[cfg(feature = "allocator-api2")]
    #[inline(always)]
    pub(super) unsafe fn own(&self, value: NonNull<u8>) -> NonNull<u8> {
        let offset = self.offset(value);
        if offset < self.capacity {
            // SAFETY: within the capacity.
            unsafe { self.base.add(offset) }
        } else {
            // SAFETY: not in the arena, so it is on the heap; the caller's promise.
            unsafe { self.overflow.own(value) }
        }
    }

    /// Returns whether a value did not fit.
    #[cfg(feature = "allocator-api2")]
    #[inline]
    pub(super) fn is_on_heap(&self, value: NonNull<u8>) -> bool {
        self.offset(value) >= self.capacity
    }

    /// # Safety
    /// `value` came from `reserve_bytes`, and was not given back.
    pub(super) unsafe fn set_label(&self, value: NonNull<u8>, label: Label) {
        let offset = self.offset(value);
        if offset >= self.capacity {
            // SAFETY: not in the arena, so it is on the heap.
            unsafe { self.overflow.set_label(value, label) };
        } else {
            // SAFETY: by the caller's promise.
            unsafe { (*self.header(offset).as_ptr()).label = label };
        }
    }

    /// Where a value is; at least the capacity if it is not in the arena.
    #[inline(always)]
    fn offset(&self, value: NonNull<u8>) -> usize {
        value.addr().get().wrapping_sub(self.base.addr().get())
    }

    /// # Safety
    /// `offset` is within the capacity, and not below that of the first possible value.
    #[inline(always)]
    unsafe fn header(&self, offset: usize) -> NonNull<Header> {
        // SAFETY: by the caller's promise.
        unsafe { self.base.add(offset - HEADER).cast() }
    }

    /// All entries, newest first in either place.
    pub(super) fn look(&self) -> Vec<Seen> {
        // The global allocator is foreign code, too: it is called before anything is looked
        // at, and what it may have added then is left out.
        let mut seen = Vec::with_capacity(self.entries().count());
        let room = seen.capacity();
        seen.extend(self.entries().take(room));
        seen
    }

    fn entries(&self) -> impl Iterator<Item = Seen> {
        let (mut last, mut end) = (self.last.get(), self.used.get());
        let in_arena = std::iter::from_fn(move || {
            let offset = (last != NONE).then_some(last)?;
            // SAFETY: what headers are linked to is there.
            let Header { link, start, label } = unsafe { self.header(offset).read() };
            let seen = Seen {
                address: self.base.addr().get() + offset,
                size: end - offset,
                label,
                place: match link & HOLE {
                    0 => Place::Arena,
                    _ => Place::Below,
                },
            };
            (last, end) = (link & !HOLE, start);
            Some(seen)
        });
        // SAFETY: both callers go through it at once.
        unsafe { self.overflow.iter() }.chain(in_arena)
    }

    fn free_region(&mut self) {
        if self.capacity != 0 {
            // It was allocated with it.
            let layout = Layout::from_size_align(self.capacity, ALIGN).expect("a valid layout");
            // SAFETY: allocated with this layout; nothing is in it.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

/// Memory for an arena.
fn region(bytes: usize) -> Result<NonNull<u8>, AllocError> {
    let Ok(layout) = Layout::from_size_align(bytes, ALIGN) else {
        let (count, layout) = (bytes, Layout::new::<u8>());
        return Err(AllocError::TooLarge { count, layout });
    };
    // SAFETY: callers ask for more than 0.
    NonNull::new(unsafe { alloc(layout) }).ok_or(AllocError::OutOfMemory { layout })
}

/// Where a value without a size is.
#[inline(always)]
fn dangling(layout: Layout) -> NonNull<u8> {
    NonNull::new(std::ptr::without_provenance_mut(layout.align())).expect("alignments are not 0")
}

impl Default for StackAllocator {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives back all memory. What was forgotten is not dropped.
impl Drop for StackAllocator {
    fn drop(&mut self) {
        self.overflow.clear();
        self.free_region();
    }
}

impl fmt::Debug for StackAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackAllocator")
            .field("used", &self.used())
            .field("capacity", &self.capacity)
            .field("high_water", &self.high_water())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_way_is_open_again_when_the_top_has_gone_over_the_holes() {
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
