//! The memory of pending releases.
//!
//! A page belongs to one pool at a time, and to one thread always. Empty ones
//! wait in the thread's cache.

use crate::object::header::Thin;
use crate::sync::cell::Cell;
use crate::sync::{SMALL, Witness, boxed, const_fn, unbox};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// Entries in a page: with its head, 2 KiB.
pub(crate) const ENTRIES: usize = if SMALL { 4 } else { 254 };

/// Pages that a thread keeps for later, at least: 128 KiB of them.
const FEW: usize = if SMALL { 2 } else { 64 };

/// And at most: 8 MiB, which are a million entries.
const MANY: usize = if SMALL { 8 } else { 4_096 };

/// Pages put back, after which those go that were not needed meanwhile: so many, at most.
const WINDOW: usize = if SMALL { 32 } else { 4_096 };
const GIVEN_BACK: usize = if SMALL { 2 } else { 64 };

pub(crate) struct Page {
    /// The page below, full; null in the first.
    pub(crate) prev: Cell<*mut Page>,
    /// How many entries are in the pages below.
    pub(crate) below: Cell<usize>,
    /// Stands for the entries, in models.
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

    /// Tells the model checker that this thread reads entries of the page.
    ///
    /// # Safety
    /// `page` is a page.
    #[inline]
    pub(crate) unsafe fn look(page: *mut Page) {
        // SAFETY: by the caller's promise.
        unsafe { (*page).witness.read() };
    }
}

/// A thread's empty pages: as many as it has needed at once, of late. A pool that is filled and
/// drained in each frame must not ask malloc for them each time: with glibc such a request
/// has all small pieces put together that were freed before.
pub(crate) struct PageCache {
    first: Cell<*mut Page>,
    len: Cell<usize>,
    /// How many may be kept.
    most: Cell<usize>,
    /// The least that were there since `put` began to count.
    least: Cell<usize>,
    put: Cell<usize>,
}

impl PageCache {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                first: Cell::new(ptr::null_mut()),
                len: Cell::new(0),
                most: Cell::new(FEW),
                least: Cell::new(0),
                put: Cell::new(0),
            }
        }
    }

    /// A page that is nobody's, for the caller to put on top of others. May call the global
    /// allocator.
    pub(crate) fn get(&self) -> *mut Page {
        let Some(page) = self.pop() else {
            if self.most.get() < MANY {
                self.most.set(self.most.get() + 1);
            }
            return new_page();
        };
        if self.len.get() < self.least.get() {
            self.least.set(self.len.get());
        }
        page
    }

    fn pop(&self) -> Option<*mut Page> {
        let page = NonNull::new(self.first.get())?.as_ptr();
        // SAFETY: pages in the cache are ours.
        self.first.set(unsafe { (*page).prev.get() });
        self.len.set(self.len.get() - 1);
        Some(page)
    }

    /// Takes a page that nobody uses any more. May call the global allocator.
    ///
    /// # Safety
    /// `page` is a page, given up by its pool.
    pub(crate) unsafe fn put(&self, page: *mut Page) {
        self.put.set(self.put.get() + 1);
        if self.put.get() == WINDOW {
            self.give_back();
        }
        if self.len.get() >= self.most.get() {
            // SAFETY: by the caller's promise.
            return unsafe { free(page) };
        }
        // SAFETY: by the caller's promise.
        unsafe { (*page).prev.set(self.first.get()) };
        self.first.set(page);
        self.len.set(self.len.get() + 1);
    }

    /// Half of the pages that were not needed go, but for a few.
    #[cold]
    fn give_back(&self) {
        let unneeded = self.least.get().saturating_sub(FEW);
        for _ in 0..unneeded.div_ceil(2).min(GIVEN_BACK) {
            self.most.set(self.most.get() - 1);
            if let Some(page) = self.pop() {
                // SAFETY: it was in the cache.
                unsafe { free(page) };
            }
        }
        self.put.set(0);
        self.least.set(self.len.get());
    }
}

/// # Safety
/// A page that nobody uses.
unsafe fn free(page: *mut Page) {
    // SAFETY: by the caller's promise; made by `new_page`.
    unsafe {
        Page::touch(page);
        let _page = unbox(NonNull::new_unchecked(page));
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        while let Some(page) = self.pop() {
            // SAFETY: pages in the cache are ours.
            unsafe { free(page) };
        }
    }
}

#[cold]
fn new_page() -> *mut Page {
    boxed(Page {
        prev: Cell::new(ptr::null_mut()),
        below: Cell::new(0),
        witness: Witness::new(),
        entries: [const { MaybeUninit::uninit() }; ENTRIES],
    })
    .as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `n` pages, and puts them back. How many the cache then has.
    fn use_pages(cache: &PageCache, n: usize) -> usize {
        let mut top = ptr::null_mut();
        for _ in 0..n {
            let page = cache.get();
            // SAFETY: just made.
            unsafe { (*page).prev.set(top) };
            top = page;
        }
        while !top.is_null() {
            // SAFETY: our pages, from `get`, each put back once.
            unsafe {
                let prev = (*top).prev.get();
                cache.put(top);
                top = prev;
            }
        }
        cache.len.get()
    }

    #[test]
    fn pages_that_were_needed_are_kept() {
        let cache = PageCache::new();
        assert_eq!(use_pages(&cache, 3 * FEW), 3 * FEW);
        for _ in 0..100 {
            assert_eq!(use_pages(&cache, 3 * FEW), 3 * FEW);
        }
        assert_eq!(
            cache.most.get(),
            FEW + 3 * FEW,
            "each that was missing once"
        );
    }

    #[test]
    fn pages_that_are_not_needed_any_more_go() {
        let cache = PageCache::new();
        let many = use_pages(&cache, MANY);
        assert_eq!(many, MANY);
        let mut before = many;
        for _ in 0..2 * many * WINDOW {
            let now = use_pages(&cache, 1);
            assert!(before - now <= GIVEN_BACK, "a few at a time");
            before = now;
        }
        assert!(before <= FEW + 1, "{before}");
        assert_eq!(use_pages(&cache, 2 * FEW), 2 * FEW);
    }

    #[test]
    fn there_is_a_limit_to_what_is_kept() {
        let cache = PageCache::new();
        assert_eq!(use_pages(&cache, MANY + FEW), MANY);
    }
}
