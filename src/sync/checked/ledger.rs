//! Which counted objects have memory, for the message at the end of a model.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

type TypeName = fn() -> &'static str;

struct Living {
    header: NonNull<u8>,
    type_name: TypeName,
}

// SAFETY: the address is only handed out again, by `live_objects`.
unsafe impl Send for Living {}

static LIVING: Mutex<BTreeMap<usize, Living>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<usize, Living>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that the object with this header has been made.
pub(crate) fn note_created(header: NonNull<u8>, type_name: TypeName) {
    all().insert(header.addr().get(), Living { header, type_name });
}

/// Notes that the object with this header is about to be freed.
pub(crate) fn note_freed(header: NonNull<u8>) {
    all().remove(&header.addr().get());
}

/// Forgets all, at the start of an execution.
pub(crate) fn forget_objects() {
    all().clear();
}

/// Header and type of each object that has been made and not freed in this execution.
pub(crate) fn live_objects() -> Vec<(NonNull<u8>, &'static str)> {
    let all = all();
    let each = all.values().map(|l| (l.header, (l.type_name)()));
    each.collect()
}
