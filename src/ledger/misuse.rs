//! Misuse that the ledger detects, in debug builds and with the feature `checks`.

use super::describe::{describe_dead, type_and_rest_of};
use super::record::Record;
use super::{dead, index};
use crate::sync::CHECKED;
use crate::thread::current::current_label;
use std::panic::Location;
use std::ptr::NonNull;

/// Which reference a raw call takes a pointer for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawReference {
    Strong,
    Weak,
}

/// Checks that the argument of a raw call is an object that is alive or, for weak references, whose
/// memory is not freed.
///
/// Without effect if an object has not been recorded: it might be that one.
#[track_caller]
pub(crate) fn check_raw_call(thin: NonNull<u8>, call: &str, kind: RawReference) {
    let address = thin.addr().get();
    // In models, addresses of earlier executions may be recorded.
    if CHECKED || index::is_recorded(address) || !index::is_complete() {
        return;
    }
    let wrong = match kind {
        RawReference::Strong => true,
        RawReference::Weak => dead::find(address).is_some_and(|dead| dead.freed),
    };
    if wrong {
        let (what, site, thread) = (describe_dead(address), Location::caller(), current_label());
        abort(&format!(
            "{call} at {site} got {thin:p}, which {what} (thread {thread})"
        ));
    }
}

/// Aborts as an object was destroyed while pools held it.
#[cold]
pub(super) fn destroyed_while_held(record: &Record) -> ! {
    let ((name, rest), thread) = (type_and_rest_of(record), current_label());
    let at = record.address;
    abort(&format!(
        "{name} at {at:#x} was destroyed while a pool holds it, so it was released more often than \
         it was retained (thread {thread}{rest})"
    ))
}

/// Writes the message and aborts the process.
#[cold]
pub(crate) fn abort(message: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "releasepool: {message}; aborting");
    crate::sync::abort(message)
}
