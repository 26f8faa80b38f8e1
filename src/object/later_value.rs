//! A value on its way to the thread that destroys it: an object whose payload begins with a message.
//!
//! Nobody else has a reference to the object, so the value need be `Send` only. One block serves for
//! message and value.

use super::destroy;
use super::header::{ObjectLayout, Thin, free, note_write, write_value};
use super::object_memory::{BlockSource, OrAbort, Source};
use super::payload::{One, Payload};
use super::type_info::TypeShape;
use crate::ledger;
use crate::thread::current::tally_destroyed;
use crate::thread::inbox::{Message, MessageKind, Node};
use crate::thread::key::ThreadKey;
use std::ptr::NonNull;

/// The payload. The fields are dropped in this order, each even if another one panics.
#[repr(C)]
struct LaterValue<T, G> {
    node: Node,
    value: T,
    /// Dropped once the value has been destroyed.
    guard: G,
}

/// One value of type `LaterValue<T, G>`, with the name of `T`.
impl<T, G> Payload for LaterValue<T, G> {
    type Named = T;
    const HAS_DESTRUCTOR: bool = One::<Self>::HAS_DESTRUCTOR;
    const SHAPE: TypeShape = One::<Self>::SHAPE;
    const LAYOUT: Option<ObjectLayout> = One::<Self>::LAYOUT;

    unsafe fn layout(thin: Thin) -> ObjectLayout {
        // SAFETY: the object has one value; the rest is the contract.
        unsafe { One::<Self>::layout(thin) }
    }

    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the object has one value; the rest is the contract.
        unsafe { One::<Self>::drop_value(thin) };
    }
}

/// Makes a message to `target` that destroys `value` there, and then drops `guard`. Message and value
/// are a block of the process-wide allocator, or memory of the global allocator if they do not fit
/// one.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) fn message<T, G>(value: T, guard: G, target: ThreadKey) -> Message
where
    T: Send + 'static,
    G: Send + 'static,
{
    let source = OrAbort(BlockSource::Process);
    let Ok(thin) = source.allocate::<LaterValue<T, G>>(One::<LaterValue<T, G>>::OBJECT);
    let node = Node::new(MessageKind::DestroyAnywhere, target, run);
    // SAFETY: the payload was just allocated for a `LaterValue<T, G>`.
    unsafe { write_value(thin.cast(), LaterValue { node, value, guard }) };
    // SAFETY: the only pointer to the object, which was just made; `run` frees it, and value and guard
    // may be sent.
    unsafe { Message::from_raw(thin.cast()) }
}

/// Takes value and guard out of a message that was not sent, and frees it.
///
/// # Safety
/// [`message`] made this message, with these types.
pub(crate) unsafe fn take_back<T, G>(message: Message) -> (T, G) {
    let thin: Thin = message.into_raw().cast();
    // SAFETY: by the contract the payload is a `LaterValue<T, G>`, which the caller owns with the
    // message; it is moved out once, as the memory is freed below.
    let LaterValue { value, guard, .. } = unsafe {
        note_write(thin);
        thin.cast::<LaterValue<T, G>>().read()
    };
    tally_destroyed(1);
    ledger::died(thin);
    // SAFETY: the value was moved out, and the message was the only reference.
    unsafe { free(thin) };
    (value, guard)
}

/// Destroys the object of a message.
///
/// # Safety
/// `node` is the node of an object that [`message`] made, and that the caller owns.
unsafe fn run(node: NonNull<Node>) {
    // SAFETY: the node is at the address of the payload, with its provenance; the message had the
    // only reference.
    unsafe { destroy::release(node.cast()) };
}
