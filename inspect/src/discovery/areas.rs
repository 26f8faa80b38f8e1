//! What the parts of writable memory are that are no items: variables, stacks, and the rest.

use super::regions::{Region, Regions};
use crate::graph::RootKind;
use crate::image::{Image, Module, Thread};
use std::ops::Range;

/// Below the stack pointer, functions that call no others may keep values (the red zone).
const RED_ZONE: u64 = 128;

/// The most bytes of what the C library knows of a thread, at its thread pointer.
const THREAD_BYTES: u64 = 4096;

/// Memory whose words may hold items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) range: Range<u64>,
    pub(super) kind: RootKind,
    /// The index of the thread, of those that the image has, for stacks and thread-locals.
    pub(super) thread: Option<usize>,
}

/// The areas of a program, by address, without overlaps.
pub(super) struct Areas {
    pub(super) areas: Vec<Area>,
}

impl Areas {
    /// Divides all writable memory but `taken`, which is by address and without overlaps:
    /// allocators' memory, and what has no references.
    pub(super) fn find(image: &dyn Image, regions: &Regions<'_>, taken: &[Range<u64>]) -> Self {
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
            let mut at = region.start();
            let first = known.partition_point(|area| area.range.end <= at);
            for area in known[first..]
                .iter()
                .take_while(|a| a.range.start < region.end())
            {
                push(&mut areas, at..area.range.start, kind, None);
                let start = area.range.start.max(at);
                push(&mut areas, start..area.range.end, area.kind, area.thread);
                at = at.max(area.range.end);
            }
            push(&mut areas, at..region.end(), kind, None);
        }
        let ended = ended_stacks(regions, &areas, threads);
        let areas = areas
            .into_iter()
            .flat_map(|area| {
                let rest = without(area.range.clone(), taken);
                let rest = rest.into_iter().flat_map(|range| without(range, &ended));
                rest.map(|range| Area {
                    range,
                    ..area.clone()
                })
                .collect::<Vec<_>>()
            })
            .collect();
        Self { areas }
    }
}

fn push(areas: &mut Vec<Area>, range: Range<u64>, kind: RootKind, thread: Option<usize>) {
    if range.start < range.end {
        areas.push(Area {
            range,
            kind,
            thread,
        });
    }
}

/// Returns the parts of a range that are in none of `taken`, which are by address.
pub(super) fn without(range: Range<u64>, taken: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut at = range.start;
    let first = taken.partition_point(|taken| taken.end <= range.start);
    for taken in taken[first..]
        .iter()
        .take_while(|taken| taken.start < range.end)
    {
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

/// Returns whether a region has variables of a module: those that are in its file, and those that
/// begin as zeros, which are in a mapping right after it.
fn is_variables(modules: &[Module], region: &Region<'_>) -> bool {
    let of = |module: &Module| {
        let after = region.start() == module.end && region.name.is_empty();
        (module.start..module.end).contains(&region.start()) || after
    };
    modules.iter().any(of)
}

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
    if let Some((region, locals)) = &locals {
        push(known, locals.clone(), RootKind::ThreadLocal, Some(index));
        // A thread that is not the first has its stack below its thread-locals. It may be on
        // another one now; then it is not known how much of its own is in use.
        let own = region.start()..locals.start;
        if own.contains(&thread.stack_pointer) {
            let start = red_zone.max(own.start);
            push(known, start..own.end, RootKind::Stack, Some(index));
            // What is below is not in use: nothing holds anything there.
            push(known, own.start..start, RootKind::Stack, None);
            return;
        }
        if image.pid() != Some(thread.tid) && has_guard(image, region) {
            push(known, own, RootKind::Stack, Some(index));
        }
    }
    let Some(region) = regions.find(thread.stack_pointer) else {
        return;
    };
    // A stack in an allocator's memory is an item, which the stack pointer leads to.
    let in_use = red_zone.max(region.start())..region.end();
    let is_taken = taken
        .iter()
        .any(|taken| taken.contains(&thread.stack_pointer));
    if !is_taken {
        push(known, in_use.clone(), RootKind::Stack, Some(index));
        if is_main_stack(image, region, thread) {
            push(known, region.start()..in_use.start, RootKind::Stack, None);
        }
    }
}

/// Returns whether a region with a thread's stack pointer is the stack that the kernel has made for
/// the first thread. In core files mappings have no names.
fn is_main_stack(image: &dyn Image, region: &Region<'_>, thread: &Thread) -> bool {
    const NAME: &str = "[stack]";
    let is_known = || image.mappings().iter().any(|mapping| mapping.name == NAME);
    region.name == NAME || (image.pid() == Some(thread.tid) && !is_known())
}

/// Returns whether a region is a stack by what is before it: memory that may not be accessed.
fn has_guard(image: &dyn Image, region: &Region<'_>) -> bool {
    let mappings = image.mappings();
    let here = mappings.partition_point(|mapping| mapping.start < region.start());
    let before = here.checked_sub(1).map(|before| &mappings[before]);
    before.is_some_and(|before| before.end == region.start() && !before.read && !before.write)
}

/// Returns where the thread-locals of a thread are, with what the C library keeps there.
fn thread_locals(image: &dyn Image, region: &Region<'_>, thread: &Thread) -> Range<u64> {
    let blocks = image.modules().iter().filter_map(|module| module.tls);
    let bytes: u64 = blocks
        .map(|(_, size, align)| size.next_multiple_of(align.max(16)) + align)
        .sum();
    let at = thread.thread_pointer;
    let range = if cfg!(target_arch = "aarch64") {
        // The blocks come after the thread pointer, and the C library's data before it.
        at.saturating_sub(THREAD_BYTES)..at + 16 + bytes
    } else {
        at.saturating_sub(bytes)..at + THREAD_BYTES
    };
    range.start.max(region.start()) & !7..range.end.min(region.end())
}

/// Returns the stacks of threads that have ended, which the C library keeps for new ones: what is
/// there was left behind. Only on x86-64 can they be recognized: the thread pointer of a thread
/// leads to a word with its own address, and another one after two words.
fn ended_stacks(regions: &Regions<'_>, areas: &[Area], threads: &[Thread]) -> Vec<Range<u64>> {
    let mut ended = Vec::new();
    if cfg!(not(target_arch = "x86_64")) {
        return ended;
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
                let end = (address + THREAD_BYTES / 2)
                    .next_multiple_of(4096)
                    .min(area.range.end);
                ended.push(start..end);
                start = end;
            }
        });
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

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
