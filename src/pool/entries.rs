//! `Entries`: the pending releases of a pool.

pub(crate) mod page;
pub(crate) mod retired;

use crate::ledger::{self, PoolLabel, ReleasedBy};
use crate::object::header::{Header, Thin};
use crate::sync::cell::Cell;
use crate::sync::{const_fn, described, prefetch};
use page::{Page, PageCache};
use std::{ptr, slice};

/// When a drain reads the newest entry, it prefetches the header of the `AHEAD`th newest entry's
/// object. Waiting for headers that are not in the cache takes most of a drain's time; the
/// destructors of the entries in between take long enough for the header to arrive.
const AHEAD: usize = 9;

/// Prefetches the header of the object of the [`AHEAD`]th newest entry, if the page has as many.
///
/// # Safety
/// The entries of the page, from `start` to `top`, are written, and their objects are alive.
#[inline(always)]
unsafe fn prefetch_ahead(top: *mut Thin, start: *mut Thin) {
    // SAFETY: the entry is in the page, and its object has a header, by the contract.
    unsafe {
        if top.offset_from(start) >= AHEAD as isize {
            prefetch((*top.sub(AHEAD)).cast::<Header>().sub(1).as_ptr());
        }
    }
}

/// Entries, each of them a strong reference, in a list of pages. Owner only.
///
/// Dropping an `Entries` leaks entries and pages: give the pages back by [`Entries::clear`].
#[derive(Debug)]
pub(crate) struct Entries {
    /// The place of the next entry, in `page`.
    top: Cell<*mut Thin>,
    /// The beginning of the entries of `page`.
    start: Cell<*mut Thin>,
    /// The end of the room for entries in `page`.
    end: Cell<*mut Thin>,
    /// The topmost page; null until the first entry.
    page: Cell<*mut Page>,
    /// The beginning of the entries of the lowest page: equal to `top` if there are no entries.
    first: Cell<*mut Thin>,
    /// The pool's name, for the ledger. Zero-sized without the feature `leak-detection`.
    label: Cell<PoolLabel>,
}

// A panic leaves no list in a broken state: drains catch the panics of destructors.
impl std::panic::UnwindSafe for Entries {}
impl std::panic::RefUnwindSafe for Entries {}

impl Default for Entries {
    fn default() -> Self {
        Self::new()
    }
}

