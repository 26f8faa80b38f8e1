//! Balance: retains and releases of objects of chosen types, with their sites.
//!
//! The ledger counts them by site and thread, as [`Line`]s; [`pairing`](super::pairing) decides
//! which release undoes which retain.

use super::call_stack::calling_function;
use super::index::with_record;
use super::label::PoolLabel;
use super::object_record::{AddressMap, Hidden, Record};
use super::pairing::{LINES, Line, Place, enter};
use super::threads::{Inside, named_own_number, own_number};
use super::told::ReleasedBy;
use crate::event::{Event, EventKind};
use crate::sync::cell::Cell;
use crate::sync::{Setting, elapsed, local};
use crate::thread::current::current_label;
use dashmap::DashMap;
use std::mem;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{LazyLock, PoisonError, RwLock};

/// 1 if a type has been chosen.
static ON: Setting = Setting::new(0);

// The lock is std's even in loom builds, as nothing yields while it is held.
static CHOSEN: RwLock<Vec<Chosen>> = RwLock::new(Vec::new());

/// A name by which types are chosen.
struct Chosen {
    name: String,
    /// 1 if an object of such a type was created since the name was chosen.
    is_met: Setting,
}

/// The retains and releases of one object.
static LINES_OF: LazyLock<AddressMap<Vec<Line>>> = LazyLock::new(DashMap::default);

/// Chooses the types whose retains and releases are recorded, for objects that are created from now
/// on.
pub(crate) fn choose(names: impl Iterator<Item = String>) {
    let chosen = |name| Chosen {
        name,
        is_met: Setting::new(0),
    };
    let mut names: Vec<Chosen> = names.map(chosen).collect();
    {
        let mut chosen = CHOSEN.write().unwrap_or_else(PoisonError::into_inner);
        ON.set(u64::from(!names.is_empty()));
        mem::swap::<Vec<Chosen>>(&mut chosen, &mut names);
    }
    // The former names are dropped without the lock: the global allocator may create objects
    // meanwhile.
    drop(names);
}

/// Returns the chosen names for which no object has been created since.
pub(crate) fn not_met() -> Vec<String> {
    let Some(_inside) = Inside::enter() else {
        return Vec::new();
    };
    let chosen = CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
    let not_met = chosen.iter().filter(|chosen| chosen.is_met.get() == 0);
    not_met.map(|chosen| chosen.name.clone()).collect()
}

/// Returns whether objects of this type are recorded.
#[inline]
pub(super) fn is_chosen(type_name: fn() -> &'static str) -> bool {
    ON.get() != 0 && is_named(type_name())
}

/// Returns the name of a type without its generic arguments.
fn path(full: &str) -> &str {
    full.split('<').next().unwrap_or(full)
}

/// Returns the last part of a type's name, by which it can be chosen.
pub(crate) fn short_name(full: &str) -> &str {
    let path = path(full);
    path.rsplit("::").next().unwrap_or(path)
}

#[cold]
fn is_named(full: &str) -> bool {
    let chosen = CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
    let mut is_named = false;
    for chosen in chosen.iter().filter(|chosen| is_end(&chosen.name, full)) {
        chosen.is_met.set(1);
        is_named = true;
    }
    is_named
}

/// Returns whether a name is the end of a type's name, with or without its generic arguments.
fn is_end(name: &str, full: &str) -> bool {
    [full, path(full)].into_iter().any(|full| {
        let before = full.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.ends_with("::"))
    })
}

/// Begins to record an object that is created at `site`. The caller is inside the ledger.
pub(super) fn begin(address: usize, site: &'static Location<'static>) {
    let line = line(Place::Site(site), 1, 0);
    LINES_OF.insert(Hidden::new(address), vec![line]);
}

/// Forgets an object that has died.
pub(super) fn end(address: usize) {
    if let Some(_inside) = Inside::enter() {
        LINES_OF.remove(&Hidden::new(address));
    }
}

/// Records a retain that the caller's caller makes.
#[inline]
#[track_caller]
pub(crate) fn retained(thin: NonNull<u8>) {
    sample_retain(thin);
    if ON.get() != 0 {
        note(thin, Place::Site(Location::caller()), 1, 0);
    }
}

/// Records `n` releases, before they are made.
#[inline]
pub(crate) fn released(thin: NonNull<u8>, n: u32, by: ReleasedBy) {
    if ON.get() != 0 {
        note(thin, Place::Released(by), 0, n.into());
    }
}

