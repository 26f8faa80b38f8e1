//! How a pool is emptied.
//!
//! Newest first, one entry at a time, each taken out before its destructor runs:
//! so a destructor may autorelease into the pool (it is the current one
//! meanwhile), open and drain others, or panic, and nothing is lost or released
//! twice. It ends when the pool is empty.

use super::head::{Frame, Head};
use super::mail;
use super::page::PageCache;
use super::stack::Barrier;
use crate::event::{Event, EventKind};
use crate::object::count::Released;
use crate::object::destroy::Scope;
use crate::object::header::{Class, checked, header};
use crate::sync::catch_unwind;
use crate::thread::record::{current_label, tally_destroyed};
use crate::unwind::{FirstPanic, Payload, report, resume_or_report};
use std::cell::{Cell, RefCell};

/// Generations of destructors that feed their own drain, before it is said.
pub(super) const WARN_AT: u32 = 1_000;

/// How a drain went.
#[must_use]
pub(crate) struct Outcome {
    /// Entries released.
    pub(crate) released: usize,
    /// The first panic.
    pub(crate) panic: Option<Payload>,
    /// The type whose destructor fed the drain beyond its limit, if one did.
    pub(crate) cut: Option<&'static Class>,
}

impl Outcome {
    /// Goes on with the panic, if there was one.
    #[inline]
    pub(crate) fn resume(self) -> usize {
        if let Some(payload) = self.panic {
            resume_or_report(payload);
        }
        self.released
    }

    /// Tells of the panic, if there was one.
    pub(crate) fn report(self) -> usize {
        if let Some(payload) = self.panic {
            report(payload);
        }
        self.released
    }
}

/// Empties a pool of the calling thread. With a limit, gives up when destructors
/// have fed it for so many generations.
pub(crate) fn drain(head: &Head, limit: Option<u32>) -> Outcome {
    // SAFETY: an open pool's stack is there.
    let stack = unsafe { &*head.stack.get() };
    let local = stack.local();
    let mut panics = FirstPanic::default();
    let released;
    let cut;
    {
        let scope = Scope::enter();
        let frame = Frame::new(true);
        let _current = Barrier::raise(stack, &frame, Some(head));
        let run = Run::new(head, &local.pages, &scope, limit);
        run.to_the_end(&mut panics);
        // Once: who sends faster than we release must not hold us up for ever.
        let gave_up = run.cut.get().is_some();
        if scope.outermost && !gave_up && mail::deliver(local, &scope, &mut panics) {
            run.to_the_end(&mut panics);
        }
        released = run.released.get();
        cut = run.cut.get();
        stack.stats.released.add(released as u64);
        if scope.outermost && stack.stats.asked.get() != 0 {
            stack.stats.asked.set(0);
            if !std::ptr::eq(head, &stack.root) {
                let outcome = drain(&stack.root, limit);
                if let Some(payload) = outcome.panic {
                    panics.note(payload);
                }
            }
            stack.namespace.changed.wake();
            // What that drain queued, as it was not the outermost.
            panics.guard(|| scope.settle());
        }
    }
    if std::ptr::eq(head, &stack.root) {
        stack.stats.root.publish(head.len() as u64);
        stack.next_mark.set(stack.namespace.watermark);
    }
    Outcome {
        released,
        panic: panics.into_first(),
        cut,
    }
}

struct Run<'d> {
    head: &'d Head,
    pages: &'d PageCache,
    scope: &'d Scope,
    limit: Option<u32>,
    released: Cell<usize>,
    destroyed: Cell<u64>,
    /// Length of the pool when the last entry had been taken out, and that
    /// entry's class.
    index: Cell<usize>,
    last: Cell<Option<&'static Class>>,
    generations: RefCell<Generations>,
    warned: Cell<bool>,
    cut: Cell<Option<&'static Class>>,
}

impl<'d> Run<'d> {
    fn new(head: &'d Head, pages: &'d PageCache, scope: &'d Scope, limit: Option<u32>) -> Self {
        head.draining.set(head.draining.get() + 1);
        Self {
            head,
            pages,
            scope,
            limit,
            released: Cell::new(0),
            destroyed: Cell::new(0),
            index: Cell::new(0),
            last: Cell::new(None),
            generations: RefCell::default(),
            warned: Cell::new(false),
            cut: Cell::new(None),
        }
    }

