//! `PoolManager`: a stack of pools on each thread, and the state that these stacks share.
//!
//! * [`pool_manager`]: `PoolManager`, its settings, what is done to the pools of the calling thread, and
//!   hooks by which messages wake a foreign event loop
//! * [`pending_home`]: `HomeRef`s, made on the calling thread or asked for at another one
//! * [`snapshot`]: figures of a manager and of all threads
//! * [`shutdown`]: `quiesce` and `shutdown`, which get everything released
//!
//! ```text
//!  PoolManager (clones) ──> ManagerHandle ─┐ its drop marks the manager as abandoned
//!                                          ▼
//!                          ┌─────────────────────────────────┐
//!                          │ ManagerShared                   │
//!                          │  id, name, allocator            │ constant
//!                          │  watermarks                     │ read by each thread when it looks
//!                          │  threads: key -> PoolStackStats │ one per thread that uses the manager
//!                          │  departed                       │ sums of threads that have ended
//!                          │  changed                        │ wakes `shutdown`
//!                          └─────────────────────────────────┘
//!                             ▲            ▲           ▲ counted references
//!                        PoolStack    PoolStack    PoolStack
//!                        (thread 1)   (thread 2)   (thread 3): root pool, open pools, backlog
//! ```
//!
//! 1. Only its own thread touches a `PoolStack`; other threads read its `PoolStackStats`.
//! 2. A thread is in `threads` from its first use of the manager until its exit, when its figures
//!    move to `departed`.
//! 3. When a manager is abandoned, each thread frees its stack the next time that it uses another
//!    manager for the first time, or when it exits. Open pools keep the stack until they are
//!    closed.

// First, as rustdoc shows the methods of `PoolManager` in the order of these files.
pub(crate) mod pool_manager;

pub(crate) mod pending_home;
pub(crate) mod shutdown;
pub(crate) mod snapshot;

pub use pool_manager::PoolManager;
