//! What other threads release here.

use super::thread_pools::{self, ThreadPools};
use crate::object::destroy::{ReleaseScope, release};
use crate::object::header::Thin;
use crate::object::strong::Ref;
use crate::object::thread_bound::HomeRef;
use crate::sync::{boxed, unbox};
use crate::thread::claimed::Next;
use crate::thread::current::{current_or_closed, tally_handed_over};
use crate::thread::handle::ThreadHandle;
use crate::thread::inbox::{Message, MessageKind, Node};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, Payload};
use std::ptr::NonNull;
use std::sync::Arc;

#[repr(C)]
struct Release {
    node: Node,
    thin: Thin,
}

impl Release {
    /// Takes the reference out of a message.
    ///
    /// # Safety
    /// `node` is the head of an owned `Release`.
    unsafe fn take(node: NonNull<Node>) -> Thin {
        // SAFETY: by the caller's promise; `Release` is repr(C), head first, and
        // the pointer was made from the whole allocation.
        unsafe { unbox(node.cast::<Self>()) }.thin
    }

    /// # Safety
    /// As `take`.
    unsafe fn run(node: NonNull<Node>) {
        // SAFETY: the message had a reference.
        unsafe { release(Self::take(node)) };
    }
}

/// The reference that a message of the kind [`MessageKind::Release`] has.
pub(super) fn reference(message: Message) -> Thin {
    debug_assert_eq!(message.kind(), MessageKind::Release);
    // SAFETY: only `Release`s are of that kind.
    unsafe { Release::take(message.into_raw()) }
}

/// The object whose reference a message of the kind [`MessageKind::Release`] has.
pub(super) fn named(message: &Message) -> Thin {
    debug_assert_eq!(message.kind(), MessageKind::Release);
    // SAFETY: only `Release`s are of that kind; the message is alive.
    unsafe { message.as_raw().cast::<Release>().as_ref() }.thin
}

/// A release for the orphans, of which the epoch lets go.
///
/// # Safety
/// The caller has a strong reference to `thin`, which may be sent to any thread, and
/// gives it up.
pub(super) unsafe fn orphaned_release(thin: Thin) -> Message {
    let node = Node::new(MessageKind::Release, ThreadKey::NOBODY, Release::run);
    // SAFETY: just made; `run` frees it; the object may be sent.
    unsafe { Message::from_raw(boxed(Release { node, thin }).cast()) }
}

impl ThreadHandle {
    /// Has `r` released on that thread, in its next outermost drain; so if it is
    /// the last reference, the value is destroyed there.
    ///
    /// If the thread has ended, the next outermost drain of any thread releases
    /// it. One allocation and two read-modify-writes; lock-free, unless the thread sleeps
    /// in a loop and this is the message that wakes it.
    ///
    /// If the thread is a [bounded reclaimer](crate::Looper::reclaimer_bounded) that has
    /// fallen too far behind, the caller releases by itself, at once.
    pub fn release<T: ?Sized + Send + Sync>(&self, r: Ref<T>) {
        if !self.0.admit(1) {
            return drop(r);
        }
        let node = Node::new(MessageKind::Release, self.key(), Release::run);
        let thin = Ref::into_payload(r).cast();
        let message = boxed(Release { node, thin });
        // SAFETY: just made; `run` frees it; the object is Send and Sync.
        let message = unsafe { Message::from_raw(message.cast()) };
        tally_handed_over(1);
        if let Err(back) = self.0.send_admitted(message) {
            ORPHANS.adopt(back);
        }
    }
}

impl<T> HomeRef<T> {
    /// A new object, whose home is the calling thread, with one reference. If its home has
    /// ended when the last reference goes, it is kept for ever, and reported.
    ///
    /// Aborts when memory is exhausted (`handle_alloc_error`).
    pub fn new(value: T) -> Self {
        // SAFETY: see `home`.
        unsafe { Self::make(value, home(), MessageKind::DestroyAtHome) }
    }

    /// The same, for a value that may die anywhere: if its home has ended when the last
    /// reference goes, it is destroyed there and then.
    ///
    /// ```
    /// use releasepool::HomeRef;
    /// let made = std::thread::spawn(|| HomeRef::new_or_anywhere(vec![1, 2, 3]));
    /// let made = made.join().unwrap();
    /// assert!(made.get().is_none());
    /// drop(made); // here
    /// ```
    pub fn new_or_anywhere(value: T) -> Self
    where
        T: Send,
    {
        // SAFETY: see `home`; `T` is Send.
        unsafe { Self::make(value, home(), MessageKind::DestroyAnywhere) }
    }
}

/// The calling thread's record. It takes messages only if the thread has a block, whose
/// exit runs them here.
fn home() -> Arc<Record> {
    // Makes the block, if the thread has not exited. If it is about to, either its inbox
    // is closed, or is still to be, by the block's exit.
    thread_pools::with(|_| ());
    current_or_closed()
}

/// Releases what other threads have sent here, and the orphans. What budgeted drains have taken
/// out is left to them, as the rest of the backlog. Returns whether there was anything.
pub(crate) fn deliver(local: &ThreadPools, scope: &ReleaseScope, panics: &mut FirstPanic) -> bool {
    let mut any = false;
    if let Some(record) = local.record() {
        for message in record.releases.inbox().take() {
            any = true;
            run_own(local, record, message, scope, panics);
        }
    }
    deliver_orphans(scope, panics) || any
}

/// Releases what other threads have sent here, the orphans, and what budgeted drains have taken out
/// before. Returns whether there was anything.
pub(crate) fn deliver_all(
    local: &ThreadPools,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) -> bool {
    let claimed = deliver_claimed(local, scope, panics);
    deliver(local, scope, panics) || claimed
}

/// Makes the remote releases that budgeted drains have taken out and left. Returns the first panic.
pub(crate) fn deliver_left(local: &ThreadPools) -> Option<Payload> {
    if !local.has_claimed() {
        return None;
    }
    let mut panics = FirstPanic::default();
    let scope = ReleaseScope::enter();
    deliver_claimed(local, &scope, &mut panics);
    drop(scope);
    panics.into_first()
}

/// Makes those releases in the middle of a drain. Returns whether there were any.
pub(super) fn deliver_claimed(
    local: &ThreadPools,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) -> bool {
    let Some(record) = local.record() else {
        return false;
    };
    let mut any = false;
    while local.has_claimed() {
        if let Next::Run(message) = local.claimed.next(record.releases.inbox()) {
            any = true;
            run_own(local, record, message, scope, panics);
        }
    }
    any
}

/// Runs a message that was sent to this thread.
pub(super) fn run_own(
    local: &ThreadPools,
    record: &Record,
    message: Message,
    scope: &ReleaseScope,
    panics: &mut FirstPanic,
) {
    let weight = message.weight();
    local.running(&record.releases, weight, || run(message, scope, panics));
}

/// Delivers the orphans alone, which need no thread of their own.
pub(crate) fn deliver_orphans(scope: &ReleaseScope, panics: &mut FirstPanic) -> bool {
    ORPHANS.has_releases() && ORPHANS.run_releases(|message| run(message, scope, panics)) > 0
}

fn run(message: Message, scope: &ReleaseScope, panics: &mut FirstPanic) {
    panics.guard(|| message.run());
    scope.settle_all(panics);
}
