//! Misuse that the ledger detects, in debug builds and with the feature `checks`.

use super::describe::{describe_dead, here, name_and_rest_of};
use super::object_record::Record;
use super::told::RawCall;
use super::{dead, index};
use crate::event::place::{At, known};
use crate::sync::CHECKED;
use crate::thread::current::current_label;
use std::panic::Location;
use std::ptr::NonNull;

/// Checks that the argument of a raw call is an object that is alive or, for weak references, whose
/// memory is not freed.
///
/// Without effect if some object has not been recorded, as the argument might be that object.
#[track_caller]
pub(crate) fn check_raw_call(thin: NonNull<u8>, call: RawCall) {
    let address = thin.addr().get();
    // In models, the ledger may have records of earlier executions.
    if CHECKED || index::is_recorded(address) || !index::is_complete() {
        return;
    }
    let (name, thread) = (call.name(), current_label());
    let at = At(known(Location::caller()));
    match dead::find(address) {
        Some(dead) if call != RawCall::WeakFromRaw || dead.freed => {
            let (object, rest) = describe_dead(&dead);
            let misuse = call.misuse();
            abort(&format!(
                "{object} at {thin:p} {misuse}, by {name}{at} (thread {thread}{rest})"
            ))
        }
        // The object may have died long ago, with weak references that keep its memory.
        None if call != RawCall::WeakFromRaw => abort(&format!(
            "{name}{at} got {thin:p}, which is no object, or one that died long ago (thread \
             {thread})"
        )),
        _ => {}
    }
}

/// Aborts because an object was destroyed while pools held it.
///
/// # Safety
/// The memory of the object can be read.
#[cold]
pub(super) unsafe fn destroyed_while_held(record: &Record) -> ! {
    // SAFETY: forwards the contract.
    let ((name, rest), thread) = (unsafe { name_and_rest_of(record) }, current_label());
    let at = record.address.get();
    abort(&format!(
        "{name} at {at:#x} was destroyed while a pool holds it, so it was released more often than \
         it was retained{} (thread {thread}{rest})",
        here(",")
    ))
}

/// Writes the message and aborts the process.
#[cold]
pub(crate) fn abort(message: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "releasepool: {message}; aborting");
    crate::sync::abort(message)
}
