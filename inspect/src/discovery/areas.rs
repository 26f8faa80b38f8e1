//! Divides writable memory outside of items into areas: variables; stacks and thread-locals of
//! threads that run, that are about to exist, or that have ended; and the rest.

use super::regions::{Region, Regions};
use crate::graph::RootKind;
use crate::image::{Image, Module, Thread};
use std::ops::Range;

/// Memory whose words may hold items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) range: Range<u64>,
    pub(super) kind: RootKind,
    pub(super) owner: Owner,
}

/// Which thread uses an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// All threads, as far as is known.
    Program,
    /// The thread with this index in [`Image::threads`], by its stack or its thread-locals.
    Thread(usize),
    /// A thread that does not exist yet.
    NewThread,
    /// No thread: this part of a stack is not in use.
    Nobody,
}

/// Divides all writable memory but `taken`, which is sorted by its start: allocators' memory, and
/// memory without references. Returns the areas by address, without overlaps.
pub(super) fn find(image: &dyn Image, regions: &Regions<'_>, taken: &[Range<u64>]) -> Vec<Area> {
    let threads = image.threads();
    let mut known = Vec::new();
    for (index, thread) in threads.iter().enumerate() {
        add_thread(image, regions, taken, index, thread, &mut known);
    }
    known.sort_by_key(|area| area.range.start);
    let mut areas = Vec::new();
    for region in regions.all() {
        let kind = if is_variables(image.modules(), region) {
            RootKind::Static
        } else {
            RootKind::Anonymous
        };
        let mut at = region.start;
        let first = known.partition_point(|area| area.range.end <= at);
        let here = known[first..].iter();
        for area in here.take_while(|a| a.range.start < region.end) {
            push(&mut areas, at..area.range.start, kind, Owner::Program);
            let start = area.range.start.max(at);
            push(&mut areas, start..area.range.end, area.kind, area.owner);
            at = at.max(area.range.end);
        }
        push(&mut areas, at..region.end, kind, Owner::Program);
    }
    let found = idle(regions, &areas, threads);
    let new = of_new_threads(regions, &areas, threads, &found);
    let idle: Vec<_> = found.into_iter().map(|stack| stack.range).collect();
    let mut areas: Vec<_> = areas
        .into_iter()
        .flat_map(|area| {
            let rest = without(area.range.clone(), taken);
            let rest = rest.into_iter().flat_map(|range| without(range, &idle));
            rest.map(|range| Area {
                range,
                ..area.clone()
            })
            .collect::<Vec<_>>()
        })
        .collect();
    if !new.is_empty() {
        areas.extend(new);
        areas.sort_by_key(|area| area.range.start);
    }
    areas
}

/// Returns the parts of a range that are in none of `taken`, which must be sorted by address.
pub(super) fn without(range: Range<u64>, taken: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut at = range.start;
    let first = taken.partition_point(|taken| taken.end <= range.start);
    let within = taken[first..].iter();
    for taken in within.take_while(|taken| taken.start < range.end) {
        if at < taken.start {
            parts.push(at..taken.start);
        }
        at = at.max(taken.end);
    }
    if at < range.end {
        parts.push(at..range.end);
    }
    parts
}

/// Returns whether a region has variables of a module: it is a mapping of the module's file, or the
/// nameless one right after the module, which has the variables that begin as zeros.
fn is_variables(modules: &[Module], region: &Region<'_>) -> bool {
    let of = |module: &Module| {
        let after = region.start == module.end && region.name.is_empty();
        (module.start..module.end).contains(&region.start) || after
    };
    modules.iter().any(of)
}

/// Adds an area, unless it is empty.
fn push(areas: &mut Vec<Area>, range: Range<u64>, kind: RootKind, owner: Owner) {
    if range.start < range.end {
        areas.push(Area { range, kind, owner });
    }
}

/// Below the stack pointer, functions that call no others may keep values (the red zone).
const RED_ZONE: u64 = 128;

/// The most bytes of a thread's control block: data of the C library about the thread, at the
/// thread pointer.
const THREAD_BYTES: u64 = 4096;