impl Entries {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                top: Cell::new(ptr::null_mut()),
                start: Cell::new(ptr::null_mut()),
                end: Cell::new(ptr::null_mut()),
                page: Cell::new(ptr::null_mut()),
                first: Cell::new(ptr::null_mut()),
                label: Cell::new(PoolLabel::UNNAMED),
            }
        }
    }

    /// Returns whether there is no page.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.page.get().is_null()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // `top` may be at the end of a page. No such end equals `first`, as each page has a header
        // before its entries.
        self.top.get() == self.first.get()
    }

    /// Sets the name of the pool, for the ledger.
    #[inline(always)]
    pub(crate) fn set_label(&self, label: PoolLabel) {
        self.label.set(label);
    }

    /// Returns the name of the pool, for the ledger.
    #[inline(always)]
    pub(crate) fn label(&self) -> PoolLabel {
        self.label.get()
    }

    /// Makes `page` the topmost one; the next entry goes to `top`.
    fn turn_to(&self, page: *mut Page, top: *mut Thin) {
        self.page.set(page);
        self.top.set(top);
        // SAFETY: the page is ours (invariant 6 of `pool`).
        unsafe {
            self.start.set(Page::start(page));
            self.end.set(Page::end(page));
        }
    }

    pub(crate) fn len(&self) -> usize {
        let page = self.page.get();
        if page.is_null() {
            return 0;
        }
        // SAFETY: the page is ours, and `top` points into it (invariant 6 of `pool`).
        unsafe { (*page).below() + self.top.get().offset_from(self.start.get()) as usize }
    }

    /// Adds an entry, which takes over one strong reference, if the topmost page has room for it.
    /// Returns whether the page has room.
    #[inline(always)]
    pub(crate) fn push_in_page(&self, thin: Thin) -> bool {
        let has_room = self.has_room();
        if has_room {
            // SAFETY: the page has room.
            unsafe { self.put(thin) };
        }
        has_room
    }

    /// Returns whether the topmost page has room for an entry.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.top.get() != self.end.get()
    }

    /// Writes an entry, which takes over one strong reference, to the topmost page.
    ///
    /// # Safety
    /// The page has room: `top` is not at its end.
    #[inline(always)]
    pub(crate) unsafe fn put(&self, thin: Thin) {
        ledger::entered_pool(thin, self.label.get());
        debug_assert!(self.has_room());
        let top = self.top.get();
        // SAFETY: the page is ours (invariants 1 and 6 of `pool`) and has room, by the contract.
        unsafe {
            Page::touch(self.page.get());
            top.write(thin);
            self.top.set(top.add(1));
        }
    }

    /// Adds an entry, which takes over one strong reference.
    #[inline]
    pub(crate) fn push(&self, thin: Thin, pages: &PageCache) {
        self.push_or_grow(thin, |entries| entries.grow(Some(pages)));
    }

    /// Adds an entry. If the topmost page is full, calls `grow`, which must call [`Self::grow`]:
    /// for callers that look for the spare pages only when they need one.
    #[inline]
    pub(crate) fn push_or_grow(&self, thin: Thin, grow: impl FnOnce(&Self)) {
        if !self.has_room() {
            grow(self);
        }
        // SAFETY: `grow` returns only when the page has room.
        unsafe { self.put(thin) };
    }

    /// Makes room, with pages of the thread's cache, or once the thread has exited, with new ones.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&self, pages: Option<&PageCache>) {
        // Loops, as the global allocator is foreign code, and may fill this very pool.
        while !self.has_room() {
            match pages {
                Some(pages) => self.add_page(pages),
                None => self.add_page(&PageCache::new()),
            }
        }
    }

    /// Puts an empty page on top, unless the global allocator has made room meanwhile.
    fn add_page(&self, pages: &PageCache) {
        let page = pages.get();
        // SAFETY: `get` returns a page that belongs to nothing else (invariant 6 of `pool`).
        unsafe {
            if self.has_room() {
                return pages.put(page);
            }
            (*page).prev.set(self.page.get());
            (*page).set_below(self.len());
            if self.is_untouched() {
                self.first.set(Page::start(page));
            }
            self.turn_to(page, Page::start(page));
        }
    }

    /// Returns the newest entry, and leaves it in the list. Gives empty pages back, except the last
    /// one.
    #[inline(always)]
    pub(crate) fn newest(&self, pages: &PageCache) -> Option<Thin> {
        let mut top = self.top.get();
        // Loops, as the global allocator is foreign code, and may drain this very pool.
        while top == self.start.get() {
            if !self.uncover(pages) {
                return None;
            }
            top = self.top.get();
        }
        // SAFETY: the pages are ours, `top` points into the topmost one, behind its start, and every
        // entry below `top` is written (invariant 6 of `pool`).
        unsafe {
            Page::touch(self.page.get());
            prefetch_ahead(top, self.start.get());
            Some(*top.sub(1))
        }
    }

    /// Returns whether there is exactly one page, with at most `most` entries.
    #[inline(always)]
    pub(crate) fn are_few(&self, most: isize) -> bool {
        let start = self.start.get();
        // SAFETY: `top` points into the topmost page, as `start` does (invariant 6 of `pool`).
        let in_page = unsafe { self.top.get().offset_from(start) };
        in_page <= most && start == self.first.get() && !start.is_null()
    }

    /// Returns the newest entry of the topmost page, and leaves it there.
    #[inline(always)]
    pub(crate) fn newest_in_page(&self) -> Option<Thin> {
        let top = self.top.get();
        if top == self.start.get() {
            return None;
        }
        // SAFETY: `start` and `top` point into the topmost page, and every entry below `top` is
        // written (invariant 6 of `pool`). Without a page, both pointers are null.
        unsafe {
            Page::touch(self.page.get());
            Some(*top.sub(1))
        }
    }

    /// Returns the entry below the newest one of the topmost page, if both are there.
    #[inline(always)]
    pub(crate) fn second_in_page(&self) -> Option<Thin> {
        let top = self.top.get();
        // SAFETY: `start` and `top` point into the topmost page, and every entry below `top` is
        // written (invariant 6 of `pool`). Without a page, both pointers are null.
        unsafe {
            if top.offset_from(self.start.get()) < 2 {
                return None;
            }
            Page::touch(self.page.get());
            Some(*top.sub(2))
        }
    }

    /// Takes out the entry that `newest` returned; the caller owns its reference.
    ///
    /// # Safety
    /// The entry is still the newest.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self) {
        // SAFETY: the page has an entry, by the contract.
        let top = unsafe { self.top.get().sub(1) };
        // SAFETY: the page has the entry, by the contract; entries below the old `top` are written
        // (invariant 6 of `pool`).
        ledger::left_pool(unsafe { *top }, 1, self.label.get());
        self.top.set(top);
    }

    /// Gives back the topmost page, which is empty, if there is a page below. Returns whether it
    /// has given a page back.
    #[inline(never)]
    fn uncover(&self, pages: &PageCache) -> bool {
        let page = self.page.get();
        if page.is_null() {
            return false;
        }
        // SAFETY: the pages are ours, and those below the topmost are full (invariant 6 of `pool`).
        unsafe {
            let prev = (*page).prev.get();
            if prev.is_null() {
                return false;
            }
            self.turn_to(prev, Page::end(prev));
            pages.put(page);
        }
        true
    }

    /// Takes the newest entry out, and with it the entries right below it in the same page that are
    /// for the same object; at most `at_most` entries, which is not 0. Returns the object and how
    /// many entries it took; the caller owns their references.
    #[inline]
    pub(crate) fn take_some(&self, pages: &PageCache, at_most: u32) -> Option<(Thin, u32)> {
        let thin = self.newest(pages)?;
        let (start, top) = (self.start.get(), self.top.get());
        // SAFETY: `start` and `top` point into the topmost page, and every entry below `top` is
        // written (invariant 6 of `pool`).
        let in_page = unsafe { slice::from_raw_parts(start, top.offset_from(start) as usize) };
        let newest = in_page.iter().rev().take(at_most as usize);
        let n = newest.take_while(|entry| **entry == thin).count();
        // SAFETY: the topmost page has these `n` entries.
        self.top.set(unsafe { top.sub(n) });
        let (n, label) = (n as u32, self.label.get());
        ledger::left_pool(thin, n, label);
        ledger::released(thin, n, ReleasedBy::Pool(label));
        Some((thin, n))
    }

    /// Takes the newest entries of the topmost page out as long as `f` returns `true`. An `f` that
    /// returns `true` takes over the entry's reference. Returns how many entries it took. `f` must
    /// not run foreign code.
    #[inline(always)]
    pub(crate) fn take_while(&self, mut f: impl FnMut(Thin) -> bool) -> usize {
        let from = self.top.get();
        let start = self.start.get();
        // SAFETY: `start` and `top` point into the topmost page, and every entry below `top` is
        // written (invariant 6 of `pool`). Without a page, both pointers are null.
        unsafe {
            let mut top = from;
            while top > start {
                Page::touch(self.page.get());
                prefetch_ahead(top, start);
                let thin = *top.sub(1);
                // Tells the ledger first, as `f` may destroy the object.
                ledger::left_pool(thin, 1, self.label.get());
                if !f(thin) {
                    ledger::entered_pool(thin, self.label.get());
                    break;
                }
                top = top.sub(1);
            }
            self.top.set(top);
            from.offset_from(top) as usize
        }
    }

    /// Returns the next entry's place, by which a drain sees whether destructors add entries.
    #[inline]
    pub(crate) fn mark(&self) -> *mut Thin {
        self.top.get()
    }

    /// Moves all entries to a new `Entries`, and returns it.
    pub(crate) fn take_all(&self) -> Self {
        Self {
            top: Cell::new(self.top.replace(ptr::null_mut())),
            start: Cell::new(self.start.replace(ptr::null_mut())),
            end: Cell::new(self.end.replace(ptr::null_mut())),
            page: Cell::new(self.page.replace(ptr::null_mut())),
            first: Cell::new(self.first.replace(ptr::null_mut())),
            label: Cell::new(self.label.get()),
        }
    }

    /// Gives the pages back, and leaks the entries that are still in them; returns how many it
    /// leaks.
    pub(crate) fn clear(&self, pages: &PageCache) -> usize {
        let taken = self.take_all();
        let leaked = taken.len();
        let mut page = taken.page.get();
        while !page.is_null() {
            // SAFETY: the pages are ours, and nothing refers to them any more (invariant 6 of `pool`).
            unsafe {
                let prev = (*page).prev.get();
                pages.put(page);
                page = prev;
            }
        }
        leaked
    }

    /// Returns the entries, newest first, without those that are added while the iterator is used.
    ///
    /// # Safety
    /// No entry is taken out while the iterator is used.
    pub(crate) unsafe fn newest_first(&self) -> impl Iterator<Item = Thin> {
        let mut page = self.page.get();
        let mut top = self.top.get();
        std::iter::from_fn(move || {
            if page.is_null() {
                return None;
            }
            // SAFETY: pages and entries stay, by the contract; all entries below `top` are written
            // (invariant 6 of `pool`).
            unsafe {
                if top == Page::start(page) {
                    page = (*page).prev.get();
                    if page.is_null() {
                        return None;
                    }
                    top = Page::end(page);
                }
                Page::look(page);
                top = top.sub(1);
                Some(*top)
            }
        })
    }

    /// Returns whether there is an entry for this object. Linear.
    pub(crate) fn contains(&self, thin: Thin) -> bool {
        // SAFETY: the closure only compares addresses, so no entry is taken out.
        unsafe { self.newest_first() }.any(|entry| entry == thin)
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        entries {
            size = size_of::<Entries>(),
            top = offset_of!(Entries, top),
            page = offset_of!(Entries, page),
        }
    };
}
