//! The objects that died last, for messages about misuse.

use super::address::{Hidden, hash};
use super::object_name::ObjectName;
use super::object_record::Record;
use super::thread_names::own_number;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// The number of rings. An object's address selects its ring, so that threads rarely wait for each
/// other.
const RINGS: usize = 16;

/// Number of objects in a ring: 1,024 in all.
const IN_RING: usize = 64;

/// An object whose value is gone.
#[derive(Clone, Copy)]
pub(super) struct Dead {
    address: Hidden,
    pub(super) name: ObjectName,
    pub(super) site: &'static Location<'static>,
    pub(super) created_by: u64,
    pub(super) destroyed_by: u64,
    /// False while weak references keep the memory.
    pub(super) freed: bool,
}

struct Ring {
    dead: [Option<Dead>; IN_RING],
    next: usize,
}

// The lock is std's even in loom builds, as nothing yields while it is held.
static RECENT: [Mutex<Ring>; RINGS] = [const {
    Mutex::new(Ring {
        dead: [None; IN_RING],
        next: 0,
    })
}; RINGS];

fn with_ring<R>(address: usize, f: impl FnOnce(&mut Ring) -> R) -> R {
    let ring = &RECENT[hash(address) as usize % RINGS];
    f(&mut ring.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Notes an object that the calling thread has destroyed.
pub(super) fn note(record: &Record, freed: bool) {
    let dead = Dead {
        address: record.address,
        // SAFETY: the destructor runs later, or the memory is freed later.
        name: unsafe { ObjectName::of_record(record) },
        site: record.site,
        created_by: record.thread,
        destroyed_by: own_number(),
        freed,
    };
    with_ring(record.address.get(), |ring| {
        ring.dead[ring.next] = Some(dead);
        ring.next = (ring.next + 1) % IN_RING;
    });
}

impl Ring {
    /// Returns the latest object at this address.
    fn latest(&mut self, address: usize) -> Option<&mut Dead> {
        let (newer, older) = self.dead.split_at_mut(self.next);
        let latest_first = newer.iter_mut().rev().chain(older.iter_mut().rev());
        latest_first
            .flatten()
            .find(|dead| dead.address.get() == address)
    }
}

/// Notes that the memory of an object whose value was destroyed before is freed.
pub(super) fn note_freed(address: usize) {
    with_ring(address, |ring| {
        if let Some(dead) = ring.latest(address) {
            dead.freed = true;
        }
    });
}

/// Returns the latest object that died at this address, if it is still in a ring.
pub(super) fn find(address: usize) -> Option<Dead> {
    with_ring(address, |ring| ring.latest(address).copied())
}
