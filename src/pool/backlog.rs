//! `Backlog`: the releases that budgeted drains have left for later.

use super::entries::Entries;
use super::page::PageCache;
use crate::layout::fixed::FixedVec;
use crate::object::header::Thin;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::described;
use std::collections::VecDeque;
use std::ptr;

/// The number of items that a backlog keeps room for when it is empty.
const ITEMS: usize = 64;

/// Releases that are left for later.
pub(super) enum Item {
    /// The entries of a pool.
    Entries(Entries),
    /// Objects without a strong reference whose destructors have not run.
    Dead(Vec<Thin>),
}

impl Item {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.len(),
            Self::Dead(objects) => objects.len(),
        }
    }
}

/// An [`Item`] as it waits: of the two one is empty.
#[repr(C)]
struct StoredItem {
    entries: Entries,
    dead: FixedVec<Thin>,
}

impl From<Item> for StoredItem {
    fn from(item: Item) -> Self {
        let (entries, dead) = match item {
            Item::Entries(entries) => (entries, FixedVec::new()),
            Item::Dead(objects) => (Entries::new(), objects.into()),
        };
        Self { entries, dead }
    }
}

impl From<StoredItem> for Item {
    fn from(stored: StoredItem) -> Self {
        if stored.entries.is_untouched() {
            Self::Dead(stored.dead.into_inner())
        } else {
            Self::Entries(stored.entries)
        }
    }
}

/// A piece of the queue in memory. Never dereferenced here.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slice {
    items: *const StoredItem,
    len: usize,
}

/// The items of a [`Backlog`], which says in two slices where they are.
#[repr(C)]
struct Items {
    slices: [Slice; 2],
    queue: VecDeque<StoredItem>,
}

impl Items {
    fn new() -> Self {
        let none = Slice {
            items: ptr::null(),
            len: 0,
        };
        Self {
            slices: [none; 2],
            queue: VecDeque::new(),
        }
    }

    /// Passes the queue to `f`, and then takes down where its items are.
    fn change<R>(&mut self, f: impl FnOnce(&mut VecDeque<StoredItem>) -> R) -> R {
        let result = f(&mut self.queue);
        let slice = |items: &[StoredItem]| Slice {
            items: items.as_ptr(),
            len: items.len(),
        };
        let (first, second) = self.queue.as_slices();
        self.slices = [slice(first), slice(second)];
        result
    }
}

/// A queue, first in, first out, for one manager on one thread. Owner only.
pub(crate) struct Backlog {
    /// Never borrowed while other code runs.
    items: UnsafeCell<Items>,
    len: Cell<usize>,
    /// The length at which the next event is due; see [`super::watch::backlog`].
    pub(super) next_mark: Cell<usize>,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            items: UnsafeCell::new(Items::new()),
            len: Cell::new(0),
            next_mark: Cell::new(0),
        }
    }

    /// Returns the number of releases.
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    pub(super) fn put_last(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: owner only, and a short borrow (invariants 1 and 2 of `pool`).
        self.items
            .with_mut(|items| unsafe { (*items).change(|items| items.push_back(item.into())) });
    }

    pub(super) fn put_first(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: as in `put_last`.
        self.items
            .with_mut(|items| unsafe { (*items).change(|items| items.push_front(item.into())) });
    }

    pub(super) fn take_first(&self) -> Option<Item> {
        self.items.with_mut(|items| {
            // SAFETY: as in `put_last`.
            let items = unsafe { &mut *items };
            let item = Item::from(items.change(|items| {
                let item = items.pop_front();
                // A burst must not keep its memory for ever.
                if items.capacity() > ITEMS && items.len() < items.capacity() / 4 {
                    items.shrink_to(items.capacity() / 2);
                }
                item
            })?);
            self.len.set(self.len.get() - item.len());
            Some(item)
        })
    }

    /// Leaks what is left; returns how many releases that is.
    pub(super) fn leak(&self, pages: &PageCache) -> usize {
        let leaked = self.len();
        while let Some(item) = self.take_first() {
            if let Item::Entries(entries) = item {
                entries.clear(pages);
            }
        }
        leaked
    }

    /// Calls `f` with the objects that wait, in the order in which they will be released, while it
    /// returns `true`. `f` must not run foreign code.
    pub(super) fn look_through(&self, mut f: impl FnMut(Thin) -> bool) {
        self.items.with(|items| {
            // SAFETY: as in `put_last`; `f` runs no foreign code.
            for item in unsafe { &(*items).queue } {
                // SAFETY: `f` takes nothing out.
                let goes_on = unsafe { item.entries.newest_first() }.all(&mut f)
                    && item.dead.iter().rev().all(|&thin| f(thin));
                if !goes_on {
                    break;
                }
            }
        });
    }

    /// Returns whether there is an entry for this object. Linear.
    pub(super) fn contains(&self, thin: Thin) -> bool {
        let names = |item: &StoredItem| item.entries.contains(thin);
        // SAFETY: as in `put_last`.
        self.items
            .with(|items| unsafe { &(*items).queue }.iter().any(names))
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    impl Backlog {
        /// Where its items are: two slices, each an address and a number.
        pub(super) const SLICES: usize = offset_of!(Self, items) + offset_of!(Items, slices);
    }

    pub(crate) const NOTE: &[Entry] = entries! {
        item {
            size = size_of::<StoredItem>(),
            entries = offset_of!(StoredItem, entries),
            dead = offset_of!(StoredItem, dead) + FixedVec::<Thin>::ITEMS,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_items_leaves_no_memory_behind() {
        let backlog = Backlog::new();
        let capacity = || {
            // SAFETY: nothing else runs meanwhile.
            backlog
                .items
                .with(|items| unsafe { (*items).queue.capacity() })
        };
        for _ in 0..100 * ITEMS {
            backlog.put_last(Item::Dead(Vec::new()));
        }
        assert!(capacity() >= 100 * ITEMS);
        while backlog.take_first().is_some() {}
        assert!(capacity() <= 2 * ITEMS, "{}", capacity());
    }
}