#[cold]
fn note(thin: NonNull<u8>, place: Place, retains: u64, releases: u64) {
    let Some(_inside) = Inside::enter() else {
        return;
    };
    let address = thin.addr().get();
    if !LINES_OF.contains_key(&Hidden::new(address)) {
        return;
    }
    let new = line(place, retains, releases);
    let Some(mut lines) = LINES_OF.get_mut(&Hidden::new(address)) else {
        return;
    };
    if let Some(line) = lines.iter_mut().find(|line| line.is_alike(&new)) {
        line.retains += retains;
        line.releases += releases;
    } else if lines.len() < LINES {
        lines.push(new);
    } else if let Some(last) = lines.last_mut() {
        last.place = Place::Elsewhere;
        last.function = None;
        last.pool = None;
        last.retains += retains;
        last.releases += releases;
    }
}

/// Records that the caller is about to move a reference into a pool, by a call at `site`.
#[inline]
pub(crate) fn autoreleased(
    thin: NonNull<u8>,
    site: &'static Location<'static>,
    pool: impl FnOnce() -> PoolLabel,
) {
    if ON.get() != 0 {
        note_entry(thin, site, pool());
    }
}

#[cold]
fn note_entry(thin: NonNull<u8>, site: &'static Location<'static>, pool: PoolLabel) {
    let Some(_inside) = Inside::enter() else {
        return;
    };
    let address = Hidden::new(thin.addr().get());
    if !LINES_OF.contains_key(&address) {
        return;
    }
    let call = line(Place::Site(site), 1, 0);
    if let Some(mut lines) = LINES_OF.get_mut(&address) {
        enter(&mut lines, &call, pool);
    }
}

fn line(place: Place, retains: u64, releases: u64) -> Line {
    Line {
        place,
        function: calling_function(),
        thread: named_own_number(),
        pool: None,
        retains,
        releases,
    }
}

/// Returns the lines of an object.
pub(crate) fn lines_of(address: usize) -> Vec<Line> {
    let Some(_inside) = Inside::enter() else {
        return Vec::new();
    };
    LINES_OF
        .get(&Hidden::new(address))
        .map(|lines| lines.clone())
        .unwrap_or_default()
}

// Finds objects whose counts change on several threads by turns: each change then fetches the cache
// line of the count from another processor.
//
// Only retains are sampled, one in [`SAMPLE`] on each thread, as a sample locks the object's record.

/// The number of a thread's retains of which one is sampled.
const SAMPLE: u32 = 32;

local! {
    static RETAINS: Cell<u32> = Cell::new(0);
}

/// Notes a retain that the caller's caller makes.
#[inline]
#[track_caller]
fn sample_retain(thin: NonNull<u8>) {
    let n = RETAINS.with(|retains| retains.replace(retains.get().wrapping_add(1)));
    if n % SAMPLE == SAMPLE - 1 {
        sample(thin, Location::caller());
    }
}

#[cold]
fn sample(thin: NonNull<u8>, site: &'static Location<'static>) {
    let (thread, now) = (own_number(), elapsed());
    let note = |record: &mut Record| {
        let is_contended = record.moves.retained(thread, now);
        is_contended.then_some((record.type_name, record.site))
    };
    // Outside of the ledger, as the event's hook is foreign code.
    if let Some(Some((type_name, created_at))) = with_record(thin.addr().get(), note) {
        Event::new(EventKind::ContendedCount, current_label())
            .of_type(type_name())
            .at(site)
            .created_at(Some(created_at))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_chosen_by_any_end_of_their_path() {
        let names = ["Texture", "game::Sound", "Pair<u8>", "Unknown"];
        choose(names.map(str::to_owned).into_iter());
        for name in [
            "game::Texture",
            "Texture",
            "a::Texture<u8>",
            "game::Sound",
            "a::game::Sound",
            "Pair<u8>",
            "a::Pair<u8>",
        ] {
            assert!(is_named(name), "{name}");
        }
        for name in [
            "game::Textures",
            "other::Sound",
            "endgame::Sound",
            "Pair<u16>",
            "",
        ] {
            assert!(!is_named(name), "{name}");
        }
        assert_eq!(not_met(), ["Unknown"]);
        choose(std::iter::empty());
    }
}
