//! Pages: the memory of pending releases.
//!
//! A page belongs to one pool at a time; empty ones wait in the thread's cache. Pages leave their
//! thread with a handoff pool's entries or with retired references: as a message, a `PageChain`.

use super::Entries;
use crate::object::header::Thin;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{SMALL, Witness, abort, boxed, const_fn, described, unbox};
use crate::thread::inbox::{Message, MessageKind, Node};
use crate::thread::key::ThreadKey;
use std::mem::{self, MaybeUninit};
use std::ptr::{self, NonNull};

/// The words of a page: 2 KiB with pointers of 64 bits, 1 KiB with those of 32.
const WORDS: usize = 256;

/// The words before the entries: a pointer, and two fields of 32 bits.
const HEADER_WORDS: usize = 1 + 2 * size_of::<u32>() / size_of::<usize>();

/// The number of entries in a page.
pub(crate) const ENTRIES: usize = if SMALL { 4 } else { WORDS - HEADER_WORDS };

/// The number of spare pages that a thread may always keep: 128 KiB.
const FEW: usize = if SMALL { 2 } else { 64 };

/// The greatest number of spare pages that a thread may keep: 8 MiB, for a million entries.
const MANY: usize = if SMALL { 8 } else { 4_096 };

/// Each time this many pages have been put back, the cache frees some of the pages that were not
/// needed.
const WINDOW: usize = if SMALL { 32 } else { 4_096 };

/// The greatest number of pages that the cache frees at a time.
const FREED: usize = if SMALL { 2 } else { 64 };

/// The value of [`Page::tag`] in all pages.
const TAG: u32 = u32::from_le_bytes(*b"RPpg");

/// Room for [`ENTRIES`] entries.
pub(crate) struct Page {
    /// The page below, which is full; null in the first page. In a cache, the next spare page.
    pub(crate) prev: Cell<*mut Page>,
    /// The number of entries in the pages below.
    below: Cell<u32>,
    /// [`TAG`], by which a reader outside of the process recognizes pages that no pointer leads to:
    /// those of handoff pools.
    tag: u32,
    /// A witness for the entries, in models. Zero-sized in other builds.
    witness: Witness,
    entries: [MaybeUninit<Thin>; ENTRIES],
}

// The model checker's cells are larger than native ones.
const _: () = assert!(SMALL || size_of::<Page>() == WORDS * size_of::<usize>());

impl Page {
    /// Returns the number of entries in the pages below.
    #[inline]
    pub(crate) fn below(&self) -> usize {
        self.below.get() as usize
    }

    /// Stores the number of entries in the pages below.
    ///
    /// # Aborts
    /// If there are 2^32 or more, which take 32 GiB.
    pub(crate) fn set_below(&self, entries: usize) {
        let Ok(entries) = u32::try_from(entries) else {
            abort("a pool has more than 2^32 entries")
        };
        self.below.set(entries);
    }

    /// Returns the beginning of the entries.
    ///
    /// # Safety
    /// `page` points to a page.
    #[inline]
    pub(crate) unsafe fn start(page: *mut Page) -> *mut Thin {
        // SAFETY: `page` points to a page, by the contract.
        unsafe { (&raw mut (*page).entries).cast() }
    }

    /// Returns the end of the room for entries.
    ///
    /// # Safety
    /// `page` points to a page.
    #[inline]
    pub(crate) unsafe fn end(page: *mut Page) -> *mut Thin {
        // SAFETY: `page` points to a page, by the contract.
        unsafe { Self::start(page).add(ENTRIES) }
    }

    /// Tells the model checker that this thread changes the page.
    ///
    /// # Safety
    /// `page` points to a page.
    #[inline]
    pub(crate) unsafe fn touch(page: *mut Page) {
        // SAFETY: `page` points to a page, by the contract.
        unsafe { (*page).witness.write() };
    }

    /// Tells the model checker that this thread reads entries of the page.
    ///
    /// # Safety
    /// `page` points to a page.
    #[inline]
    pub(crate) unsafe fn look(page: *mut Page) {
        // SAFETY: `page` points to a page, by the contract.
        unsafe { (*page).witness.read() };
    }
}

