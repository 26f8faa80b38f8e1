//! How a pool is emptied.
//!
//! Newest first, one entry at a time, each taken out before its destructor runs:
//! so a destructor may autorelease into the pool (it is the current one
//! meanwhile), open and drain others, or panic, and nothing is lost or released
//! twice. It ends when the pool is empty.

use super::backlog;
use super::budget::Budget;
use super::entries::Entries;
use super::epoch;
use super::page::PageCache;
use super::pool_stack::{Barrier, PoolStack};
use super::remote_release;
use super::state::{Frame, PoolState};
use super::thread_pools::ThreadPools;
use crate::event::{Event, EventKind};
use crate::object::block_allocated::PlainDestroyer;
use crate::object::count::Released;
use crate::object::destroy::ReleaseScope;
use crate::object::header::{PlainBlock, Thin, TypeInfo, checked, header};
use crate::sync::catch_unwind;
use crate::sync::cell::{Cell, RefCell};
use crate::thread::current::{current_label, tally_destroyed};
use crate::thread::orphans::ORPHANS;
use crate::unwind::{FirstPanic, Payload, report, resume_or_report};
use std::mem::MaybeUninit;
use std::ptr;

/// Generations of destructors that feed their own drain, before it is said.
pub(super) const WARN_AT: u32 = 1_000;

/// Rounds in which a drain goes on with what slots give up while it releases.
pub(super) const ROUNDS: u32 = 1_000;

/// How a drain went.
#[must_use]
pub(crate) struct Outcome {
    /// Entries released.
    pub(crate) released: usize,
    /// The first panic.
    pub(crate) panic: Option<Payload>,
    /// The type whose destructor fed the drain beyond its limit, if one did.
    pub(crate) cut: Option<&'static TypeInfo>,
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

/// Whether a drain of this pool would find nothing to do but to unpin it.
#[inline]
pub(crate) fn is_idle(head: &PoolState) -> bool {
    // SAFETY: an open pool's stack is there.
    let stack = unsafe { &*head.stack.get() };
    head.entries.is_empty() && !stack.local().has_duties(stack) && !ORPHANS.has_deferred()
}

/// Empties a pool of the calling thread. With a limit, gives up when destructors
/// have fed it for so many generations.
pub(crate) fn drain(head: &PoolState, limit: Option<u32>) -> Outcome {
    // SAFETY: an open pool's stack is there.
    let stack = unsafe { &*head.stack.get() };
    let local = stack.local();
    head.unpin();
    let plain = release_plain(&head.entries, &local.pages);
    if plain != 0 {
        stack.stats.released.add(plain as u64);
        if is_idle(head) && !ptr::eq(head, &stack.root) {
            return Outcome {
                released: plain,
                panic: None,
                cut: None,
            };
        }
    }
    // What others have sent is not for one that closes what was drained within a budget.
    let mail = !head.was_budgeted();
    let mut panics = FirstPanic::default();
    let released;
    let cut;
    {
        let scope = ReleaseScope::enter();
        let frame = Frame::new(true);
        let _current = Barrier::raise(stack, &frame, head);
        let _draining = Draining::begin(head);
        let run = Run::new(&head.entries, head.name(), &local.pages, &scope, limit);
        if !head.entries.is_untouched() {
            if let Err(payload) = catch_unwind(|| run.all()) {
                run.go_on(payload, &mut panics);
            }
        }
        // What serves the thread is outermost, too, which is known already.
        if scope.outermost && ORPHANS.has_deferred() && scope.serves_thread() {
            epoch::advance();
        }
        if scope.outermost && mail && local.has_messages() && scope.serves_thread() {
            run.mail(local, &mut panics);
        }
        if scope.outermost && stack.stats.is_asked() && scope.serves_thread() {
            drain_asked(head, stack, limit, &scope, &mut panics);
            // If destructors feed it for ever: who closes the pool leaks what is in it.
            if run.cut.get().is_none() {
                run.new_entries(&mut panics);
            }
        }
        released = run.released.get();
        cut = run.cut.get();
        stack.stats.released.add(released as u64);
    }
    if std::ptr::eq(head, &stack.root) {
        stack.stats.root_was_drained(head.entries.len());
        stack.next_mark.set(0);
    }
    Outcome {
        released: plain + released,
        panic: panics.into_first(),
        cut,
    }
}

/// Releases the newest entries as far as that runs no foreign code: objects without a
/// destructor, in blocks of this thread's, with no other reference. How many. All the rest of a drain is
/// there for foreign code, and costs as much as some ten of them.
fn release_plain(entries: &Entries, pages: &PageCache) -> usize {
    let mut released = 0;
    while let Some(thin) = entries.newest(pages) {
        // SAFETY: alive by the entry's reference.
        let class = unsafe { header(thin) }.type_info;
        let Some(block) = class.plain_block else {
            break;
        };
        let alike = destroy_alike(entries, class, block);
        if alike == 0 {
            break;
        }
        released += alike;
    }
    if released != 0 {
        tally_destroyed(released as u64);
    }
    released
}

/// Does what `shutdown` has asked this thread for, in the middle of a drain of `head`:
/// whatever destructors feed by it is empty afterwards, unless that goes on for ever.
#[cold]
#[inline(never)]
pub(super) fn drain_asked(
    head: &PoolState,
    stack: &PoolStack,
    limit: Option<u32>,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) {
    stack.stats.answer();
    for _ in 0..WARN_AT {
        let mut cut = false;
        if let Some(payload) = backlog::drain(stack, Budget::All) {
            panics.note(payload);
        }
        remote_release::deliver_claimed(stack.local(), scope, panics);
        // The same, perhaps: then it is empty the second time.
        for pool in [&stack.root, head] {
            if !pool.entries.is_empty() {
                let outcome = drain(pool, limit);
                cut |= outcome.cut.is_some();
                if let Some(payload) = outcome.panic {
                    panics.note(payload);
                }
            }
        }
        // What those drains queued, as they were not the outermost. Here `head` is the
        // current pool.
        scope.settle_all(panics);
        let pools_are_empty = stack.root.entries.is_empty() && head.entries.is_empty();
        let rest = stack.backlog.len() > 0 || stack.local().has_claimed();
        if cut || pools_are_empty && !rest {
            break;
        }
    }
    stack.namespace.changed.wake();
}

/// Releases what came from elsewhere, newest first, to the end, and gives the pages
/// back. Which pool is current does not change, so none of them is fed meanwhile.
///
/// # Panics
/// With the first panic of a destructor, at the end.
pub(crate) fn release_all(entries: &Entries, pages: &PageCache) -> usize {
    let mut panics = FirstPanic::default();
    let released;
    {
        let scope = ReleaseScope::enter();
        let run = Run::new(entries, "", pages, &scope, None);
        while let Err(payload) = catch_unwind(|| run.all()) {
            run.panicked(payload, &mut panics);
        }
        released = run.released.get();
    }
    entries.clear(pages);
    if let Some(payload) = panics.into_first() {
        resume_or_report(payload);
    }
    released
}

/// While a pool is being drained.
pub(super) struct Draining<'d>(&'d PoolState);

