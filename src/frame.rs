//! Loops that run what threads send to each other, and pools for code that others call.
//!
//! ```text
//!            nothing to do          still nothing
//! ┌─────────┐ ──────────> ┌───────┐ ──────────> ┌────────┐
//! │ running │             │ armed │             │ asleep │
//! └─────────┘ <────────── └───────┘             └────────┘
//!   │     ^   something came                        │
//!   │     └────── woken, or a delayed post is due ──┘
//!   │ dropped, shut down, or its thread ends
//!   v
//! closed: accepted closures run, later ones are given back
//!
//! what is sent   where it goes        when it wakes the loop    what happens to it
//! post, call     inbox for closures   first one since arming    runs in a frame or as a command
//! post_frame     inbox for closures   first one since arming    runs in a frame, which it gets
//! post_after     timers               if the first to be due    runs when due, before posts
//! request_frame  flag in the timers   if none is pending        a frame on demand
//! release        inbox for releases   first one since arming    a drain makes it, in its budget
//! drop_later     inbox for releases   first one since arming    a drain destroys the value
//!
//! A loop that `tick` drives stays armed between frames if it has a wake hook; a wake-up calls it.
//! ```
//!
//! * [`FrameLoop`](crate::FrameLoop): makes the frames of a UI thread, with a [`FrameConfig`]
//! * [`Looper`](crate::Looper): a worker thread that runs closures in order
//! * [`LoopProxy`]: the handle by which other threads send to either of them
//! * [`pooled`](crate::pooled), [`callback_scope`](crate::callback_scope): pools for async tasks
//!   and foreign callbacks
//!
//! For a thread that destroys what others send to it, see [`reclaim`](crate::reclaim).
//!
//! A loop has no queue of its own: it serves the inboxes of its thread, to which
//! [`ThreadHandle`](crate::ThreadHandle) sends as well. Before a loop sleeps, it *arms* its empty
//! inboxes: it marks them, and the message that replaces the mark wakes the loop. So no wake-up is
//! missed, a sleep ends with at most two wake-ups, one by each inbox, and senders pay nothing while
//! the loop is awake. A delayed post, a request for a frame and a shutdown change the loop's state
//! first and wake the thread afterwards; a wake-up that comes before the sleep ends it at once.
//!
//! Closures run at the beginning of a frame or as a looper's commands; releases are made by the
//! drain at a frame's end or between commands, within its budget. Other drains in a frame or
//! command make a few of them, as [`AutoreleasePool::drain`](crate::AutoreleasePool::drain) says.
//!
//! # The end of a loop
//!
//! A `FrameLoop` ends when it is dropped, or with its thread if it was forgotten or is kept in a
//! thread-local. A `Looper` ends when it is shut down or dropped. No accepted closure is lost
//! silently, and no accepted closure runs on another thread. The steps are:
//!
//! 1. The loop is closed: from now on `post`, `call` and the like give the closure back, also if a
//!    closure that the next step runs calls them. Closing waits for posts in flight, which take a
//!    few instructions each.
//! 2. Delayed posts that are due run, ordered by the time they are due; then everything that was
//!    posted runs, in order; closures that take a frame get a frame of their own. Panics are
//!    reported as events. A `FrameLoop` that is dropped inside a destructor leaves this step to its
//!    thread: to the thread's next loop, its next [`run_inbox`](crate::PoolManager::run_inbox), or
//!    its end.
//! 3. Delayed posts that are not due are dropped; the event
//!    [`PostsDropped`](crate::event::EventKind::PostsDropped) says how many.
//! 4. The pool around these steps is drained, then the backlog; and the releases that other threads
//!    have sent to this thread are made.
//!
//! A `FrameLoop` has no other steps. Its thread goes on, and the thread's inbox stays open:
//! closures that a `ThreadHandle` sends to the thread wait for another loop or for
//! [`run_inbox`](crate::PoolManager::run_inbox). A `Looper` also ends its thread:
//!
//! 5. The thread's root pools are drained, its inboxes are closed, and the releases in them are
//!    made. Closures that a `ThreadHandle` sent after step 2 go to the orphans, for
//!    [`quiesce`](crate::PoolManager::quiesce) or [`shutdown`](crate::PoolManager::shutdown).
//! 6. `Looper::shutdown`, or the drop of the `Looper`, returns.
//!
//! # The end of a program
//!
//! Run the UI's loop until the workers that post to it have stopped, as they may be waiting for a
//! call, and join them by their handles: a `std::thread::scope` alone does not wait until their root
//! pools have been drained. Then [`finish`](crate::finish()) ends the rest, or reports what is left; a
//! [`FinishGuard`](crate::report::FinishGuard) in the first line of `main` calls it. The page
//! [`frames`](crate::guide::frames) has a program that does this.

mod call;
mod config;
pub(crate) mod frame_loop;
mod in_flight;
mod loop_state;
pub(crate) mod looper;
pub(crate) mod loops;
mod one_frame;
pub(crate) mod proxy;

pub use config::FrameConfig;
pub use loop_state::PostId;
pub use one_frame::{Frame, FrameReport};
pub use proxy::LoopProxy;
