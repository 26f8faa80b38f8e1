//! The life of a record: from an object's creation to its end; the objects that died last, misuse
//! that the ledger detects, and descriptions of objects for messages.

use super::object_name::ObjectName;
use super::object_record::{self, BALANCED, Hidden, NewRecord, ObjectRecord, hash};
use super::threads::{Inside, named_own_number, note_thread, own_number, thread_label};
use super::told::{CHECKS, ObjectDescription, RawCall, abort};
use super::{balance, call_stack, index};
use crate::event::words::{At, Grouped, known};
use crate::sync::cell::Cell;
use crate::sync::{CHECKED, Setting, local};
use crate::thread::current::current_label;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// True if call frames are recorded.
pub(crate) static FRAMES: Setting = Setting::new(0);

/// True if deaths are noted, to detect misuse. Not in models, where the ledger may still have
/// records of earlier executions.
const NOTES_DEATHS: bool = CHECKS && !CHECKED;

local! {
    /// How many objects this thread has created.
    static SERIAL: Cell<u64> = Cell::new(0);
}

/// Returns how many objects the calling thread has created.
pub(crate) fn own_serial() -> u64 {
    SERIAL.with(Cell::get)
}

/// Records a new object at `thin`, created by the caller's caller.
#[track_caller]
pub(crate) fn created(thin: NonNull<u8>, object: ObjectDescription) {
    let (address, site) = (thin.addr().get(), Location::caller());
    let Some(_inside) = Inside::enter() else {
        return index::note_unrecorded();
    };
    let serial = SERIAL.with(|serial| serial.replace(serial.get() + 1));
    let frames =
        (FRAMES.get() != 0 || call_stack::is_std_file(site.file())).then(call_stack::capture);
    let flags = if balance::is_chosen(object.type_name) {
        balance::begin(address, site);
        BALANCED
    } else {
        0
    };
    let record = object_record::write(NewRecord {
        address,
        object,
        site,
        flags,
        thread: named_own_number(),
        serial,
        frames,
    });
    index::insert(address, record);
}

/// Records that an object now has another type. The caller has the only reference of any kind.
pub(crate) fn retyped(thin: NonNull<u8>, type_info: *const (), type_name: fn() -> &'static str) {
    let address = thin.addr().get();
    let chosen = balance::is_chosen(type_name);
    let begins = index::with_record(address, |record| {
        record.type_info = type_info;
        record.type_name = type_name;
        let begins = chosen && record.flags & BALANCED == 0;
        if begins {
            record.flags |= BALANCED;
        }
        begins.then_some(record.site)
    });
    // Begins the object's balance: its one reference is the only retain without a release.
    if let (Some(Some(site)), Some(_inside)) = (begins, Inside::enter()) {
        balance::begin(address, site);
    }
}

/// Removes the record of an object whose value is gone. Without effect if there is no record.
pub(crate) fn died(thin: NonNull<u8>) {
    remove(thin.addr().get());
}

/// Removes the record of an object whose memory is about to be freed, unless [`died`] has removed
/// it. Notes that the memory of the dead object is freed.
pub(crate) fn freed(thin: NonNull<u8>) {
    let address = thin.addr().get();
    remove(address);
    if NOTES_DEATHS {
        with_ring(address, |ring| {
            if let Some(dead) = ring.latest(address) {
                dead.freed = true;
            }
        });
    }
}

/// Removes a record, if there is one.
fn remove(address: usize) {
    if NOTES_DEATHS {
        // For the label of this thread in messages.
        note_thread();
    }
    // Notes the death before the record is removed: another thread that checks a raw call and finds
    // no record must find the death.
    let note = |record: &ObjectRecord| {
        if NOTES_DEATHS {
            note_dead(record);
        }
    };
    let Some(record) = index::remove(address, note) else {
        return;
    };
    if NOTES_DEATHS {
        // SAFETY: `index::remove` has passed us the record (invariant 1 of `ledger`).
        let record = unsafe { record.as_ref() };
        if record.is_held() && index::is_complete() {
            // SAFETY: the memory can be read: callers of `died` and `freed` give it up later.
            unsafe { destroyed_while_held(record) };
        }
    }
    // SAFETY: `index::remove` has passed us the record (invariant 1 of `ledger`).
    let flags = unsafe { object_record::take_back(record) };
    if flags & BALANCED != 0 {
        balance::end(address);
    }
}

