//! Frames, workers, tasks: who runs what threads send to each other.
//!
//! * [`FrameLoop`]: a UI thread, frame by frame
//! * [`Looper`]: a worker that does what it is told, in order
//! * [`pooled`], [`callback_scope`]: pools for code
//!   that others call
//!
//! A loop has no queue of its own: it serves the inbox of its thread, which
//! [`ThreadHandle`](crate::ThreadHandle) sends to as well. A loop that is about to sleep
//! marks its empty inboxes, and the message that finds a mark wakes it: no wake is
//! lost, there are at most two to a sleep, and nobody pays for it while the loop is awake.
//!
//! # The end of a loop
//!
//! Dropping a `FrameLoop`, and shutting a `Looper` down or dropping it, goes in this
//! order. So does the end of a thread whose `FrameLoop` is still open, as it was forgotten or is
//! kept in a thread-local. Nothing that was posted is lost without a word, and nothing runs on
//! another thread.
//!
//! 1. The loop is closed: from now on `post`, `call` and `post_after` give the closure
//!    back, also to the closures that the next step runs. It waits for those
//!    who are in the middle of a post, a few instructions each.
//! 2. Delayed posts that are due run, by the time they are due; then everything that was
//!    posted, in order. Panics are reported as events. A `FrameLoop` that is dropped inside a
//!    destructor leaves all this to the next loop of its thread, its next
//!    [`run_inbox`](crate::PoolManager::run_inbox), or its end.
//! 3. Delayed posts that are not due are dropped; the event
//!    [`PostsDropped`](crate::event::EventKind::PostsDropped) says how many.
//! 4. The pool around all this is drained, and what other threads have sent to be
//!    released is released; the backlog, too.
//!
//! A `FrameLoop` ends there: its thread lives on, and with it its inbox. What is sent there
//! by a `ThreadHandle` waits for another loop, or
//! [`run_inbox`](crate::PoolManager::run_inbox). A `Looper`'s thread ends:
//!
//! 5. Its root pools are drained, the inbox is closed, and what was in it is released.
//!    Closures that were sent by a `ThreadHandle` after step 2 go to the orphans, for
//!    [`quiesce`](crate::PoolManager::quiesce) or
//!    [`shutdown`](crate::PoolManager::shutdown).
//! 6. `shutdown` returns.
//!
//! # The end of a program
//!
//! 1. Workers that post to the UI are told to stop. The UI's loop goes on until they have,
//!    as they may be waiting for a call. Then they are joined, by their handles: a
//!    `std::thread::scope` alone does not wait until their root pools have been drained.
//! 2. Loopers are shut down.
//! 3. The loop is dropped, and then what the UI thread itself holds.
//! 4. [`PoolManager::shutdown`](crate::PoolManager::shutdown) gets released what is left, or
//!    says who still holds what.
//!
//! The [crate's page](crate#frames-workers-tasks) has a program that does this.

mod call;
mod clock;
mod config;
mod exit;
mod frame_loop;
mod in_flight;
mod loop_state;
mod looper;
mod proxy;
mod report;
mod tasks;
mod timers;

pub use config::FrameConfig;
pub use frame_loop::{Frame, FrameLoop};
pub use looper::Looper;
pub use proxy::{FrameProxy, LooperProxy};
pub use report::FrameReport;
pub use tasks::{Pooled, callback_scope, pooled};
pub use timers::PostId;