    /// Releases entries until there are none, whatever panics.
    fn to_the_end(&self, panics: &mut FirstPanic) {
        if !self.head.is_empty() {
            while let Err(payload) = catch_unwind(|| self.entries()) {
                panics.note(payload);
                // What the one that panicked had queued.
                panics.guard(|| self.scope.settle());
            }
        }
    }

    /// Releases entries until there are none or one panics; it can then be called
    /// again.
    fn entries(&self) {
        if self.grown() {
            return;
        }
        while let Some((thin, n)) = self.head.take(self.pages) {
            let mark = self.head.mark();
            // It is off if a destructor has drained this very root pool and filled
            // it again: then only generations are miscounted.
            self.index.set(self.index.get().saturating_sub(n as usize));
            self.released.set(self.released.get() + n as usize);
            // SAFETY: alive by the entry's reference, which is ours now.
            let class = unsafe { header(thin) }.class;
            self.last.set(Some(class));
            // SAFETY: as above.
            match unsafe { checked(thin, header(thin).count.release_many(n)) } {
                Released::Alive => continue,
                // SAFETY: as `release_many` said.
                Released::Sole => unsafe { self.scope.destroy_sole(thin, &self.destroyed) },
                // SAFETY: as `release_many` said.
                Released::Last => unsafe { self.scope.destroy_last(thin) },
            }
            self.scope.settle();
            if self.head.mark() != mark && self.grown() {
                return;
            }
        }
    }

    /// The pool is not as the last entry left it: whether that entry's destructor
    /// fed it once too often.
    #[cold]
    fn grown(&self) -> bool {
        let len = self.head.len();
        let index = self.index.replace(len);
        let Some(class) = self.last.get() else {
            return false;
        };
        if len <= index {
            return false;
        }
        let generation = self.generations.borrow_mut().fed(index);
        if generation == WARN_AT && !self.warned.replace(true) {
            let event = Event::new(EventKind::EndlessDrain, current_label());
            event
                .pool(self.head.name())
                .of_type(class.type_name())
                .count(generation as usize)
                .emit();
        }
        if self.limit.is_some_and(|limit| generation > limit) {
            self.cut.set(Some(class));
            return true;
        }
        false
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.head.draining.set(self.head.draining.get() - 1);
        if self.destroyed.get() != 0 {
            tally_destroyed(self.destroyed.get());
        }
    }
}

/// How long the chain of destructors is that led to an entry: an entry that was
/// there before the drain is of generation 0, what its destructor autoreleases of
/// generation 1, and so on. Exact, as entries are taken newest first: those of
/// one generation lie together, above those of the generation before.
#[derive(Default)]
struct Generations {
    /// Where the entries of a generation begin, and which it is; both go up.
    floors: Vec<(usize, u32)>,
}

impl Generations {
    /// The destructor of the entry at `index` has put others in its place. Gives
    /// their generation.
    fn fed(&mut self, index: usize) -> u32 {
        while self.floors.last().is_some_and(|&(floor, _)| floor > index) {
            self.floors.pop();
        }
        let generation = self.floors.last().map_or(0, |&(_, g)| g) + 1;
        // The entry was the last of its generation: nothing of it is left.
        if self.floors.last().is_some_and(|&(floor, _)| floor == index) {
            self.floors.pop();
        }
        self.floors.push((index, generation));
        generation
    }
}

#[cfg(test)]
mod tests {
    use super::Generations;

    #[test]
    fn a_chain_counts_its_links() {
        let mut g = Generations::default();
        for n in 1..100 {
            assert_eq!(g.fed(5), n);
        }
        assert_eq!(g.floors.len(), 1);
        // The next older entry starts anew.
        assert_eq!(g.fed(4), 1);
    }

    #[test]
    fn siblings_do_not_add_up() {
        let mut g = Generations::default();
        // The entry at 3 leaves ten children at 3..13, each with one child.
        assert_eq!(g.fed(3), 1);
        for child in (3..13).rev() {
            assert_eq!(g.fed(child), 2, "child at {child}");
        }
    }
}
