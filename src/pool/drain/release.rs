//! Gives up references: of one object, or of a stretch of entries, the innermost loop of every
//! drain.

use super::alike::{are_two_alike, destroy_alike, destroy_foreign, destroy_in_turn};
use crate::ledger::CHECKS;
use crate::object::count::Released;
use crate::object::destroy::{ReleaseScope, destroy_dead};
use crate::object::foreign_class::ForeignDestroyer;
use crate::object::header::{Thin, TypeInfo, checked, header};
use crate::object::raw_checks::header_in;
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;

/// The steps of a drain around each of its releases. A drain without a meter only counts.
pub(super) trait Pace {
    /// True if each release and each destructor is counted one by one, so that batches are not
    /// possible.
    const METERED: bool;

    /// Returns whether the drain must stop here.
    fn is_done(&self) -> bool;

    /// Returns how many references to one object may be released at once.
    fn at_most(&self) -> u32;

    /// Notes the type of the next object.
    fn begin(&mut self, _: &'static TypeInfo) {}

    /// Counts `n` references that are about to be released.
    fn count(&mut self, n: usize);

    /// Counts `n` objects that are about to be destroyed without [`destroy_dead`], which counts its
    /// own.
    fn count_destroyed(&mut self, n: u64);

    /// Counts a release that has run no destructor.
    fn quick(&mut self);

    /// Destroys an object of this type by calling `run`, and then the objects that its destructor
    /// has queued.
    fn destroy(&mut self, type_info: &'static TypeInfo, scope: &ReleaseScope, run: impl FnOnce());
}

/// The pace of a drain without a meter: it only counts.
#[derive(Default)]
pub(super) struct Unmetered {
    /// True if the drain runs what nested releases queue.
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
    fn begin(&mut self, type_info: &'static TypeInfo) {
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
/// The caller owns the references, and has counted them.
#[inline(always)]
pub(super) unsafe fn release<P: Pace>(
    thin: Thin,
    n: u32,
    scope: &ReleaseScope,
    pace: &mut P,
) -> bool {
    // SAFETY: alive by the caller's references.
    let object = unsafe { header(thin) };
    // SAFETY: as above.
    match unsafe { checked(thin, object.count.release_many(n)) } {
        Released::Alive => {}
        // SAFETY: `release_many` says that this was the last strong reference.
        Released::Unique if scope.deep => unsafe { scope.queue_unique(thin) },
        // SAFETY: as above.
        Released::Last if scope.deep => unsafe { scope.queue_dead(thin) },
        // SAFETY: as above.
        Released::Unique => return unsafe { destroy_unique(thin, object.type_info, scope, pace) },
        Released::Last => {
            // SAFETY: as above.
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

/// Releases the newest of these entries until none is left, the pace stops, or a destructor has
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
        pace.begin(type_info);
        let mark;
        // In the usual case the entry's is the only reference, so the object has no other entry.
        let may_have_added = if !P::METERED && !deep && object.count.is_all(1) {
            let plain_block = type_info.plain_block;
            if let Some(block) = plain_block {
                if are_two_alike(entries, type_info) {
                    let n = destroy_alike(entries, type_info, block);
                    pace.count(n);
                    pace.count_destroyed(n as u64);
                    if n != 0 {
                        continue;
                    }
                }
            } else if !type_info.has_destructor {
                let n = destroy_in_turn(entries, type_info);
                pace.count(n);
                pace.count_destroyed(n as u64);
                continue;
            } else if let Some(destroyer) = ForeignDestroyer::begin(type_info) {
                let (n, mark) = destroy_foreign(entries, type_info, destroyer, scope, pages);
                pace.count(n);
                pace.count_destroyed(n as u64);
                // Destroys what the last destructor has queued.
                pace.destroy(type_info, scope, || ());
                if entries.mark() != mark {
                    return true;
                }
                continue;
            }
            // SAFETY: no code that could take the entry out has run since `newest` returned it.
            unsafe { entries.pop() };
            mark = entries.mark();
            pace.count(1);
            pace.count_destroyed(1);
            // SAFETY: the only reference was the entry's, which has been taken out.
            let run = || unsafe { (type_info.destroy)(thin) };
            // Otherwise the object has a destructor, by the second test.
            let is_plain = plain_block.is_some();
            if is_plain {
                run();
            } else {
                pace.destroy(type_info, scope, run);
            }
            !is_plain
        } else {
            let Some((thin, n)) = entries.take_some(pages, pace.at_most()) else {
                unreachable!("`newest` has returned an entry");
            };
            mark = entries.mark();
            pace.count(n as usize);
            // SAFETY: the `n` references were those of entries, which have been taken out.
            unsafe { release(thin, n, scope, pace) }
        };
        if may_have_added && entries.mark() != mark {
            return true;
        }
    }
    false
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
