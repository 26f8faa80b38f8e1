//! Descriptions of objects for messages about misuse, from the ledger.

use super::dead::Dead;
use super::object_name::ObjectName;
use super::object_record::{self, Record};
use super::thread_names::thread_label;
use super::{frames, index};
use crate::event::numbers::Grouped;
use crate::event::place::{At, known};
use std::fmt::Write;
use std::panic::Location;
use std::ptr::NonNull;

/// Entries for an object: the pool's name, the number of the thread's key, and the number of
/// entries.
pub(crate) type PoolEntries = (&'static str, u64, usize);

/// Returns the pools that hold an object.
pub(crate) fn holders(record: &Record) -> impl Iterator<Item = PoolEntries> {
    let named = record.holders.iter().filter_map(|holder| {
        let label = holder.label?;
        (holder.entries != 0).then(|| (label.name(), holder.thread, holder.entries as usize))
    });
    let more =
        (record.more != 0).then_some(("(further pools)", record.thread, record.more as usize));
    named.chain(more)
}

/// A copy of a record, so that describing it holds no lock.
struct Copied {
    type_name: fn() -> &'static str,
    site: &'static Location<'static>,
    thread: u64,
    holders: Vec<PoolEntries>,
}

impl Copied {
    fn of(record: &Record, mut holders: Vec<PoolEntries>) -> Self {
        holders.extend(self::holders(record));
        Self {
            type_name: record.type_name,
            site: record.site,
            thread: record.thread,
            holders,
        }
    }
}

fn copied(address: usize) -> Option<Copied> {
    // Allocates before locking the record.
    let holders = Vec::with_capacity(object_record::HOLDERS + 1);
    index::with_record(address, |record| Copied::of(record, holders))
}

/// Returns where the live object was created, and which pools hold it, as the rest of a sentence:
/// `; created at ...`. Empty if the ledger does not know the object.
pub(crate) fn describe_live(thin: NonNull<u8>) -> String {
    copied(thin.addr().get()).map_or_else(String::new, |object| live(&object))
}

fn live(object: &Copied) -> String {
    let (at, creator) = (At(known(object.site)), thread_label(object.thread));
    let mut said = format!("; created{at} by thread {creator}");
    for &(pool, thread, entries) in &object.holders {
        let thread = thread_label(thread);
        let n = if entries == 1 {
            String::new()
        } else {
            format!(" ({} entries)", Grouped(entries))
        };
        let _ = write!(said, "; held by pool {pool:?} of thread {thread}{n}");
    }
    said
}

/// Returns the type of the live object, and the rest of a sentence as [`describe_live`] does.
pub(crate) fn type_and_rest(thin: NonNull<u8>) -> Option<(&'static str, String)> {
    let object = copied(thin.addr().get())?;
    Some(((object.type_name)(), live(&object)))
}

/// Describes an object that died with entries in pools: its name, and the rest of a sentence as
/// [`describe_live`] does.
///
/// # Safety
/// The memory of the object can be read.
pub(super) unsafe fn name_and_rest_of(record: &Record) -> (&'static str, String) {
    // SAFETY: forwards the contract.
    let name = unsafe { ObjectName::of_record(record) };
    (name.get(), live(&Copied::of(record, Vec::new())))
}

/// Returns the name of an object that died, and the rest of a sentence as [`describe_live`] does.
pub(super) fn describe_dead(dead: &Dead) -> (&'static str, String) {
    let at = At(known(dead.site));
    let creator = thread_label(dead.created_by);
    let destroyer = thread_label(dead.destroyed_by);
    let rest = format!("; created{at} by thread {creator}; destroyed by thread {destroyer}");
    (dead.name.get(), rest)
}

/// Returns the site of a live object.
pub(crate) fn site_of(thin: NonNull<u8>) -> Option<&'static Location<'static>> {
    index::with_record(thin.addr().get(), |record| record.site)
}

/// Returns the functions of the user that are running, as the rest of a sentence that begins with
/// `so`. Empty without symbols.
pub(crate) fn here(so: &str) -> String {
    let functions = frames::of_user(&frames::capture(), 3);
    let functions: Vec<_> = functions.iter().map(ToString::to_string).collect();
    if functions.is_empty() {
        return String::new();
    }
    format!("{so} in {}", functions.join(", called by "))
}
