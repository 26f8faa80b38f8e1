//! What is in an arena, by name.

use super::stack_allocator::StackAllocator;
use std::fmt;

/// What an entry holds. Nothing at all in builds that do not keep it.
#[derive(Clone, Copy)]
pub(super) struct Label {
    #[cfg(any(debug_assertions, feature = "checks"))]
    name: &'static str,
}

impl Label {
    #[cfg_attr(
        not(any(debug_assertions, feature = "checks")),
        expect(unused_variables)
    )]
    #[inline(always)]
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            #[cfg(any(debug_assertions, feature = "checks"))]
            name,
        }
    }

    #[inline(always)]
    pub(super) fn of<T: ?Sized>() -> Self {
        Self::new(std::any::type_name::<T>())
    }

    fn name(self) -> Option<&'static str> {
        #[cfg(any(debug_assertions, feature = "checks"))]
        return Some(self.name);
        #[cfg(not(any(debug_assertions, feature = "checks")))]
        None
    }
}

/// One entry, as it was when it was looked at.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// The address of the value.
    pub(super) address: usize,
    /// Of the value alone.
    pub(super) size: usize,
    pub(super) label: Label,
    pub(super) place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the arena.
    Arena,
    /// There, but given back: its memory waits for that of entries above it.
    Below,
    /// On the heap, as it did not fit.
    Heap,
}

/// The contents of an arena, to be displayed; by
/// [`StackAllocator::dump`].
///
/// First a line with the bytes in use, the capacity and the high-water mark; then a line per
/// entry, those on the heap first, then those of the arena from the top down: address, size,
/// and in debug builds, and with the feature `checks`, its
/// [name](crate::StackBox::named) or type.
pub struct StackDump<'s>(pub(super) &'s StackAllocator);

impl fmt::Display for StackDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arena = self.0;
        // The formatter is foreign code, which may use the arena: it sees a copy.
        let seen = arena.look();
        write!(
            f,
            "arena: {} of {} bytes in use, high-water mark {}",
            arena.used(),
            arena.capacity(),
            arena.high_water()
        )?;
        for entry in seen {
            write!(f, "\n  {:#x} {} bytes", entry.address, entry.size)?;
            if let Some(name) = entry.label.name() {
                write!(f, " {name}")?;
            }
            f.write_str(match entry.place {
                Place::Arena => "",
                Place::Below => ", free when what is above it is",
                Place::Heap => ", on the heap",
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
