//! A queue that many threads push to and one empties: push, take all, close.
//!
//! There is no pop, so no ABA: it does no harm if the head that a sender saw was
//! taken and another message came to stand at its address before the exchange. (In
//! Rust's model of pointers the link then has the provenance of the first one; no
//! compiler today makes anything of that, and to avoid it would take a lock, or
//! addresses exposed as integers.) An inbox belongs to one incarnation of a thread
//! and stays closed for ever once that thread has closed it: a sender that
//! stalled in the middle of a push can only ever reach the thread that it meant,
//! or be refused. (Treiber's stack, without the pop that breaks it.)
//!
//! An owner that is about to sleep *arms* the inbox if it is empty. The one push that
//! finds it armed must ring the owner's bell. All that is in one word: no message can
//! come between the owner's look and its sleep without one of the two knowing, and
//! senders pay nothing while the owner is awake.

use super::key::ThreadKey;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Witness, const_fn};
use std::ptr::{self, NonNull};

/// What a message asks for, which decides when it may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// Let a counted reference go: in any outermost drain.
    Release,
    /// Let many of them go: the same, but that a budgeted drain may do it by parts.
    ReleaseMany,
    /// Destroy the object that the message stands first in, which is dead: in any outermost
    /// drain.
    DestroyAnywhere,
    /// The same, but nowhere else than on the target.
    DestroyAtHome,
    /// Run a closure: only where the thread asks for it.
    Closure,
    /// Run a closure that a loop has accepted: on no other thread than the target.
    LoopClosure,
    /// Orphaned releases that are pushed as one message: taken apart by the orphans alone.
    OrphanBatch,
}

/// The head of every message; what it carries follows it in the same
/// allocation. The one who holds the pointer owns the message.
#[repr(C)]
pub(crate) struct Node {
    next: Cell<*mut Node>,
    pub(crate) kind: MessageKind,
    /// How many releases, or closures, the message still stands for.
    weight: Cell<u32>,
    pub(crate) target: ThreadKey,
    /// Does what is asked for, and frees the message; also if that panics.
    run: unsafe fn(NonNull<Node>),
    /// Stands for all that the message carries, in models: written when it is complete, and by
    /// whoever takes it. No size.
    body: Witness,
}

impl Node {
    /// The head of a message that stands for one release or closure.
    pub(crate) fn new(kind: MessageKind, target: ThreadKey, run: unsafe fn(NonNull<Node>)) -> Self {
        Self::weighing(1, kind, target, run)
    }

    /// The head of a message that stands for `weight` releases.
    pub(crate) fn weighing(
        weight: u64,
        kind: MessageKind,
        target: ThreadKey,
        run: unsafe fn(NonNull<Node>),
    ) -> Self {
        Self {
            next: Cell::new(ptr::null_mut()),
            kind,
            weight: Cell::new(u32::try_from(weight).unwrap_or(u32::MAX)),
            target,
            run,
            body: Witness::new(),
        }
    }
}

// loom's cells are larger; a message of one reference fits 48 bytes of malloc's.
#[cfg(not(loom))]
const _: () = assert!(size_of::<Node>() <= 32);

/// One message, owned. Dropping it leaks what it carries: run it or send it on.
#[derive(Debug)]
#[must_use]
pub(crate) struct Message(NonNull<Node>);

// SAFETY: a message is only ever made of what may be sent (`Ref<T>` with
// `T: Send + Sync`, closures that are `Send`), or is of `MessageKind::DestroyAtHome`, and run by its
// target alone; its makers see to it.
unsafe impl Send for Message {}

impl Message {
    /// # Safety
    /// `node` is the only pointer to a message whose `run` frees it, and what it
    /// carries may be sent to another thread; or else the message is of `MessageKind::DestroyAtHome`,
    /// and its target runs all that its inbox takes in.
    pub(crate) unsafe fn from_raw(node: NonNull<Node>) -> Self {
        let message = Self(node);
        message.node().body.write();
        message
    }