impl<'d> Draining<'d> {
    #[inline]
    pub(super) fn begin(head: &'d PoolState) -> Self {
        head.draining.set(head.draining.get() + 1);
        Self(head)
    }
}

impl Drop for Draining<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.draining.set(self.0.draining.get() - 1);
    }
}

struct Run<'d> {
    entries: &'d Entries,
    /// What an event calls the pool.
    name: &'d str,
    pages: &'d PageCache,
    scope: &'d ReleaseScope,
    limit: Option<u32>,
    released: Cell<usize>,
    destroyed: Cell<u64>,
    /// Length of the pool when the last entry had been taken out, and that
    /// entry's class.
    index: Cell<usize>,
    last: Cell<Option<&'static TypeInfo>>,
    generations: RefCell<Generations>,
    warned: Cell<bool>,
    cut: Cell<Option<&'static TypeInfo>>,
}

/// What a stretch of entries comes to. Noted in the run at its end, by a panic,
/// too; until then it is in registers.
struct Stretch<'r, 'd> {
    run: &'r Run<'d>,
    taken: usize,
    destroyed: u64,
    last: Option<&'static TypeInfo>,
}

impl Drop for Stretch<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        let run = self.run;
        run.released.set(run.released.get() + self.taken);
        // It is off if a destructor has drained this very root pool and filled it
        // again: then only generations are miscounted.
        run.index.set(run.index.get().saturating_sub(self.taken));
        run.destroyed.set(run.destroyed.get() + self.destroyed);
        run.last.set(self.last);
    }
}

impl<'d> Run<'d> {
    fn new(
        entries: &'d Entries,
        name: &'d str,
        pages: &'d PageCache,
        scope: &'d ReleaseScope,
        limit: Option<u32>,
    ) -> Self {
        Self {
            entries,
            name,
            pages,
            scope,
            limit,
            released: Cell::new(0),
            destroyed: Cell::new(0),
            index: Cell::new(entries.len()),
            last: Cell::new(None),
            generations: RefCell::default(),
            warned: Cell::new(false),
            cut: Cell::new(None),
        }
    }

    /// Releases entries until there are none.
    fn all(&self) {
        while self.stretch() && !self.grown() {}
    }

    /// The same, after something else than an entry may have added some.
    fn new_entries(&self, panics: &mut FirstPanic) {
        let more = || {
            if !self.grown() {
                self.all();
            }
        };
        while let Err(payload) = catch_unwind(more) {
            self.panicked(payload, panics);
        }
    }

    /// Releases the others, after a panic.
    #[cold]
    #[inline(never)]
    fn go_on(&self, payload: Payload, panics: &mut FirstPanic) {
        self.panicked(payload, panics);
        self.new_entries(panics);
    }

    fn panicked(&self, payload: Payload, panics: &mut FirstPanic) {
        panics.note(payload);
        // What the one that panicked had queued.
        self.scope.settle_all(panics);
    }

