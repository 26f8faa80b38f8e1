//! The messages that other threads send to a thread's inboxes: releases, and closures, which the
//! thread collects and runs in order. Also has the [queue](segments) of dropped foreign references.

use super::stack::thread_pools::ThreadPools;
use crate::object::header::Thin;
use crate::object::strong::Ref;
use crate::sync::{boxed, described, unbox};
use crate::thread::current::tally_handed_over;
use crate::thread::inbox::{Message, MessageKind, Node, Queue};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::thread_handle::ThreadHandle;
use crate::unwind::reporting;

pub(crate) mod segments;

impl ThreadPools {
    /// *Collects* the closures posted so far: moves them from the inbox to the queue `self.posted`.
    pub(crate) fn collect_posted(&self) {
        if let Some(record) = self.record() {
            self.posted.append(record.calls.inbox().take());
        }
    }

    /// Puts `closures`, which count as sent already, before the closures that have been posted so
    /// far.
    pub(crate) fn put_first(&self, closures: impl Iterator<Item = Message>) {
        // Makes the new messages before it takes out any that wait: making them calls the global
        // allocator, which is foreign code and may run the closures that have been posted.
        let all = Queue::new();
        all.append(closures);
        if all.len() > 0 {
            self.collect_posted();
            all.append(std::iter::from_fn(|| self.posted.pop()));
            self.posted.append(std::iter::from_fn(|| all.pop()));
        }
    }

    /// Closes the inbox for closures, so that later posts are refused, and collects the closures in
    /// it.
    pub(in crate::pool) fn close_posted(&self) {
        if let Some(record) = self.record() {
            self.posted.append(record.calls.inbox().close());
        }
    }

    /// Passes the oldest collected closure to `run`. Returns the result of `run`, or `None` if
    /// there was no closure. `run` must not unwind.
    pub(crate) fn run_posted<R>(&self, run: impl FnOnce(Message) -> R) -> Option<R> {
        let call = self.posted.pop()?;
        let record = self.record()?;
        Some(self.running(&record.calls, 1, || run(call)))
    }

    /// Runs the closures that loops have accepted, oldest first, and leaves the others. Reports
    /// panics. Returns whether there were any closures of loops.
    pub(crate) fn run_posts_of_loops(&self) -> bool {
        let Some(record) = self.record() else {
            return false;
        };
        self.collect_posted();
        let mut any = false;
        let others = Queue::new();
        while let Some(call) = self.posted.pop() {
            if call.kind().is_loop_closure() {
                any = true;
                self.running(&record.calls, 1, || reporting(|| call.run()));
            } else {
                others.append(std::iter::once(call));
            }
        }
        self.posted.append(std::iter::from_fn(|| others.pop()));
        any
    }

    /// Returns how many closures have been collected and not begun.
    pub(crate) fn posted(&self) -> usize {
        self.posted.len()
    }
}

/// A message of the kind [`MessageKind::Release`]: one strong reference.
#[repr(C)]
struct ReleaseMessage {
    node: Node,
    thin: Thin,
}

/// Makes a message that releases a reference on the thread `target`, or on any thread if `target`
/// is `NOBODY`.
///
/// # Safety
/// The caller gives up a strong reference to `thin`, which may be sent to that thread.
unsafe fn message(target: ThreadKey, thin: Thin) -> Message {
    let node = Node::new(MessageKind::Release, target);
    // SAFETY: nothing else owns the message that was just made; its kind is that of a
    // `ReleaseMessage`; by the contract, the object may be sent.
    unsafe { Message::from_raw(boxed(ReleaseMessage { node, thin }).cast()) }
}

/// Takes the reference out of a message of the kind [`MessageKind::Release`], and frees the message.
pub(in crate::pool) fn take(message: Message) -> Thin {
    debug_assert_eq!(message.kind(), MessageKind::Release);
    // SAFETY: only `ReleaseMessage`s, which are repr(C) with the node first, are of that kind; the
    // pointer is that of the whole allocation, which the caller owns.
    unsafe { unbox(message.into_raw().cast::<ReleaseMessage>()) }.thin
}

/// Returns the object of a message of the kind [`MessageKind::Release`].
pub(in crate::pool) fn object_of(message: &Message) -> Thin {
    debug_assert_eq!(message.kind(), MessageKind::Release);
    // SAFETY: only `ReleaseMessage`s are of that kind; the caller owns the message, so it is alive.
    unsafe { message.as_raw().cast::<ReleaseMessage>().as_ref() }.thin
}

/// Makes a release without a target, for the orphans: any thread may run it.
///
/// # Safety
/// The caller gives up a strong reference to `thin`, which may be sent to any thread.
pub(crate) unsafe fn orphaned_release(thin: Thin) -> Message {
    // SAFETY: forwards the contract.
    unsafe { message(ThreadKey::NOBODY, thin) }
}

// This method is here, not beside `ThreadHandle`: it needs `Ref`, of a layer above `thread`.
impl ThreadHandle {
    /// Makes the handle's thread release `r` in its next outermost drain: if `r` is the last
    /// reference, that thread destroys the value.
    ///
    /// If the thread has ended, the next outermost drain of any thread releases `r`. Costs one
    /// allocation and two read-modify-writes; lock-free, unless the thread sleeps in a loop and
    /// this message has to wake it.
    ///
    /// If the thread is a [reclaimer](crate::Reclaimer#bounds-and-deadlocks) that has fallen too
    /// far behind, the calling thread releases `r` itself, at once.
    pub fn release<T: ?Sized + Send + Sync>(&self, r: Ref<T>) {
        if !self.0.admit(1) {
            return drop(r);
        }
        // SAFETY: `r` is given up; the object is Send and Sync.
        let message = unsafe { message(self.key(), Ref::into_payload(r).cast()) };
        tally_handed_over(1);
        if let Err(back) = self.0.send_admitted(message) {
            ORPHANS.adopt(back);
        }
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        message {
            object = offset_of!(ReleaseMessage, thin),
        }
    };
}
