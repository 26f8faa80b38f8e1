//! A queue that many threads push to and one empties: push, take all, close.
//!
//! A Treiber stack without a pop, so without an ABA problem: between a sender's load and its
//! exchange, the head may be taken, and a new message may be pushed at the same address, without
//! harm. (In Rust's model of pointers the link then has the provenance of the message that was
//! taken. No compiler today exploits that; avoiding it would take a lock, or exposed addresses.) A
//! thread's inbox stays closed once that thread has closed it: a push that stalls midway reaches
//! the intended thread, or is refused.
//!
//! An owner that is about to sleep *arms* the inbox if it is empty. The one push that finds it
//! armed must wake the owner. The list and the marks share one word: so the owner or the sender
//! notices a message that comes between the owner's test and its sleep, and senders pay nothing
//! while the owner is awake.

use super::key::ThreadKey;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::cell::Cell;
use crate::sync::{Witness, const_fn, described};
use std::ptr::{self, NonNull};

/// The kind of a message; it decides where, when and how the message runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MessageKind {
    /// Release a counted reference, in any outermost drain.
    Release,
    /// Release many counted references, in any outermost drain; a budgeted drain may do it in
    /// parts.
    ReleaseMany,
    /// Destroy the dead object whose payload begins with the message, in any outermost drain.
    DestroyAnywhere,
    /// Destroy the dead object whose payload begins with the message, on the target thread only.
    DestroyAtHome,
    /// Run a closure, only where the thread asks for closures: never in a drain.
    Closure,
    /// Run a closure that a loop has accepted, on the target thread only.
    LoopClosure,
    /// Orphaned releases that are pushed as one message; only the orphans unpack it.
    OrphanBatch,
    /// Run a closure that a loop has accepted and that takes a frame, on the target thread only.
    FrameClosure,
}

impl MessageKind {
    /// Returns whether a message of this kind begins with a [`ClosureHead`].
    pub(crate) fn is_closure(self) -> bool {
        matches!(self, Self::Closure) || self.is_loop_closure()
    }

    /// Returns whether a loop has accepted the message.
    pub(crate) fn is_loop_closure(self) -> bool {
        matches!(self, Self::LoopClosure | Self::FrameClosure)
    }
}

/// The first field of every message; the message's content follows in the same allocation. The
/// owner of the pointer owns the message.
#[repr(C)]
pub(crate) struct Node {
    next: Cell<*mut Node>,
    pub(crate) kind: MessageKind,
    /// The number of releases, or closures, that the message still stands for.
    weight: Cell<u32>,
    pub(crate) target: ThreadKey,
    /// A witness for the message's content, in models: written when the message is complete and
    /// when it is taken. Without a model checker it is zero-sized.
    body: Witness,
}

impl Node {
    /// Returns the node of a message that stands for one release or closure.
    pub(crate) fn new(kind: MessageKind, target: ThreadKey) -> Self {
        Self::weighing(1, kind, target)
    }

    /// Returns the node of a message that stands for `weight` releases.
    pub(crate) fn weighing(weight: u64, kind: MessageKind, target: ThreadKey) -> Self {
        Self {
            next: Cell::new(ptr::null_mut()),
            kind,
            weight: Cell::new(u32::try_from(weight).unwrap_or(u32::MAX)),
            target,
            body: Witness::new(),
        }
    }
}

/// The beginning of a message that carries a closure.
#[repr(C)]
pub(crate) struct ClosureHead {
    node: Node,
    run: unsafe fn(NonNull<Node>),
}

impl ClosureHead {
    /// Returns the head of a message of a closure's kind. `run` calls the closure and frees the
    /// message, also on panic.
    pub(crate) fn new(kind: MessageKind, target: ThreadKey, run: unsafe fn(NonNull<Node>)) -> Self {
        debug_assert!(kind.is_closure());
        let node = Node::new(kind, target);
        Self { node, run }
    }
}

// A message with one reference fits malloc's size class of 48 bytes. Loom's types are larger.
#[cfg(not(any(loom, releasepool_shuttle)))]
const _: () = assert!(size_of::<Node>() <= 32);

/// An owned message. Dropping it leaks its content: run it, take it apart, or pass it on.
#[derive(Debug)]
#[must_use]
pub(crate) struct Message(NonNull<Node>);

// SAFETY: by the contract of `from_raw`, a message's content may be sent, or only its target runs
// the message (invariant 6 of `thread`).
unsafe impl Send for Message {}

impl Message {
    /// Takes ownership of a message.
    ///
    /// # Safety
    /// `node` is the only pointer to a message, whose kind fits its allocation (invariants 3 and 4 of
    /// [`thread`](crate::thread)). The message's content may be sent to another thread; or its kind
    /// is `DestroyAtHome`, and its target runs all messages that its inbox accepts (invariant 6).
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
        // SAFETY: `self` owns the message (invariant 3 of `thread`).
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

