//! The description of an entry in the dump of an arena.

/// The name or type of an entry's value. Empty in builds that do not keep it.
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

    /// Returns the label of a value of this type.
    #[inline(always)]
    pub(super) fn of<T: ?Sized>() -> Self {
        Self::new(std::any::type_name::<T>())
    }

    /// Returns the name, if this build keeps it.
    pub(super) fn name(self) -> Option<&'static str> {
        #[cfg(any(debug_assertions, feature = "checks"))]
        return Some(self.name);
        #[cfg(not(any(debug_assertions, feature = "checks")))]
        None
    }
}

/// A copy of the data that a dump shows of one entry.
#[derive(Clone, Copy)]
pub(super) struct EntryInfo {
    /// The address of the value.
    pub(super) address: usize,
    /// The size of the value, without header and padding before it.
    pub(super) size: usize,
    pub(super) label: Label,
    pub(super) place: EntryPlace,
}

/// The place of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryPlace {
    /// In the arena.
    Arena,
    /// In the arena, and freed: the arena uses the memory again when the entries above are freed.
    Hole,
    /// On the heap, as it did not fit.
    Heap,
}
