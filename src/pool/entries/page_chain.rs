//! `PageChain`: the entries of a handoff pool as a message.

use super::Entries;
use crate::sync::{boxed, described, unbox};
use crate::thread::inbox::{Message, MessageKind, Node};
use crate::thread::key::ThreadKey;
use std::ptr::NonNull;

/// Entries on their way to another thread: a message of the kind [`MessageKind::ReleaseMany`].
#[repr(C)]
pub(in crate::pool) struct PageChain {
    node: Node,
    entries: Entries,
}

impl PageChain {
    /// Makes a message of `n` entries to `target`. `run` releases what [`take`](Self::take) returns.
    ///
    /// # Safety
    /// All objects may be sent to other threads, and `run` frees the message by `take`.
    pub(in crate::pool) unsafe fn message(
        entries: Entries,
        n: u64,
        target: ThreadKey,
        run: unsafe fn(NonNull<Node>),
    ) -> Message {
        let node = Node::weighing(n, MessageKind::ReleaseMany, target, run);
        let chain = boxed(Self { node, entries });
        // SAFETY: nothing else owns the chain that was just made; the rest is the contract.
        unsafe { Message::from_raw(chain.cast()) }
    }

    /// Takes the entries out of a message, and frees it.
    ///
    /// # Safety
    /// `node` is the head of an owned message of the kind [`MessageKind::ReleaseMany`].
    pub(in crate::pool) unsafe fn take(node: NonNull<Node>) -> Entries {
        // SAFETY: only `message` makes messages of that kind. `PageChain` is repr(C) with the node
        // first, and the pointer is that of the whole allocation.
        unsafe { unbox(node.cast::<Self>()) }.entries
    }

    /// Returns the entries in a message of the kind [`MessageKind::ReleaseMany`].
    pub(in crate::pool) fn entries(message: &Message) -> &Entries {
        debug_assert_eq!(message.kind(), MessageKind::ReleaseMany);
        // SAFETY: only `PageChain`s, which are repr(C) with the node first, are of that kind; the
        // caller owns the message, so it is alive.
        unsafe { &message.as_raw().cast::<Self>().as_ref().entries }
    }
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        message {
            entries = offset_of!(PageChain, entries),
        }
    };
}
