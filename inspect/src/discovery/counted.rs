//! Adds roots for what the library's own structures refer to: the library's entries, and other
//! plain allocations, such as the memory of lists.

use super::regions::Regions;
use super::roots::Roots;
use super::targets::{Target, Targets};
use crate::graph::{Root, RootKind};
use crate::image::Memory;
use crate::library::{self, Library, PoolKind};
use std::collections::HashSet;
use std::ops::Range;

/// Returns the addresses of guards' pools, in order, without duplicates. Outside of the library's
/// own memory, only a guard has such an address.
pub(super) fn guarded(library: &Library) -> Vec<u64> {
    let threads = library.threads.iter().chain(&library.detached);
    let pools = threads.flat_map(|thread| &thread.pools);
    let guarded = pools.filter(|pool| pool.kind == PoolKind::Guard);
    let mut addresses: Vec<_> = guarded.map(|pool| pool.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Adds a root for each reference of the library, with the index of an item as its node.
/// `forgotten` are the sorted addresses of pools whose guards do not exist any more.
pub(super) fn add_roots(
    memory: &dyn Memory,
    library: &Library,
    targets: &Targets<'_>,
    forgotten: &[u64],
    roots: &mut Roots,
) {
    let labels = library.labels.iter();
    let labels: Vec<u32> = labels.map(|label| roots.labels.add(label)).collect();
    let mut last_forgotten = None;
    for entry in library.all_entries(memory) {
        let to = match (entry.target, targets.find(entry.target.address())) {
            (library::Target::Object(_), Some(Target::Payload(to))) => to,
            (library::Target::Allocation(_), Some(Target::Plain(to))) => to,
            _ => continue,
        };
        let is_forgotten = forgotten.binary_search(&entry.holder.pool).is_ok();
        let (kind, label) = if is_forgotten && entry.holder.kind == RootKind::Pool {
            let label = match last_forgotten {
                Some((of, label)) if of == entry.holder.label => label,
                _ => {
                    let label = format!("{}, whose guard was forgotten", library.label(&entry));
                    roots.labels.add(&label)
                }
            };
            last_forgotten = Some((entry.holder.label, label));
            (RootKind::ForgottenPool, label)
        } else {
            (entry.holder.kind, labels[entry.holder.label as usize])
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

/// Adds a root for each word in the library's structures that refers to a plain allocation, such as
/// the memory of a list, which is no leak. Allocations that entries refer to have roots already.
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
    let label = roots.labels.add("a structure of the library");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::objects::Item;
    use crate::discovery::synthetic_image::Synthetic;

    #[test]
    fn only_allocations_that_nothing_waits_in_are_held_by_structures() {
        const START: u64 = 0x7f00_0000_0000;
        let [list, message, object] = [0x100, 0x200, 0x300].map(|offset| START + offset);
        let mut image = Synthetic::default();
        let words = [list, message, object, list + 8, 1].into_iter();
        let words: Vec<_> = (START..).step_by(8).zip(words).collect();
        image.map(START, 4096, &words);
        let items = [
            Item::plain(list, 64),
            Item::plain(message, 64),
            Item {
                info: 0,
                ..Item::plain(object, 64)
            },
        ];
        let mut roots = Roots::default();
        roots.roots.push(Root {
            kind: RootKind::Inbox,
            label: 0,
            to: 1,
            address: 0,
            counted: 0,
        });
        let structures = START..START + 64;
        let (regions, targets) = (Regions::read(&image), Targets::new(&items, &[]));
        add_unknown(&regions, &[structures], &targets, &mut roots);
        let found = roots.roots.iter().map(|root| (root.to, root.kind));
        let list = (0, RootKind::Anonymous);
        assert_eq!(
            found.collect::<Vec<_>>(),
            [(1, RootKind::Inbox), list, list]
        );
    }
}
