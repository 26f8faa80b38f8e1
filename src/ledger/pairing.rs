//! Pairs releases with the retains that they undo.
//!
//! A reference does not say where it was retained, so the ledger cannot tell which retain a release
//! undoes. It counts both by site and thread, and [`fold`] pairs them: the release of a drain with
//! a retain that became an entry of that pool; other releases first with retains of the same
//! function on the same thread, then of the same thread, then with the rest. Which retain became an
//! entry is guessed when it is autoreleased ([`enter`]). The number of retains without a release is
//! exact; their places are the likeliest ones.

use super::call_stack::Frame;
use super::label::PoolLabel;
use super::told::ReleasedBy;
use std::panic::Location;

/// How many different lines are kept for an object; all further lines are counted together.
pub(super) const LINES: usize = 64;

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
    pub(super) pool: Option<PoolLabel>,
    pub(crate) retains: u64,
    pub(crate) releases: u64,
}

impl Line {
    /// Returns whether both lines are for the same place, function, thread and pool.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (self.place, self.function, self.thread, self.pool)
            == (other.place, other.function, other.thread, other.pool)
    }
}

/// Makes one of the retains an entry of `pool`: the retain from which `call`, which autoreleases,
/// has most likely got its reference. The likeliest is a retain by the same line; else by the same
/// function on the same thread; else by the same thread. If several match, it is the creation, or
/// else the latest.
pub(super) fn enter(lines: &mut Vec<Line>, call: &Line, pool: PoolLabel) {
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
        releases: 0,
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

/// Returns whether both are in one function, which is known.
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
            pool: None,
            retains,
            releases: 0,
        }
    }

    fn releases(function: &str, thread: u64, releases: u64) -> Line {
        Line {
            place: Place::Released(ReleasedBy::Handle),
            function: frame(function),
            thread,
            pool: None,
            retains: 0,
            releases,
        }
    }

    fn drains(function: &str, thread: u64, entries: u64, pool: PoolLabel) -> Line {
        Line {
            place: Place::Released(ReleasedBy::Pool(pool)),
            ..releases(function, thread, entries)
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
        // The same line, even if another function's name is the same.
        let mut lines = vec![retains("draw", 1, 1)];
        let (latest, call) = (retains("upgrade", 1, 1), retains("draw", 1, 1));
        let by_line = Line {
            place: call.place,
            ..latest
        };
        lines.push(by_line);
        enter(&mut lines, &call, PoolLabel::ROOT);
        assert_eq!((lines[0].retains, lines[1].retains), (1, 0));
        // Then the same function, then the creation, then the latest.
        let mut lines = vec![
            retains("load", 1, 1),
            retains("show", 1, 1),
            retains("keep", 1, 1),
            retains("keep", 2, 1),
        ];
        assert_eq!(entered(&mut lines, "show", 1), "show");
        assert_eq!(entered(&mut lines, "show", 1), "load");
        assert_eq!(entered(&mut lines, "show", 1), "keep");
        assert_eq!(lines[2].retains, 0, "the one of thread 1");
        assert_eq!(entered(&mut lines, "show", 1), "keep");
        assert_eq!(lines[3].retains, 0, "there is no other");
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