/// A thread's spare pages: as many as the thread has lately needed at once. Owner only.
///
/// A pool that is filled and drained in each frame must not call malloc for its pages each time:
/// with glibc a request of that size consolidates all small chunks that were freed before.
pub(crate) struct PageCache {
    first: Cell<*mut Page>,
    len: Cell<usize>,
    /// The greatest number of pages that may be kept now.
    most: Cell<usize>,
    /// The least number of pages that the cache has had since `put` began to count.
    least: Cell<usize>,
    /// How many pages have been put back since pages were last freed.
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

    /// Returns a page that belongs to the caller, which puts it on top of others. May call the
    /// global allocator.
    pub(crate) fn get(&self) -> *mut Page {
        self.get_spare().unwrap_or_else(|| {
            if self.most.get() < MANY {
                self.most.set(self.most.get() + 1);
            }
            new_page()
        })
    }

    /// Returns a spare page, if the cache has one, like [`get`](Self::get). Runs no foreign code.
    #[inline]
    pub(crate) fn get_spare(&self) -> Option<*mut Page> {
        let page = self.pop()?;
        if self.len.get() < self.least.get() {
            self.least.set(self.len.get());
        }
        Some(page)
    }

    fn pop(&self) -> Option<*mut Page> {
        let page = NonNull::new(self.first.get())?.as_ptr();
        // SAFETY: pages in the cache are ours (invariant 6 of `pool`).
        self.first.set(unsafe { (*page).prev.get() });
        self.len.set(self.len.get() - 1);
        Some(page)
    }

    /// Takes a page that is not used any more. May call the global allocator.
    ///
    /// # Safety
    /// `page` is a page that the caller gives up.
    pub(crate) unsafe fn put(&self, page: *mut Page) {
        self.count_put();
        if self.len.get() >= self.most.get() {
            // SAFETY: forwards the contract.
            return unsafe { free(page) };
        }
        // SAFETY: the page is ours from here on.
        unsafe { (*page).prev.set(self.first.get()) };
        self.first.set(page);
        self.len.set(self.len.get() + 1);
    }

    /// Counts a page that was used and stays in its pool, as if it had been taken from the cache
    /// and put back. May call the global allocator.
    #[inline]
    pub(crate) fn count_put(&self) {
        self.put.set(self.put.get() + 1);
        if self.put.get() == WINDOW {
            self.free_unneeded();
        }
    }

    /// Frees half of the unneeded pages beyond [`FEW`], at most [`FREED`]; lowers `most` as much.
    #[cold]
    #[inline(never)]
    fn free_unneeded(&self) {
        let unneeded = self.least.get().saturating_sub(FEW);
        for _ in 0..unneeded.div_ceil(2).min(FREED) {
            self.most.set(self.most.get() - 1);
            if let Some(page) = self.pop() {
                // SAFETY: the page was in the cache, so it is ours (invariant 6 of `pool`).
                unsafe { free(page) };
            }
        }
        self.put.set(0);
        self.least.set(self.len.get());
    }
}

/// Frees a page.
///
/// # Safety
/// `page` is a page that the caller gives up.
unsafe fn free(page: *mut Page) {
    // SAFETY: by the contract, the caller gives up the page; `new_page` made it, like all pages.
    unsafe {
        debug_assert_eq!((*page).tag, TAG);
        Page::touch(page);
        let _page = unbox(NonNull::new_unchecked(page));
    }
}

impl Drop for PageCache {
    fn drop(&mut self) {
        while let Some(page) = self.pop() {
            // SAFETY: pages in the cache are ours (invariant 6 of `pool`).
            unsafe { free(page) };
        }
    }
}

