//! `Backlog`: the releases that budgeted drains have left for later.

use crate::layout::FixedVec;
use crate::object::header::Thin;
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;
use crate::sync::cell::{Cell, UnsafeCell};
use crate::sync::{described, shrink, with_room};
use std::{mem, ptr};

/// The number of items for which an empty backlog keeps room.
const ITEMS: usize = 64;

/// An item of a backlog. Its layout is fixed, for readers outside of the process.
#[repr(u64)]
pub(in crate::pool) enum Item {
    /// The entries of a pool.
    Entries(Entries) = 0,
    /// Objects without a strong reference whose destructors have not run.
    Dead(FixedVec<Thin>) = 1,
}

impl Item {
    pub(in crate::pool) fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.len(),
            Self::Dead(objects) => objects.len(),
        }
    }
}

/// The items of a [`Backlog`].
#[repr(C)]
struct Items {
    /// The next items, in reverse order: the drain takes the last one first.
    front: FixedVec<Item>,
    /// The items after those of `front`, the next one first.
    back: FixedVec<Item>,
}

impl Items {
    #[inline]
    fn pop(&mut self) -> Option<Item> {
        if self.front.is_empty() && self.back.len() <= 1 {
            return self.back.change(Vec::pop);
        }
        self.pop_of_several()
    }

    #[inline(never)]
    fn pop_of_several(&mut self) -> Option<Item> {
        if self.front.is_empty() {
            mem::swap(&mut self.front, &mut self.back);
            self.front.change(|items| items.reverse());
        }
        self.front.change(Vec::pop)
    }

    /// Returns the items in their order.
    fn iter(&self) -> impl Iterator<Item = &Item> {
        self.front.iter().rev().chain(self.back.iter())
    }
}

/// Entries that a drain has taken out of the backlog and is releasing.
struct Releasing {
    entries: *const Entries,
    /// The entries of the drain around this one; null if there is none.
    outer: *const Releasing,
}

/// The backlog of one manager on one thread: a queue of items, oldest first. Owner only.
pub(crate) struct Backlog {
    /// No borrow lasts while other code runs.
    items: UnsafeCell<Items>,
    len: Cell<usize>,
    /// The entries that the innermost drain of the backlog has taken out and is releasing; null if
    /// there is none.
    releasing: Cell<*const Releasing>,
    /// How many drains, one inside another, are working off the backlog.
    pub(super) drains: Cell<u32>,
    /// The length at which the next event is due; see `watch::backlog` in `pool::drain`.
    pub(in crate::pool) next_mark: Cell<usize>,
}

impl Backlog {
    pub(in crate::pool) fn new() -> Self {
        Self {
            items: UnsafeCell::new(Items {
                front: FixedVec::new(),
                back: FixedVec::new(),
            }),
            len: Cell::new(0),
            releasing: Cell::new(ptr::null()),
            drains: Cell::new(0),
            next_mark: Cell::new(0),
        }
    }

    /// Returns the number of releases.
    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    fn change<R>(&self, f: impl FnOnce(&mut Items) -> R) -> R {
        // SAFETY: owner only, and a short borrow (invariants 1 and 2 of `pool`).
        self.items.with_mut(|items| f(unsafe { &mut *items }))
    }

    fn front(&self, f: &mut dyn FnMut(&mut Vec<Item>)) {
        self.change(|items| items.front.change(f));
    }

    pub(in crate::pool) fn put_last(&self, item: Item) {
        let len = item.len();
        let back = |f: &mut dyn FnMut(&mut Vec<_>)| self.change(|items| items.back.change(f));
        with_room(back, |items| items.push(item));
        self.len.set(self.len.get() + len);
    }

    pub(in crate::pool) fn put_first(&self, item: Item) {
        let len = item.len();
        with_room(|f| self.front(f), |items| items.push(item));
        self.len.set(self.len.get() + len);
    }

    pub(in crate::pool) fn take_first(&self) -> Option<Item> {
        let item = self.change(Items::pop)?;
        self.len.set(self.len.get() - item.len());
        shrink(ITEMS, |f| self.front(f));
        Some(item)
    }

