//! A value on its way to the thread that destroys it: an object whose payload begins with a message.
//!
//! Only the message refers to the object, so the value need be `Send` only. The message and the
//! value share one allocation.

use super::header::{Thin, free, note_write};
use super::object_memory::{BlockSource, Source};
use super::payload::One;
use crate::ledger;
use crate::thread::current::tally_destroyed;
use crate::thread::inbox::{Message, MessageKind, Node};
use crate::thread::key::ThreadKey;
use std::mem::ManuallyDrop;

/// The payload. The fields are dropped in this order, each even if the drop of another one panics.
#[repr(C)]
struct LaterValue<T, G> {
    node: Node,
    value: T,
    /// Dropped once the value has been destroyed.
    guard: G,
}

/// Makes a message to `target`. The thread that runs the message destroys `value`, and then drops
/// `guard`. Message, value and guard share a block of the process-wide allocator, or memory of the
/// global allocator if no block fits them.
///
/// Takes `value` by reference, and so moves it only once, into the message: unoptimized builds copy
/// a value at each call that takes it by value.
///
/// # Safety
/// The value belongs to the message: the caller does not use it again, unless [`take_back`] puts it back.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) unsafe fn message<T, G>(value: &ManuallyDrop<T>, guard: G, target: ThreadKey) -> Message
where
    T: Send + 'static,
    G: Send + 'static,
{
    let object = One::<LaterValue<T, G>>::OBJECT;
    let made = BlockSource::Process.allocate::<One<LaterValue<T, G>, T>>(object);
    let thin = made.unwrap_or_else(|error| error.fail());
    let payload = thin.cast::<LaterValue<T, G>>().as_ptr();
    // SAFETY: the payload was just allocated for a `LaterValue<T, G>`; the value is moved, by the contract.
    unsafe {
        let node = Node::new(MessageKind::DestroyAnywhere, target);
        (&raw mut (*payload).node).write(node);
        (&raw mut (*payload).value).copy_from_nonoverlapping(&raw const **value, 1);
        (&raw mut (*payload).guard).write(guard);
        note_write(thin);
    }
    // SAFETY: `thin` is the only pointer to the new object, whose payload begins with the message's
    // node; value and guard are `Send`.
    unsafe { Message::from_raw(thin.cast()) }
}

/// Takes the guard out of a message that was not sent, puts the value back into `value`, and frees the message.
///
/// # Safety
/// [`message`] made this message, with these types and the value that was in `value`.
pub(crate) unsafe fn take_back<T, G>(message: Message, value: &mut ManuallyDrop<T>) -> G {
    let thin: Thin = message.into_raw().cast();
    let payload = thin.cast::<LaterValue<T, G>>().as_ptr();
    // SAFETY: by the contract the payload is a `LaterValue<T, G>`, which the caller owns with the
    // message; value and guard are moved out once, as the memory is freed below.
    let guard = unsafe {
        note_write(thin);
        (&raw const (*payload).value).copy_to_nonoverlapping(&raw mut **value, 1);
        (&raw const (*payload).guard).read()
    };
    tally_destroyed(1);
    ledger::died(thin);
    // SAFETY: the value was moved out, and the message was the only reference.
    unsafe { free(thin) };
    guard
}