#[cold]
fn new_page() -> *mut Page {
    boxed(Page {
        prev: Cell::new(ptr::null_mut()),
        below: Cell::new(0),
        tag: TAG,
        witness: Witness::new(),
        entries: [const { MaybeUninit::uninit() }; ENTRIES],
    })
    .as_ptr()
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        page {
            size = size_of::<Page>(),
            prev = offset_of!(Page, prev),
            below = offset_of!(Page, below),
            tag = offset_of!(Page, tag),
            tag_value = TAG,
            entries = offset_of!(Page, entries),
            capacity = ENTRIES,
        }
        message {
            entries = offset_of!(PageChain, entries),
        }
    };

    impl PageCache {
        pub(in crate::pool) const FIRST: usize = offset_of!(Self, first);
    }
}

/// A queue of references that one thread retires and any thread takes: pages, newest first, all but
/// the newest full. `below` counts the entries in the page itself, too.
///
/// The only pointer to the list is field 0: null, [`busy`] while the owner adds an entry, or the
/// newest page. To add an entry, the owner takes the pages out by an exchange, so no thread waits
/// for another. `take` looks at each page once, and at no entry.
pub(in crate::pool) struct RetiredPages<'q>(pub(in crate::pool) &'q AtomicPtr<u8>);

/// The mark of a queue while its owner adds an entry. No page is at that address.
fn busy() -> *mut u8 {
    ptr::without_provenance_mut(1)
}

impl RetiredPages<'_> {
    /// Adds an entry, which takes over one strong reference. Returns whether the queue was empty.
    /// Owner only. May call the global allocator.
    pub(in crate::pool) fn push(&self, thin: Thin, pages: &PageCache) -> bool {
        let mut new = ptr::null_mut();
        let was_empty = loop {
            match self.try_push(thin, &mut new) {
                Some(before) => break before == 0,
                None => new = pages.get(),
            }
        };
        if !new.is_null() {
            // SAFETY: the page is from the cache, and was not used: while `get` ran the global
            // allocator, which is foreign code, another `push` has added a page.
            unsafe { pages.put(new) };
        }
        was_empty
    }

    /// Adds an entry to the newest page or, if that is full, to the page `new`, which is then set
    /// to null. Returns how many entries there were before; `None` if there was no room.
    #[inline]
    fn try_push(&self, thin: Thin, new: &mut *mut Page) -> Option<usize> {
        // Relaxed: only owners write pages here, and `enter` in `epoch` acquires what former owners
        // wrote.
        let newest = self.0.swap(busy(), Ordering::Relaxed).cast::<Page>();
        // SAFETY: the exchange made the pages ours.
        let all = unsafe { newest.as_ref() }.map_or(0, Page::below);
        let page = if all % ENTRIES != 0 {
            newest
        } else {
            mem::replace(new, ptr::null_mut())
        };
        if !page.is_null() {
            // SAFETY: the page is ours and has room, as it is new or not full.
            unsafe {
                if page != newest {
                    (*page).prev.set(newest);
                }
                (*page).set_below(all + 1);
                Page::touch(page);
                Page::start(page).add(all % ENTRIES).write(thin);
            }
        }
        let newest = if page.is_null() { newest } else { page };
        // Release: pairs with the Acquire in `take`. Model: epoch_queue.
        self.0.store(newest.cast(), Ordering::Release);
        (!page.is_null()).then_some(all)
    }

    /// Takes all entries, unless the owner is adding one.
    pub(in crate::pool) fn take(&self) -> Option<Entries> {
        let newest = self.0.load(Ordering::Relaxed);
        if newest.is_null() || newest == busy() {
            return None;
        }
        let none = ptr::null_mut();
        // Acquire: pairs with the Release in `try_push`. Model: epoch_queue.
        let taken = self
            .0
            .compare_exchange(newest, none, Ordering::Acquire, Ordering::Relaxed);
        let newest = taken.ok()?.cast::<Page>();
        let entries = Entries::new();
        // SAFETY: the exchange made the pages ours; the newest has this many entries, which are written.
        unsafe {
            let in_newest = ((*newest).below() - 1) % ENTRIES + 1;
            entries.turn_to(newest, Page::start(newest).add(in_newest));
            let (mut page, mut in_page) = (newest, in_newest);
            loop {
                (*page).set_below((*page).below() - in_page);
                let prev = (*page).prev.get();
                if prev.is_null() {
                    break;
                }
                (page, in_page) = (prev, ENTRIES);
            }
            entries.first.set(Page::start(page));
        }
        Some(entries)
    }
}

