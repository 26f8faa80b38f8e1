//! Releases of neighboring entries that are alike: objects without a destructor, with no other
//! reference. They run no foreign code, so they need no precautions of a drain. And objects of one
//! class of C or C++ with a destructor: the class and the thread-locals are looked up once for all.

use super::release::check;
use crate::object::destroy::ReleaseScope;
use crate::object::foreign_class::ForeignDestroyer;
use crate::object::header::{Thin, TypeInfo, header};
use crate::object::plain_destroyer::PlainDestroyer;
use crate::object::type_info::PlainBlock;
use crate::pool::entries::Entries;
use crate::pool::entries::page::PageCache;
use crate::thread::current::tally_destroyed;
use std::mem::MaybeUninit;
use std::ptr;

/// Releases the newest entries as long as that runs no foreign code: their objects have no
/// destructor, are in blocks of this thread and have no other reference. Returns how many. A
/// drain's other parts protect it from foreign code; setting them up costs as much as some ten of
/// these releases.
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

/// Returns whether the object below the newest one, which has this type, has it, too.
/// [`destroy_alike`] takes longer to begin than to destroy one object.
#[inline(always)]
pub(super) fn are_two_alike(entries: &Entries, type_info: &'static TypeInfo) -> bool {
    // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
    let is_alike = |second| ptr::eq(unsafe { header(second) }.type_info, type_info);
    entries.second_in_page().is_some_and(is_alike)
}

/// Destroys the objects of the newest entries as long as they are alike: of one type, without a
/// destructor, with no other reference. Reads only their headers. Returns how many.
// Not inlined, so that its loop has all registers.
#[inline(never)]
pub(super) fn destroy_alike(
    entries: &Entries,
    type_info: &'static TypeInfo,
    block: PlainBlock,
) -> usize {
    let Some(mut alike) = PlainDestroyer::begin(type_info, block) else {
        return 0;
    };
    // SAFETY: alive by the entry's reference; `take_while` gives up the reference if this returns
    // true.
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
/// Frees each batch in the order in which its objects were made: nothing observes the order, and
/// malloc is faster in that order than in reverse.
#[inline(never)]
pub(super) fn destroy_in_turn(entries: &Entries, type_info: &'static TypeInfo) -> usize {
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
/// [`Entries::mark`] as it was before the last destructor ran. The newest entry is such an object.
// Not inlined, so that its loop has all registers.
#[inline(never)]
pub(super) fn destroy_foreign(
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
        // Each entry is taken out before its destructor runs, as in `stretch`.
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
