//! Gives up references: those to one object or, in the innermost loop of every drain, those of a
//! stretch of entries.
//!
//! Neighboring entries that are alike have quick ways. Objects without a destructor and without another
//! reference run no foreign code, so they need no precautions of a drain. For objects of one class of C
//! or C++ with a destructor, the class and its destructor are looked up once.

use crate::foreign::class::ForeignDestroyer;
use crate::ledger::CHECKS;
use crate::object::count::Released;
use crate::object::destroy::{ReleaseScope, destroy_dead};
use crate::object::header::PlainBlock;
use crate::object::header::{Header, Thin, TypeInfo, checked, header};
use crate::object::object_memory::PlainDestroyer;
use crate::object::raw_checks::header_in;
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;
use crate::thread::current::tally_destroyed;
use std::mem::MaybeUninit;
use std::ptr;

/// The steps that a drain takes before and after each release. A drain without a meter only counts.
pub(super) trait Pace {
    /// True if each release and each destructor is counted one by one, so that batches are not
    /// possible.
    const METERED: bool;

    /// Returns whether the drain must stop now.
    fn is_done(&self) -> bool;

    /// Returns how many references to one object may be released at once.
    fn at_most(&self) -> u32;

    /// Notes the type of the next object.
    fn note_type(&mut self, _: &'static TypeInfo) {}

    /// Counts `n` references that a drain has taken out, before or after they are released.
    fn count(&mut self, n: usize);

    /// Counts `n` destroyed objects, but not those of [`destroy_dead`], which counts them itself.
    fn count_destroyed(&mut self, n: u64);

    /// Counts `n` releases that each destroy an object, as there is no other reference to it.
    #[inline(always)]
    fn count_batch(&mut self, n: usize) {
        self.count(n);
        self.count_destroyed(n as u64);
    }

    /// Counts a release that has run no destructor.
    fn quick(&mut self);

    /// Destroys an object of this type by calling `run` and then, if `scope` is the outermost, the
    /// objects that its destructor has queued.
    fn destroy(&mut self, type_info: &'static TypeInfo, scope: &ReleaseScope, run: impl FnOnce());
}

/// The pace of a drain without a meter: it only counts.
#[derive(Default)]
pub(super) struct Unmetered {
    /// True if the drain destroys the objects that nested releases queue.
    pub(super) outermost: bool,
    /// Entries taken out.
    pub(super) taken: usize,
    /// Objects destroyed and not counted elsewhere.
    pub(super) destroyed: u64,
    /// The type of the last entry's object.
    pub(super) last: Option<&'static TypeInfo>,
}

impl Unmetered {
    pub(super) fn new(scope: &ReleaseScope) -> Self {
        Self {
            outermost: scope.outermost,
            ..Self::default()
        }
    }
}

impl Pace for Unmetered {
    const METERED: bool = false;

    #[inline(always)]
    fn is_done(&self) -> bool {
        false
    }

    #[inline(always)]
    fn at_most(&self) -> u32 {
        u32::MAX
    }

    #[inline(always)]
    fn note_type(&mut self, type_info: &'static TypeInfo) {
        self.last = Some(type_info);
    }

    #[inline(always)]
    fn count(&mut self, n: usize) {
        self.taken += n;
    }

    #[inline(always)]
    fn count_destroyed(&mut self, n: u64) {
        self.destroyed += n;
    }

    #[inline(always)]
    fn quick(&mut self) {}

    #[inline(always)]
    fn destroy(&mut self, _: &'static TypeInfo, scope: &ReleaseScope, run: impl FnOnce()) {
        run();
        if self.outermost {
            scope.settle();
        }
    }
}

/// Gives up `n` references to an object. If they were the last, destroys the object, or queues it
/// in a deep scope. Returns whether foreign code may have run.
///
/// # Safety
/// The caller owns the references, and has counted their release in the ledger and in `pace`.
#[inline(always)]
pub(super) unsafe fn release<P: Pace>(
    thin: Thin,
    n: u32,
    scope: &ReleaseScope,
    pace: &mut P,
) -> bool {
    // SAFETY: alive by the caller's references.
    let object = unsafe { header(thin) };
    // SAFETY: alive by the caller's references.
    match unsafe { checked(thin, object.count.release_many(n)) } {
        Released::Alive => {}
        // SAFETY: `release_many` says that this was the last strong reference.
        Released::Unique if scope.deep => unsafe { scope.queue_unique(thin) },
        // SAFETY: `release_many` says that this was the last strong reference.
        Released::Last if scope.deep => unsafe { scope.queue_dead(thin) },
        // SAFETY: `release_many` says that these were the only references.
        Released::Unique => return unsafe { destroy_unique(thin, object.type_info, scope, pace) },
        Released::Last => {
            // SAFETY: `release_many` says that this was the last strong reference.
            pace.destroy(object.type_info, scope, || unsafe { destroy_dead(thin) });
            return true;
        }
    }
    pace.quick();
    false
}

/// Destroys an object to which there is no other reference. Returns whether foreign code may have
/// run.
///
/// # Safety
/// The caller owns the only reference of any kind, to an object of this type, and gives it up.
#[inline(always)]
pub(super) unsafe fn destroy_unique<P: Pace>(
    thin: Thin,
    type_info: &'static TypeInfo,
    scope: &ReleaseScope,
    pace: &mut P,
) -> bool {
    pace.count_destroyed(1);
    // SAFETY: the only reference is the caller's.
    let run = || unsafe { (type_info.destroy)(thin) };
    if type_info.has_destructor {
        pace.destroy(type_info, scope, run);
    } else {
        run();
        pace.quick();
    }
    type_info.has_destructor
}

/// How the newest entries of a stretch are released.
enum Way {
    /// Neighbors of one type without a destructor are freed by reading only their headers.
    Alike(PlainBlock),
    /// Neighbors of one type without a destructor are destroyed in batches, oldest entry first.
    InTurn,
    /// Neighbors of one class of C or C++ are destroyed in a loop of their own.
    Foreign(ForeignDestroyer),
    /// One object without a destructor is destroyed. There is no other reference to it.
    Plain,
    /// One object is destroyed, as by `Plain`, and then those that its destructor has queued.
    Alone,
    /// The references of neighboring entries to one object are given up at once.
    Shared,
}

impl Way {
    /// Chooses the way to release the newest of these entries, whose object is `object`; `deep`
    /// says whether the scope is deep.
    #[inline(always)]
    fn of<P: Pace>(entries: &Entries, object: &Header, deep: bool) -> Self {
        // Usually the entry's reference is the only one, so no other entry is for the object.
        if P::METERED || deep || !object.count.is_all(1) {
            return Self::Shared;
        }
        let type_info = object.type_info;
        match type_info.plain_block {
            Some(block) if are_two_alike(entries, type_info) => Self::Alike(block),
            Some(_) => Self::Plain,
            None if !type_info.has_destructor => Self::InTurn,
            None => match ForeignDestroyer::begin(type_info) {
                Some(destroyer) => Self::Foreign(destroyer),
                None => Self::Alone,
            },
        }
    }
}

/// Releases these entries, newest first, until none is left, the pace stops, or a destructor has
/// added entries; returns whether a destructor has. `name` returns the pool's name.
///
/// Each entry is taken out before its destructor runs. So a destructor may autorelease into the pool,
/// drain it, or panic, and nothing is lost or released twice.
#[inline(always)]
pub(super) fn stretch<'n, P: Pace>(
    entries: &Entries,
    name: impl Fn() -> &'n str,
    pages: &PageCache,
    scope: &ReleaseScope,
    pace: &mut P,
) -> bool {
    let deep = scope.deep;
    while !pace.is_done() {
        let Some(thin) = entries.newest(pages) else {
            break;
        };
        check(thin, &name);
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let object = unsafe { header(thin) };
        let type_info = object.type_info;
        pace.note_type(type_info);
        let way = Way::of::<P>(entries, object, deep);
        if let Way::Alike(block) = way {
            let n = destroy_alike(entries, type_info, block);
            pace.count_batch(n);
            if n != 0 {
                continue;
            }
        }
        let has_added = match way {
            Way::InTurn => {
                pace.count_batch(destroy_in_turn(entries, type_info));
                false
            }
            Way::Foreign(destroyer) => {
                let (n, mark) = destroy_foreign(entries, type_info, destroyer, scope, pages);
                pace.count_batch(n);
                // Destroys what the last destructor has queued.
                pace.destroy(type_info, scope, || ());
                entries.mark() != mark
            }
            Way::Alike(_) | Way::Plain | Way::Alone => {
                // SAFETY: no code that could take the entry out has run since `newest` returned it.
                unsafe { entries.pop() };
                let mark = entries.mark();
                pace.count_batch(1);
                // SAFETY: the only reference was the entry's, which has been taken out.
                let run = || unsafe { (type_info.destroy)(thin) };
                let has_destructor = matches!(way, Way::Alone);
                if has_destructor {
                    pace.destroy(type_info, scope, run);
                } else {
                    run();
                }
                has_destructor && entries.mark() != mark
            }
            Way::Shared => release_shared(entries, pages, scope, pace),
        };
        if has_added {
            return true;
        }
    }
    false
}

/// Releases the newest entry, and those below it that are for the same object. Returns whether a
/// destructor has added entries.
#[inline(always)]
fn release_shared<P: Pace>(
    entries: &Entries,
    pages: &PageCache,
    scope: &ReleaseScope,
    pace: &mut P,
) -> bool {
    let Some((thin, n)) = entries.take_some(pages, pace.at_most()) else {
        unreachable!("`newest` has returned an entry");
    };
    let mark = entries.mark();
    pace.count(n as usize);
    // SAFETY: the `n` references were those of entries, which have been taken out.
    unsafe { release(thin, n, scope, pace) && entries.mark() != mark }
}

/// Aborts, naming the pool, if the header of an entry's object was overwritten: in debug builds and
/// with the feature `checks`.
#[inline(always)]
pub(super) fn check<'n>(thin: Thin, pool: impl FnOnce() -> &'n str) {
    if CHECKS {
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        unsafe { header_in(thin, || format!("an entry of pool {:?}", pool())) };
    }
}

