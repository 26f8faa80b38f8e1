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
//                │             │  │             the topmost frame with a pool names the current one
//                │             │  └─ Backlog:   what budgeted drains have left, oldest first
//                │             └─ root pool:    takes implicit releases while no pool is open
//                ├─ PoolState   one pool ─► Entries ─► Page ─► entry: one strong reference
//                │              owned by a guard (AutoreleasePool) or named by a PoolToken
//                ├─ PageCache   spare pages          participant    the thread's part in the epoch
//                └─ inbox of the thread's Record ◄── remote releases: messages of other threads
//                      └─► Claimed: messages that budgeted drains have taken out and not run
// ```
//
// # Invariants
// The `SAFETY` comments of this folder cite them ("invariant 3 of `pool`").
//
// 1. *Owner only.* Only its own thread uses a `ThreadPools` and all that it owns, except its link
//    in the list `DETACHED`, which has a lock. Other threads reach the thread by the inboxes of its
//    record, and read its statistics, which are atomic.
// 2. *Short borrows.* The function that borrows the content of an `UnsafeCell` ends the borrow, and
//    runs no foreign code before that: no destructor, no hook, and not the global allocator. Lists
//    grow by `with_room`, which allocates between two borrows.
// 3. *Stable addresses.* A `ThreadPools` is freed by the thread's exit or, if it has open pools
//    then or later, when the last of them is closed. Its pools and stacks live as long as it; only
//    `this_thread::prune` frees a stack earlier: one with no open pool, no drain in progress and no
//    handle to its manager. So an open pool's stack and that stack's `ThreadPools` exist.
// 4. *Chain.* A frame exists as long as it is in a stack's chain. Its pool is null or open. The
//    last frame belongs to the root pool, which is always open.
// 5. *Entries.* An entry owns a strong reference, so its object is alive. Code that takes the
//    entry out owns the reference.
// 6. *Pages.* A page belongs to one `Entries`, `PageCache` or `RetiredPages`, or to the function
//    moving it. In an `Entries`, entries below `top` are written; pages below the topmost are full.
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
