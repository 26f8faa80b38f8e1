//! `StackDump`: the entries of an arena, by name.

use super::entry_label::EntryPlace;
use super::stack_allocator::StackAllocator;
use std::fmt;

/// The contents of an arena, to be displayed; from
/// [`StackAllocator::dump`].
///
/// Displays a line with the bytes in use, the capacity and the high-water mark; then a line for
/// each entry, entries on the heap first, then the entries in the arena from the top down: address,
/// size, and in debug builds, and with the feature `checks`, its [name](crate::StackBox::named) or
/// type.
///
/// # Example
/// ```
/// let arena = releasepool::StackAllocator::with_capacity(1_024);
/// let _five = arena.alloc(5);
/// assert!(arena.dump().to_string().contains("i32"));
/// ```
pub struct StackDump<'s>(&'s StackAllocator);

impl StackAllocator {
    /// Returns a displayable list of the arena's entries, to find values that are held for too
    /// long.
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
}

impl fmt::Display for StackDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arena = self.0;
        // A copy of the entries: the formatter is foreign code, which may use the arena.
        let entries = arena.entry_infos();
        write!(
            f,
            "arena: {} of {} bytes in use, high-water mark {}",
            arena.used(),
            arena.capacity(),
            arena.high_water()
        )?;
        for entry in entries {
            write!(f, "\n  {:#x} {} bytes", entry.address, entry.size)?;
            if let Some(name) = entry.label.name() {
                write!(f, " {name}")?;
            }
            f.write_str(match entry.place {
                EntryPlace::Arena => "",
                EntryPlace::Hole => ", dropped, but held by newer values",
                EntryPlace::Heap => ", on the heap",
            })?;
        }
        Ok(())
    }
}

impl fmt::Debug for StackDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
