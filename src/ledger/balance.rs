//! Balance: retains and releases of objects of chosen types, with their sites.
//!
//! They are counted by site and thread, as [`Line`]s; [`pairing`](super::pairing) says which
//! release undoes which retain.

use super::address::{AddressMap, Hidden};
use super::frames::{self, Frame};
use super::guard::Inside;
use super::label::PoolLabel;
use super::pairing::{LINES, Line, Place, enter};
use super::threads::named_own_number;
use super::told::ReleasedBy;
use crate::sync::Setting;
use dashmap::DashMap;
use std::collections::HashMap;
use std::mem;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, PoisonError, RwLock};

/// Number of call sites whose functions are known, for the whole process.
const KNOWN_CALLS: usize = 65_536;

/// 1 if a type has been chosen.
static ON: Setting = Setting::new(0);

// std's lock even in loom builds: nothing yields while it is held.
static CHOSEN: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// The retains and releases of one object.
static LINES_OF: LazyLock<AddressMap<Vec<Line>>> = LazyLock::new(DashMap::default);

/// Functions of the user, by the addresses of the frames that lead to them.
type Calls = HashMap<Box<[usize]>, Option<&'static Frame>>;

static CALLS: LazyLock<Mutex<Calls>> = LazyLock::new(Mutex::default);

/// Chooses the types whose retains and releases are recorded, for objects that are created from now
/// on.
pub(crate) fn choose(mut names: Vec<String>) {
    {
        let mut chosen = CHOSEN.write().unwrap_or_else(PoisonError::into_inner);
        ON.set(u64::from(!names.is_empty()));
        mem::swap::<Vec<String>>(&mut chosen, &mut names);
    }
    // The former names, without the lock: the global allocator may create objects meanwhile.
    drop(names);
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
    let (path, last) = (path(full), short_name(full));
    let chosen = CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
    chosen
        .iter()
        .any(|name| name == full || name == path || name == last)
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

/// Records a retain by the caller's caller.
#[inline]
#[track_caller]
pub(crate) fn retained(thin: NonNull<u8>) {
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

/// Returns the innermost function of the user up the call stack.
fn calling_function() -> Option<&'static Frame> {
    let frames = frames::capture();
    if let Some(known) = with_calls(|calls| calls.get(&frames).copied()) {
        return known;
    }
    // Without the lock: reading symbols takes one of `backtrace`, and a thread that has it may get
    // here by way of the global allocator.
    let frame = frames::of_user(&frames, 1).pop();
    let frame = frame.map(|frame| &*Box::leak(Box::new(frame)));
    with_calls(|calls| {
        if calls.len() >= KNOWN_CALLS {
            return frame;
        }
        // Another thread may have been quicker.
        *calls.entry(frames).or_insert(frame)
    })
}

fn with_calls<R>(f: impl FnOnce(&mut Calls) -> R) -> R {
    f(&mut CALLS.lock().unwrap_or_else(PoisonError::into_inner))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_chosen_by_any_end_of_their_path() {
        choose(vec![
            "Texture".into(),
            "game::Sound".into(),
            "Pair<u8>".into(),
        ]);
        for name in [
            "game::Texture",
            "Texture",
            "a::Texture<u8>",
            "game::Sound",
            "Pair<u8>",
        ] {
            assert!(is_named(name), "{name}");
        }
        for name in ["game::Textures", "other::Sound", "Pair<u16>"] {
            assert!(!is_named(name), "{name}");
        }
        choose(Vec::new());
    }
}