/// Adds the stack and the thread-locals of a thread.
fn add_thread(
    image: &dyn Image,
    regions: &Regions<'_>,
    taken: &[Range<u64>],
    index: usize,
    thread: &Thread,
    known: &mut Vec<Area>,
) {
    let locals = regions
        .find(thread.thread_pointer)
        .map(|region| (region, thread_locals(image, region, thread)));
    let red_zone = thread.stack_pointer.saturating_sub(RED_ZONE);
    let own_thread = Owner::Thread(index);
    if let Some((region, locals)) = &locals {
        push(known, locals.clone(), RootKind::ThreadLocal, own_thread);
        // A thread other than the first has its own stack below its thread-locals. If it now runs
        // on another stack, it is not known how much of its own is in use.
        let own = region.start..locals.start;
        // Before the thread has called anything, its stack pointer is the stack's end.
        if own.contains(&thread.stack_pointer) || thread.stack_pointer == own.end {
            let start = red_zone.max(own.start);
            push(known, start..own.end, RootKind::Stack, own_thread);
            // The part below is not in use, so its words hold nothing.
            push(known, own.start..start, RootKind::Stack, Owner::Nobody);
            return;
        }
        if image.pid() != Some(thread.tid) && has_guard(image, region) {
            push(known, own, RootKind::Stack, own_thread);
        }
    }
    let Some(region) = regions.find(thread.stack_pointer) else {
        return;
    };
    // A stack in an allocator's memory is an item, to which the stack pointer is a reference.
    let in_use = red_zone.max(region.start)..region.end;
    let is_taken = taken
        .iter()
        .any(|taken| taken.contains(&thread.stack_pointer));
    if !is_taken {
        push(known, in_use.clone(), RootKind::Stack, own_thread);
        if is_main_stack(image, region, thread) {
            let unused = region.start..in_use.start;
            push(known, unused, RootKind::Stack, Owner::Nobody);
        }
    }
}

/// Returns whether a region with a thread's stack pointer is the stack that the kernel has made for
/// the first thread. In a core file perhaps no mapping has the name `[stack]`.
fn is_main_stack(image: &dyn Image, region: &Region<'_>, thread: &Thread) -> bool {
    const NAME: &str = "[stack]";
    let is_known = || image.mappings().iter().any(|mapping| mapping.name == NAME);
    region.name == NAME || (image.pid() == Some(thread.tid) && !is_known())
}

/// Returns whether a mapping without access, such as a guard page, directly precedes a region.
fn has_guard(image: &dyn Image, region: &Region<'_>) -> bool {
    let mappings = image.mappings();
    let here = mappings.partition_point(|mapping| mapping.start < region.start);
    let before = here.checked_sub(1).map(|before| &mappings[before]);
    before.is_some_and(|before| before.end == region.start && !before.read && !before.write)
}

/// Returns where the thread-locals of a thread are, with what the C library keeps there.
fn thread_locals(image: &dyn Image, region: &Region<'_>, thread: &Thread) -> Range<u64> {
    let blocks = image.modules().iter().filter_map(|module| module.tls);
    let bytes: u64 = blocks
        .map(|(_, size, align)| size.next_multiple_of(align.max(16)) + align)
        .sum();
    let at = thread.thread_pointer;
    let range = if cfg!(target_arch = "aarch64") {
        // The modules' thread-locals come after the thread pointer, the C library's data before it.
        at.saturating_sub(THREAD_BYTES)..at + 16 + bytes
    } else {
        at.saturating_sub(bytes)..end_of_block(at)
    };
    range.start.max(region.start) & !7..range.end.min(region.end)
}

/// Returns where the control block at an address ends at the latest: a thread other than the first
/// has it at the end of its stack's mapping, and the mapping after that may be an allocator's.
fn end_of_block(at: u64) -> u64 {
    (at + THREAD_BYTES / 2).next_multiple_of(4096)
}

/// A stack that no thread is on, with the control block of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct IdleStack {
    range: Range<u64>,
    /// The address of the control block, which extends to the end of `range`.
    block: u64,
}

/// Returns the stacks that no thread is on, by address: the C library keeps them after their
/// threads have ended, or has prepared them for new ones. Nearly all their words are stale. Such
/// stacks can be recognized only on x86-64, where a control block begins with its own address, and
/// has it again two words later.
fn idle(regions: &Regions<'_>, areas: &[Area], threads: &[Thread]) -> Vec<IdleStack> {
    let mut idle = Vec::new();
    if cfg!(not(target_arch = "x86_64")) {
        return idle;
    }
    for area in areas.iter().filter(|area| area.kind == RootKind::Anonymous) {
        let Some(region) = regions.find(area.range.start) else {
            continue;
        };
        let mut start = area.range.start;
        region.for_words(area.range.clone(), |address, word| {
            let is_thread = word == address
                && address % 64 == 0
                && region.word(address + 16) == Some(address)
                && threads
                    .iter()
                    .all(|thread| thread.thread_pointer != address);
            if is_thread && address >= start {
                let end = end_of_block(address).min(area.range.end);
                idle.push(IdleStack {
                    range: start..end,
                    block: address,
                });
                start = end;
            }
        });
    }
    idle
}