    /// Calls `release`, which releases the `entries` taken out of the backlog. During that call,
    /// [`look_through`](Self::look_through) finds the entries by `self.releasing`.
    pub(in crate::pool) fn releasing(&self, entries: &Entries, release: impl FnOnce()) {
        let outer = self.releasing.get();
        let this = Releasing { entries, outer };
        self.releasing.set(&this);
        release();
        self.releasing.set(outer);
    }

    /// Leaks the releases that are left; returns how many.
    pub(in crate::pool) fn leak(&self, pages: &PageCache) -> usize {
        let leaked = self.len();
        while let Some(item) = self.take_first() {
            if let Item::Entries(entries) = item {
                entries.clear(pages);
            }
        }
        leaked
    }

    /// Calls `f` with each waiting object, in the order of the releases, as long as `f` returns
    /// `true`. `f` must not run foreign code.
    pub(in crate::pool) fn look_through(&self, mut f: impl FnMut(Thin) -> bool) {
        let mut next = self.releasing.get();
        // SAFETY: `next` is null or a local variable of a call of `releasing`, which unlinks it at
        // the end, and does not unwind, as releases catch the panics of destructors.
        while let Some(releasing) = unsafe { next.as_ref() } {
            // SAFETY: the entries are borrowed until `releasing` returns; `f` runs no foreign code,
            // so no entry is taken out.
            if !unsafe { (*releasing.entries).newest_first() }.all(&mut f) {
                return;
            }
            next = releasing.outer;
        }
        self.items.with(|items| {
            // SAFETY: owner only, and a short borrow (invariants 1 and 2 of `pool`): `f` runs no
            // foreign code.
            for item in unsafe { &*items }.iter() {
                let goes_on = match item {
                    // SAFETY: `f` runs no foreign code, so no entry is taken out.
                    Item::Entries(entries) => unsafe { entries.newest_first().all(&mut f) },
                    Item::Dead(objects) => objects.iter().rev().all(|&thin| f(thin)),
                };
                if !goes_on {
                    break;
                }
            }
        });
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    impl Backlog {
        /// The offset of the two lists of items, one right after the other.
        pub(super) const LISTS: usize = offset_of!(Self, items) + offset_of!(Items, front);
    }

    // A variant of `Item`: an enum with a `repr` is laid out as a union of such structures
    // (RFC 2195).
    #[repr(C)]
    struct ItemWith<T> {
        kind: u64,
        content: T,
    }

    pub(crate) const NOTE: &[Entry] = entries! {
        item {
            size = size_of::<Item>(),
            kind = offset_of!(ItemWith<Entries>, kind),
            entries = offset_of!(ItemWith<Entries>, content),
            dead = offset_of!(ItemWith<FixedVec<Thin>>, content) + FixedVec::<Thin>::ITEMS,
        }
        item_kind {
            entries = 0,
            dead = 1,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_items_leaves_no_memory_behind() {
        const BURST: usize = if cfg!(miri) { 4 * ITEMS } else { 100 * ITEMS };
        let backlog = Backlog::new();
        let capacity = || {
            // SAFETY: nothing else runs meanwhile.
            let items = backlog.items.with(|items| unsafe { &*items });
            items.front.capacity() + items.back.capacity()
        };
        for _ in 0..BURST {
            backlog.put_last(Item::Dead(FixedVec::new()));
        }
        assert!(capacity() >= BURST);
        while backlog.take_first().is_some() {}
        assert!(capacity() <= ITEMS, "{}", capacity());
    }

    #[test]
    fn items_come_out_in_order_and_those_put_back_first() {
        let backlog = Backlog::new();
        let item = |n: usize| Item::Dead(vec![Thin::dangling(); n].into());
        let take = || backlog.take_first().map(|item| item.len());
        (1..=3).for_each(|n| backlog.put_last(item(n)));
        assert_eq!((backlog.len(), take()), (6, Some(1)));
        backlog.put_first(item(7));
        backlog.put_last(item(4));
        assert_eq!(backlog.len(), 2 + 3 + 7 + 4);
        assert_eq!(
            [take(), take(), take(), take(), take()],
            [7, 2, 3, 4, 0].map(|n| (n > 0).then_some(n))
        );
        assert_eq!(backlog.len(), 0);
    }
}
