//! Destruction of values on another thread, for threads that have no time for it.
//!
//! Take first:
//!
//! * [`drop_later`](crate::drop_later), for a value of any `Send` type: the reclaimer of the
//!   process, which the first call starts, destroys it. [`try_drop_later`] never waits;
//!   [`finish_drops`] is for the end of `main`.
//! * [`Later`], for a value that is dropped in many places; [`Ref<Later<T>>`](Later) for a tree
//!   that several owners share.
//! * [`Reclaimer`](crate::Reclaimer), for a thread with a name and [bounds](ReclaimerBuilder) of
//!   your own, which destroys values, references and whole pools.
//!
//! ```text
//! what is sent      when there is no room        when the reclaimer has ended
//! drop_later        as `WhenFull` says           destroyed by the sender
//! try_drop_later    given back, in Full          given back, in Full
//! release           released by the sender       by the next drain of any thread
//! drain_on          released by the sender       by the next drain of any thread
//! ```
//!
//! A reclaimer is a loop, and sleeps as the [loops](crate::frame) do. What it destroys waits in its
//! thread's inbox for releases.

pub(crate) mod later;
pub(crate) mod reclaimer;
mod reclaimer_state;
pub(crate) mod room;
mod type_counts;

pub use later::{Later, finish_drops, try_drop_later};
pub use reclaimer::{Full, PendingDrops, ReclaimerBuilder, WhenFull};
