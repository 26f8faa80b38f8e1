//! The memory of pending releases.
//!
//! A page belongs to one pool at a time, and to one thread always. Empty ones
//! wait in the thread's cache.

use crate::object::header::Thin;
use crate::sync::{SMALL, Witness, boxed, unbox};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// Entries in a page: with its head, 2 KiB.
pub(crate) const ENTRIES: usize = if SMALL { 4 } else { 254 };

/// Pages that a thread keeps for later: 128 KiB of them.
const CACHED: usize = if SMALL { 2 } else { 64 };

pub(crate) struct Page {
    /// The page below, full; null in the first.
    pub(crate) prev: *mut Page,
    /// How many entries are in the pages below.
    pub(crate) below: usize,
    witness: Witness,
    entries: [MaybeUninit<Thin>; ENTRIES],
}

impl Page {
    /// Where the entries begin.
    ///
    /// # Safety
    /// `page` is a page.
    #[inline]
    pub(crate) unsafe fn start(page: *mut Page) -> *mut Thin {
        // SAFETY: by the caller's promise.
        unsafe { (&raw mut (*page).entries).cast() }
    }

    /// Where they end.
    ///
    /// # Safety
    /// `page` is a page.
    #[inline]
    pub(crate) unsafe fn end(page: *mut Page) -> *mut Thin {
        // SAFETY: by the caller's promise.
        unsafe { Self::start(page).add(ENTRIES) }
    }

    /// Tells the model checker that this thread changes the page.
    ///
    /// # Safety
    /// `page` is a page.
    #[inline]
    pub(crate) unsafe fn touch(page: *mut Page) {
        // SAFETY: by the caller's promise.
        unsafe { (*page).witness.write() };
    }
}

/// A thread's empty pages.
pub(crate) struct PageCache {
    first: Cell<*mut Page>,
    len: Cell<usize>,
}

impl PageCache {
    pub(crate) const fn new() -> Self {
        Self {
            first: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
        }
    }

    /// An empty page on top of `prev`.
    pub(crate) fn get(&self, prev: *mut Page, below: usize) -> *mut Page {
        let page = self.first.get();
        if page.is_null() {
            return new_page(prev, below);
        }
        // SAFETY: pages in the cache are ours.
        unsafe {
            self.first.set((*page).prev);
            (*page).prev = prev;
            (*page).below = below;
        }
        self.len.set(self.len.get() - 1);
        page
    }

    /// Takes a page that nobody uses any more.
    ///
    /// # Safety
    /// `page` is a page, given up by its pool.
    pub(crate) unsafe fn put(&self, page: *mut Page) {
        if self.len.get() == CACHED {
            // SAFETY: by the caller's promise; made by `new_page`.
            let _page = unsafe { unbox(NonNull::new_unchecked(page)) };
            return;
        }
        // SAFETY: by the caller's promise.
        unsafe { (*page).prev = self.first.get() };
        self.first.set(page);
        self.len.set(self.len.get() + 1);
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        while let Some(page) = NonNull::new(self.first.get()) {
            // SAFETY: pages in the cache are ours, made by `new_page`.
            self.first.set(unsafe { unbox(page) }.prev);
        }
    }
}

#[cold]
fn new_page(prev: *mut Page, below: usize) -> *mut Page {
    boxed(Page {
        prev,
        below,
        witness: Witness::new(),
        entries: [const { MaybeUninit::uninit() }; ENTRIES],
    })
    .as_ptr()
}