    /// Returns the number of releases, or closures, that the message still stands for.
    pub(crate) fn weight(&self) -> u64 {
        self.node().weight.get().into()
    }

    /// Subtracts `n` releases, which have been made.
    pub(crate) fn lighten(&self, n: u32) {
        let weight = &self.node().weight;
        weight.set(weight.get().saturating_sub(n));
    }

    /// Calls the closure of the message.
    pub(crate) fn run(self) {
        assert!(self.kind().is_closure(), "drains make releases");
        let node = self.into_raw();
        // SAFETY: `self` owned the message, which begins with a `ClosureHead` by its kind, and whose
        // `run` fits it (invariants 3 and 4 of `thread`).
        unsafe { (node.cast::<ClosureHead>().as_ref().run)(node) }
    }
}

/// A linked list of owned messages that were taken out; oldest first unless said otherwise.
/// Dropping a chain leaks its messages.
#[derive(Debug)]
#[must_use]
#[repr(transparent)]
pub(crate) struct Chain(*mut Node);

// SAFETY: a chain owns its messages, which are `Send`.
unsafe impl Send for Chain {}

impl Chain {
    pub(crate) const EMPTY: Self = Self(ptr::null_mut());

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    /// Puts a message at the front.
    pub(crate) fn push_front(&mut self, message: Message) {
        message.node().next.set(self.0);
        self.0 = message.0.as_ptr();
    }

    /// Returns whether `f` returns true for one of the messages, which stay in the chain.
    pub(crate) fn any(&self, mut f: impl FnMut(&Message) -> bool) -> bool {
        let mut at = self.0;
        while let Some(node) = NonNull::new(at) {
            // Only borrows the message: the chain still owns it, and a `Message` has no destructor.
            let message = Message(node);
            if f(&message) {
                return true;
            }
            at = message.node().next.get();
        }
        false
    }

    /// Reverses the newest-first list of an inbox.
    ///
    /// # Safety
    /// The caller owns every message from `head` on.
    unsafe fn reversed(mut head: *mut Node) -> Self {
        let mut reversed = ptr::null_mut();
        while let Some(node) = NonNull::new(head) {
            // SAFETY: the caller owns the message (invariant 3 of `thread`).
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
        // SAFETY: the chain owns its messages (invariant 3 of `thread`).
        self.0 = unsafe { node.as_ref() }.next.get();
        Some(Message(node))
    }
}

/// A queue of messages that were taken out, oldest first. The messages are linked to each other, so
/// a burst leaves no large buffer behind. Dropping a queue leaks its messages.
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

    /// Appends messages.
    pub(crate) fn append(&self, messages: impl Iterator<Item = Message>) {
        for message in messages {
            let node = message.0.as_ptr();
            message.node().next.set(ptr::null_mut());
            match NonNull::new(self.last.replace(node)) {
                None => self.first.set(node),
                // SAFETY: the queue owns its messages (invariant 3 of `thread`).
                Some(last) => unsafe { last.as_ref() }.next.set(node),
            }
            self.len.set(self.len.get() + 1);
        }
    }

    pub(crate) fn pop(&self) -> Option<Message> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: the queue owns its messages (invariant 3 of `thread`).
        let next = unsafe { first.as_ref() }.next.get();
        self.first.set(next);
        if next.is_null() {
            self.last.set(ptr::null_mut());
        }
        self.len.set(self.len.get() - 1);
        Some(Message(first))
    }
}

/// A queue that many threads push to and its owner empties.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct Inbox {
    /// The newest message; or null, [`armed_mark`], [`closed_mark`] or [`nudge_mark`].
    head: AtomicPtr<Node>,
}

/// The highest address that is a mark and no message.
const NUDGED: usize = 3;

/// The mark of an empty inbox whose next message must wake the owner. All marks are below the
/// address of every message, and the marks of an open inbox are odd, unlike any message's address.
fn armed_mark() -> *mut Node {
    ptr::without_provenance_mut(1)
}

/// The mark of a closed inbox.
fn closed_mark() -> *mut Node {
    ptr::without_provenance_mut(2)
}

/// The mark of an empty inbox whose owner has been nudged.
const fn nudge_mark() -> *mut Node {
    ptr::without_provenance_mut(NUDGED)
}

fn is_message(head: *mut Node) -> bool {
    head.addr() > NUDGED
}

/// Returns the newest message of a head that a swap has replaced; null for a mark.
fn messages(head: *mut Node) -> *mut Node {
    if is_message(head) {
        head
    } else {
        ptr::null_mut()
    }
}

/// The step that the sender must take after an accepted push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum PushOutcome {
    /// Nothing: the owner looks at the inbox before it sleeps.
    OwnerAwake,
    /// Wake the owner, which may sleep.
    WakeOwner,
}

