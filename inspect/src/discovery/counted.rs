//! What the library's own structures refer to: references that are counted for certain, and memory
//! of its own that nothing describes.

use super::regions::Regions;
use super::roots::Roots;
use super::targets::{Target, Targets};
use crate::graph::{Root, RootKind};
use crate::image::Memory;
use crate::library::{self, Library, PoolKind};
use std::collections::HashSet;
use std::ops::Range;

/// The addresses of pools that guards have: in no memory but the library's own unless there is a
/// guard. In order, without duplicates.
pub(super) fn guarded(library: &Library) -> Vec<u64> {
    let threads = library.threads.iter().chain(&library.detached);
    let pools = threads.flat_map(|thread| &thread.pools);
    let guarded = pools.filter(|pool| pool.kind == PoolKind::Guard);
    let mut addresses: Vec<_> = guarded.map(|pool| pool.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Adds a root for each reference of the library: nodes are indices of items. The guards of
/// `forgotten` pools, whose addresses are in order, do not exist any more.
pub(super) fn add_roots(
    memory: &dyn Memory,
    library: &Library,
    targets: &Targets<'_>,
    forgotten: &[u64],
    roots: &mut Roots,
) {
    let labels = library.labels.iter();
    let labels: Vec<u32> = labels
        .map(|label| roots.labels.add(label.clone()))
        .collect();
    let mut last_forgotten = None;
    for entry in library.all_entries(memory) {
        let to = match (entry.target, targets.find(entry.target.address())) {
            (library::Target::Object(_), Some(Target::Payload(to))) => to,
            (library::Target::Allocation(_), Some(Target::Plain(to))) => to,
            _ => continue,
        };
        let is_forgotten = forgotten.binary_search(&entry.pool).is_ok();
        let (kind, label) = if is_forgotten && entry.kind == RootKind::Pool {
            let label = match last_forgotten {
                Some((of, label)) if of == entry.label => label,
                _ => {
                    let label = format!("{}, whose guard was forgotten", library.label(&entry));
                    roots.labels.add(label)
                }
            };
            last_forgotten = Some((entry.label, label));
            (RootKind::ForgottenPool, label)
        } else {
            (entry.kind, labels[entry.label as usize])
        };
        roots.roots.push(Root {
            kind,
            label,
            to,
            address: entry.address,
            counted: entry.counted,
        });
    }
}

/// Adds a root for each allocation that only structures of the library lead to, such as the memory of
/// their lists: the program did not forget it. What waits in the library has roots already.
pub(super) fn add_unknown(
    regions: &Regions<'_>,
    structures: &[Range<u64>],
    targets: &Targets<'_>,
    roots: &mut Roots,
) {
    let waiting: HashSet<u32> = roots
        .roots
        .iter()
        .filter(|root| root.kind.is_list())
        .map(|root| root.to)
        .collect();
    let label = roots.labels.add("a structure of the library".to_owned());
    for range in structures {
        let Some(region) = regions.find(range.start) else {
            continue;
        };
        region.for_words(range.clone(), |address, word| match targets.find(word) {
            Some(Target::Plain(to)) if !waiting.contains(&to) => roots.roots.push(Root {
                kind: RootKind::Anonymous,
                label,
                to,
                address,
                counted: 0,
            }),
            _ => {}
        });
    }
}
