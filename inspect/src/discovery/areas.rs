//! Describes the parts of writable memory that are no items: variables, stacks, and the rest.

mod stacks;

pub(super) use stacks::{Area, Owner};

use super::regions::{Region, Regions};
use crate::graph::RootKind;
use crate::image::{Image, Module};
use stacks::push;
use std::ops::Range;

/// Divides all writable memory but `taken`, which is by address and without overlaps: allocators'
/// memory, and what has no references. Returns the areas by address, without overlaps.
pub(super) fn find(image: &dyn Image, regions: &Regions<'_>, taken: &[Range<u64>]) -> Vec<Area> {
    let threads = image.threads();
    let mut known = Vec::new();
    for (index, thread) in threads.iter().enumerate() {
        stacks::add_thread(image, regions, taken, index, thread, &mut known);
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
        let here = known[first..].iter();
        for area in here.take_while(|a| a.range.start < region.end()) {
            push(&mut areas, at..area.range.start, kind, Owner::Program);
            let start = area.range.start.max(at);
            push(&mut areas, start..area.range.end, area.kind, area.owner);
            at = at.max(area.range.end);
        }
        push(&mut areas, at..region.end(), kind, Owner::Program);
    }
    let idle = stacks::idle(regions, &areas, threads);
    let new = stacks::of_new_threads(regions, &areas, threads, &idle);
    let idle: Vec<_> = idle.into_iter().map(|stack| stack.range).collect();
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

/// Returns the parts of a range that are in none of `taken`, which are by address.
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

/// Returns whether a region has variables of a module: those that are in its file, and those that
/// begin as zeros, which are in a mapping right after it.
fn is_variables(modules: &[Module], region: &Region<'_>) -> bool {
    let of = |module: &Module| {
        let after = region.start() == module.end && region.name.is_empty();
        (module.start..module.end).contains(&region.start()) || after
    };
    modules.iter().any(of)
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
