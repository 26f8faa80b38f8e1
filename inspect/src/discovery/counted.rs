//! What the library's own structures refer to: references that are counted for certain.

use super::targets::{Target, Targets};
use crate::graph::{Root, RootKind};
use crate::library::{self, Library, PoolKind};

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

/// Returns a root for each reference of the library: nodes are indices of items. The guards of
/// `forgotten` pools, whose addresses are in order, do not exist any more.
pub(super) fn roots(library: &Library, targets: &Targets<'_>, forgotten: &[u64]) -> Vec<Root> {
    let root = |entry: &library::Entry| {
        let to = match entry.target {
            library::Target::Object(address) => match targets.find(address)? {
                Target::Payload(to) => to,
                _ => return None,
            },
            library::Target::Allocation(address) => match targets.find(address)? {
                Target::Plain(to) => to,
                _ => return None,
            },
        };
        let is_forgotten = forgotten.binary_search(&entry.pool).is_ok();
        let (kind, label) = if is_forgotten && entry.kind == RootKind::Pool {
            let label = format!("{}, whose guard was forgotten", library.label(entry));
            (RootKind::ForgottenPool, label)
        } else {
            (entry.kind, library.label(entry).to_owned())
        };
        Some(Root {
            kind,
            label,
            to,
            address: entry.address,
            counted: entry.counted,
        })
    };
    library.entries.iter().filter_map(root).collect()
}
