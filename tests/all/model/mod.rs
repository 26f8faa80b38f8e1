//! Random programs, which both the crate and a naive model of it run. After each step the two must
//! agree on the entries of all pools, all counts, the order in which objects were destroyed, the
//! results of pops, and which panic left the step.
//!
//! * [`real::program`]: one thread of a program, whatever library it uses
//! * [`real`]: the crate
//! * [`naive`]: the model, a library made of `Arc`s and vectors
//! * [`run`]: runs both beside each other, on one thread or on several that take turns
//! * [`free`]: programs on threads that do not take turns, for which fewer results are determined, on
//!   the platform that `seam` describes
//!
//! The random tests (`random::programs`, `random::threads`), the named ones
//! (`random::fuzz_regressions`) and the fuzz targets in `fuzz/` share this module. A program is a
//! flat list of steps, so that the output of a fuzzer can be copied into a test.

pub mod free;
#[allow(clippy::duplicate_mod, reason = "two libraries run the programs")]
pub mod naive;
pub mod real;
pub mod run;
mod seam;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Work that an object's destructor does before it drops the children.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Plan {
    Nothing,
    /// Autoreleases a new object, which autoreleases the next, this many times modulo 4.
    Relay(u8),
    /// Opens a pool, fills it, and closes it.
    Nest,
    /// Pushes a token pool of the other manager, fills it, and pops it.
    NestToken,
    /// Fills a pool in `autoreleasepool`.
    NestScope,
    /// Opens a pool and fills it, also with an object that panics even during a panic, and closes
    /// it.
    NestPanic,
    /// Drains the root pool of a manager.
    DrainRoot(u8),
    /// Pops this token, which may be stale.
    Pop(u8),
    /// Pushes a token pool, which stays open.
    Push(u8),
    /// Opens a pool and forgets it, and autoreleases into it.
    Forget,
    /// Opens a pool that goes to the program's guards.
    KeepOpen(u8),
    /// Panics, unless the thread is already panicking.
    Panic,
    /// Drops one of the program's handles.
    Drop(u8),
    /// Upgrades one of the program's weak handles, and keeps the result.
    Upgrade(u8),
    /// Upgrades its own weak reference, if it has one. That never succeeds.
    UpgradeSelf,
    /// Sends a new object to a thread, to be released there.
    Send(u8),
    /// Calls `run_inbox`, which runs no closure in a destructor.
    RunInbox,
    /// Does nothing, but the object owns a chain of this many times 4 small objects, which may be
    /// too deep for the stack.
    Links(u8),
}

/// One step. Indices are modulo the number of what they refer to; a step that refers to nothing is
/// skipped. Manager 0 is the process's own, manager 1 another one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Op {
    Create(Plan),
    /// Makes an object with a weak reference to itself.
    CreateCyclic(Plan),
    /// Calls `new_cyclic` with a closure that panics.
    CreateCyclicPanics,
    /// Makes a slice of this many objects modulo 4 from a vector.
    CreateSlice(u8, Plan),
    /// Makes a slice of two objects from an array, by `unsize!`.
    CreateArray(Plan),
    CreateStr(u8),
    /// Creates an object in a pool, which is its only owner.
    CreateInPool(u8, Plan),
    /// Converts a reference to one to `dyn`.
    Unsize(u8),
    UnsizeWeak(u8),
    Clone(u8),
    Drop(u8),
    /// Makes the second object a child of the first, by a reference of its own.
    Adopt(u8, u8),
    Downgrade(u8),
    CloneWeak(u8),
    Upgrade(u8),
    DropWeak(u8),
    /// Gives the object another plan, if `get_mut` succeeds.
    GetMut(u8, Plan),
    MakeMut(u8, Plan),
    TryUnwrap(u8),
    IntoInner(u8),
    Open(u8),
    Close(u8),
    /// Forgets a guard, as far as the crate can see. It is closed after the thread's exit, so that
    /// a fuzzer that runs for hours does not run out of memory.
    Forget(u8),
    Drain(u8),
    /// Autoreleases the second object into the first pool.
    Autorelease(u8, u8),
    /// Autoreleases the second object into the first pool, and retains the lent reference.
    AutoreleaseAndRetain(u8, u8),
    /// Autoreleases twice as many references as the third number says: more than fit a page.
    Flood(u8, u8, u8),
    AutoreleaseImplicitly(u8, u8),
    Push(u8),
    Pop(u8),
    /// Pops a token by the other manager.
    PopForeign(u8),
    DrainRoot(u8),
    /// Drains the root pool of manager 1 if it holds [`WATERMARK`] entries; manager 0 does nothing.
    DrainRootBeyondWatermark(u8),
    /// Begins an `autoreleasepool` scope.
    Enter,
    /// Ends the innermost scope.
    Leave,
    /// Ends the innermost scope by a panic.
    LeavePanicking,
    /// Swaps one of the guards with the guard of the innermost scope.
    Swap(u8),
    /// Makes an object that must not leave its thread.
    CreateLocal(Plan),
    DropLocal(u8),
    AutoreleaseLocal(u8, u8),
    /// Sends the reference to a thread, which releases it.
    Release(u8, u8),
    /// Posts a closure to a thread, which drops the reference.
    Post(u8, u8),
    RunInbox,
    Quiesce,
    Shutdown(u8),
    /// Ends the thread, with its guards open if true. The first thread never ends early.
    Exit(bool),
}