// The objects that died last, for messages about misuse.

/// The number of rings. An object's address selects its ring, so that threads rarely wait for each
/// other.
const RINGS: usize = 16;

/// How many dead objects each ring remembers: all [`RINGS`] together remember 1,024.
const IN_RING: usize = 64;

/// An object whose value is gone.
#[derive(Clone, Copy)]
struct Dead {
    address: Hidden,
    name: ObjectName,
    site: &'static Location<'static>,
    created_by: u64,
    destroyed_by: u64,
    /// False while weak references keep the memory.
    freed: bool,
}

struct Ring {
    dead: [Option<Dead>; IN_RING],
    next: usize,
}

// The lock is std's even in loom builds, as nothing yields while it is held.
static RECENT: [Mutex<Ring>; RINGS] = [const { Mutex::new(Ring::EMPTY) }; RINGS];

fn with_ring<R>(address: usize, f: impl FnOnce(&mut Ring) -> R) -> R {
    let ring = &RECENT[hash(address) as usize % RINGS];
    f(&mut ring.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Notes an object that the calling thread has destroyed.
fn note_dead(record: &ObjectRecord) {
    let dead = Dead {
        address: record.address,
        // SAFETY: the memory can be read: callers of `died` and `freed` give it up later.
        name: unsafe { ObjectName::of_record(record) },
        site: record.site,
        created_by: record.thread,
        destroyed_by: own_number(),
        freed: false,
    };
    with_ring(record.address.get(), |ring| ring.note(dead));
}

impl Ring {
    const EMPTY: Self = Self {
        dead: [None; IN_RING],
        next: 0,
    };

    /// Remembers a dead object, in the place of the one that died first.
    fn note(&mut self, dead: Dead) {
        self.dead[self.next] = Some(dead);
        self.next = (self.next + 1) % IN_RING;
    }

    /// Returns the object that died last of those that the ring remembers at this address.
    fn latest(&mut self, address: usize) -> Option<&mut Dead> {
        let (newer, older) = self.dead.split_at_mut(self.next);
        let latest_first = newer.iter_mut().rev().chain(older.iter_mut().rev());
        latest_first
            .flatten()
            .find(|dead| dead.address.get() == address)
    }
}

// Misuse that the ledger detects, in debug builds and with the feature `checks`.

/// Aborts if the argument of a raw call is no live object; or, for a weak reference, if the memory
/// of the object is known to be freed.
///
/// Without effect if some object or death was not recorded: the argument might be that object. Nor
/// inside the ledger, where no record is found.
#[track_caller]
pub(crate) fn check_raw_call(thin: NonNull<u8>, call: RawCall) {
    let address = thin.addr().get();
    let is_known = index::with_record(address, |_| ()).is_some();
    if is_known || !index::is_complete() || Inside::enter().is_none() {
        return;
    }
    let (name, thread) = (call.name(), current_label());
    let at = At(known(Location::caller()));
    match with_ring(address, |ring| ring.latest(address).copied()) {
        Some(dead) if call != RawCall::WeakFromRaw || dead.freed => {
            let (object, misuse, created) = (dead.name.get(), call.misuse(), At(known(dead.site)));
            let (creator, destroyer) = (
                thread_label(dead.created_by),
                thread_label(dead.destroyed_by),
            );
            abort(&format!(
                "{object} at {thin:p} {misuse}, by {name}{at} (thread {thread}; created{created} by \
                 thread {creator}; destroyed by thread {destroyer})"
            ))
        }
        // A weak reference may keep the memory of an object that died too long ago for the ring.
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
unsafe fn destroyed_while_held(record: &ObjectRecord) -> ! {
    // SAFETY: forwards the contract.
    let name = unsafe { ObjectName::of_record(record) }.get();
    let (at, thread) = (record.address.get(), current_label());
    let rest = live(&Copied::of(record));
    abort(&format!(
        "{name} at {at:#x} was destroyed while a pool holds it, so it was released more often than \
         it was retained{} (thread {thread}{rest})",
        here(",")
    ))
}

// Descriptions of objects for messages about misuse, from the ledger.

/// Entries for an object: the pool's name, the number of the thread's key, and the number of
/// entries.
pub(crate) type PoolEntries = ((&'static str, u64), usize);

/// Returns the pools that hold an object.
pub(crate) fn holders(record: &ObjectRecord) -> impl Iterator<Item = PoolEntries> {
    let named = record.holders.iter().filter_map(|holder| {
        let label = holder.label?;
        Some(((label.name(), holder.thread), holder.entries as usize))
    });
    let more =
        (record.more != 0).then_some((("(further pools)", record.thread), record.more as usize));
    named.chain(more)
}

/// Describes a pool by its name, the label of its thread, and how many entries it has for an object.
pub(crate) fn holding(pool: &str, thread: &str, entries: usize) -> String {
    let more = match entries {
        1 => String::new(),
        n => format!(" ({} entries)", Grouped(n)),
    };
    format!("pool {pool:?} of thread {thread}{more}")
}

/// A copy of a record, so that describing it holds no lock.
pub(crate) struct Copied {
    type_name: fn() -> &'static str,
    pub(crate) site: &'static Location<'static>,
    thread: u64,
    /// True if retains and releases of the object are counted.
    pub(crate) is_counted: bool,
    /// An array: a `Vec` would allocate while the record is locked.
    pub(crate) holders: [Option<PoolEntries>; object_record::HOLDERS + 1],
}

impl Copied {
    fn of(record: &ObjectRecord) -> Self {
        let mut holders = holders(record);
        Self {
            type_name: record.type_name,
            site: record.site,
            thread: record.thread,
            is_counted: record.flags & BALANCED != 0,
            holders: std::array::from_fn(|_| holders.next()),
        }
    }
}

pub(crate) fn copied(address: usize) -> Option<Copied> {
    index::with_record(address, |record| Copied::of(record))
}

fn live(object: &Copied) -> String {
    let (at, creator) = (At(known(object.site)), thread_label(object.thread));
    let mut said = format!("; created{at} by thread {creator}");
    for &((pool, thread), entries) in object.holders.iter().flatten() {
        said += "; held by ";
        said += &holding(pool, &thread_label(thread), entries);
    }
    said
}

/// Returns the type of the live object; and where it was created and which pools hold it, as the rest of a
/// sentence: `; created at ...`. `None` if the ledger does not know the object.
pub(crate) fn type_and_rest(thin: NonNull<u8>) -> Option<(&'static str, String)> {
    let object = copied(thin.addr().get())?;
    Some(((object.type_name)(), live(&object)))
}

pub(crate) fn site_of(thin: NonNull<u8>) -> Option<&'static Location<'static>> {
    index::with_record(thin.addr().get(), |record| record.site)
}

/// Returns the user's functions on the call stack as the end of a sentence: `so`, and then ` in
/// ...`. Empty without symbols.
pub(crate) fn here(so: &str) -> String {
    let functions = call_stack::of_user(&call_stack::capture(), 3);
    let functions: Vec<_> = functions.iter().map(ToString::to_string).collect();
    if functions.is_empty() {
        return String::new();
    }
    format!("{so} in {}", functions.join(", called by "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_remembers_the_last_deaths_and_the_latest_at_an_address() {
        let dead = |address, destroyed_by| Dead {
            address: Hidden::new(address),
            // SAFETY: no namer has this type info, so no memory is read.
            name: unsafe { ObjectName::of(NonNull::dangling(), std::ptr::null(), || "T") },
            site: Location::caller(),
            created_by: 0,
            destroyed_by,
            freed: false,
        };
        let (mut ring, last) = (Ring::EMPTY, IN_RING + 9);
        (0..=last).for_each(|at| ring.note(dead(at, 1)));
        ring.note(dead(last, 2));
        let mut latest = |at| ring.latest(at).map(|dead| dead.destroyed_by);
        assert!((0..11).all(|at| latest(at).is_none()));
        assert!((11..last).all(|at| latest(at) == Some(1)));
        assert_eq!(latest(last), Some(2));
    }

    #[test]
    fn the_death_of_an_object_that_is_not_counted_leaves_lines_alone() {
        let object = crate::Ref::new(1);
        // Keeps the address from other objects.
        let weak = crate::Ref::downgrade(&object);
        let address = crate::Ref::as_ptr(&object).addr();
        let inside = Inside::enter();
        balance::begin(address, Location::caller());
        drop((inside, object));
        assert_eq!(balance::lines_of(address).len(), 1);
        balance::end(address);
        drop(weak);
    }
}
