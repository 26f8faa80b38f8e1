//! A chain of pending releases: what a pool holds.

use super::page::{Page, PageCache};
use crate::object::header::{Header, Thin};
use crate::sync::cell::Cell;
use crate::sync::{const_fn, prefetch};
use std::ptr;

/// How many entries before its turn an object's header is fetched from memory.
/// Objects that are cold when they die cost most by far; a destructor's own work
/// takes long enough for the next few headers to arrive meanwhile.
const AHEAD: usize = 8;

/// Entries, each of them a strong reference, in a chain of pages. Dropping it leaks
/// both: give the pages back by [`Entries::clear`].
#[derive(Debug)]
pub(crate) struct Entries {
    /// Where the next entry goes, in `page`.
    top: Cell<*mut Thin>,
    /// Where the entries of `page` begin.
    start: Cell<*mut Thin>,
    /// Where they end.
    end: Cell<*mut Thin>,
    /// The topmost page; null until the first entry.
    page: Cell<*mut Page>,
}

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
            }
        }
    }

    /// Whether there never was an entry, since the pages were last given back.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.page.get().is_null()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes on with this page; the next entry goes to `top`.
    fn turn_to(&self, page: *mut Page, top: *mut Thin) {
        self.page.set(page);
        self.top.set(top);
        // SAFETY: a page.
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
        // SAFETY: the page is ours, and `top` points into it.
        unsafe { (*page).below.get() + self.top.get().offset_from(self.start.get()) as usize }
    }

    /// Adds an entry: one strong reference is taken over.
    #[inline]
    pub(crate) fn push(&self, thin: Thin, pages: &PageCache) {
        self.push_or_grow(thin, |entries| entries.grow(pages));
    }

    /// The same, where the way to the pages is longer.
    #[inline]
    pub(crate) fn push_or_grow(&self, thin: Thin, grow: impl FnOnce(&Self)) {
        if self.top.get() == self.end.get() {
            grow(self);
        }
        let top = self.top.get();
        // SAFETY: `grow` saw to it that there is room in the page.
        unsafe {
            Page::touch(self.page.get());
            top.write(thin);
            self.top.set(top.add(1));
        }
    }

    /// The topmost page is full, or there is none: puts an empty one on top.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&self, pages: &PageCache) {
        // The global allocator is foreign code: it may fill or drain this very pool.
        while self.top.get() == self.end.get() {
            let page = pages.get();
            // SAFETY: a page, and nobody's yet.
            unsafe {
                if self.top.get() == self.end.get() {
                    (*page).prev.set(self.page.get());
                    (*page).below.set(self.len());
                    self.turn_to(page, Page::start(page));
                } else {
                    pages.put(page);
                }
            }
        }
    }

    /// The newest entry, which stays. Empty pages are given back.
    #[inline(always)]
    pub(crate) fn newest(&self, pages: &PageCache) -> Option<Thin> {
        let mut top = self.top.get();
        // A loop, as the global allocator is foreign code, and may drain this very pool.
        while top == self.start.get() {
            if !self.uncover(pages) {
                return None;
            }
            top = self.top.get();
        }
        // SAFETY: the pages are ours; `top` points into the topmost, and every entry below it
        // has been written.
        unsafe {
            Page::touch(self.page.get());
            if top.offset_from(self.start.get()) > AHEAD as isize {
                // It is alive by its entry.
                prefetch((*top.sub(AHEAD + 1)).cast::<Header>().sub(1).as_ptr());
            }
            Some(*top.sub(1))
        }
    }

    /// Takes out what `newest` gave.
    ///
    /// # Safety
    /// It is still the newest.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self) {
        // SAFETY: there is an entry in the page.
        self.top.set(unsafe { self.top.get().sub(1) });
    }

    /// The topmost page is empty: gives it back, if there is one below.
    #[inline(never)]
    fn uncover(&self, pages: &PageCache) -> bool {
        let page = self.page.get();
        if page.is_null() {
            return false;
        }
        // SAFETY: the pages are ours; those below are full.
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

    /// Takes the newest entry, with all that name the same object right below it
    /// in the same page, but no more than `at_most`, which is not 0. Gives how many there
    /// were.
    #[inline]
    pub(crate) fn take_some(&self, pages: &PageCache, at_most: u32) -> Option<(Thin, u32)> {
        let thin = self.newest(pages)?;
        let start = self.start.get();
        // SAFETY: as in `newest`.
        unsafe {
            let mut top = self.top.get().sub(1);
            let mut n = 1;
            while top > start && n < at_most && *top.sub(1) == thin {
                top = top.sub(1);
                n += 1;
            }
            self.top.set(top);
            Some((thin, n))
        }
    }

    /// Takes the newest entries out, as far as they are in one page, as long as `f` says
    /// that it has given up what they had. How many. `f` runs no foreign code.
    #[inline(always)]
    pub(crate) fn take_while(&self, mut f: impl FnMut(Thin) -> bool) -> usize {
        let from = self.top.get();
        let start = self.start.get();
        // SAFETY: as in `newest`; or there is no page, and both are null.
        unsafe {
            let mut top = from;
            while top > start {
                Page::touch(self.page.get());
                if top.offset_from(start) > AHEAD as isize {
                    prefetch((*top.sub(AHEAD + 1)).cast::<Header>().sub(1).as_ptr());
                }
                if !f(*top.sub(1)) {
                    break;
                }
                top = top.sub(1);
            }
            self.top.set(top);
            from.offset_from(top) as usize
        }
    }

    /// The place of the next entry, to see whether a destructor has added any.
    #[inline]
    pub(crate) fn mark(&self) -> *mut Thin {
        self.top.get()
    }

    /// Moves all to another chain.
    pub(crate) fn take_all(&self) -> Self {
        Self {
            top: Cell::new(self.top.replace(ptr::null_mut())),
            start: Cell::new(self.start.replace(ptr::null_mut())),
            end: Cell::new(self.end.replace(ptr::null_mut())),
            page: Cell::new(self.page.replace(ptr::null_mut())),
        }
    }

    /// Gives the pages back. What is still in them is leaked; returns how many
    /// entries that were.
    pub(crate) fn clear(&self, pages: &PageCache) -> usize {
        let leaked = self.len();
        let mut page = self.page.replace(ptr::null_mut());
        self.top.set(ptr::null_mut());
        self.start.set(ptr::null_mut());
        self.end.set(ptr::null_mut());
        while !page.is_null() {
            // SAFETY: our own pages, given up.
            unsafe {
                let prev = (*page).prev.get();
                pages.put(page);
                page = prev;
            }
        }
        leaked
    }

    /// The entries, newest first. Others may be added meanwhile, which are not
    /// among them.
    ///
    /// # Safety
    /// None is taken out as long as the iterator is used.
    pub(crate) unsafe fn newest_first(&self) -> impl Iterator<Item = Thin> {
        let mut page = self.page.get();
        let mut top = self.top.get();
        std::iter::from_fn(move || {
            if page.is_null() {
                return None;
            }
            // SAFETY: pages and entries stay by the caller's promise; all below
            // `top` is written.
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

    /// Whether there is an entry for this object. Linear.
    pub(crate) fn contains(&self, thin: Thin) -> bool {
        // SAFETY: nothing else runs meanwhile.
        unsafe { self.newest_first() }.any(|entry| entry == thin)
    }
}
