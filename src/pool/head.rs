//! One pool: its entries, and its place among the pools of its thread.
//!
//! # Which pool is current
//!
//! Each manager has, on each thread, a chain of [`Frame`]s; its end is the root
//! pool's. A pool that is opened puts its frame on top. So does a *barrier*: a
//! drain (whose pool is current meanwhile) or a scope such as `autoreleasepool`.
//! The topmost frame that has a pool says which one is current.
//!
//! Closing a pool takes away its frame and, as far as the next barrier, all
//! above it: they are pools that were forgotten, or that will be dropped out of
//! order. Those keep their entries; they are merely not current any more. What
//! is above a barrier was opened inside the drain or scope, and is left alone.

use super::page::{Page, PageCache};
use super::stack::Stack;
use crate::object::header::{Header, Thin};
use crate::sync::prefetch;
use crossbeam_epoch::Guard;
use std::borrow::Cow;
use std::cell::{Cell, UnsafeCell};
use std::ptr;

/// See the module. Frames of pools stand in their heads, those of barriers on
/// the machine's stack; both are there as long as they are in the chain.
pub(crate) struct Frame {
    pub(crate) prev: Cell<*const Frame>,
    /// The pool that is current while this is the topmost frame with one.
    pub(crate) pool: Cell<*const Head>,
    pub(crate) barrier: bool,
}

