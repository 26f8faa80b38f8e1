//! Containers that only grow.

use releasepool::Ref;
use std::sync::Mutex;

/// An object that is registered, and never removed.
pub struct Leak24Entry(pub u64);

static REGISTRY: Mutex<Vec<Ref<Leak24Entry>>> = Mutex::new(Vec::new());

#[inline(never)]
pub fn plant() {
    grow(12_000);
}

/// Registers `by` more objects.
pub fn grow(by: u64) {
    let mut registry = REGISTRY.lock().unwrap();
    registry.extend((0..by).map(|n| Ref::new(Leak24Entry(n))));
}
