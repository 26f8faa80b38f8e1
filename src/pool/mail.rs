//! What other threads release here.

use super::handoff::PageChain;
use super::local::{self, Local};
use crate::object::destroy::{Scope, release};
use crate::object::header::Thin;
use crate::object::home::HomeRef;
use crate::object::strong::Ref;
use crate::sync::{boxed, unbox};
use crate::thread::handle::ThreadHandle;
use crate::thread::inbox::{Kind, Message, Node};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::{Record, current_or_closed, tally_handed_over};
use crate::unwind::FirstPanic;
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

/// The reference that a message of the kind [`Kind::Release`] has.
pub(super) fn reference(message: Message) -> Thin {
    debug_assert_eq!(message.kind(), Kind::Release);
    // SAFETY: only `Release`s are of that kind.
    unsafe { Release::take(message.into_raw()) }
}

/// A release for the orphans, of which the epoch lets go.
///
/// # Safety
/// The caller has a strong reference to `thin`, which may be sent to any thread, and
/// gives it up.
pub(super) unsafe fn orphaned_release(thin: Thin) -> Message {
    let node = Node::new(Kind::Release, ThreadKey::NOBODY, Release::run);
    // SAFETY: just made; `run` frees it; the object may be sent.
    unsafe { Message::from_raw(boxed(Release { node, thin }).cast()) }
}

impl ThreadHandle {
    /// Has `r` released on that thread, in its next outermost drain; so if it is
    /// the last reference, the value is destroyed there.
    ///
    /// If the thread has ended, the next outermost drain of any thread releases
    /// it. One allocation and one compare-and-swap; lock-free, unless the thread sleeps
    /// in a loop and this is the message that wakes it.
    ///
    /// If the thread is a [bounded reclaimer](crate::Looper::reclaimer_bounded) that has
    /// fallen too far behind, the caller releases by itself, at once.
    pub fn release<T: ?Sized + Send + Sync>(&self, r: Ref<T>) {
        if !self.0.admit(1) {
            return drop(r);
        }
        let node = Node::new(Kind::Release, self.key(), Release::run);
        let thin = Ref::into_payload(r).cast();
        let message = boxed(Release { node, thin });
        // SAFETY: just made; `run` frees it; the object is Send and Sync.
        let message = unsafe { Message::from_raw(message.cast()) };
        tally_handed_over(1);
        if let Err(back) = self.0.send(message) {
            self.0.done(1);
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
        unsafe { Self::make(value, home(), Kind::Home) }
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
        unsafe { Self::make(value, home(), Kind::Dead) }
    }
}

/// The calling thread's record. It takes messages only if the thread has a block, whose
/// exit runs them here.
fn home() -> Arc<Record> {
    // Makes the block, if the thread has not exited. If it is about to, either its inbox
    // is closed, or is still to be, by the block's exit.
    local::with(|_| ());
    current_or_closed()
}

/// Does what the inbox and the orphans ask for, as far as a drain may: releases
/// are released, closures put aside for `run_inbox`. Whether there was a release.
pub(crate) fn deliver(local: &Local, scope: &Scope, panics: &mut FirstPanic) -> bool {
    let mut any = false;
    take(local, |record, release| {
        any = true;
        let n = admitted(&release);
        run(release, scope, panics);
        record.done(n);
    });
    while let Some(orphan) = local.kept_orphan() {
        any = true;
        ORPHANS.run_one(orphan, |orphan| run(orphan, scope, panics));
    }
    deliver_orphans(scope, panics) || any
}

/// Takes what is in the inbox: closures are put aside, releases handed to `release`.
pub(super) fn take(local: &Local, mut release: impl FnMut(&Record, Message)) {
    let Some(record) = local.record() else {
        return;
    };
    for message in record.inbox.take() {
        if message.kind() == Kind::Call {
            local.push_posted(message);
        } else {
            release(record, message);
        }
    }
}

/// How many releases the sender of a message had to be [admitted](Record::admit) with.
pub(super) fn admitted(message: &Message) -> u64 {
    match message.kind() {
        Kind::Release => 1,
        Kind::Chain => PageChain::count(message) as u64,
        // Sent whatever the bound: they have nowhere else to go.
        Kind::Home | Kind::Dead | Kind::Call => 0,
    }
}

/// Delivers the orphans alone, which need no thread of their own.
pub(crate) fn deliver_orphans(scope: &Scope, panics: &mut FirstPanic) -> bool {
    ORPHANS.has_releases() && ORPHANS.run_releases(|message| run(message, scope, panics)) > 0
}

pub(crate) fn run(message: Message, scope: &Scope, panics: &mut FirstPanic) {
    panics.guard(|| message.run());
    scope.settle_all(panics);
}
