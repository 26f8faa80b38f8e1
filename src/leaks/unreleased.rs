//! Retains that have no release.

use crate::event::numbers::Grouped;
use crate::ledger::balance;
use crate::ledger::pairing::{Line, Place, fold};
use crate::ledger::thread_names::thread_label;
use std::fmt;

/// The greatest number of lines that are returned for a group.
const LINES: usize = 16;

/// Counts the retains and releases of objects of these types, by place and thread, for objects that
/// are created from here on. Without names, turns the counting off. Reports then show the retains
/// that have no release: [`LeakGroup::unreleased`](super::LeakGroup::unreleased).
///
/// A name is the whole name of a type, as [`std::any::type_name`] returns it, or its end: `Texture`,
/// `gl::Texture` or `Texture<u8>` for `game::gl::Texture<u8>`. Reports list names of which no object
/// was created.
///
/// The number of retains without a release is exact; their places are the likeliest ones, as a
/// reference does not remember where it was retained. So the ledger pairs retains and releases by
/// these rules:
///
/// * A release that a drain makes undoes the retain that became the pool's entry: for
///   [`create`](crate::AutoreleasePool::create) the creation; for
///   [`autorelease`](crate::AutoreleasePool::autorelease) a retain in the same line, such as
///   `pool.autorelease(r.clone())`, else one in the same function, else one by the same thread; of
///   several the creation, or else the latest.
/// * Any other release undoes a retain by the same function on the same thread, if there is one
///   that is not an entry of a pool; else one by the same function; else one by the same thread;
///   else any.
///
/// Functions are known only if the executable has symbols.
///
/// Slow: each retain and release of such an object takes some tenths of a microsecond, and some
/// milliseconds the first time at each place. On systems other than Linux, and on stacks that the
/// program has made, such as those of coroutines, it takes some microseconds.
///
/// ```
/// use releasepool::{Ref, leaks};
/// struct Texture;
/// leaks::count_references(["Texture"]);
/// let scope = leaks::scope();
/// let texture = Ref::new(Texture);
/// std::mem::forget(texture.clone());
/// drop(texture);
/// let report = scope.report();
/// let unreleased = report.groups()[0].unreleased();
/// assert_eq!(unreleased.iter().map(|retain| retain.count()).sum::<u64>(), 1);
/// # leaks::count_references([""; 0]);
/// ```
pub fn count_references<I>(types: I)
where
    I: IntoIterator,
    I::Item: Into<String>,
{
    balance::choose(types.into_iter().map(Into::into));
}

/// Retains at one place that have no release, of the objects of a
/// [group](super::LeakGroup::unreleased).
///
/// ```
/// use releasepool::{Ref, leaks};
/// struct Texture;
/// leaks::count_references(["Texture"]);
/// let scope = leaks::scope();
/// std::mem::forget(Ref::new(Texture));
/// let report = scope.report();
/// let [retain] = report.groups()[0].unreleased() else { panic!("{report}") };
/// assert_eq!(retain.count(), 1);
/// println!("{retain}"); // retained once and not released: at src/game.rs:7:19, by thread 'main'
/// # leaks::count_references([""; 0]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreleasedRetain {
    pub(super) place: String,
    pub(super) thread: String,
    pub(super) count: u64,
}

impl UnreleasedRetain {
    /// Returns the file, line and column of the retain, or of the creation, and the function, if it
    /// is known.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns name and key of the thread that retained.
    pub fn thread(&self) -> &str {
        &self.thread
    }

    /// Returns the number of retains that have no release.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for UnreleasedRetain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, thread) = (&self.place, &self.thread);
        let times = if self.count == 1 { "once" } else { "times" };
        write!(f, "retained ")?;
        if self.count != 1 {
            write!(f, "{} ", Grouped(self.count as usize))?;
        }
        write!(
            f,
            "{times} and not released: at {place}, by thread {thread}"
        )
    }
}

/// Returns the retains of these objects that have no release; the most frequent first.
pub(super) fn unreleased(objects: &[usize]) -> Vec<UnreleasedRetain> {
    let mut sum: Vec<Line> = Vec::new();
    for &object in objects {
        for line in fold(&balance::lines_of(object)) {
            let is_alike = |known: &&mut Line| {
                (known.place, known.function, known.thread)
                    == (line.place, line.function, line.thread)
            };
            match sum.iter_mut().find(is_alike) {
                Some(known) => known.retains += line.retains,
                None => sum.push(line),
            }
        }
    }
    sum.sort_by_key(|line| std::cmp::Reverse(line.retains));
    sum.truncate(LINES);
    let described = |line: &Line| UnreleasedRetain {
        place: place(line),
        thread: thread_label(line.thread),
        count: line.retains,
    };
    sum.iter().map(described).collect()
}

fn place(line: &Line) -> String {
    let at = match line.place {
        Place::Site(site) => site.to_string(),
        Place::Released(_) | Place::Elsewhere => "one of many places".to_owned(),
    };
    match line.function {
        Some(frame) => format!("{at} in {}", frame.function),
        None => at,
    }
}
