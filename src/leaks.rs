//! What is alive, where it was created, and what holds it; with the feature `leak-detection`.
//!
//! With this feature the crate keeps a ledger of all live objects: where each was created, by which
//! thread, and which pools hold it. [`report`] groups them by type and place; [`scope`] does that
//! for the objects of one test; [`expect_gone`] reports an object that does not die when it should;
//! [`count_references`] finds the retain that has no release.
//!
//! ```
//! use releasepool::{Ref, leaks};
//!
//! struct Texture(u32);
//!
//! let scope = leaks::scope();
//! let forgotten = Ref::new(Texture(1));
//! let report = scope.report();
//! assert_eq!(report.objects(), 1);
//! assert!(report.groups()[0].type_name().ends_with("Texture"));
//! println!("{report}"); // 1 object is alive, 24 bytes: ... created at src/main.rs:6:17 ...
//! drop(forgotten);
//! scope.assert_none();
//! ```
//!
//! # What counts as alive
//! An object is alive until its value is destroyed: the memory that weak references keep does not
//! count. Objects that were released and wait to be destroyed, in a pool, a backlog, an inbox or a
//! slot that was retired, are alive. A [`HomeRef`](crate::HomeRef) whose home has ended keeps its
//! value forever, which is reported, too.
//!
//! # Sites
//! The site of an object is the line that called the crate's function: [`Ref::new`](crate::Ref::new),
//! [`AutoreleasePool::create`](crate::AutoreleasePool::create), `Ref::from` and all others. A call
//! by way of the standard library, such as `collect()`, has a site in the
//! standard library; [`LeakGroup::backtrace`] then names the functions that called it. With
//! [`record_backtraces`] it does so for every object.
//!
//! # Threads
//! All functions may be called on any thread. Objects that other threads create and destroy during a
//! report may be in it or not.
//!
//! # Cost
//! Creating and destroying an object takes some tenths of a microsecond more, and adding an entry
//! to a pool some tens of nanoseconds; a record takes some 200 bytes. A report looks at each live
//! object once. Without the feature, nothing of this is compiled.
//!
//! An object that the global allocator creates while it serves the ledger is not recorded;
//! [`LeakReport::unrecorded`] says how many those are.
//!
//! Where the ledger is on, other processes can read it, without any help of this one: the layout is
//! described in `src/ledger/record.rs`.

mod balance;
mod expect;
mod place;
mod report;
mod scope;
#[cfg(feature = "serde")]
mod serialize;

pub use balance::{UnreleasedRetain, count_references};
pub use expect::expect_gone;
pub use place::PoolHolder;
pub use report::{LeakGroup, LeakReport};
pub use scope::{Scope, ScopeEntry, ScopeHandle};

use crate::ledger::life;

/// Returns a report of all objects that are alive in this process.
///
/// Linear in the number of live objects: some 0.1 s for a million.
#[must_use]
pub fn report() -> LeakReport {
    report::collect(|_| true)
}

/// Asserts that no object is alive in this process. For the end of `main`, after
/// [`PoolManager::shutdown`](crate::PoolManager::shutdown); tests that run in parallel use a
/// [`scope`].
///
/// # Panics
/// If there are live objects; the message is the report.
#[track_caller]
pub fn assert_none() {
    report().assert_empty();
}

/// Begins a scope: its reports are about the objects that the calling thread creates from here on.
///
/// For tests that run in parallel: objects of other threads are not in its reports. A thread that
/// the calling one spawns is another thread; what it creates is part of the scope from the time that
/// it [enters](ScopeHandle::enter) it. Scopes may be nested.
///
/// ```
/// use releasepool::{Ref, leaks};
///
/// let scope = leaks::scope();
/// let handle = scope.handle();
/// let made = std::thread::spawn(move || {
///     let _entry = handle.enter();
///     Ref::new(1)
/// });
/// let made = made.join().unwrap();
/// assert_eq!(scope.report().objects(), 1);
/// drop(made);
/// scope.assert_none();
/// ```
#[must_use = "a scope reports what was created since it began"]
pub fn scope() -> Scope {
    Scope::begin()
}

/// Records the call frames of each creation from here on, or no longer: reports then name the
/// functions that led to it ([`LeakGroup::backtrace`]).
///
/// Makes the creation of an object slower by a few microseconds. Names of functions are read when a
/// report is made; without symbols in the executable there are none, and lines need debug
/// information, at least `debug = "line-tables-only"` in the profile.
pub fn record_backtraces(on: bool) {
    life::FRAMES.set(u64::from(on));
}
