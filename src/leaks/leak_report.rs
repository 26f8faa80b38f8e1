//! `LeakReport`: the live objects, by type and site.

use crate::event::words::{At, Grouped, counted, known};
use crate::foreign::own_memory;
use crate::ledger::balance::{self, Line, Place, fold, not_met, short_name};
use crate::ledger::life::{PoolEntries, holders, holding};
use crate::ledger::object_name::{ObjectName, has_namer};
use crate::ledger::object_record::{BALANCED, ObjectRecord};
use crate::ledger::threads::thread_label;
use crate::ledger::{call_stack, index};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::ptr::{self, NonNull};

/// The greatest number of threads, pools and functions that [`LeakReport`] writes for a group.
const WRITTEN: usize = 4;

/// The greatest number of functions of a backtrace that are kept.
const FUNCTIONS: usize = 16;

/// The greatest number of objects of a group whose retains and releases are added up.
const BALANCES: usize = 10_000;

/// The live objects of a process or of a scope. [`Display`](fmt::Display) writes a paragraph for
/// each group.
///
/// With the feature `serde` it can be serialized, as a structure with the fields `objects`,
/// `bytes`, `unrecorded` and `groups`. A group has the fields `type_name`, `objects`, `bytes`,
/// `site` (`file`, `line` and `column`), `threads` (`thread`, `objects`), `pools` (`pool`,
/// `thread`, `entries`), `backtrace`, and `unreleased` (`place`, `thread`, `count`).
///
/// # Example
/// ```
/// use releasepool::{Ref, leaks};
///
/// let scope = leaks::scope();
/// let kept = Ref::new(5);
/// let report = scope.report();
/// assert_eq!((report.objects(), report.groups().len()), (1, 1));
/// drop(kept);
/// assert!(scope.report().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct LeakReport {
    objects: usize,
    bytes: usize,
    unrecorded: u64,
    groups: Vec<LeakGroup>,
    /// The names that were passed to `count_references` and match no object created since.
    not_met: Vec<String>,
}

impl LeakReport {
    /// Returns whether there is no live object.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Returns the number of live objects.
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// Returns the size of the objects' allocations in bytes, headers included. Does not include
    /// memory that values own elsewhere, such as the elements of a `Vec`.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the objects by type and site; the group with the most bytes first.
    pub fn groups(&self) -> &[LeakGroup] {
        &self.groups
    }

    /// Returns how many objects the ledger could not record since the process began, because the
    /// global allocator created them while it served the ledger. No report contains them.
    pub fn unrecorded(&self) -> u64 {
        self.unrecorded
    }

    /// Panics with the report and the next step, unless the report is empty.
    #[track_caller]
    pub(super) fn assert_empty(&self) {
        assert!(self.is_empty(), "{self}\n{}", self.next_step());
    }

    /// Returns a sentence that says how to find out what keeps the objects.
    fn next_step(&self) -> String {
        let is_pooled = |group: &LeakGroup| group.pooled == group.objects;
        let unexplained = |group: &&LeakGroup| !is_pooled(group) && group.unreleased.is_empty();
        let unexplained = self.groups.iter().filter(unexplained);
        let names = unexplained.map(|group| short_name(group.type_name));
        let mut names: Vec<_> = names.collect();
        if !names.is_empty() {
            names.sort_unstable();
            names.dedup();
            names.truncate(WRITTEN);
            return format!(
                "to see which retains have no release, call leaks::count_references({names:?}) \
                 before these objects are created, and run this again"
            );
        }
        if self.groups.iter().all(is_pooled) {
            return "drain or drop these pools first".to_owned();
        }
        "drop the references that were retained at these places, and drain the pools".to_owned()
    }
}

/// The live objects of one type that were created at one place.
///
/// # Example
/// ```
/// use releasepool::{Ref, leaks};
///
/// let scope = leaks::scope();
/// let _kept: Vec<_> = (0..3).map(Ref::new).collect();
/// let report = scope.report();
/// let group = &report.groups()[0];
/// assert_eq!((group.type_name(), group.objects()), ("i32", 3));
/// ```
#[derive(Clone, Debug)]
pub struct LeakGroup {
    type_name: &'static str,
    site: &'static Location<'static>,
    objects: usize,
    bytes: usize,
    threads: Vec<(String, usize)>,
    pools: Vec<PoolHolder>,
    pooled: usize,
    backtrace: Vec<String>,
    unreleased: Vec<UnreleasedRetain>,
}

