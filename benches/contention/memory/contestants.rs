//! The list of allocators, with the work that each of them can do.

use super::allocators::{By, Memory, Ours, Shared};
use super::checked::Checked;
use super::cross::cross;
use super::works::{Work, fifo, lifo, mixed, pairs, usage};
use bumpalo::Bump;
use mimalloc::MiMalloc;
use releasepool_benches::workload::{Role, Workload};
use std::alloc::System;

/// Returns the workload of a work, unless the allocator cannot do it.
type Works = fn(Work) -> Option<Workload>;

pub struct Contestant {
    pub name: &'static str,
    /// [`Role::Peer`] if targets name it, [`Role::Reference`] if it cannot free single blocks.
    pub role: Role,
    pub work: Works,
    /// The works with every block checked.
    pub checked: Works,
    /// Allocates many objects and returns their size and the peak, in a process of its own.
    pub usage: fn(bool) -> [u64; 2],
}

/// The work for allocators that can free single blocks, on any thread.
fn shared<M: Shared>(work: Work) -> Option<Workload> {
    Some(match work {
        Work::Pairs => pairs::<M>(),
        Work::Lifo => lifo::<M>(),
        Work::Fifo => fifo::<M>(),
        Work::Mixed => mixed::<M>(),
        Work::Cross => cross::<M>(),
    })
}

/// The work for allocators that cannot free single blocks.
fn in_batches<M: Memory>(work: Work) -> Option<Workload> {
    match work {
        Work::Lifo => Some(lifo::<M>()),
        Work::Fifo => Some(fifo::<M>()),
        _ => None,
    }
}

impl Contestant {
    fn new<M: Memory>(role: Role, work: Works, checked: Works) -> Self {
        Self {
            name: M::NAME,
            role,
            work,
            checked,
            usage: usage::<M>,
        }
    }

    fn shared<M: Shared>(role: Role) -> Self {
        Self::new::<M>(role, shared::<M>, shared::<Checked<M>>)
    }

    /// Returns true if it can free single blocks, on any thread.
    pub fn is_shared(&self) -> bool {
        self.role != Role::Reference
    }
}

/// Returns all allocators, releasepool's first.
pub fn all() -> Vec<Contestant> {
    vec![
        Contestant::shared::<Ours<true>>(Role::Ours),
        Contestant::shared::<Ours<false>>(Role::Ours),
        Contestant::shared::<By<System>>(Role::Peer),
        Contestant::shared::<By<MiMalloc>>(Role::Peer),
        #[cfg(feature = "snmalloc")]
        Contestant::shared::<By<snmalloc_rs::SnMalloc>>(Role::Peer),
        Contestant::new::<Bump>(
            Role::Reference,
            in_batches::<Bump>,
            in_batches::<Checked<Bump>>,
        ),
    ]
}
