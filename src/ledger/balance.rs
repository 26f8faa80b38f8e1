//! Balance: retains and releases of objects of chosen types, with their sites, and objects that threads
//! retain by turns.
//!
//! A reference does not say where it was retained, so the ledger cannot tell which retain a release
//! undoes. It counts both by site and thread, as [`Line`]s, and [`fold`] pairs them: the release of
//! a drain with a retain that became an entry of that pool; other releases first with retains of
//! the same function on the same thread, then of the same function, then of the same thread, then
//! with the rest. [`enter`] guesses which retain became an entry. The number of retains without a
//! release is exact; their places are the likeliest ones.

use super::call_stack::{Frame, calling_function};
use super::index::with_record;
use super::object_record::{AddressMap, Hidden, ObjectRecord};
use super::threads::{Inside, named_own_number, own_number};
use super::told::{PoolLabel, ReleasedBy};
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

/// The retains and releases of each object of a chosen type, by the object's address.
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

/// Returns the chosen names for which no object has been created since they were chosen.
pub(crate) fn not_met() -> Vec<String> {
    let Some(_inside) = Inside::enter() else {
        return Vec::new();
    };
    let chosen = CHOSEN.read().unwrap_or_else(PoisonError::into_inner);
    let not_met = chosen.iter().filter(|chosen| chosen.is_met.get() == 0);
    not_met.map(|chosen| chosen.name.clone()).collect()
}

/// Returns whether retains and releases of objects of this type are recorded.
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

/// Begins the lines of an object, with its creation at `site`. The caller is inside the ledger.
pub(super) fn begin(address: usize, site: &'static Location<'static>) {
    let line = line(Place::Site(site), 1, 0);
    LINES_OF.insert(Hidden::new(address), vec![line]);
}

/// Forgets the lines of an object that has died.
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
    with_lines(thin, place, retains, releases, |lines, new| {
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
    });
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
    with_lines(thin, Place::Site(site), 1, 0, |lines, call| {
        enter(lines, &call, pool);
    });
}

/// Calls `f` with the lines of an object, if it has any, and with the line of this call.
fn with_lines(
    thin: NonNull<u8>,
    place: Place,
    retains: u64,
    releases: u64,
    f: impl FnOnce(&mut Vec<Line>, Line),
) {
    let Some(_inside) = Inside::enter() else {
        return;
    };
    let address = Hidden::new(thin.addr().get());
    if LINES_OF.contains_key(&address) {
        // Makes the line before the lines are locked, as making it may read symbols.
        let call = line(place, retains, releases);
        if let Some(mut lines) = LINES_OF.get_mut(&address) {
            f(&mut lines, call);
        }
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

// Lines, and how releases are paired with the retains that they undo.

/// How many different lines are kept for an object; all further lines are counted together.
const LINES: usize = 64;

/// The place of a retain or a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// At this line: a retain, or a release by a raw call.
    Site(&'static Location<'static>),
    Released(ReleasedBy),
    /// One of many places.
    Elsewhere,
}

/// The retains, or the releases, of one object at one place on one thread.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) place: Place,
    /// The function of the user that made the call, if symbols tell.
    pub(crate) function: Option<&'static Frame>,
    pub(crate) thread: u64,
    /// For retains: the pool whose entries they have become.
    pool: Option<PoolLabel>,
    pub(crate) retains: u64,
    pub(crate) releases: u64,
}

impl Line {
    /// Returns whether both lines are for the same place, function, thread and pool.
    fn is_alike(&self, other: &Self) -> bool {
        (self.place, self.function, self.thread, self.pool)
            == (other.place, other.function, other.thread, other.pool)
    }
}

/// Makes one of the retains an entry of `pool`: the retain that most likely made the reference that
/// `call` autoreleases. The likeliest is one by the same line on the same thread; else by the same
/// function on that thread; else any on that thread; else any. If several match, it is the
/// creation, or else the latest.
fn enter(lines: &mut Vec<Line>, call: &Line, pool: PoolLabel) {
    let likelihood = |nth: &usize| {
        let line = &lines[*nth];
        let is_creation = *nth == 0;
        (
            same_thread(line, call) && same_source_line(line, call),
            same_thread(line, call) && same_function(line, call),
            same_thread(line, call),
            is_creation,
            *nth,
        )
    };
    let is_own = |nth: &usize| lines[*nth].retains != 0 && lines[*nth].pool.is_none();
    let Some(source) = (0..lines.len()).filter(is_own).max_by_key(likelihood) else {
        return;
    };
    let entry = Line {
        pool: Some(pool),
        retains: 1,
        ..lines[source]
    };
    if let Some(known) = lines.iter_mut().find(|line| line.is_alike(&entry)) {
        known.retains += 1;
    } else if lines.len() < LINES {
        lines.push(entry);
    } else {
        return;
    }
    lines[source].retains -= 1;
}

fn same_thread(a: &Line, b: &Line) -> bool {
    a.thread == b.thread
}

/// Returns whether both are in the same function, and that function is known.
fn same_function(a: &Line, b: &Line) -> bool {
    let function = |line: &Line| line.function.map(|frame| &frame.function);
    function(a).is_some() && function(a) == function(b)
}

