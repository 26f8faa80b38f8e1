//! Releases the entries of a pool without a budget: newest first, until the pool is empty.

use super::release::{Unmetered, stretch};
use crate::event::{Event, EventKind};
use crate::object::destroy::ReleaseScope;
use crate::object::header::TypeInfo;
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;
use crate::pool::stack::budget::{ENDLESS, Limit};
use crate::sync::catch_unwind;
use crate::sync::cell::{Cell, RefCell};
use crate::thread::current::{current_label, tally_destroyed};
use crate::unwind::FirstPanic;

/// The entries that a drain without a budget releases.
pub(super) struct PlainDrain<'d> {
    entries: &'d Entries,
    /// The pool's name, for events.
    pub(super) name: &'d str,
    pages: &'d PageCache,
    scope: &'d ReleaseScope,
    pub(super) limit: Limit,
    /// Entries released.
    pub(super) released: Cell<usize>,
    /// The length of the pool after the last entry was taken out, and the type of that entry's
    /// object.
    index: Cell<usize>,
    last: Cell<Option<&'static TypeInfo>>,
    generations: RefCell<Generations>,
    warned: Cell<bool>,
    /// True once destructors have fed the drain beyond its limit, so that it was cut off.
    pub(super) is_cut: Cell<bool>,
}

impl<'d> PlainDrain<'d> {
    pub(super) fn new(
        entries: &'d Entries,
        name: &'d str,
        pages: &'d PageCache,
        scope: &'d ReleaseScope,
        limit: Limit,
    ) -> Self {
        Self {
            entries,
            name,
            pages,
            scope,
            limit,
            released: Cell::new(0),
            index: Cell::new(entries.len()),
            last: Cell::new(None),
            generations: RefCell::default(),
            warned: Cell::new(false),
            is_cut: Cell::new(false),
        }
    }

    /// Releases entries until the pool is empty, and keeps panics. Returns whether there were
    /// entries. Does nothing once the drain was cut off.
    pub(super) fn release_all(&self, panics: &mut FirstPanic) -> bool {
        if self.entries.is_empty() || self.is_cut.get() {
            return false;
        }
        let more = || {
            if !self.has_grown_too_old() {
                self.all();
            }
        };
        while let Err(payload) = catch_unwind(more) {
            panics.note(payload);
            // Destroys the objects that the destructor had queued before it panicked.
            self.scope.settle_all(panics);
        }
        true
    }

    // Out of line, so that its loop has all registers.
    #[inline(never)]
    fn all(&self) {
        while self.stretch() && !self.has_grown_too_old() {}
    }

    /// Releases entries until the pool is empty or a destructor has added entries; returns whether
    /// a destructor has.
    #[inline(always)]
    fn stretch(&self) -> bool {
        let mut figures = Figures(self, Unmetered::new(self.scope));
        let (pages, scope) = (self.pages, self.scope);
        stretch(self.entries, || self.name, pages, scope, &mut figures.1)
    }

    /// Counts a generation if the pool has grown since the last entry was taken out; returns whether
    /// there are now too many generations.
    #[inline]
    fn has_grown_too_old(&self) -> bool {
        let len = self.entries.len();
        let index = self.index.replace(len);
        len > index && self.count_generation(index)
    }

    #[cold]
    #[inline(never)]
    fn count_generation(&self, index: usize) -> bool {
        let Some(type_info) = self.last.get() else {
            return false;
        };
        let generation = self.generations.borrow_mut().fed(index);
        if generation == ENDLESS && !self.warned.replace(true) {
            let event = Event::new(EventKind::EndlessDrain, current_label());
            event
                .pool(self.name)
                .of_type(type_info.type_name())
                .count(generation as usize)
                .emit();
            if self.scope.outermost {
                // The hook may have queued objects, and the drain may end without another destructor.
                self.scope.settle();
            }
        }
        let is_cut = self.limit.is_passed(generation);
        self.is_cut.set(is_cut);
        is_cut
    }
}

/// The figures of one stretch of entries, in registers. The stretch's end, also during a panic,
/// adds them to the drain's figures.
struct Figures<'r, 'd>(&'r PlainDrain<'d>, Unmetered);

impl Drop for Figures<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        let Self(run, figures) = self;
        run.released.set(run.released.get() + figures.taken);
        // If a destructor has drained this root pool and filled it again, the index is wrong: then
        // generations are miscounted, but nothing else goes wrong.
        run.index.set(run.index.get().saturating_sub(figures.taken));
        run.last.set(figures.last);
        if figures.destroyed != 0 {
            tally_destroyed(figures.destroyed);
        }
    }
}

/// Counts the generations of entries in a pool that is being drained.
///
/// An entry that was in the pool before the drain is of generation 0, an entry that its object's
/// destructor autoreleases is of generation 1, and so on. The count is exact unless a destructor
/// drains the pool: entries are taken newest first, so those of one generation are next to each
/// other, above those of the previous generation.
#[derive(Default)]
struct Generations {
    /// Each generation's number, after the index at which its entries begin; both increase.
    floors: Vec<(usize, u32)>,
}

impl Generations {
    /// Records that the destructor of the object of the entry at `index` has added entries; returns
    /// the generation of the new entries.
    fn fed(&mut self, index: usize) -> u32 {
        while self.floors.last().is_some_and(|&(floor, _)| floor > index) {
            self.floors.pop();
        }
        let generation = self.floors.last().map_or(0, |&(_, g)| g) + 1;
        // With an equal floor, the entry was the last of its generation to be taken out.
        if self.floors.last().is_some_and(|&(floor, _)| floor == index) {
            self.floors.pop();
        }
        self.floors.push((index, generation));
        generation
    }
}
