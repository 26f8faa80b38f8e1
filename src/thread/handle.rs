//! Sending work to a thread.

use super::inbox::{Kind, Message, Node, Sent};
use super::key::ThreadKey;
use super::record::Record;
use crate::sync::{boxed, unbox};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

/// A thread that uses this crate, as others see it.
///
/// Handles are cheap to clone and may outlive their thread: sending to a thread
/// that has gone is an error or goes to the orphans, and never reaches a thread
/// that came after it. Two handles are equal if they name the same thread.
///
/// Get one by [`PoolManager::current_thread`](crate::PoolManager::current_thread),
/// [`thread`](crate::PoolManager::thread) or
/// [`thread_by_id`](crate::PoolManager::thread_by_id); that of a loop by
/// [`FrameProxy::thread`](crate::FrameProxy::thread) or
/// [`Looper::thread`](crate::Looper::thread).
#[derive(Clone)]
pub struct ThreadHandle(pub(crate) Arc<Record>);

/// The thread has gone, or its loop is closed; here is the closure back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Closed<F>(pub F);

impl<F> fmt::Debug for Closed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closed(..)")
    }
}

impl<F> fmt::Display for Closed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the thread has ended, or its loop, and takes no more closures")
    }
}

impl<F> std::error::Error for Closed<F> {}

#[repr(C)]
struct Call<F> {
    node: Node,
    f: F,
}

impl<F: FnOnce() + Send + 'static> Call<F> {
    /// # Safety
    /// `node` is the head of an owned `Call<F>`.
    unsafe fn take(node: NonNull<Node>) -> F {
        // SAFETY: by the caller's promise; `Call` is repr(C), head first, and the
        // pointer was made from the whole allocation.
        unsafe { unbox(node.cast::<Self>()) }.f
    }

    /// # Safety
    /// As `take`.
    unsafe fn run(node: NonNull<Node>) {
        // SAFETY: by the caller's promise.
        let f = unsafe { Self::take(node) };
        f();
    }
}

impl ThreadHandle {
    /// The thread's key: unique for the life of the process.
    pub fn key(&self) -> ThreadKey {
        self.0.key()
    }

    /// The name that the thread was given when it was spawned.
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Whether the thread still takes messages. It may end right after the
    /// answer.
    pub fn is_alive(&self) -> bool {
        !self.0.inbox.is_closed()
    }

    /// Sends a closure to the thread. It runs there when the thread asks for it
    /// ([`PoolManager::run_inbox`](crate::PoolManager::run_inbox), a
    /// [`FrameLoop`](crate::FrameLoop) or [`Looper`](crate::Looper) of that thread), in
    /// the order of the posts of each sender; never inside a drain.
    ///
    /// One allocation and one compare-and-swap; lock-free, unless the thread sleeps in a
    /// loop and this is the message that wakes it. A closure that was
    /// accepted by a thread that then ended without asking is not lost: it waits
    /// with the orphans for [`quiesce`](crate::PoolManager::quiesce) or
    /// [`shutdown`](crate::PoolManager::shutdown).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the thread has ended.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        if self.post_unrung(f)? == Sent::Ring {
            self.0.bell.ring();
        }
        Ok(())
    }

    /// The same, but leaves it to the caller to ring.
    pub(crate) fn post_unrung<F: FnOnce() + Send + 'static>(
        &self,
        f: F,
    ) -> Result<Sent, Closed<F>> {
        // So that the sender cannot become the successor of a thread that it has
        // sent to, and can itself run what is orphaned.
        drop(super::record::current());
        let node = Node::new(Kind::Call, self.key(), Call::<F>::run);
        let call = boxed(Call { node, f });
        // SAFETY: just made; `run` frees it; the closure is Send.
        let message = unsafe { Message::from_raw(call.cast()) };
        self.0.inbox.push(message).map_err(|back| {
            // SAFETY: the same message, still ours.
            Closed(unsafe { Call::<F>::take(back.into_raw()) })
        })
    }
}

// Inboxes are in order at all times.
impl UnwindSafe for ThreadHandle {}
impl RefUnwindSafe for ThreadHandle {}

impl PartialEq for ThreadHandle {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ThreadHandle {}

impl fmt::Debug for ThreadHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadHandle")
            .field("key", &self.key())
            .field("name", &self.name())
            .field("alive", &self.is_alive())
            .finish()
    }
}