fn same_source_line(a: &Line, b: &Line) -> bool {
    match (a.place, b.place) {
        (Place::Site(a), Place::Site(b)) => (a.file(), a.line()) == (b.file(), b.line()),
        _ => false,
    }
}

/// Pairs releases with the retains that they undo. Returns the lines that have retains without a
/// release; the field `retains` of each returned line says how many.
pub(crate) fn fold(lines: &[Line]) -> Vec<Line> {
    let (mut retains, mut releases) = (lines.to_vec(), lines.to_vec());
    // A drain releases entries of its pool.
    let entry = |retain: &Line, release: &Line| {
        retain
            .pool
            .is_some_and(|pool| release.place == Place::Released(ReleasedBy::Pool(pool)))
    };
    let no_entry = |retain: &Line| retain.pool.is_none();
    type Rule<'a> = &'a dyn Fn(&Line, &Line) -> bool;
    let rules: [Rule<'_>; 7] = [
        &|a, b| entry(a, b) && same_thread(a, b),
        &entry,
        &|a, b| no_entry(a) && same_function(a, b) && same_thread(a, b),
        &|a, b| no_entry(a) && same_function(a, b),
        &|a, b| no_entry(a) && same_thread(a, b),
        &|a, _| no_entry(a),
        &|_, _| true,
    ];
    for applies in rules {
        for release in &mut releases {
            // The latest retain first: references are mostly released in the reverse order.
            for retain in retains.iter_mut().rev() {
                if applies(retain, release) {
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

// Finds objects whose counts change on several threads by turns: each change then fetches the cache
// line of the count from another processor.
//
// Only retains are sampled, one in [`SAMPLE`] on each thread, as a sample locks the object's record.

/// One of this many retains of a thread is sampled.
const SAMPLE: u32 = 32;

local! {
    static RETAINS: Cell<u32> = Cell::new(0);
}

/// Counts a retain that the caller's caller makes, and samples one in [`SAMPLE`] of them.
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
    let note = |record: &mut ObjectRecord| {
        let is_contended = record.moves.retained(thread, now);
        is_contended.then_some((record.type_name, record.site))
    };
    // Emits the event outside of the ledger, as the event's hook is foreign code.
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
        let names = [
            "Texture",
            "game::Texture",
            "game::Sound",
            "Pair<u8>",
            "Unknown",
            "None",
        ];
        choose(names.map(str::to_owned).into_iter());
        let named =
            "game::Texture Texture a::Texture<u8> game::Sound a::game::Sound Pair<u8> a::Pair<u8>";
        for name in named.split(' ') {
            assert!(is_named(name), "{name}");
        }
        let others = " game::Textures other::Sound endgame::Sound Pair<u16>";
        for name in others.split(' ') {
            assert!(!is_named(name), "{name}");
        }
        assert_eq!(not_met(), ["Unknown", "None"]);
        choose(std::iter::empty());
        assert!(!is_chosen(|| panic!("no name is looked for")));
    }

    #[test]
    fn an_object_has_no_lines_after_its_death() {
        let place = 0;
        let address = (&raw const place).addr();
        let inside = Inside::enter();
        begin(address, Location::caller());
        drop(inside);
        assert_eq!(lines_of(address).len(), 1);
        end(address);
        assert_eq!(lines_of(address).len(), 0);
    }

    fn line(place: Place, function: &str, thread: u64, retains: u64, releases: u64) -> Line {
        let function = Frame {
            function: function.to_owned(),
            file: None,
            line: 1,
        };
        Line {
            place,
            function: Some(Box::leak(Box::new(function))),
            thread,
            pool: None,
            retains,
            releases,
        }
    }

    #[track_caller]
    fn retains(function: &str, thread: u64, n: u64) -> Line {
        line(Place::Site(Location::caller()), function, thread, n, 0)
    }

    fn releases(function: &str, thread: u64, n: u64) -> Line {
        line(Place::Released(ReleasedBy::Handle), function, thread, 0, n)
    }

    fn drains(function: &str, thread: u64, n: u64, pool: PoolLabel) -> Line {
        let by = ReleasedBy::Pool(pool);
        line(Place::Released(by), function, thread, 0, n)
    }

    fn left(lines: &[Line]) -> Vec<(String, u64, u64)> {
        let left = fold(lines);
        let name = |line: &Line| line.function.unwrap().function.clone();
        left.iter()
            .map(|line| (name(line), line.thread, line.retains))
            .collect()
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
    fn a_release_undoes_the_likeliest_retain() {
        let one = |function, thread| retains(function, thread, 1);
        let entry = |function, thread| Line {
            pool: Some(PoolLabel::ROOT),
            ..one(function, thread)
        };
        let unknown = |line: Line| Line {
            function: None,
            ..line
        };
        let release = |function, thread| releases(function, thread, 1);
        let drain = drains("main", 1, 1, PoolLabel::ROOT);
        // The retain that the third line undoes; and a later one, which stays.
        let cases = [
            [entry("load", 1), entry("load", 2), drain],
            [one("load", 1), one("load", 2), release("load", 1)],
            [one("load", 1), one("show", 2), release("load", 3)],
            [one("load", 2), one("show", 1), release("hide", 2)],
            [one("keep", 1), entry("load", 1), release("load", 1)],
            [one("keep", 2), entry("load", 1), release("load", 3)],
            [one("keep", 1), entry("load", 2), release("hide", 2)],
            [one("load", 1), unknown(one("", 2)), unknown(release("", 1))],
        ];
        for lines in cases {
            let left = fold(&lines);
            let is_later =
                left[0].function == lines[1].function && left[0].thread == lines[1].thread;
            assert!(is_later && left.len() == 1, "{lines:?}");
        }
    }

    /// Autoreleases by a new line, and returns the function whose retain became the entry.
    #[track_caller]
    fn entered(lines: &mut Vec<Line>, function: &str, thread: u64) -> String {
        let before = lines.clone();
        let call = retains(function, thread, 1);
        enter(lines, &call, PoolLabel::ROOT);
        let sum = |lines: &[Line]| lines.iter().map(|line| line.retains).sum::<u64>();
        assert_eq!(sum(lines), sum(&before));
        let was_taken = |at: &usize| lines[*at].retains < before[*at].retains;
        let source = (0..before.len()).find(was_taken).unwrap();
        lines[source].function.unwrap().function.clone()
    }

    #[test]
    fn the_likeliest_retain_becomes_the_entry() {
        // A retain in the source line of the call is likelier than one elsewhere in its function.
        let mut lines = vec![retains("draw", 1, 1)];
        let (latest, call) = (retains("upgrade", 1, 1), retains("draw", 1, 1));
        let by_line = Line {
            place: call.place,
            ..latest
        };
        lines.push(by_line);
        enter(&mut lines, &call, PoolLabel::ROOT);
        assert_eq!((lines[0].retains, lines[1].retains), (1, 0));
        // On another thread, it is not.
        lines[1].retains = 1;
        lines[1].thread = 2;
        enter(&mut lines, &call, PoolLabel::ROOT);
        assert_eq!((lines[0].retains, lines[1].retains), (0, 1));
        // Then come the same function, the creation, and the latest, in this order.
        let mut lines = vec![
            retains("load", 1, 1),
            retains("show", 1, 1),
            retains("keep", 1, 1),
            retains("show", 2, 1),
            retains("keep", 2, 1),
        ];
        assert_eq!(entered(&mut lines, "show", 1), "show");
        assert_eq!(entered(&mut lines, "show", 1), "load");
        assert_eq!(entered(&mut lines, "show", 1), "keep");
        assert_eq!(lines[2].retains, 0, "the one of thread 1");
        assert_eq!(entered(&mut lines, "show", 1), "keep");
        assert_eq!(lines[4].retains, 0, "the latest of thread 2");
        assert_eq!(entered(&mut lines, "show", 1), "show");
        let all = lines.clone();
        enter(&mut lines, &retains("show", 1, 1), PoolLabel::ROOT);
        assert_eq!(lines.len(), all.len(), "all are entries");
    }

    #[test]
    fn entries_are_counted_by_their_line() {
        let mut lines = vec![retains("load", 1, 2), retains("keep", 1, 1)];
        let call = retains("load", 1, 1);
        enter(&mut lines, &call, PoolLabel::ROOT);
        enter(&mut lines, &call, PoolLabel::ROOT);
        let counts: Vec<_> = lines.iter().map(|line| line.retains).collect();
        assert_eq!(counts, [0, 1, 2]);
        // Without room for one more line, the retain stays unchanged.
        let mut lines: Vec<_> = (0..LINES).map(|_| retains("load", 1, 1)).collect();
        enter(&mut lines, &call, PoolLabel::ROOT);
        assert!(lines.iter().all(|line| line.retains == 1) && lines.len() == LINES);
    }

    #[test]
    fn a_drain_balances_with_the_entries_of_its_pool() {
        let mut lines = vec![retains("load", 1, 1)];
        assert_eq!(entered(&mut lines, "load", 1), "load");
        lines.push(retains("button", 1, 3));
        let mut drained = lines.clone();
        drained.push(drains("main", 1, 1, PoolLabel::ROOT));
        assert_eq!(left(&drained), [("button".to_owned(), 1, 3)]);
        // A drain on another thread, for entries that were handed over.
        drained[3].thread = 2;
        assert_eq!(left(&drained), [("button".to_owned(), 1, 3)]);
        // Releases of another pool, and of a handle, do not undo the entry as long as another
        // retain is left.
        let mut lines = lines.clone();
        lines.push(drains("main", 1, 1, PoolLabel::TOKEN));
        lines.push(releases("main", 1, 1));
        let both = [("button".to_owned(), 1, 1), ("load".to_owned(), 1, 1)];
        let mut found = left(&lines);
        found.sort();
        assert_eq!(found, both);
        lines.push(releases("quit", 1, 2));
        assert_eq!(left(&lines), []);
    }
}