/// Entries on their way to another thread: a message of the kind [`MessageKind::ReleaseMany`].
#[repr(C)]
pub(in crate::pool) struct PageChain {
    node: Node,
    entries: Entries,
}

impl PageChain {
    /// Makes a message of `n` entries to `target`.
    ///
    /// # Safety
    /// All objects may be sent to other threads.
    pub(in crate::pool) unsafe fn message(entries: Entries, n: u64, target: ThreadKey) -> Message {
        let node = Node::weighing(n, MessageKind::ReleaseMany, target);
        let chain = boxed(Self { node, entries });
        // SAFETY: nothing else owns the chain that was just made, and its kind is that of a
        // `PageChain`; the rest is the contract.
        unsafe { Message::from_raw(chain.cast()) }
    }

    /// Takes the entries out of a message of the kind [`MessageKind::ReleaseMany`], and frees it.
    pub(in crate::pool) fn take(message: Message) -> Entries {
        debug_assert_eq!(message.kind(), MessageKind::ReleaseMany);
        // SAFETY: only `PageChain`s, which are repr(C) with the node first, are of that kind; the
        // pointer is that of the whole allocation, which the caller owned.
        unsafe { unbox(message.into_raw().cast::<Self>()) }.entries
    }

    /// Returns the entries in a message of the kind [`MessageKind::ReleaseMany`].
    pub(in crate::pool) fn entries(message: &Message) -> &Entries {
        debug_assert_eq!(message.kind(), MessageKind::ReleaseMany);
        // SAFETY: only `PageChain`s, which are repr(C) with the node first, are of that kind; the
        // caller owns the message, so it is alive.
        unsafe { &message.as_raw().cast::<Self>().as_ref().entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `n` pages and puts them back; returns how many pages the cache has afterwards.
    fn use_pages(cache: &PageCache, n: usize) -> usize {
        let mut top = ptr::null_mut();
        for _ in 0..n {
            let page = cache.get();
            // SAFETY: the page is from `get`, so it is ours.
            unsafe { (*page).prev.set(top) };
            top = page;
        }
        while !top.is_null() {
            // SAFETY: the pages are from `get`, so they are ours; each is put back once.
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
        assert_eq!(cache.most.get(), FEW + 3 * FEW, "each was missing once");
    }

    #[test]
    fn pages_that_are_not_needed_any_more_are_freed() {
        let cache = PageCache::new();
        let many = use_pages(&cache, MANY);
        assert_eq!(many, MANY);
        let mut before = many;
        for _ in 0..2 * many * WINDOW {
            let now = use_pages(&cache, 1);
            assert!(before - now <= FREED, "a few at a time");
            before = now;
        }
        assert_eq!(before, FEW + 1);
        assert!(cache.most.get() <= FEW + 1, "no more are kept");
        assert_eq!(use_pages(&cache, 2 * FEW), 2 * FEW);
    }

    #[test]
    fn neighbors_for_one_object_are_taken_out_at_once_and_pages_are_given_back() {
        let (cache, entries) = (PageCache::new(), Entries::new());
        let objects = [0_u64; 2];
        let [one, other] = objects
            .each_ref()
            .map(|object| NonNull::from(object).cast());
        for thin in [one, other, other, other] {
            entries.push(thin, &cache);
        }
        assert_eq!(entries.take_some(&cache, 9), Some((other, 3)));
        (0..2 * ENTRIES).for_each(|_| entries.push(one, &cache));
        assert_eq!(
            (entries.clear(&cache), cache.len.get()),
            (2 * ENTRIES + 1, 3)
        );
    }

    #[test]
    fn the_number_of_spare_pages_is_limited() {
        let cache = PageCache::new();
        assert_eq!(use_pages(&cache, MANY + FEW), MANY);
    }
}