/// An observable effect, which is logged when it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// The destructor of this object has begun.
    Died(u32),
    /// A drain has released this many entries, or `run_inbox` has run this many closures.
    Did(usize),
    Popped(Result<usize, Refusal>),
    /// An upgrade, `get_mut`, `try_unwrap` or the like has succeeded or failed.
    Got(bool),
    /// The report of a `shutdown`: released entries, threads that hold something, orphans.
    Shutdown(usize, usize, usize),
    /// The panic of this object left the step.
    Panicked(u32),
    /// The panic of this object could only be reported as an event.
    Reported(u32),
    /// The thread has exited, and the guards that it had forgotten are dropped.
    Late,
}

/// Why a pool was not popped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refusal {
    Stale,
    Draining,
    WrongThread,
    WrongManager,
}

/// Strong and weak counts of an object.
pub type Counts = (usize, usize);

/// The state that a thread observes after each step.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// Effects since the last step.
    pub log: Vec<Note>,
    /// Counts of the objects that there are handles to.
    pub handles: Vec<Option<Counts>>,
    /// For one of these objects, the thread's guard pools that have an entry for it, and the
    /// managers that have one. As the search is slow, each step looks for another object.
    pub contains: Option<(Vec<bool>, [bool; 2])>,
    /// Counts of the objects that there are weak handles to.
    pub weaks: Vec<Option<Counts>>,
    /// Entries of the guard pools.
    pub guards: Vec<Option<usize>>,
    /// Strong counts of the objects that must not leave the thread.
    pub locals: Vec<Option<usize>>,
    /// Entries of the root pool of each manager, and how many other pools are open.
    pub pools: [[usize; 2]; 2],
    /// Links of all chains that are alive.
    pub links: usize,
}

/// How many threads the programs have that run on several.
pub const THREADS: usize = 3;
/// Destructors nested deeper than this do nothing, and leave their children to the end of the step:
/// at 32 KiB of stack the crate would queue them, and the order would depend on the compiler.
pub const DEEPEST: usize = 6;
/// The number of scopes that may be nested.
pub const SCOPES: usize = 6;
/// The root watermark of manager 1, whose policy is to drain its root pool beyond it.
pub const WATERMARK: usize = 4;
/// The id in a panic that no object has caused.
pub const NOBODY: u32 = u32::MAX;

/// Returns the index of the `i`th element that is present, modulo their number.
pub fn pick<T>(of: &[Option<T>], i: u8) -> Option<usize> {
    let there: Vec<_> = (0..of.len()).filter(|&at| of[at].is_some()).collect();
    (!there.is_empty()).then(|| there[i as usize % there.len()])
}

/// Locks a mutex that is poisoned when a test fails.
pub fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value for each of some threads, which finds its own at any time.
pub struct Threads<T>(Mutex<Vec<(ThreadId, T)>>);

impl<T: Clone> Threads<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub fn add(&self, value: T) {
        lock(&self.0).push((thread::current().id(), value));
    }

    pub fn get(&self) -> Option<T> {
        let me = thread::current().id();
        let all = lock(&self.0);
        let mine = all.iter().find(|(of, _)| *of == me);
        mine.map(|(_, value)| value.clone())
    }

    /// Removes a thread that has ended.
    pub fn remove(&self, id: ThreadId) {
        lock(&self.0).retain(|(of, _)| *of != id);
    }
}