impl LeakGroup {
    /// Returns the name of the type.
    pub fn type_name(&self) -> &str {
        self.type_name
    }

    /// Returns the number of objects.
    pub fn objects(&self) -> usize {
        self.objects
    }

    /// Returns the size of the objects' allocations in bytes, headers included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns where the objects were created; see [sites](crate::leaks#sites).
    ///
    /// `None` if C or C++ code has created them.
    pub fn site(&self) -> Option<&'static Location<'static>> {
        known(self.site)
    }

    /// Returns name and key of each thread that created some of the objects, and how many; the
    /// thread that created most first.
    pub fn threads(&self) -> impl Iterator<Item = (&str, usize)> {
        self.threads.iter().map(|(thread, n)| (thread.as_str(), *n))
    }

    /// Returns the pools that hold some of the objects; the pool with the most entries first.
    pub fn pools(&self) -> &[PoolHolder] {
        &self.pools
    }

    /// Returns how many of the objects are held by pools.
    pub fn pooled(&self) -> usize {
        self.pooled
    }

    /// Returns the functions that led to the creation of one of the objects, innermost first,
    /// without functions of this crate and of the standard library. Empty unless backtraces [were
    /// recorded](crate::leaks::record_backtraces) or the site is in the standard library; also
    /// empty without symbols in the executable.
    pub fn backtrace(&self) -> &[String] {
        &self.backtrace
    }

    /// Returns the retains that have no release, if references to this type [are
    /// counted](crate::leaks::count_references).
    pub fn unreleased(&self) -> &[UnreleasedRetain] {
        &self.unreleased
    }
}

/// Accumulates the figures of one group.
#[derive(Default)]
struct Collected {
    objects: usize,
    bytes: usize,
    threads: Vec<(u64, usize)>,
    pools: Vec<PoolEntries>,
    pooled: usize,
    frames: Option<Box<[usize]>>,
    counted: Vec<usize>,
}

impl Collected {
    fn add(&mut self, record: &ObjectRecord) {
        self.objects += 1;
        self.bytes += record.bytes;
        add(&mut self.threads, record.thread, 1);
        let mut held = false;
        for (pool, entries) in holders(record) {
            held = true;
            add(&mut self.pools, pool, entries);
        }
        self.pooled += usize::from(held);
        if record.flags & BALANCED != 0 && self.counted.len() < BALANCES {
            self.counted.push(record.address.get());
        }
    }

    fn finish(mut self, type_name: &'static str, site: &'static Location<'static>) -> LeakGroup {
        let (threads, pools) = (&mut self.threads, &mut self.pools);
        threads.sort_by_key(|&(thread, n)| (Reverse(n), thread));
        pools.sort_by_key(|&(.., n)| Reverse(n));
        let labelled_thread = |&(thread, n): &(u64, usize)| (thread_label(thread), n);
        let threads = threads.iter().map(labelled_thread);
        let frames = self.frames.as_deref().unwrap_or_default();
        let backtrace = call_stack::of_user(frames, FUNCTIONS);
        LeakGroup {
            type_name,
            site,
            objects: self.objects,
            bytes: self.bytes,
            threads: threads.collect(),
            pools: labelled(self.pools),
            pooled: self.pooled,
            backtrace: backtrace.iter().map(ToString::to_string).collect(),
            unreleased: unreleased(&self.counted),
        }
    }
}

fn add<K: PartialEq>(sums: &mut Vec<(K, usize)>, key: K, n: usize) {
    match sums.iter_mut().find(|sum| sum.0 == key) {
        Some(sum) => sum.1 += n,
        None => sums.push((key, n)),
    }
}

