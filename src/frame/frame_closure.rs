//! Messages that carry a closure which takes a frame.
//!
//! A loop that makes a frame runs such a message by [`run_in`], with that frame. Other code (the
//! end of a loop or thread, `run_inbox`) runs it like any message, and the closure gets a frame of
//! its own.

use super::one_frame::{Frame, in_own_frame};
use crate::sync::{boxed, unbox};
use crate::thread::inbox::{Message, MessageKind, Node};
use crate::thread::thread_handle::{Closed, ThreadHandle, enter_sender};
use std::ptr::NonNull;

/// The beginning of a message of the kind [`MessageKind::FrameClosure`].
#[repr(C)]
struct Head {
    node: Node,
    /// Calls the closure with the frame, and frees the message.
    run_in: unsafe fn(NonNull<Node>, &mut Frame<'_>),
}

/// The allocation of a message that carries a closure which takes a frame.
#[repr(C)]
struct FrameClosureMessage<F> {
    head: Head,
    f: F,
}

impl<F: FnOnce(&mut Frame<'_>) + Send + 'static> FrameClosureMessage<F> {
    /// Frees the message and returns the closure.
    ///
    /// # Safety
    /// `node` is the node of a `FrameClosureMessage<F>` that the caller owns.
    unsafe fn take(node: NonNull<Node>) -> F {
        // SAFETY: the head is the first field of the `repr(C)` allocation, and the node the first
        // field of the head; `boxed` made the allocation (invariant 4 of `thread`), which the
        // caller owns.
        unsafe { unbox(node.cast::<Self>()) }.f
    }

    /// Frees the message and calls the closure with `frame`.
    ///
    /// # Safety
    /// `node` is the node of a `FrameClosureMessage<F>` that the caller owns.
    unsafe fn run_in(node: NonNull<Node>, frame: &mut Frame<'_>) {
        // SAFETY: the contract of this function is that of `take`.
        let f = unsafe { Self::take(node) };
        f(frame);
    }

    /// Frees the message and calls the closure with a frame of its own.
    ///
    /// # Safety
    /// `node` is the node of a `FrameClosureMessage<F>` that the caller owns.
    unsafe fn run(node: NonNull<Node>) {
        // SAFETY: the contract of this function is that of `take`.
        let f = unsafe { Self::take(node) };
        in_own_frame(f);
    }
}

/// Makes a message to `thread` that runs a closure that takes a frame.
pub(super) fn message<F>(thread: &ThreadHandle, f: F) -> Message
where
    F: FnOnce(&mut Frame<'_>) + Send + 'static,
{
    enter_sender();
    let run = FrameClosureMessage::<F>::run;
    let head = Head {
        node: Node::new(MessageKind::FrameClosure, thread.key(), run),
        run_in: FrameClosureMessage::<F>::run_in,
    };
    let message = boxed(FrameClosureMessage { head, f });
    // SAFETY: the only pointer to a message that was just made; `run` frees the message, and its
    // closure is `Send`.
    unsafe { Message::from_raw(message.cast()) }
}

/// Sends a closure that takes a frame to `thread` by `push`, which gives a refused message back.
pub(super) fn post_by<F, R>(
    thread: &ThreadHandle,
    f: F,
    push: impl FnOnce(Message) -> Result<R, Message>,
) -> Result<R, Closed<F>>
where
    F: FnOnce(&mut Frame<'_>) + Send + 'static,
{
    push(message(thread, f)).map_err(|back| {
        // SAFETY: the function `message` made this message, and it was given back, so we own it.
        Closed(unsafe { FrameClosureMessage::<F>::take(back.into_raw()) })
    })
}

/// Runs a message; if its closure takes a frame, passes it `frame`.
pub(super) fn run_in(message: Message, frame: &mut Frame<'_>) {
    if message.kind() != MessageKind::FrameClosure {
        return message.run();
    }
    let node = message.into_raw();
    // SAFETY: only `FrameClosureMessage`s, which begin with a `Head`, are of that kind, and the
    // pointer is that of the whole allocation (invariant 4 of `thread`). We own the message.
    let run_in = unsafe { node.cast::<Head>().as_ref() }.run_in;
    // SAFETY: `message` has set `run_in` for this message, which we own.
    unsafe { run_in(node, frame) }
}
