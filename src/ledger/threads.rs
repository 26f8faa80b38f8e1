//! Threads as records name them: by a number, whose name is known after the thread has ended, too.

use super::guard::Inside;
use crate::event::label;
use crate::sync::cell::Cell;
use crate::sync::thread::current_name;
use crate::sync::{Numbers, local};
use crate::thread::key::{ThreadKey, own_key};
use crate::thread::registry::REGISTRY;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Number of names that are kept. A thread whose name was displaced by others is named by its key.
const NAMES: usize = 4_096;

/// A bit of the numbers of threads that have no key: they have not used the crate but for dropping
/// references. Generations of keys are far less.
const KEYLESS: u64 = 1 << 63;

// std's lock even in loom builds: nothing yields while it is held.
static NAMED: Mutex<VecDeque<(u64, Box<str>)>> = Mutex::new(VecDeque::new());

static NEXT_KEYLESS: Numbers = Numbers::new();

local! {
    /// The number of the calling thread, once its name is noted; else 0.
    static OWN: Cell<u64> = Cell::new(0);
}

/// Returns the number of a thread with this key: the index of its registry slot is in the low half,
/// the generation in the high one. Never 0.
pub(crate) fn number(key: ThreadKey) -> u64 {
    u64::from(key.generation()) << 32 | u64::from(key.index())
}

/// Returns the number of the calling thread.
#[inline]
pub(crate) fn own_number() -> u64 {
    let noted = OWN.with(Cell::get);
    if noted & KEYLESS == 0 && noted != 0 {
        return noted;
    }
    note_own(noted)
}

/// Notes the name of the calling thread, whose number was `noted`, if it has got a number or a key
/// just now.
#[cold]
fn note_own(noted: u64) -> u64 {
    let own = match own_key() {
        Some(key) => number(key),
        None if noted != 0 => return noted,
        None => KEYLESS | (NEXT_KEYLESS.next() + 1),
    };
    OWN.with(|place| place.set(own));
    // Whoever is inside the ledger already holds none of the ledger's other locks here that are
    // taken below, but the global allocator may come here again: then the name is lost.
    if let Some(name) = current_name() {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= NAMES {
            named.pop_front();
        }
        named.push_back((own, name));
    }
    own
}

/// Returns name and key of a thread, which may have ended.
pub(crate) fn thread_label(number: u64) -> String {
    let name = {
        let _inside = Inside::enter();
        let named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = named.iter().rev().find(|named| named.0 == number);
        known.map(|named| named.1.clone())
    };
    if number & KEYLESS != 0 || number == 0 {
        return label::of(name.as_deref(), "without a key");
    }
    let key = ThreadKey::new(number as u32, (number >> 32) as u32);
    match REGISTRY.get(key) {
        Some(record) => record.label(),
        None => label::of(name.as_deref(), format!("{key}, ended")),
    }
}