/// Returns the names of objects that have names of their own, by their addresses.
fn names() -> HashMap<usize, &'static str> {
    let mut named = Vec::new();
    index::for_each(|record| {
        if has_namer(record.type_info) {
            named.push(record.address.get());
        }
    });
    // Reads names only of objects in the library's own memory: other memory, such as a stack, may
    // have been given up without a destructor. This thread holds no lock of the ledger here, as
    // `contains` takes a lock under which memory is allocated.
    let thin = |address: usize| NonNull::new(ptr::without_provenance_mut(address));
    named.retain(|&address| thin(address).is_some_and(own_memory::contains));
    let mut known = HashMap::new();
    let name = |address: usize| {
        // SAFETY: the record is locked, so the object has not died; its memory is the library's.
        let name = index::with_record(address, |record| unsafe { ObjectName::of_record(record) })?;
        let text = known.entry(name.key()).or_insert_with(|| name.get());
        Some((address, *text))
    };
    named.into_iter().filter_map(name).collect()
}

/// Returns a report of the live objects for which `includes` returns true.
pub(super) fn collect(includes: impl Fn(&ObjectRecord) -> bool) -> LeakReport {
    // Groups by the texts, not by addresses: one line may have several addresses, and one type several
    // type infos.
    let names = names();
    let mut by_name: HashMap<_, Collected> = HashMap::new();
    index::for_each(|record| {
        if includes(record) {
            let name = names.get(&record.address.get()).copied();
            let name = name.unwrap_or_else(record.type_name);
            let group = by_name.entry((name, record.site));
            let group = group.or_insert_with(|| Collected {
                frames: record.frames.clone(),
                ..Collected::default()
            });
            group.add(record);
        }
    });
    let groups = by_name.into_iter();
    let mut groups: Vec<_> = groups
        .map(|((name, site), group)| group.finish(name, site))
        .collect();
    groups.sort_by_key(|group| (Reverse(group.bytes), group.type_name, group.site));
    LeakReport {
        objects: groups.iter().map(LeakGroup::objects).sum(),
        bytes: groups.iter().map(LeakGroup::bytes).sum(),
        unrecorded: index::unrecorded(),
        groups,
        not_met: not_met(),
    }
}

fn objects(n: usize) -> String {
    counted(n, "object", "objects")
}

fn bytes(n: usize) -> String {
    counted(n, "byte", "bytes")
}

impl fmt::Display for LeakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no object is alive");
        }
        let (objects, bytes) = (objects(self.objects), bytes(self.bytes));
        let are = if self.objects == 1 { "is" } else { "are" };
        write!(f, "{objects} {are} alive, {bytes}:")?;
        for group in &self.groups {
            write!(f, "\n  {group}")?;
        }
        for name in &self.not_met {
            write!(
                f,
                "\n  count_references({name:?}): no object of a type with that name was created since; \
                 a name is that of a type, or its end, such as \"Texture\""
            )?;
        }
        Ok(())
    }
}

/// Writes number, type, bytes, site and threads; then lines for pools, functions and retains.
impl fmt::Display for LeakGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, site, bytes) = (self.type_name, self.site, bytes(self.bytes));
        let (objects, at) = (objects(self.objects), At(known(site)));
        write!(f, "{objects} of {name}, {bytes}, created{at}")?;
        match &self.threads[..] {
            [(thread, _)] => write!(f, " by thread {thread}")?,
            threads => {
                let each = threads
                    .iter()
                    .map(|(thread, n)| format!("{thread} ({})", Grouped(*n)));
                write!(f, " by threads {}", list(each))?;
            }
        }
        if !self.pools.is_empty() {
            let held = if self.pooled == self.objects {
                String::new()
            } else {
                format!("{} of them ", Grouped(self.pooled))
            };
            write!(
                f,
                "\n    {held}held by {}",
                list(self.pools.iter().map(ToString::to_string))
            )?;
        }
        for function in self.backtrace.iter().take(WRITTEN) {
            write!(f, "\n    in {function}")?;
        }
        for retain in &self.unreleased {
            write!(f, "\n    {retain}")?;
        }
        Ok(())
    }
}

