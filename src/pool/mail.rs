//! What other threads release here.

use super::local::Local;
use crate::object::destroy::{Scope, release};
use crate::object::header::Thin;
use crate::object::strong::Ref;
use crate::sync::{boxed, unbox};
use crate::thread::handle::ThreadHandle;
use crate::thread::inbox::{Kind, Message, Node};
use crate::thread::key::ThreadKey;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::tally_handed_over;
use crate::unwind::FirstPanic;
use std::ptr::NonNull;

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
    // Meant for no thread.
    let nobody = ThreadKey::new(u32::MAX, 0);
    let node = Node::new(Kind::Release, nobody, Release::run);
    // SAFETY: just made; `run` frees it; the object may be sent.
    unsafe { Message::from_raw(boxed(Release { node, thin }).cast()) }
}

impl ThreadHandle {
    /// Has `r` released on that thread, in its next outermost drain; so if it is
    /// the last reference, the value is destroyed there.
    ///
    /// If the thread has ended, the next outermost drain of any thread releases
    /// it. One allocation and one compare-and-swap; lock-free.
    pub fn release<T: ?Sized + Send + Sync>(&self, r: Ref<T>) {
        let node = Node::new(Kind::Release, self.key(), Release::run);
        let thin = Ref::into_payload(r).cast();
        let message = boxed(Release { node, thin });
        // SAFETY: just made; `run` frees it; the object is Send and Sync.
        let message = unsafe { Message::from_raw(message.cast()) };
        tally_handed_over(1);
        if let Err(back) = self.0.inbox.push(message) {
            ORPHANS.adopt(back);
        }
    }
}

/// Does what the inbox and the orphans ask for, as far as a drain may: releases
/// are released, closures put aside for `run_inbox`. Whether there was a release.
pub(crate) fn deliver(local: &Local, scope: &Scope, panics: &mut FirstPanic) -> bool {
    let mut any = false;
    if let Some(record) = local.record() {
        for message in record.inbox.take() {
            match message.kind() {
                Kind::Call => local.push_posted(message),
                Kind::Release | Kind::Chain => {
                    any = true;
                    run(message, scope, panics);
                }
            }
        }
    }
    while let Some(orphan) = local.kept_orphan() {
        any = true;
        ORPHANS.run_one(orphan, |orphan| run(orphan, scope, panics));
    }
    any | deliver_orphans(scope, panics)
}

/// The same for the orphans alone, which need no thread of their own.
pub(crate) fn deliver_orphans(scope: &Scope, panics: &mut FirstPanic) -> bool {
    ORPHANS.has_releases() && ORPHANS.run_releases(|message| run(message, scope, panics)) > 0
}

pub(crate) fn run(message: Message, scope: &Scope, panics: &mut FirstPanic) {
    panics.guard(|| message.run());
    scope.settle_all(panics);
}