impl Inbox {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self { head: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Sends `message`; returns it if the inbox is closed. Lock-free.
    pub(crate) fn push(&self, message: Message) -> Result<PushOutcome, Message> {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == closed_mark() {
                return Err(message);
            }
            // Treats *armed* and *nudged* alike, as one test costs less. (A nudged owner is awake,
            // or about to be, and need not be woken again.)
            let (next, outcome) = if head.addr() & 1 != 0 {
                (ptr::null_mut(), PushOutcome::WakeOwner)
            } else {
                (head, PushOutcome::OwnerAwake)
            };
            message.node().next.set(next);
            // Release: pairs with the Acquire of `take` and `close`, so that the taker sees the
            // message's content. Model: inbox_push_take_close.
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

    /// Makes [`has_messages`](Self::has_messages) return true until the owner takes the messages,
    /// even if there are none. The owner then sees what the caller wrote before this call. Any
    /// thread may call this. Returns whether the caller must wake the owner.
    pub(crate) fn nudge(&self) -> PushOutcome {
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == closed_mark() {
                return PushOutcome::OwnerAwake;
            }
            let now = if is_message(head) { head } else { nudge_mark() };
            // Release: pairs with the Acquire of `take`, even if the exchange leaves the head as it
            // is. Model: inbox_nudge.
            match self
                .head
                .compare_exchange_weak(head, now, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) if head == armed_mark() => return PushOutcome::WakeOwner,
                Ok(_) => return PushOutcome::OwnerAwake,
                Err(now) => head = now,
            }
        }
    }

    /// Returns whether there is anything to take, or the owner was [nudged](Self::nudge). A
    /// concurrent push may be missed.
    #[inline]
    pub(crate) fn has_messages(&self) -> bool {
        self.head.load(Ordering::Relaxed).addr() >= NUDGED
    }

    /// Returns whether the inbox is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.head.load(Ordering::Relaxed) == closed_mark()
    }

    /// Takes all messages, oldest first. If the inbox is ever closed, only its owner may call this:
    /// the swap would open it again.
    pub(crate) fn take(&self) -> Chain {
        if !self.has_messages() {
            return Chain::EMPTY;
        }
        // Acquire: pairs with the Release of `push`. Model: inbox_push_take_close.
        let head = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the swap made the messages ours (invariant 5 of `thread`). Null ends the chain.
        unsafe { Chain::reversed(messages(head)) }
    }

    /// Takes all messages, newest first, at the same cost for any number of them. If the inbox is
    /// ever closed, only its owner may call this: the swap would open it again.
    pub(crate) fn take_newest_first(&self) -> Chain {
        if !self.has_messages() {
            return Chain::EMPTY;
        }
        // Acquire: pairs with the Release of `push`. Model: orphans_by_parts.
        Chain(messages(self.head.swap(ptr::null_mut(), Ordering::Acquire)))
    }

    /// Makes the next push wake the owner; owner only, before it sleeps. Returns false, and does
    /// not arm the inbox, if it has messages, its owner was nudged, or it is closed.
    pub(crate) fn arm(&self) -> bool {
        // Relaxed: of the owner's data, the next sender reads only its waker, which is behind a
        // lock; and the owner reads messages only after `take`.
        let was_empty = self.head.compare_exchange(
            ptr::null_mut(),
            armed_mark(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        was_empty.is_ok()
    }

    /// Ends the arming, so that pushes no longer wake the owner. Owner only, when it is awake. A
    /// push that found the inbox armed may still wake the owner later.
    pub(crate) fn disarm(&self) {
        // Relaxed: disarming publishes nothing.
        if self.head.load(Ordering::Relaxed) == armed_mark() {
            let _ = self.head.compare_exchange(
                armed_mark(),
                ptr::null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
    }

    /// Closes the inbox for good and takes all messages, oldest first. Owner only.
    pub(crate) fn close(&self) -> Chain {
        // Acquire: pairs with the Release of `push`. Model: inbox_push_take_close.
        let head = self.head.swap(closed_mark(), Ordering::Acquire);
        // SAFETY: the swap made the messages ours (invariant 5 of `thread`). Null ends the chain.
        unsafe { Chain::reversed(messages(head)) }
    }
}
described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    impl Queue {
        /// The offset of the oldest message's address.
        pub(crate) const FIRST: usize = offset_of!(Self, first);
    }

    pub(crate) const NOTE: &[Entry] = entries! {
        message {
            size = size_of::<Node>(),
            next = offset_of!(Node, next),
            kind = offset_of!(Node, kind),
            first = NUDGED + 1,
        }
        message_kind {
            release = MessageKind::Release,
            release_many = MessageKind::ReleaseMany,
            destroy_anywhere = MessageKind::DestroyAnywhere,
            destroy_at_home = MessageKind::DestroyAtHome,
            closure = MessageKind::Closure,
            loop_closure = MessageKind::LoopClosure,
            frame_closure = MessageKind::FrameClosure,
            batch = MessageKind::OrphanBatch,
        }
    };
}
