//! Settings, tokens and results of autorelease pools; the pools themselves are in the crate's root.
//!
//! [`create`] makes an object in the current pool, for code that is not passed a pool. Where a pool is
//! at hand, use [`AutoreleasePool::create`](crate::AutoreleasePool::create). A [`PoolToken`] stands for
//! an open pool in foreign code; a [`PoolManager`](crate::PoolManager) keeps a subsystem's pools apart.

// Autorelease pools.
//
// ```text
// thread ──► ThreadPools ──► PoolStack ───────► ManagerShared   one stack per manager
//                │             │  │  │             watermarks, statistics
//                │             │  │  └─ chain:  top ─► frame ─► ... ─► root pool's frame
//                │             │  │             the topmost frame's pool is the current pool
//                │             │  └─ Backlog:   what budgeted drains have left, oldest first
//                │             └─ root pool:    takes implicit releases while no pool is open
//                ├─ PoolState   one pool ─► Entries ─► Page ─► entry: one strong reference
//                │              owned by a guard (AutoreleasePool) or named by a PoolToken
//                ├─ PageCache   spare pages          participant    the thread's part in the epoch
//                └─ inbox ◄── remote releases: messages of other threads, in the thread's Record
//                      └─► Claimed: messages that budgeted drains have taken out and not run
// ```
//
// # Invariants
// The `SAFETY` comments of this folder cite them ("invariant 3 of `pool`").
//
// 1. *Owner only.* Only its own thread uses a `ThreadPools`,
//    and all that it owns. Other threads reach the thread by the inboxes of its record, and read
//    its statistics, which are atomic.
// 2. *Short borrows.* The function that borrows the content of an `UnsafeCell` ends the borrow, and
//    runs no foreign code before that: no destructor, no hook, and not the global allocator. Lists
//    grow by `with_room`, which allocates between two borrows.
// 3. *Stable addresses.* A `ThreadPools` is freed by the thread's exit or, if guard pools are open then,
//    when the last of them is closed; its pools and stacks live as long. Only `prune` of `drain::this_thread` frees
//    a stack earlier: a stack with no open pool and no drain in progress, whose manager has no handle left.
//    So the stack of an open pool exists, and so does that stack's `ThreadPools`.
// 4. *Chain.* A frame exists as long as it is in a stack's chain. Its pool is null or open. The
//    last frame belongs to the root pool, which is always open.
// 5. *Entries.* An entry owns a strong reference, so its object is alive. Code that takes the
//    entry out owns the reference.
// 6. *Pages.* A page belongs to one `Entries`, or to a `PageCache`, or to the function that moves
//    it. All entries below `top` are written; pages below the topmost are full.
//
// What each folder holds, and which it may use, is in the table "Layers" of docs/DESIGN.md.

pub(crate) mod api;
pub(crate) mod drain;
pub(crate) mod entries;
pub(crate) mod manager;
pub(crate) mod remote;
pub(crate) mod stack;

pub use api::implicit::create;
pub use api::token::{PoolToken, PopError};
pub use manager::{InboxHook, PoolManagerBuilder};
pub use stack::manager_shared::RootPolicy;
pub use stack::pool_stack::PoolDump;

crate::sync::described! {
    /// The entries of the [note](crate::note) for the structures of this folder.
    pub(crate) const NOTES: &[&[crate::layout::Entry]] = &[
        stack::backlog::NOTE,
        entries::NOTE,
        entries::page::NOTE,
        stack::pool_stack::NOTE,
        remote::NOTE,
        entries::retired::NOTE,
        stack::thread_pools::NOTE,
    ];
}
