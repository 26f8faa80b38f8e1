//! Settings of the checked operations, for the models.
//!
//! # Thread switches at pseudo-random operations
//! loom explores exhaustively, depth first, so a model that does not finish never reaches
//! executions that differ early. With a seed, threads yield before certain operations, chosen by
//! the seed and by the number of operations so far in the execution. That number depends only on
//! the path, so loom's replay of a path still works. A yield is a switch that loom does not count
//! as a preemption; it removes executions and adds none, so every failure that is found is real.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

static RMW_MODE: AtomicBool = AtomicBool::new(false);
/// Counts down to the `compare_exchange_weak` that fails; 0 if none will fail.
static SPURIOUS: AtomicU64 = AtomicU64::new(0);
static LOGGING: AtomicBool = AtomicBool::new(false);
static RECORDING: AtomicBool = AtomicBool::new(false);
static SITES: LazyLock<Mutex<BTreeMap<Site, Ordering>>> = LazyLock::new(Mutex::default);
static WEAKENED: LazyLock<Mutex<Option<(Site, Weaker)>>> = LazyLock::new(Mutex::default);
static WEAKENING: AtomicBool = AtomicBool::new(false);

/// One ordering in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Path of the file, as the compiler knows it; for [`weaken`], its end is enough.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The part of the operation: `load`, `store`, `rmw`, `failure`, `fence`.
    pub part: &'static str,
}

/// The replacement for an operation that is weakened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weaker {
    /// An operation with this ordering.
    Ordering(Ordering),
    /// A load, and then a store.
    Split,
}

/// Sets whether from now on loads are read-modify-writes, and stores exchanges.
pub(crate) fn set_rmw_mode(on: bool) {
    RMW_MODE.store(on, Ordering::Relaxed);
}

/// Resets the counters of an execution, at its start.
pub(crate) fn begin_execution() {
    let before = begin_seed();
    let spurious = if rmw_mode() { 1 + before } else { 0 };
    SPURIOUS.store(spurious, Ordering::Relaxed);
    super::time::begin_execution();
}

/// Sets whether operations are printed from now on.
pub(crate) fn set_logging(on: bool) {
    LOGGING.store(on, Ordering::Relaxed);
}

/// Weakens one operation; `None` ends the weakening.
pub fn weaken(what: Option<(Site, Weaker)>) {
    WEAKENING.store(what.is_some(), Ordering::Relaxed);
    *WEAKENED.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

/// Starts to record which orderings the models reach.
pub fn record_sites() {
    RECORDING.store(true, Ordering::Relaxed);
}

/// Returns the orderings reached since [`record_sites`].
pub fn sites() -> Vec<(Site, Ordering)> {
    let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    sites.iter().map(|(s, o)| (s.clone(), *o)).collect()
}

pub(super) fn rmw_mode() -> bool {
    RMW_MODE.load(Ordering::Relaxed)
}

/// Returns whether this weak exchange is the one that fails spuriously.
pub(super) fn spurious() -> bool {
    let left = SPURIOUS.load(Ordering::Relaxed);
    SPURIOUS.store(left.saturating_sub(1), Ordering::Relaxed);
    left == 1
}

loom::thread_local! {
    /// loom's number of the thread, for the log.
    static NUMBER: String = format!("{:?}", loom::thread::current().id());
}

/// Marks a place in a user's code at which a seed may switch threads.
pub(crate) fn user_point(at: &Location<'_>) {
    point();
    if LOGGING.load(Ordering::Relaxed) {
        log(at, "point");
    }
}

#[cold]
fn log(at: &Location<'_>, what: &str) {
    // In destructors of thread-locals, the number may not exist any more.
    let thread = NUMBER.try_with(Clone::clone);
    let thread = thread.unwrap_or_else(|_| "ThreadId(ended)".to_owned());
    println!("{thread}: {what} at {at}");
}

/// Returns the ordering to use at `at`, where the source says `written`; called before each
/// operation.
pub(super) fn ordering(at: &Location<'_>, part: &'static str, written: Ordering) -> Ordering {
    super::explore::halt();
    super::time::step();
    // An exchange calls `ordering` twice, the second time for its ordering on failure.
    if part != "failure" {
        point();
        if LOGGING.load(Ordering::Relaxed) {
            log(at, &format!("{part} {written:?}"));
        }
    }
    if RECORDING.load(Ordering::Relaxed) {
        let site = Site {
            file: at.file().to_owned(),
            line: at.line(),
            column: at.column(),
            part,
        };
        let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
        sites.insert(site, written);
    }
    match weaker(at, part) {
        Some(Weaker::Ordering(order)) => order,
        Some(Weaker::Split) | None => written,
    }
}

/// Returns whether the read-modify-write at `at` is split.
pub(super) fn is_split(at: &Location<'_>) -> bool {
    weaker(at, "rmw") == Some(Weaker::Split)
}

/// Returns what this part of the operation at `at` becomes, if it is weakened.
fn weaker(at: &Location<'_>, part: &str) -> Option<Weaker> {
    if !WEAKENING.load(Ordering::Relaxed) {
        return None;
    }
    let weakened = WEAKENED.lock().unwrap_or_else(PoisonError::into_inner);
    let (site, weaker) = weakened.as_ref()?;
    let is_it = site.line == at.line()
        && site.column == at.column()
        && site.part == part
        && at.file().ends_with(&site.file);
    is_it.then_some(*weaker)
}

/// Returns the name of the calling thread of the operating system.
pub(crate) fn os_thread_name() -> Option<String> {
    std::thread::current().name().map(str::to_owned)
}

static SEEDED: AtomicBool = AtomicBool::new(false);
static SEED: AtomicU64 = AtomicU64::new(0);
/// The number of operations so far in this execution.
static OPERATIONS: AtomicU64 = AtomicU64::new(0);

/// Number of weak exchanges among which the seed chooses the one that fails.
const EXCHANGES: u64 = 4;

/// Sets the seed from now on; `None` turns switching off.
pub(crate) fn set_seed(seed: Option<u64>) {
    SEEDED.store(seed.is_some(), Ordering::Relaxed);
    SEED.store(seed.unwrap_or(0), Ordering::Relaxed);
}

/// Starts an execution; returns how many weak exchanges come before the one that fails.
fn begin_seed() -> u64 {
    OPERATIONS.store(0, Ordering::Relaxed);
    if SEEDED.load(Ordering::Relaxed) {
        random(u64::MAX) % EXCHANGES
    } else {
        0
    }
}

/// Returns number `n` of the seed's sequence (SplitMix64).
fn random(n: u64) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let seed = SEED.load(Ordering::Relaxed);
    mix(mix(seed.wrapping_add(1)).wrapping_add(n.wrapping_mul(STEP)))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Marks a place at which the seed may switch threads.
pub(crate) fn point() {
    if !SEEDED.load(Ordering::Relaxed) {
        return;
    }
    let n = OPERATIONS.load(Ordering::Relaxed);
    OPERATIONS.store(n + 1, Ordering::Relaxed);
    // One operation in 2, 4, 8 or 16: some mistakes need few switches, others many.
    let rarity = 1 << (1 + SEED.load(Ordering::Relaxed) % 4);
    if random(n) % rarity == 0 {
        loom::thread::yield_now();
    }
}