impl Frame {
    pub(crate) const fn new(barrier: bool) -> Self {
        Self {
            prev: Cell::new(ptr::null()),
            pool: Cell::new(ptr::null()),
            barrier,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Not in use.
    Free,
    /// Owned by an `AutoreleasePool`.
    Guard,
    /// Named by a `PoolToken`.
    Token,
    /// The one at the bottom.
    Root,
}

/// How many entries before its turn an object's header is fetched from memory.
/// Objects that are cold when they die cost most by far; a destructor's own work
/// takes long enough for the next few headers to arrive meanwhile.
const AHEAD: usize = 8;

/// One pool. It stays at its address as long as its thread's block lives;
/// guards hold that address, tokens its index and generation.
pub(crate) struct Head {
    pub(crate) frame: Frame,
    /// Where the next entry goes, in `page`.
    top: Cell<*mut Thin>,
    /// The end of `page`.
    end: Cell<*mut Thin>,
    /// The topmost page; null until the first entry.
    page: Cell<*mut Page>,
    /// The stack that the pool belongs to while it is open.
    pub(crate) stack: Cell<*const Stack>,
    pub(crate) kind: Cell<Kind>,
    /// How many drains of this pool are going on: more than one only for root
    /// pools.
    pub(crate) draining: Cell<u32>,
    /// Goes up whenever a token pool is closed.
    pub(crate) generation: Cell<u32>,
    pub(crate) index: u32,
    /// The next free head.
    pub(crate) next_free: Cell<*const Head>,
    /// Whether the pool has a name or is pinned: closing it then is more than
    /// taking it off.
    plain: Cell<bool>,
    /// Set and taken, never borrowed, while the pool is open.
    name: UnsafeCell<Option<Cow<'static, str>>>,
    /// From the first load from a slot to the next drain. Set and taken, never
    /// borrowed.
    guard: UnsafeCell<Option<Guard>>,
    pinned: Cell<bool>,
}

impl Head {
    pub(crate) const fn new(index: u32, kind: Kind) -> Self {
        Self {
            frame: Frame::new(false),
            top: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
            page: Cell::new(ptr::null_mut()),
            stack: Cell::new(ptr::null()),
            kind: Cell::new(kind),
            draining: Cell::new(0),
            generation: Cell::new(0),
            index,
            next_free: Cell::new(ptr::null()),
            plain: Cell::new(true),
            name: UnsafeCell::new(None),
            guard: UnsafeCell::new(None),
            pinned: Cell::new(false),
        }
    }

    pub(crate) fn set_name(&self, name: Option<Cow<'static, str>>) {
        // SAFETY: the thread's own, and nobody has borrowed it: `name` is only
        // called on open pools, this on one that is being opened or closed.
        unsafe { *self.name.get() = name };
        self.plain.set(false);
    }

    /// Whether there is nothing to tidy up but entries.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain.get()
    }

    /// Tidies up the rest; the pool is being closed.
    pub(crate) fn make_plain(&self) {
        self.unpin();
        self.set_name(None);
        self.plain.set(true);
    }

    /// Keeps all that slots hold from now on, until the pool is drained.
    #[inline]
    pub(crate) fn pin(&self) {
        if !self.pinned.get() {
            self.pin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn pin_now(&self) {
        // SAFETY: an open pool's stack is there.
        let local = unsafe { &*self.stack.get() }.local();
        let guard = local.epoch.pin(local, self.name());
        // SAFETY: the thread's own, and nobody has borrowed it.
        unsafe { *self.guard.get() = Some(guard) };
        self.pinned.set(true);
        self.plain.set(false);
    }

    /// What the pool lent from slots may go.
    #[inline]
    pub(crate) fn unpin(&self) {
        if self.pinned.get() {
            self.unpin_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn unpin_now(&self) {
        self.pinned.set(false);
        // SAFETY: the thread's own, and nobody has borrowed it.
        let guard = unsafe { (*self.guard.get()).take() };
        drop(guard);
        // SAFETY: an open pool's stack is there.
        let local = unsafe { &*self.stack.get() }.local();
        local.epoch.unpinned(local);
    }

    /// The name that the pool was given, or one for its kind.
    pub(crate) fn name(&self) -> &str {
        // SAFETY: as above; the name changes only when the pool is closed.
        match unsafe { &*self.name.get() } {
            Some(name) => name,
            None => match self.kind.get() {
                Kind::Root => "root",
                Kind::Token => "token",
                Kind::Guard | Kind::Free => "unnamed",
            },
        }
    }

    /// Whether the pool never had an entry since it was opened.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.page.get().is_null()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        let page = self.page.get();
        if page.is_null() {
            return 0;
        }
        // SAFETY: the page is the pool's, and `top` points into it.
        unsafe { (*page).below + self.top.get().offset_from(Page::start(page)) as usize }
    }

    /// Adds an entry: the pool takes over one strong reference.
    #[inline]
    pub(crate) fn push(&self, thin: Thin, pages: &PageCache) {
        if self.top.get() == self.end.get() {
            self.grow(pages);
        }
        let top = self.top.get();
        // SAFETY: `grow` saw to it that there is room in the page.
        unsafe {
            Page::touch(self.page.get());
            top.write(thin);
            self.top.set(top.add(1));
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&self, pages: &PageCache) {
        let page = pages.get(self.page.get(), self.len());
        self.page.set(page);
        // SAFETY: a page.
        unsafe {
            self.top.set(Page::start(page));
            self.end.set(Page::end(page));
        }
    }

    /// Takes the newest entry, with all that name the same object right below it
    /// in the same page. Gives how many there were.
    #[inline]
    pub(crate) fn take(&self, pages: &PageCache) -> Option<(Thin, u32)> {
        let mut page = self.page.get();
        if page.is_null() {
            return None;
        }
        let mut top = self.top.get();
        // SAFETY: the pages are the pool's; `top` points into the topmost, and
        // every entry below it has been written.
        unsafe {
            let mut start = Page::start(page);
            if top == start {
                let prev = (*page).prev;
                if prev.is_null() {
                    return None;
                }
                pages.put(page);
                page = prev;
                self.page.set(page);
                start = Page::start(page);
                top = Page::end(page);
                self.end.set(top);
            }
            Page::touch(page);
            top = top.sub(1);
            let thin = *top;
            if top.offset_from(start) >= AHEAD as isize {
                // It is alive by its entry.
                prefetch((*top.sub(AHEAD)).cast::<Header>().sub(1));
            }
            let mut n = 1;
            while top > start && *top.sub(1) == thin {
                top = top.sub(1);
                n += 1;
            }
            self.top.set(top);
            Some((thin, n))
        }
    }

    /// The place of the next entry, to see whether a destructor has added any.
    #[inline]
    pub(crate) fn mark(&self) -> *mut Thin {
        self.top.get()
    }

    /// Gives the pages back. What is still in them is leaked; returns how many
    /// entries that were.
    pub(crate) fn clear_pages(&self, pages: &PageCache) -> usize {
        let leaked = self.len();
        let mut page = self.page.replace(ptr::null_mut());
        self.top.set(ptr::null_mut());
        self.end.set(ptr::null_mut());
        while !page.is_null() {
            // SAFETY: the pool's own pages, given up.
            unsafe {
                let prev = (*page).prev;
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
                    page = (*page).prev;
                    if page.is_null() {
                        return None;
                    }
                    top = Page::end(page);
                }
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
