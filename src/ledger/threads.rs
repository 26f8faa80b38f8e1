//! Threads in the ledger: whether the calling thread is inside it, the numbers and names of
//! threads, and functions that wait for the end of a drain.

use crate::event::words;
use crate::sync::cell::Cell;
use crate::sync::thread::current_name;
use crate::sync::{Numbers, local};
use crate::thread::key::{ThreadKey, own_key};
use crate::thread::registry::REGISTRY;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

local! {
    static INSIDE: Cell<bool> = Cell::new(false);
}

/// Marks the calling thread as inside the ledger (invariant 2 of `ledger`).
pub(crate) struct Inside(());

impl Inside {
    /// Enters the ledger; `None` if the thread is inside already, because the ledger has called a
    /// global allocator that uses this crate.
    #[inline]
    pub(crate) fn enter() -> Option<Self> {
        // `then`, not `then_some`, which would make an `Inside` even if the thread is inside: its
        // drop would end that state.
        INSIDE
            .with(|inside| !inside.replace(true))
            .then(|| Self(()))
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        INSIDE.with(|inside| inside.set(false));
    }
}

// The numbers by which records name threads. A number's name is known even after the thread has
// ended.

/// How many names are kept. A thread whose name was displaced by others is named by its key.
const NAMES: usize = 4_096;

/// A bit that marks the numbers of threads without a key, which have only dropped references.
/// Generations of keys stay far below it.
const KEYLESS: u64 = 1 << 63;

// The lock is std's even in loom builds, as nothing yields while it is held.
static NAMED: Mutex<VecDeque<(u64, Box<str>)>> = Mutex::new(VecDeque::new());

static NEXT_KEYLESS: Numbers = Numbers::new();

local! {
    /// The number of the calling thread without a key; 0 if it has none.
    static KEYLESS_NUMBER: Cell<u64> = Cell::new(0);
}

local! {
    /// The number under which the calling thread's name is noted; 0 if its name is not noted.
    static NAMED_AS: Cell<u64> = Cell::new(0);
}

/// Returns the number of a thread with this key: the index of its registry slot is in the low half,
/// the generation in the high one. Never 0.
pub(crate) fn number(key: ThreadKey) -> u64 {
    u64::from(key.generation()) << 32 | u64::from(key.index())
}

/// Returns the number of the calling thread. Runs no foreign code: pools call this while they add
/// and take entries.
#[inline]
pub(crate) fn own_number() -> u64 {
    own_key().map_or_else(keyless_number, number)
}

/// Returns the number that the calling thread has until it gets a key.
#[cold]
fn keyless_number() -> u64 {
    KEYLESS_NUMBER.with(|own| {
        if own.get() == 0 {
            own.set(KEYLESS | NEXT_KEYLESS.next());
        }
        own.get()
    })
}

/// Notes the name of the calling thread. Without effect inside the ledger.
pub(crate) fn note_thread() {
    if let Some(_inside) = Inside::enter() {
        named_own_number();
    }
}

/// Returns the number of the calling thread, and notes its name. The caller is inside the ledger.
#[inline]
pub(super) fn named_own_number() -> u64 {
    let own = own_number();
    if NAMED_AS.with(|named| named.replace(own)) != own {
        note_name(own);
    }
    own
}

#[cold]
fn note_name(own: u64) {
    if let Some(name) = current_name() {
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if named.len() >= NAMES {
            named.pop_front();
        }
        named.push_back((own, name));
    }
}

/// Returns name and key of a thread, which may have ended.
pub(crate) fn thread_label(number: u64) -> String {
    // A thread that is inside the ledger already may hold the lock.
    let name = Inside::enter().and_then(|_inside| {
        let named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = named.iter().rev().find(|named| named.0 == number);
        known.map(|named| named.1.clone())
    });
    let key = ThreadKey::new(number as u32, (number >> 32) as u32);
    match REGISTRY.get(key) {
        Some(record) => record.label(),
        None if number & KEYLESS != 0 || number == 0 => {
            words::label(name.as_deref(), "without a key")
        }
        None => words::label(name.as_deref(), format!("{key}, ended")),
    }
}

// Calls functions at the end of outermost drains of the calling thread.

local! {
    /// The function to call at the end of the next outermost drain.
    static AT_END: Cell<Option<fn()>> = Cell::new(None);
}

local! {
    /// True while the thread, which has exited, is inside [`drained_last`].
    static LAST: Cell<bool> = Cell::new(false);
}

/// Requests one call of `f`, at the end of the calling thread's next outermost drain.
pub(crate) fn at_end_of_drain(f: fn()) {
    AT_END.with(|at_end| at_end.set(Some(f)));
}

/// The greatest number of functions that [`drained_last`] calls.
const ROUNDS: usize = 1_000;

/// Returns whether a function waits for the end of an outermost drain. If so, drains of empty pools
/// must not be skipped.
#[inline]
pub(crate) fn awaits_drain() -> bool {
    AT_END.with(|at_end| at_end.get().is_some())
}

/// Calls the requested function at the end of an outermost drain of the calling thread.
#[inline]
pub(crate) fn drained() {
    if let Some(f) = AT_END.with(Cell::take) {
        f();
    }
}

/// Calls the requested function at the end of the last drain of a thread that has exited. A
/// function may request another call, but only a limited number of times: the thread must end.
pub(crate) fn drained_last() {
    if LAST.with(|last| last.replace(true)) {
        return;
    }
    for _ in 0..ROUNDS {
        match AT_END.with(Cell::take) {
            Some(f) => f(),
            None => break,
        }
    }
    LAST.with(|last| last.set(false));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_without_a_key_have_none_in_their_label() {
        for number in [0, KEYLESS | 7] {
            assert_eq!(thread_label(number), "without a key");
        }
        assert!(thread_label(7).ends_with(", ended"));
    }
}