    /// Releases what other threads have sent, and what that adds to the pool. Once: a thread
    /// that sends faster than we release must not hold us up for ever. But what slots give up
    /// in the course of it is released, too, as far as nobody holds the epoch: a list that is
    /// linked by slots would otherwise lose one node in each drain.
    #[cold]
    #[inline(never)]
    fn mail(&self, local: &ThreadPools, panics: &mut FirstPanic) {
        let mut any =
            self.cut.get().is_none() && remote_release::deliver(local, self.scope, panics);
        for _ in 0..ROUNDS {
            if !any {
                break;
            }
            self.new_entries(panics);
            any = self.cut.get().is_none()
                && ORPHANS.has_deferred()
                && epoch::advance_until_ready()
                && remote_release::deliver_orphans(self.scope, panics);
        }
    }

    /// Releases entries until there are none, or one has put others in its place:
    /// whether it has.
    fn stretch(&self) -> bool {
        let mut stretch = Stretch {
            run: self,
            taken: 0,
            destroyed: 0,
            last: None,
        };
        let entries = self.entries;
        let (outermost, deep) = (self.scope.outermost, self.scope.deep);
        while let Some(thin) = entries.newest(self.pages) {
            // SAFETY: alive by the entry's reference, which is ours to give up.
            let object = unsafe { header(thin) };
            let class = object.type_info;
            stretch.last = Some(class);
            // The usual case: then it has no other entry either.
            if object.count.is_all(1) && !deep {
                if let Some(block) = class.plain_block {
                    // There are more like it, in all likelihood.
                    let n = destroy_alike(entries, class, block);
                    stretch.taken += n;
                    stretch.destroyed += n as u64;
                    if n != 0 {
                        continue;
                    }
                } else if !class.has_destructor {
                    let n = destroy_in_turn(entries, class);
                    stretch.taken += n;
                    stretch.destroyed += n as u64;
                    continue;
                }
                // SAFETY: it is the newest.
                unsafe { entries.pop() };
                let mark = entries.mark();
                stretch.taken += 1;
                stretch.destroyed += 1;
                // SAFETY: the reference was ours, and the only one.
                unsafe { (class.destroy)(thin) };
                if class.has_destructor && self.has_more(outermost, mark) {
                    return true;
                }
                continue;
            }
            let Some((thin, n)) = entries.take_some(self.pages, u32::MAX) else {
                unreachable!("there is the newest");
            };
            let mark = entries.mark();
            stretch.taken += n as usize;
            // SAFETY: as above.
            match unsafe { checked(thin, object.count.release_many(n)) } {
                Released::Alive => continue,
                // SAFETY: as `release_many` said.
                Released::Unique if deep => unsafe { self.scope.queue_unique(thin) },
                Released::Unique => {
                    stretch.destroyed += 1;
                    // SAFETY: as `release_many` said.
                    unsafe { (class.destroy)(thin) };
                }
                // SAFETY: as `release_many` said.
                Released::Last => unsafe { self.scope.destroy_last(thin) },
            }
            if self.has_more(outermost, mark) {
                return true;
            }
        }
        false
    }

    /// After an entry: whether it has put others in its place.
    #[inline(always)]
    fn has_more(&self, outermost: bool, mark: *mut Thin) -> bool {
        if outermost {
            self.scope.settle();
        }
        self.entries.mark() != mark
    }

    /// The pool is not as the last entry left it: whether that entry's destructor
    /// fed it once too often.
    #[cold]
    fn grown(&self) -> bool {
        let len = self.entries.len();
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
                .pool(self.name)
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
        if self.destroyed.get() != 0 {
            tally_destroyed(self.destroyed.get());
        }
    }
}

/// Destroys the newest entries without a look at anything but their headers, as far as they
/// are alike: objects of one class, without a destructor, with no other reference. How many.
// Not inlined, so that its loop has the registers.
#[inline(never)]
fn destroy_alike(entries: &Entries, class: &'static TypeInfo, block: PlainBlock) -> usize {
    let Some(mut alike) = PlainDestroyer::begin(class, block) else {
        return 0;
    };
    // SAFETY: alive by the entry's reference, which is given up if it says so.
    let n = entries.take_while(|thin| unsafe { alike.destroy(thin) });
    alike.end();
    n
}

/// Objects that [`destroy_in_turn`] takes at a time.
const IN_TURN: usize = 64;

/// Destroys the newest entries, as far as they are objects of this class, which has no
/// destructor, with no other reference. How many; not none, if the newest is one.
///
/// Some at a time are freed in the order in which they were made: nobody can tell, and malloc
/// takes that better than the reverse.
#[inline(never)]
fn destroy_in_turn(entries: &Entries, class: &'static TypeInfo) -> usize {
    let mut some = [const { MaybeUninit::<Thin>::uninit() }; IN_TURN];
    let mut n = 0;
    entries.take_while(|thin| {
        // SAFETY: alive by the entry's reference.
        let object = unsafe { header(thin) };
        let taken = n < IN_TURN && ptr::eq(object.type_info, class) && object.count.is_all(1);
        if taken {
            some[n].write(thin);
            n += 1;
        }
        taken
    });
    for thin in some[..n].iter().rev() {
        // SAFETY: written; the reference was the entry's, and the only one.
        unsafe { (class.destroy)(thin.assume_init()) };
    }
    n
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