    pub(crate) fn into_raw(self) -> NonNull<Node> {
        self.node().body.write();
        self.0
    }

    fn node(&self) -> &Node {
        // SAFETY: we own the message.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn as_raw(&self) -> NonNull<Node> {
        self.node().body.read();
        self.0
    }

    pub(crate) fn kind(&self) -> MessageKind {
        self.node().body.read();
        self.node().kind
    }

    pub(crate) fn target(&self) -> ThreadKey {
        self.node().target
    }

    /// How many releases, or closures, the message still stands for.
    pub(crate) fn weight(&self) -> u64 {
        self.node().weight.get().into()
    }

    /// Notes that `n` of its releases have been made.
    pub(crate) fn lighten(&self, n: u32) {
        let weight = &self.node().weight;
        weight.set(weight.get().saturating_sub(n));
    }

    pub(crate) fn run(self) {
        self.node().body.write();
        let run = self.node().run;
        // SAFETY: we own the message and give it up.
        unsafe { run(self.0) }
    }
}

/// Messages that were taken out, owned. Oldest first, unless said otherwise. Dropping a chain
/// leaks them.
#[derive(Debug)]
#[must_use]
pub(crate) struct Chain(*mut Node);

// SAFETY: as for the messages in it.
unsafe impl Send for Chain {}

impl Chain {
    pub(crate) const EMPTY: Self = Self(ptr::null_mut());

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    /// Puts a message in front.
    pub(crate) fn push_front(&mut self, message: Message) {
        message.node().next.set(self.0);
        self.0 = message.0.as_ptr();
    }

    /// Returns whether `f` holds for one of the messages, which stay.
    pub(crate) fn any(&self, mut f: impl FnMut(&Message) -> bool) -> bool {
        let mut at = self.0;
        while let Some(node) = NonNull::new(at) {
            // Lent, and not dropped: it is the chain's.
            let message = Message(node);
            if f(&message) {
                return true;
            }
            at = message.node().next.get();
        }
        false
    }

    /// Turns the newest-first chain of an inbox around.
    ///
    /// # Safety
    /// The caller owns every message from `head` on.
    unsafe fn reversed(mut head: *mut Node) -> Self {
        let mut reversed = ptr::null_mut();
        while let Some(node) = NonNull::new(head) {
            // SAFETY: by the caller's promise.
            let next = unsafe { node.as_ref() }.next.replace(reversed);
            reversed = head;
            head = next;
        }
        Self(reversed)
    }
}

impl Iterator for Chain {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        let node = NonNull::new(self.0)?;
        // SAFETY: the chain owns its messages.
        self.0 = unsafe { node.as_ref() }.next.get();
        Some(Message(node))
    }
}

/// Messages that were taken out and wait for their turn, oldest first. Linked through the
/// messages themselves, so a burst leaves no memory behind. Dropping a queue leaks them.
#[derive(Debug)]
pub(crate) struct Queue {
    first: Cell<*mut Node>,
    last: Cell<*mut Node>,
    len: Cell<usize>,
}

impl Queue {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self {
                first: Cell::new(ptr::null_mut()),
                last: Cell::new(ptr::null_mut()),
                len: Cell::new(0),
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len.get()
    }

    /// Puts messages behind what is there.
    pub(crate) fn append(&self, messages: impl Iterator<Item = Message>) {
        for message in messages {
            let node = message.0.as_ptr();
            message.node().next.set(ptr::null_mut());
            match NonNull::new(self.last.replace(node)) {
                None => self.first.set(node),
                // SAFETY: the queue owns its messages.
                Some(last) => unsafe { last.as_ref() }.next.set(node),
            }
            self.len.set(self.len.get() + 1);
        }
    }

