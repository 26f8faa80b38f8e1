//! The counted objects that have not been freed, for the message at the end of a model.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

type TypeName = fn() -> &'static str;

struct Living {
    header: NonNull<u8>,
    type_name: TypeName,
}

// SAFETY: the address is never dereferenced here, only returned by `live_objects`.
unsafe impl Send for Living {}

static LIVING: Mutex<BTreeMap<usize, Living>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<usize, Living>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that the object with this header was made.
pub(crate) fn note_created(header: NonNull<u8>, type_name: TypeName) {
    all().insert(header.addr().get(), Living { header, type_name });
}

/// Records that the object with this header is about to be freed.
pub(crate) fn note_freed(header: NonNull<u8>) {
    all().remove(&header.addr().get());
}

/// Forgets all objects, at the start of an execution.
pub(crate) fn forget_objects() {
    all().clear();
}

/// Returns header and type of each object that was made and not freed in this execution.
pub(crate) fn live_objects() -> Vec<(NonNull<u8>, &'static str)> {
    let all = all();
    let each = all.values().map(|l| (l.header, (l.type_name)()));
    each.collect()
}
