//! Programs that are run by the crate and by a naive model of it. Step by step the two
//! must agree on what is where, what is counted, who died in which order, what pops
//! gave, and which panic got out.
//!
//! * [`naive`]: objects are indices, pools are vectors, nothing is clever
//! * [`real`]: the same operations, done by the crate
//! * [`run`]: one beside the other, on one thread or on several that take turns
//! * [`free`]: threads that do not take turns, of which less can be said
//!
//! Shared by the random tests (`random::programs`, `random::threads`), the named ones (`random::fuzz_regressions`)
//! and the fuzz targets in `fuzz/`. A program is a flat list of steps, so that what a
//! fuzzer prints is what a test can say.

pub mod free;
mod meeting;
pub mod naive;
pub mod real;
pub mod run;

/// What an object does when it dies, before its children do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Plan {
    Nothing,
    /// Autoreleases a new object, which does so in turn, this often modulo 4.
    Relay(u8),
    /// Opens a pool, fills it, and closes it.
    Nest,
    /// The same with a token pool of the other manager.
    NestToken,
    /// The same with `autoreleasepool`.
    NestScope,
    /// The same, with an object in it that panics whatever else goes on.
    NestPanic,
    /// Drains the root pool of a manager.
    DrainRoot(u8),
    /// Pops this token, whatever has become of it.
    Pop(u8),
    /// Pushes a token pool, which stays open.
    Push(u8),
    /// Opens a pool and forgets it, and autoreleases into it.
    Forget,
    /// Opens a pool that goes to the program's guards.
    KeepOpen(u8),
    /// Panics, unless the thread does so already.
    Panic,
    /// Drops one of the program's handles.
    Drop(u8),
    /// Upgrades one of the program's weak handles, and keeps what comes of it.
    Upgrade(u8),
    /// Upgrades its own weak reference, if it has one. That never succeeds.
    UpgradeSelf,
    /// Sends a new object to a thread, to be released there.
    Send(u8),
    /// Asks for posted closures: none runs in a destructor.
    RunInbox,
    /// Nothing; but it owns a chain of this many times 4 small objects, which may be
    /// too deep for the stack.
    Links(u8),
}

/// One step. Indices are taken modulo what there is; a step for which there is nothing
/// is skipped. A manager is 0, the process's own, or 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
pub enum Op {
    Create(Plan),
    /// An object that knows itself.
    CreateCyclic(Plan),
    /// The same, but the making panics.
    CreateCyclicPanics,
    /// A slice of this many objects modulo 4, made of a vector.
    CreateSlice(u8, Plan),
    /// A slice of two, made of an array by `unsize!`.
    CreateArray(Plan),
    CreateStr(u8),
    /// In a pool, which alone owns it.
    CreateInPool(u8, Plan),
    /// To `dyn`.
    Unsize(u8),
    UnsizeWeak(u8),
    Clone(u8),
    Drop(u8),
    /// The second becomes a child of the first, by a reference of its own.
    Adopt(u8, u8),
    Downgrade(u8),
    CloneWeak(u8),
    Upgrade(u8),
    DropWeak(u8),
    /// Gives it another plan, if it can be had.
    GetMut(u8, Plan),
    MakeMut(u8, Plan),
    TryUnwrap(u8),
    IntoInner(u8),
    Open(u8),
    Close(u8),
    /// As far as the crate can see. It is closed after the thread's exit, so that a
    /// fuzzer that runs for hours does not run out of memory.
    Forget(u8),
    Drain(u8),
    /// Into the pool by the first index goes the object by the second.
    Autorelease(u8, u8),
    /// The same, and what the pool lends is retained.
    AutoreleaseAndRetain(u8, u8),
    /// Twice as many references as the third says: more than fit a page.
    Flood(u8, u8, u8),
    AutoreleaseImplicitly(u8, u8),
    Push(u8),
    Pop(u8),
    /// By the other manager.
    PopForeign(u8),
    DrainRoot(u8),
    /// The second manager drains its root then, if it holds [`WATERMARK`] entries.
    Boundary(u8),
    /// An `autoreleasepool` begins.
    Enter,
    /// It ends.
    Leave,
    /// It ends by a panic.
    LeavePanicking,
    /// One of the guards changes places with the one that the innermost scope has.
    Swap(u8),
    /// An object that must not leave its thread.
    CreateLocal(Plan),
    DropLocal(u8),
    AutoreleaseLocal(u8, u8),
    /// Has a thread release it.
    Release(u8, u8),
    /// Has a thread drop it in a closure.
    Post(u8, u8),
    RunInbox,
    Quiesce,
    Shutdown(u8),
    /// The thread ends, with its guards open or not. Not the first thread.
    Exit(bool),
}

/// What is written down as it happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// The destructor of this one has begun.
    Died(u32),
    /// Entries that a drain has released, or closures that have run.
    Did(usize),
    Popped(Result<usize, Refusal>),
    /// Whether an upgrade, `get_mut`, `try_unwrap` and so on succeeded.
    Got(bool),
    /// Released, who still holds something, orphans.
    Shutdown(usize, usize, usize),
    /// The panic of this one got out of a step.
    Panicked(u32),
    /// The panic of this one could only be reported.
    Reported(u32),
    /// The thread has exited, and what it had forgotten goes.
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

/// What a thread sees from outside after each step.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// What has been written down since the last step.
    pub log: Vec<Note>,
    /// Of the objects that there are handles to.
    pub handles: Vec<Option<Counts>>,
    /// Which of the thread's guard pools have an entry for one of these, and which of
    /// the managers. That is slow, so it is another one each time.
    pub contains: Option<(Vec<bool>, [bool; 2])>,
    /// The same by weak reference.
    pub weaks: Vec<Option<Counts>>,
    /// Entries of the guard pools.
    pub guards: Vec<Option<usize>>,
    /// Strong counts of the objects that must not leave the thread.
    pub locals: Vec<Option<usize>>,
    /// Entries of the two root pools, and pools open by manager.
    pub roots: [usize; 2],
    pub open: [usize; 2],
    /// Links that live, of all chains.
    pub links: usize,
}

/// Destructors that nest deeper do nothing, and leave their children to the end of the
/// step: at 32 KiB of stack the crate would queue them, and the order would depend on
/// the compiler.
pub const DEEPEST: usize = 6;
/// Scopes that nest.
pub const SCOPES: usize = 6;
/// Of the second manager, which drains its root at boundaries.
pub const WATERMARK: usize = 4;
/// What a panic says that is not an object's.
pub const NOBODY: u32 = u32::MAX;

/// The `i`th of those that are there, modulo their number.
pub fn pick<T>(of: &[Option<T>], i: u8) -> Option<usize> {
    let there: Vec<_> = (0..of.len()).filter(|&at| of[at].is_some()).collect();
    (!there.is_empty()).then(|| there[i as usize % there.len()])
}