    pub(crate) fn pop(&self) -> Option<Message> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: the queue owns its messages.
        let next = unsafe { first.as_ref() }.next.get();
        self.first.set(next);
        if next.is_null() {
            self.last.set(ptr::null_mut());
        }
        self.len.set(self.len.get() - 1);
        Some(Message(first))
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Newest message, null, [`armed`] or [`closed`].
    head: AtomicPtr<Node>,
}

/// The mark of a closed inbox. Marks are below every message's address.
fn closed() -> *mut Node {
    ptr::without_provenance_mut(2)
}

/// The mark of an empty inbox whose owner wants to be rung for the next message.
fn armed() -> *mut Node {
    ptr::without_provenance_mut(1)
}

fn is_message(head: *mut Node) -> bool {
    head.addr() > closed().addr()
}

/// A message was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum PushOutcome {
    /// The owner finds it by itself.
    OwnerAwake,
    /// The owner is to be rung.
    WakeOwner,
}

impl Inbox {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self { head: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Sends `message`, or gives it back if the inbox is closed. Lock-free.
    pub(crate) fn push(&self, message: Message) -> Result<PushOutcome, Message> {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == closed() {
                return Err(message);
            }
            let (next, outcome) = if head == armed() {
                (ptr::null_mut(), PushOutcome::WakeOwner)
            } else {
                (head, PushOutcome::OwnerAwake)
            };
            message.node().next.set(next);
            // Release: pairs with the Acquire of `take` and `close`, so that the
            // taker sees what the message carries. Model: inbox_push_take_close.
            match self.head.compare_exchange_weak(
                head,
                message.0.as_ptr(),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(outcome),
                Err(now) => head = now,
            }
        }
    }

    /// Whether there is anything to take; what is pushed just now may be missed.
    #[inline]
    pub(crate) fn has_messages(&self) -> bool {
        is_message(self.head.load(Ordering::Relaxed))
    }

    /// Whether nothing can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.head.load(Ordering::Relaxed) == closed()
    }

    /// Takes what is there, oldest first. On an inbox that is ever closed, only
    /// its owner may call this: a swap would open it again.
    pub(crate) fn take(&self) -> Chain {
        if !self.has_messages() {
            return Chain::EMPTY;
        }
        // Acquire: pairs with the Release of `push`. Model: inbox_push_take_close.
        let head = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the swap made the messages ours, and only the owner takes messages
        // away: it still is one. Null ends the chain.
        unsafe { Chain::reversed(head) }
    }

    /// Takes what is there, newest first, at the same cost for any number of messages. On an
    /// inbox that is ever closed, only its owner may call this, as `take`.
    pub(crate) fn take_newest_first(&self) -> Chain {
        if !self.has_messages() {
            return Chain::EMPTY;
        }
        // Acquire: as in `take`. Model: orphans_by_parts.
        Chain(self.head.swap(ptr::null_mut(), Ordering::Acquire))
    }

    /// For the owner, before it sleeps: the next push is to ring. Not if there is mail,
    /// or the inbox is closed: whether it is armed.
    pub(crate) fn arm(&self) -> bool {
        // Relaxed: who pushes next reads nothing of the owner's but its bell, which is
        // behind a lock; and mail is looked at by `take`.
        let was_empty = self.head.compare_exchange(
            ptr::null_mut(),
            armed(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        was_empty.is_ok()
    }

    /// For the owner, when it is awake: pushes need not ring any more. If one has
    /// come in between, it may ring yet.
    pub(crate) fn disarm(&self) {
        // Relaxed: as in `arm`.
        if self.head.load(Ordering::Relaxed) == armed() {
            let _ = self.head.compare_exchange(
                armed(),
                ptr::null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    /// Refuses everything from now on, and takes what is there, oldest first.
    pub(crate) fn close(&self) -> Chain {
        // Acquire: as in `take`. Model: inbox_push_take_close.
        let head = self.head.swap(closed(), Ordering::Acquire);
        if !is_message(head) {
            return Chain::EMPTY;
        }
        // SAFETY: as in `take`.
        unsafe { Chain::reversed(head) }
    }
}
