//! `Backlog`: the releases that budgeted drains have left for later.

use super::entries::Entries;
use super::page::PageCache;
use crate::object::header::Thin;
use crate::sync::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;

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

/// A queue, first in, first out, for one manager on one thread. Owner only.
pub(crate) struct Backlog {
    /// Never borrowed while other code runs.
    items: UnsafeCell<VecDeque<Item>>,
    len: Cell<usize>,
    /// The length at which the next event is due; see [`super::watch::backlog`].
    pub(super) next_mark: Cell<usize>,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self {
            items: UnsafeCell::new(VecDeque::new()),
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
            .with_mut(|items| unsafe { (*items).push_back(item) });
    }

    pub(super) fn put_first(&self, item: Item) {
        self.len.set(self.len.get() + item.len());
        // SAFETY: as in `put_last`.
        self.items
            .with_mut(|items| unsafe { (*items).push_front(item) });
    }

    pub(super) fn take_first(&self) -> Option<Item> {
        self.items.with_mut(|items| {
            // SAFETY: as in `put_last`.
            let items = unsafe { &mut *items };
            let item = items.pop_front()?;
            self.len.set(self.len.get() - item.len());
            // A burst must not keep its memory for ever.
            if items.capacity() > ITEMS && items.len() < items.capacity() / 4 {
                items.shrink_to(items.capacity() / 2);
            }
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
            for item in unsafe { &*items } {
                let goes_on = match item {
                    // SAFETY: `f` takes nothing out.
                    Item::Entries(entries) => unsafe { entries.newest_first().all(&mut f) },
                    Item::Dead(objects) => objects.iter().rev().all(|&thin| f(thin)),
                };
                if !goes_on {
                    break;
                }
            }
        });
    }

    /// Returns whether there is an entry for this object. Linear.
    pub(super) fn contains(&self, thin: Thin) -> bool {
        let names = |item: &Item| match item {
            Item::Entries(entries) => entries.contains(thin),
            Item::Dead(_) => false,
        };
        // SAFETY: as in `put_last`.
        self.items
            .with(|items| unsafe { &*items }.iter().any(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_items_leaves_no_memory_behind() {
        let backlog = Backlog::new();
        let capacity = || {
            // SAFETY: nothing else runs meanwhile.
            backlog.items.with(|items| unsafe { (*items).capacity() })
        };
        for _ in 0..100 * ITEMS {
            backlog.put_last(Item::Dead(Vec::new()));
        }
        assert!(capacity() >= 100 * ITEMS);
        while backlog.take_first().is_some() {}
        assert!(capacity() <= 2 * ITEMS, "{}", capacity());
    }
}