/// Releases the newest entries as long as that runs no foreign code and neighbors are of one type:
/// their objects have no destructor, are in blocks of this thread and have no other reference.
/// Returns how many. So a drain may call this before it sets up its protection from foreign code,
/// which costs as much as some ten of these releases.
pub(super) fn release_plain<'n>(
    entries: &Entries,
    name: impl Fn() -> &'n str,
    pages: &PageCache,
) -> usize {
    let mut released = 0;
    while let Some(thin) = entries.newest(pages) {
        check(thin, &name);
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let type_info = unsafe { header(thin) }.type_info;
        let Some(block) = type_info.plain_block else {
            break;
        };
        if !are_two_alike(entries, type_info) {
            break;
        }
        let alike = destroy_alike(entries, type_info, block);
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

/// Returns whether the second-newest object has this type, which is that of the newest. For one
/// object, [`destroy_alike`] does not pay: it takes longer to begin than to destroy the object.
#[inline(always)]
fn are_two_alike(entries: &Entries, type_info: &'static TypeInfo) -> bool {
    // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
    let is_alike = |second| ptr::eq(unsafe { header(second) }.type_info, type_info);
    entries.second_in_page().is_some_and(is_alike)
}

/// Destroys the objects of the newest entries as long as they are alike: of this type, which has no
/// destructor, in this thread's blocks, with no other reference. Reads only their headers. Returns
/// how many it destroys.
// Not inlined, so that its loop has all registers.
#[inline(never)]
fn destroy_alike(entries: &Entries, type_info: &'static TypeInfo, block: PlainBlock) -> usize {
    let Some(mut alike) = PlainDestroyer::begin(type_info, block) else {
        return 0;
    };
    // SAFETY: alive by the entry's reference; `take_while` gives up the reference if `destroy`
    // returns true.
    let n = entries.take_while(|thin| unsafe { alike.destroy(thin) });
    alike.end();
    n
}

/// How many objects [`destroy_in_turn`] takes at a time.
const IN_TURN: usize = 64;

/// Destroys the objects of the newest entries as long as they are of this type, which has no
/// destructor, and have no other reference, at most [`IN_TURN`]. Returns how many; at least one, if
/// the newest is such an object.
///
/// Destroys them oldest entry first, usually in the order of their creation: nothing observes the
/// order, and malloc is faster in that order than in reverse.
#[inline(never)]
fn destroy_in_turn(entries: &Entries, type_info: &'static TypeInfo) -> usize {
    let mut some = [const { MaybeUninit::<Thin>::uninit() }; IN_TURN];
    let mut n = 0;
    entries.take_while(|thin| {
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let object = unsafe { header(thin) };
        let taken = n < IN_TURN && ptr::eq(object.type_info, type_info) && object.count.is_all(1);
        if taken {
            some[n].write(thin);
            n += 1;
        }
        taken
    });
    for thin in some[..n].iter().rev() {
        // SAFETY: the loop above wrote the pointer; the only reference was the entry's, which has
        // been taken out.
        unsafe { (type_info.destroy)(thin.assume_init()) };
    }
    n
}

/// Destroys the objects of the newest entries as long as they are of this type and have no other
/// reference, and their destructors neither add entries nor queue objects. Returns how many, and
/// [`Entries::mark`] as it was before the last destructor ran. The newest must be such an object.
// Not inlined, so that its loop has all registers.
#[inline(never)]
fn destroy_foreign(
    entries: &Entries,
    type_info: &'static TypeInfo,
    destroyer: ForeignDestroyer,
    scope: &ReleaseScope,
    pages: &PageCache,
) -> (usize, *mut Thin) {
    let mut n = 0;
    let mut mark = entries.mark();
    while let Some(thin) = entries.newest(pages) {
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        let object = unsafe { header(thin) };
        if !ptr::eq(object.type_info, type_info) || !object.count.is_all(1) {
            break;
        }
        // Each entry is taken out before its destructor runs, which may add entries or panic.
        // SAFETY: no code that could take the entry out has run since `newest` returned it.
        unsafe { entries.pop() };
        mark = entries.mark();
        n += 1;
        // SAFETY: the only reference was the entry's, which has been taken out.
        unsafe { destroyer.destroy(thin) };
        if entries.mark() != mark || scope.has_queued() {
            return (n, mark);
        }
    }
    (n, mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::object_memory::BlockSource;
    use crate::object::strong::Ref;

    /// A pace that notes batches and types, and that adds an entry during the first batch, as foreign
    /// code may.
    struct Noting<'p> {
        entries: &'p Entries,
        pages: &'p PageCache,
        added: Option<Thin>,
        batches: Vec<usize>,
        types: usize,
    }

    impl Pace for Noting<'_> {
        const METERED: bool = false;

        fn is_done(&self) -> bool {
            false
        }

        fn at_most(&self) -> u32 {
            u32::MAX
        }

        fn note_type(&mut self, _: &'static TypeInfo) {
            self.types += 1;
        }

        fn count(&mut self, n: usize) {
            self.batches.push(n);
            if let Some(thin) = self.added.take() {
                self.entries.push(thin, self.pages);
            }
        }

        fn count_destroyed(&mut self, n: u64) {
            tally_destroyed(n);
        }

        fn quick(&mut self) {}

        fn destroy(&mut self, _: &'static TypeInfo, _: &ReleaseScope, run: impl FnOnce()) {
            run();
        }
    }

    fn block<T: 'static>(value: T) -> Thin {
        Ref::into_payload(Ref::new_from(value, BlockSource::Process)).cast()
    }

    /// Releases these objects, the last one first, and `added`. Returns whether a destructor has added
    /// that, as the first stretch says; the batches; and how often a type was noted.
    fn release(objects: &[Thin], added: Option<Thin>) -> (bool, Vec<usize>, usize) {
        let (pages, entries) = (PageCache::new(), Entries::new());
        objects.iter().for_each(|thin| entries.push(*thin, &pages));
        let mut pace = Noting {
            entries: &entries,
            pages: &pages,
            added,
            batches: Vec::new(),
            types: 0,
        };
        let scope = ReleaseScope::enter();
        let mut go_on = || stretch(&entries, || "", &pages, &scope, &mut pace);
        let has_added = go_on();
        while go_on() {}
        assert_eq!(entries.clear(&pages), 0);
        (has_added, pace.batches, pace.types)
    }

    #[test]
    #[cfg_attr(feature = "leak-detection", ignore = "not with the ledger")]
    fn neighbors_that_are_alike_are_one_batch_whose_type_is_noted() {
        let objects = [block(1), block(2), block(3), block(Box::new(4))];
        assert_eq!(release(&objects, None), (false, vec![1, 3], 2));
    }

    #[test]
    fn entries_that_are_added_begin_a_generation_only_beside_a_destructor() {
        for (object, has_destructor) in [(block(1), false), (block(Box::new(1)), true)] {
            let added = Some(block(2));
            assert_eq!(release(&[object], added), (has_destructor, vec![1, 1], 2));
        }
    }
}
