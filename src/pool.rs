//! Autorelease pools.
//!
//! ```text
//! thread ──► ThreadPools ──► PoolStack ───────► ManagerShared   one stack per manager
//!                │             │  │  │             watermarks, statistics
//!                │             │  │  └─ chain:  top ─► frame ─► ... ─► root pool's frame
//!                │             │  │             the topmost frame's pool is the current pool
//!                │             │  └─ Backlog:   what budgeted drains have left, oldest first
//!                │             └─ root pool:    takes implicit releases while no pool is open
//!                ├─ PoolState   one pool ─► Entries ─► Page ─► entry: one strong reference
//!                │              owned by a guard (AutoreleasePool) or named by a PoolToken
//!                ├─ PageCache   spare pages          Participants   spare pins of the epoch
//!                └─ inbox ◄── remote releases: messages of other threads, in the thread's Record
//!                      └─► Claimed: messages that budgeted drains have taken out and not run
//! ```
//!
//! # Invariants
//! The `SAFETY` comments of this folder cite them ("invariant 3 of `pool`").
//!
//! 1. *Owner only.* A [`ThreadPools`](thread_pools::ThreadPools), and all that it owns, is used by
//!    its own thread alone. Other threads reach the thread by its record's inboxes, and its
//!    statistics, which are atomic.
//! 2. *Short borrows.* A borrow of what is in an `UnsafeCell` ends in the function that makes it, and
//!    no destructor or hook runs meanwhile. (The global allocator may, where a list of tokens or a
//!    backlog grows: see "A global allocator that uses this crate" in `docs/PROOF.md`.)
//! 3. *Stable addresses.* A `ThreadPools` is freed by the thread's exit or, if guard pools are open
//!    then, when the last of them is closed; its pools and stacks live as long. Only
//!    [`prune`] frees a stack before: one with no pool open and no drain in progress, whose manager
//!    has no handle. So an open pool's stack exists, and the stack's `ThreadPools` does.
//! 4. *Chain.* A frame exists as long as it is in a stack's chain. Its pool is null or open, and
//!    the last frame is that of the root pool, which is always open.
//! 5. *Entries.* An entry owns a strong reference, so its object is alive. Whoever takes the entry
//!    out owns the reference.
//! 6. *Pages.* A page belongs to one `Entries`, or to a `PageCache`, or to the function that moves
//!    it. All entries below `top` are written; pages below the topmost are full.
//!
//! # Files
//! Each uses only those above it, except that a stack and its `ThreadPools` point to each other.
//!
//! * [`page`], [`entries`]: pending releases and their memory
//! * [`backlog`], [`budget`], [`strays`], [`manager_shared`]: parts of a stack
//! * [`epoch`]: pins, which protect what slots lend
//! * [`attention`]: what a thread asks of the ends of its own pools; [`round`]: when drains hold back what they owe
//! * [`life`]: the state of a pool, with all its transitions in a table
//! * [`pool_stack`], [`thread_pools`], [`chain`]: pools, and which one is current
//! * [`remote_release`], [`page_chain`]: messages; [`posted`]: closures; [`pending`]: what budgeted drains have left;
//!   [`watch`]: watermarks; [`push`]: entries of open pools
//! * [`drain`]: draining, closing and the thread's exit; [`prune`]: stacks that go
//! * [`this_thread`]: the calling thread's `ThreadPools`
//! * [`guard`], [`scope`], [`pool_ref`], [`dump`], [`implicit`], [`token`], [`handoff`], [`home_ref`],
//!   [`pin`]: what users call. `Ref::autorelease`, `HomeRef::new` and `ThreadHandle::release` are
//!   here, as they need pools, and the folders of their types are below this one.

pub(crate) mod attention;
pub(crate) mod backlog;
pub(crate) mod budget;
mod chain;
#[cfg(test)]
mod chain_tests;
pub(crate) mod drain;
pub(crate) mod dump;
pub(crate) mod entries;
pub(crate) mod epoch;
pub(crate) mod guard;
pub(crate) mod handoff;
mod home_ref;
pub(crate) mod implicit;
pub(crate) mod life;
pub(crate) mod manager_shared;
pub(crate) mod page;
mod page_chain;
pub(crate) mod pending;
pub(crate) mod pin;
pub(crate) mod pool_ref;
pub(crate) mod pool_stack;
mod posted;
pub(crate) mod prune;
mod push;
pub(crate) mod remote_release;
pub(crate) mod round;
pub(crate) mod scope;
mod strays;
pub(crate) mod this_thread;
pub(crate) mod thread_pools;
pub(crate) mod token;
mod watch;

crate::sync::described! {
    /// The entries of the [note](crate::note) for the structures here.
    pub(crate) const NOTES: &[&[crate::layout::Entry]] = &[backlog::NOTE, entries::NOTE, page::NOTE, page_chain::NOTE, pool_stack::NOTE, remote_release::NOTE, thread_pools::note::NOTE];
}
