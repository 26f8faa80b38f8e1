//! Sending work to a thread.

use super::inbox::{Message, MessageKind, Node, PushOutcome};
use super::key::ThreadKey;
use super::record::Record;
use crate::event::{Event, EventKind};
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
struct ClosureMessage<F> {
    node: Node,
    f: F,
}

impl<F: FnOnce() + Send + 'static> ClosureMessage<F> {
    /// # Safety
    /// `node` is the head of an owned `ClosureMessage<F>`.
    unsafe fn take(node: NonNull<Node>) -> F {
        // SAFETY: by the caller's promise; `ClosureMessage` is repr(C), head first, and the
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
        !self.0.is_closed()
    }

    /// Sends a closure to the thread. It runs there when the thread asks for it
    /// ([`PoolManager::run_inbox`](crate::PoolManager::run_inbox), a
    /// [`FrameLoop`](crate::FrameLoop) or [`Looper`](crate::Looper) of that thread), in
    /// the order of the posts of each sender; never inside a drain.
    ///
    /// One allocation and two read-modify-writes; lock-free, unless the thread sleeps in a
    /// loop and this is the message that wakes it. A closure that was
    /// accepted by a thread that then ended without asking is not lost: it waits
    /// with the orphans for [`quiesce`](crate::PoolManager::quiesce) or
    /// [`shutdown`](crate::PoolManager::shutdown).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the thread has ended.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        self.post_quietly(MessageKind::Closure, f)?.finish();
        Ok(())
    }

    /// Sends a closure as a message of `kind`, `ClosureMessage` or `Post`. The caller has to
    /// [finish](Posted::finish) that where foreign code may run.
    pub(crate) fn post_quietly<F: FnOnce() + Send + 'static>(
        &self,
        kind: MessageKind,
        f: F,
    ) -> Result<Posted<'_>, Closed<F>> {
        // So that the sender cannot become the successor of a thread that it has
        // sent to, and can itself run what is orphaned.
        drop(super::current::current());
        let (waiting, message) = self.announced(kind, f);
        let sent = self.0.calls.push(message).map_err(|back| {
            // SAFETY: the same message, still ours.
            Closed(unsafe { ClosureMessage::<F>::take(back.into_raw()) })
        })?;
        let record = &*self.0;
        Ok(Posted {
            record,
            sent,
            waiting,
        })
    }

    /// A closure as a message to this thread, counted as sent; and how many waited before.
    pub(crate) fn announced<F: FnOnce() + Send + 'static>(
        &self,
        kind: MessageKind,
        f: F,
    ) -> (u64, Message) {
        let node = Node::new(kind, self.key(), ClosureMessage::<F>::run);
        let call = boxed(ClosureMessage { node, f });
        // SAFETY: just made; `run` frees it; the closure is Send.
        let message = unsafe { Message::from_raw(call.cast()) };
        (self.0.calls.announce(1), message)
    }
}

/// A closure has been sent.
#[must_use]
pub(crate) struct Posted<'r> {
    record: &'r Record,
    sent: PushOutcome,
    /// How many waited before.
    waiting: u64,
}

impl Posted<'_> {
    /// Wakes the thread if it sleeps, and reports it if too many closures wait for it. Both may run
    /// foreign code.
    pub(crate) fn finish(self) {
        if self.sent == PushOutcome::WakeOwner {
            self.record.waker.wake();
        }
        if self.record.posts_are_worth_an_event(self.waiting + 1) {
            let event = Event::new(EventKind::PostsWatermark, self.record.label());
            event.count(self.waiting as usize + 1).emit();
        }
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
