//! What the models may set from outside, and what they may ask.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// How loads are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As loads: may read stale values.
    Plain,
    /// As read-modify-writes: interleave with every other access. The first
    /// `compare_exchange_weak` of an execution fails.
    Rmw,
}

static MODE: AtomicU8 = AtomicU8::new(0);
static SPURIOUS: AtomicBool = AtomicBool::new(false);
static RECORDING: AtomicBool = AtomicBool::new(false);
static SITES: LazyLock<Mutex<BTreeMap<Site, Ordering>>> = LazyLock::new(Mutex::default);
static WEAKENED: LazyLock<Mutex<Option<(Site, Ordering)>>> = LazyLock::new(Mutex::default);
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
    /// What the operation does with it: `load`, `store`, `rmw`, `failure`, `fence`.
    pub part: &'static str,
}

/// Sets how loads are made from now on.
pub fn set_mode(mode: Mode) {
    MODE.store(mode as u8, Ordering::Relaxed);
}

/// To be called at the start of every execution.
pub fn begin_execution() {
    SPURIOUS.store(rmw_mode(), Ordering::Relaxed);
    super::time::begin_execution();
}

/// Weakens one ordering, or none.
pub fn weaken(what: Option<(Site, Ordering)>) {
    WEAKENING.store(what.is_some(), Ordering::Relaxed);
    *WEAKENED.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

/// Starts noting which orderings the models reach.
pub fn record_sites() {
    RECORDING.store(true, Ordering::Relaxed);
}

/// The orderings reached since [`record_sites`].
pub fn sites() -> Vec<(Site, Ordering)> {
    let sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    sites.iter().map(|(s, o)| (s.clone(), *o)).collect()
}

pub(super) fn rmw_mode() -> bool {
    MODE.load(Ordering::Relaxed) == Mode::Rmw as u8
}

/// Whether this weak exchange is the one that fails.
pub(super) fn spurious() -> bool {
    SPURIOUS.swap(false, Ordering::Relaxed)
}

/// The ordering to use at `at`, for `written` in the source.
pub(super) fn ordering(at: &Location<'_>, part: &'static str, written: Ordering) -> Ordering {
    super::time::step();
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
    if WEAKENING.load(Ordering::Relaxed) {
        let weakened = WEAKENED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((site, to)) = &*weakened {
            if site.line == at.line()
                && site.column == at.column()
                && site.part == part
                && at.file().ends_with(&site.file)
            {
                return *to;
            }
        }
    }
    written
}