/// Joins the first few items, and says how many more there are.
fn list(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(WRITTEN);
    let mut written = all.take(WRITTEN).collect::<Vec<_>>().join(", ");
    if more != 0 {
        written += &format!(" and {} more", Grouped(more));
    }
    written
}

// The names of threads and pools in reports.

/// A pool, or several of one name on one thread, that hold objects.
///
/// # Example
/// ```
/// use releasepool::{AutoreleasePool, leaks};
///
/// let scope = leaks::scope();
/// let pool = AutoreleasePool::named("frame");
/// pool.create(5);
/// let report = scope.report();
/// let holder = &report.groups()[0].pools()[0];
/// assert_eq!((holder.pool, holder.entries), ("frame", 1));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolHolder {
    /// The name of the pool: the name given by
    /// [`AutoreleasePool::named`](crate::AutoreleasePool::named), or `unnamed`, `root`, `token` or
    /// `handoff`.
    pub pool: &'static str,
    /// Name and key of the thread that autoreleased the objects into the pool. The entries are
    /// still on that thread, except those of a handoff pool.
    pub thread: String,
    /// The number of entries.
    pub entries: usize,
}

/// Writes the pool, the thread and the number of entries.
impl fmt::Display for PoolHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&holding(self.pool, &self.thread, self.entries))
    }
}

/// Returns the pools of `entries`, with the labels of their threads.
pub(super) fn labelled(entries: impl IntoIterator<Item = PoolEntries>) -> Vec<PoolHolder> {
    let label = |((pool, thread), entries)| PoolHolder {
        pool,
        thread: thread_label(thread),
        entries,
    };
    entries.into_iter().map(label).collect()
}

// Retains that have no release.

/// The greatest number of places of retains that are returned for a group.
const LINES: usize = 16;

/// Counts the retains and releases of objects of these types that are created from here on, by
/// place and thread, so that reports show the retains that have no release:
/// [`LeakGroup::unreleased`](super::LeakGroup::unreleased). Without names, turns the counting off.
///
/// A name is the whole name of a type, as [`std::any::type_name`] returns it, or its end: `Texture`,
/// `gl::Texture` or `Texture<u8>` for `game::gl::Texture<u8>`. Reports list the names that match no
/// object created since.
///
/// An object's number of retains without a release is exact (a report adds up 10,000 objects of a
/// group, and lists 16 places, at most). The places are the likeliest ones: a reference does not
/// remember where it was retained, so the ledger pairs retains and releases by these rules:
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
/// Slow: each retain and release of such an object takes some microseconds, and some milliseconds
/// the first time at each place.
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
/// assert_eq!(unreleased.iter().map(|retain| retain.count).sum::<u64>(), 1);
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
/// assert_eq!(retain.count, 1);
/// println!("{retain}"); // retained once and not released: at src/game.rs:7:19, by thread 'main'
/// # leaks::count_references([""; 0]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UnreleasedRetain {
    /// The file, line and column of the retain, or of the creation, and the function, if it is known.
    pub place: String,
    /// Name and key of the thread that retained.
    pub thread: String,
    /// The number of retains that have no release.
    pub count: u64,
}

impl fmt::Display for UnreleasedRetain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, thread) = (&self.place, &self.thread);
        f.write_str("retained ")?;
        match self.count {
            1 => f.write_str("once")?,
            n => write!(f, "{} times", Grouped(n as usize))?,
        }
        write!(f, " and not released: at {place}, by thread {thread}")
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
    sum.sort_by_key(|line| Reverse(line.retains));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ref;

    #[test]
    fn a_group_adds_up_the_references_of_10_000_counted_objects() {
        let object = Ref::new(1);
        let mut group = Collected {
            counted: vec![0; 9_999],
            ..Collected::default()
        };
        let mut add = |flag| {
            let add = |record: &mut ObjectRecord| {
                record.flags ^= flag;
                group.add(record);
                record.flags ^= flag;
            };
            index::with_record(Ref::as_ptr(&object).addr(), add).unwrap();
            group.counted.len()
        };
        assert_eq!(add(0), 9_999);
        assert_eq!([add(BALANCED), add(BALANCED)], [10_000; 2]);
    }
}
