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
    /// # Safety
    /// `node` is the head of an owned `Release`.
    unsafe fn run(node: NonNull<Node>) {
        // SAFETY: by the caller's promise; `Release` is repr(C), head first, and
        // the pointer was made from the whole allocation.
        let thin = unsafe { unbox(node.cast::<Self>()) }.thin;
        // SAFETY: the message had a reference.
        unsafe { release(thin) };
    }
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
        tally_handed_over();
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
                Kind::Release => {
                    any = true;
                    run(message, scope, panics);
                }
            }
        }
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