/// Returns the control blocks of threads that are about to exist, which are on idle stacks: each is
/// being created by another thread, which has the block's address in a register or on its stack.
/// The block has the argument for the thread's function, such as a box with a closure, perhaps as
/// its only holder.
fn of_new_threads(
    regions: &Regions<'_>,
    areas: &[Area],
    threads: &[Thread],
    idle: &[IdleStack],
) -> Vec<Area> {
    let mut is_new = vec![false; idle.len()];
    if idle.is_empty() {
        return Vec::new();
    }
    let mut look_at = |word: u64| {
        if let Ok(index) = idle.binary_search_by_key(&word, |stack| stack.block) {
            is_new[index] = true;
        }
    };
    for thread in threads {
        thread.registers.iter().copied().for_each(&mut look_at);
    }
    for area in areas {
        let is_used = area.kind == RootKind::Stack && matches!(area.owner, Owner::Thread(_));
        if let Some(region) = regions.find(area.range.start).filter(|_| is_used) {
            region.for_words(area.range.clone(), |_, word| look_at(word));
        }
    }
    let mut new = Vec::new();
    for (stack, _) in idle.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
        let block = stack.block..stack.range.end;
        push(&mut new, block, RootKind::Stack, Owner::NewThread);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::synthetic_image::Synthetic;

    const STACK: u64 = 0x7f00_0000_0000;
    const BYTES: u64 = 16 * 4096;
    /// Where the C library puts the control block on a stack of this size.
    const BLOCK: u64 = BYTES - 2304;
    const CREATOR: u64 = STACK;
    const IDLE: u64 = STACK + BYTES + 4096;

    /// Returns the areas of a program with a thread that has `word` at `at` and `register` in a
    /// register, and with a stack whose control block no thread uses.
    fn sample(at: u64, word: u64, register: u64) -> Vec<Area> {
        let mut image = Synthetic::default();
        let block = |stack| {
            let block = stack + BLOCK;
            [(block, block), (block + 16, block), (block + 1608, 0x5eed)]
        };
        image.map(CREATOR - 4096, 4096, &[]);
        image.map(
            CREATOR,
            BYTES,
            &[&block(CREATOR)[..], &[(at, word)]].concat(),
        );
        image.map(IDLE - 4096, 4096, &[]);
        image.map(IDLE, BYTES, &block(IDLE));
        image.thread(CREATOR + BYTES / 2, CREATOR + BLOCK, &[register]);
        let regions = Regions::read(&image);
        let areas = find(&image, &regions, &[]);
        assert!(areas.is_sorted_by(|a, b| a.range.end <= b.range.start));
        areas
    }

    /// Returns the bounds of the areas on the stack that no thread has.
    fn of_new(areas: &[Area]) -> Vec<(u64, u64)> {
        let new = areas.iter().filter(|area| area.range.start >= IDLE);
        new.map(|area| {
            assert_eq!((area.kind, area.owner), (RootKind::Stack, Owner::NewThread));
            (area.range.start, area.range.end)
        })
        .collect()
    }

    #[test]
    fn a_thread_has_its_stack_and_its_control_block() {
        let areas = sample(CREATOR, 0, 0);
        let area = |start, end, kind, owner| Area {
            range: CREATOR + start..CREATOR + end,
            kind,
            owner,
        };
        let in_use = BYTES / 2 - RED_ZONE;
        let expected = [
            area(0, in_use, RootKind::Stack, Owner::Nobody),
            area(in_use, BLOCK, RootKind::Stack, Owner::Thread(0)),
            area(BLOCK, BYTES, RootKind::ThreadLocal, Owner::Thread(0)),
        ];
        assert_eq!(areas, expected);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_that_is_being_created_has_its_control_block() {
        let end = IDLE + BYTES;
        let block = IDLE + BLOCK;
        let above = CREATOR + BYTES / 2;
        assert_eq!(of_new(&sample(above, block, 0)), [(block, end)]);
        assert_eq!(of_new(&sample(above, 0, block)), [(block, end)]);
        // The thread has ended if the word is another one, or lies in the unused part of the stack.
        assert_eq!(of_new(&sample(above, block + 8, 0)), []);
        assert_eq!(of_new(&sample(above - 1024, block, 0)), []);
    }

    #[test]
    fn a_thread_that_has_not_begun_has_an_empty_stack() {
        let mut image = Synthetic::default();
        image.map(STACK - 4096, 4096, &[]);
        image.map(STACK, BYTES, &[(STACK + BLOCK, 1)]);
        image.thread(STACK + BLOCK, STACK + BLOCK, &[]);
        let regions = Regions::read(&image);
        let areas = find(&image, &regions, &[]);
        let kinds: Vec<_> = areas.iter().map(|area| (area.kind, area.owner)).collect();
        let of_thread = Owner::Thread(0);
        let expected = [
            (RootKind::Stack, Owner::Nobody),
            (RootKind::Stack, of_thread),
            (RootKind::ThreadLocal, of_thread),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn ranges_without_others() {
        let taken = [10..20, 20..30, 40..50];
        let rest = |range| {
            let rest = without(range, &taken).into_iter();
            rest.map(|rest| (rest.start, rest.end)).collect::<Vec<_>>()
        };
        assert_eq!(rest(0..100), [(0, 10), (30, 40), (50, 100)]);
        assert_eq!(rest(15..45), [(30, 40)]);
        assert_eq!(rest(12..18), []);
        assert_eq!(rest(60..70), [(60, 70)]);
        assert_eq!(rest(5..10), [(5, 10)]);
    }
}
