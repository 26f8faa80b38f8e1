//! Balance: retains and releases of objects of chosen types, with their sites.
//!
//! A reference does not say where it was retained, so the ledger cannot tell which retain a release
//! undoes. It counts both by site and thread, and [`fold`] pairs them: first those of one function
//! on one thread, then those of one thread, then the rest. The number of retains that are left is
//! exact; where they are is the likeliest place.

use super::ReleasedBy;
use super::address::{AddressMap, Hidden};
use super::frames::{self, Frame};
use super::guard::Inside;
use super::threads::named_own_number;
use crate::sync::Setting;
use dashmap::DashMap;
use std::collections::HashMap;
use std::mem;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, PoisonError, RwLock};

/// Number of different lines that are kept for an object; further ones are counted together.
const LINES: usize = 64;

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

/// Where a reference was retained or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// At this line: a retain, or a release by a raw call.
    Site(&'static Location<'static>),
    Released(ReleasedBy),
    /// One of many places.
    Elsewhere,
}

/// Retains or releases of one object at one place on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) place: Place,
    /// The function of the user that did it, if symbols tell.
    pub(crate) function: Option<&'static Frame>,
    pub(crate) thread: u64,
    pub(crate) retains: u64,
    pub(crate) releases: u64,
}

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

#[cold]
fn is_named(full: &str) -> bool {
    let path = full.split('<').next().unwrap_or(full);
    let last = path.rsplit("::").next().unwrap_or(path);
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
    let is_alike = |line: &&mut Line| {
        line.place == new.place && line.function == new.function && line.thread == new.thread
    };
    if let Some(line) = lines.iter_mut().find(is_alike) {
        line.retains += retains;
        line.releases += releases;
    } else if lines.len() < LINES {
        lines.push(new);
    } else if let Some(last) = lines.last_mut() {
        last.place = Place::Elsewhere;
        last.function = None;
        last.retains += retains;
        last.releases += releases;
    }
}

fn line(place: Place, retains: u64, releases: u64) -> Line {
    Line {
        place,
        function: calling_function(),
        thread: named_own_number(),
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

/// Folds retains and releases that balance; returns the lines with retains that have no release,
/// and their numbers in `retains`.
pub(crate) fn fold(lines: &[Line]) -> Vec<Line> {
    let mut retains: Vec<Line> = lines
        .iter()
        .filter(|line| line.retains != 0)
        .cloned()
        .collect();
    let mut releases: Vec<Line> = lines
        .iter()
        .filter(|line| line.releases != 0)
        .cloned()
        .collect();
    let function = |line: &Line| line.function.map(|frame| &frame.function);
    let same_function = |a: &Line, b: &Line| function(a).is_some() && function(a) == function(b);
    let same_thread = |a: &Line, b: &Line| a.thread == b.thread;
    type Alike<'a> = &'a dyn Fn(&Line, &Line) -> bool;
    let rules: [Alike<'_>; 4] = [
        &|a, b| same_function(a, b) && same_thread(a, b),
        &same_function,
        &same_thread,
        &|_, _| true,
    ];
    for alike in rules {
        for release in &mut releases {
            // The latest first: references are mostly given up in the reverse order.
            for retain in retains.iter_mut().rev() {
                if alike(retain, release) {
                    let n = retain.retains.min(release.releases);
                    retain.retains -= n;
                    release.releases -= n;
                }
            }
        }
    }
    retains.retain(|line| line.retains != 0);
    retains
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str) -> Option<&'static Frame> {
        let frame = Frame {
            function: function.to_owned(),
            file: None,
            line: 1,
        };
        Some(Box::leak(Box::new(frame)))
    }

    #[track_caller]
    fn retains(function: &str, thread: u64, retains: u64) -> Line {
        Line {
            place: Place::Site(Location::caller()),
            function: frame(function),
            thread,
            retains,
            releases: 0,
        }
    }

    fn releases(function: &str, thread: u64, releases: u64) -> Line {
        Line {
            place: Place::Released(ReleasedBy::Handle),
            function: frame(function),
            thread,
            retains: 0,
            releases,
        }
    }

    fn left(lines: &[Line]) -> Vec<(String, u64, u64)> {
        let left = fold(lines);
        let name = |line: &Line| line.function.unwrap().function.clone();
        left.iter()
            .map(|line| (name(line), line.thread, line.retains))
            .collect()
    }

    #[test]
    fn a_retain_and_a_release_in_one_function_balance() {
        let lines = [
            retains("create", 1, 1),
            retains("keep", 1, 1),
            retains("draw", 1, 60),
            releases("draw", 1, 60),
            releases("create", 1, 1),
        ];
        assert_eq!(left(&lines), [("keep".to_owned(), 1, 1)]);
    }

    #[test]
    fn what_another_function_releases_balances_on_the_same_thread_first() {
        let lines = [
            retains("load", 1, 1),
            retains("show", 2, 1),
            releases("hide", 2, 1),
        ];
        assert_eq!(left(&lines), [("load".to_owned(), 1, 1)]);
        let lines = [retains("load", 1, 2), releases("hide", 2, 1)];
        assert_eq!(left(&lines), [("load".to_owned(), 1, 1)]);
    }

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
