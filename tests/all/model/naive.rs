//! The model: a library like the crate, made of std's `Arc` and of vectors.
//!
//! * [`objects`]: objects, which are `Arc`s
//! * [`pools`]: entries, frames and tokens
//! * [`threads`]: messages, and the exit of a thread
//! * this file: the state, and the panics of destructors

mod objects;
mod pools;
mod threads;

pub(crate) use objects::unsize;
pub use objects::{PoolRef, Ref, Weak};
pub use pools::{AutoreleasePool, PoolManager, PoolToken, PopError, autorelease, autoreleasepool};
pub use threads::{ThreadHandle, has_orphans, managers, quiesce, root_and_open, shutdown};

#[path = "program/mod.rs"]
pub mod program;

use super::Threads;
use objects::Held;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The threads of all models.
pub static THREADS: Threads<Here> = Threads::new();

/// A reference that a pool or a message gives up.
type Entry = Box<dyn Held>;

type Call = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Pool {
    thread: usize,
    manager: usize,
    entries: Vec<Entry>,
    open: bool,
    drains: usize,
}

/// A frame of the stack of pools. The topmost frame that has a pool says which pool is current.
struct Frame {
    kind: Kind,
    /// `None` for a scope whose guard has been dropped.
    pool: Option<usize>,
    /// True if the pool that was current before this scope or token has been closed.
    former_closed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Guard,
    Token,
    Scope,
    Drain,
}

enum Message {
    Release(Entry),
    Call(Call),
}

#[derive(Default)]
struct Thread {
    /// The root pool of each manager.
    roots: [usize; 2],
    /// The frames above the root pools'.
    frames: [Vec<Frame>; 2],
    /// Open token pools, oldest first.
    tokens: [Vec<usize>; 2],
    inbox: Vec<Message>,
    closed: bool,
    posted: VecDeque<Call>,
    /// True if `shutdown` has asked for this manager's root pool.
    asked: [bool; 2],
    /// The number of releases and drains that are running.
    releases: usize,
    exited: bool,
}

#[derive(Default)]
struct State {
    pools: Vec<Pool>,
    threads: Vec<Thread>,
    orphans: Vec<Entry>,
    orphaned_calls: Vec<Call>,
}

// SAFETY: an entry of a pool is used by the pool's thread alone, and all others are `Send`.
unsafe impl Send for State {}

/// A thread of a model. Other code never runs while the state is locked.
#[derive(Clone)]
pub struct Here {
    state: Arc<Mutex<State>>,
    me: usize,
}

impl Here {
    /// Returns the calling thread, which belongs to a program.
    fn get() -> Self {
        THREADS.get().expect("it has begun")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the state of this thread.
    fn with<R>(&self, f: impl FnOnce(&mut Thread) -> R) -> R {
        f(&mut self.state().threads[self.me])
    }
}

/// The first of several panics; the others are reported.
#[derive(Default)]
struct First(Option<Box<dyn Any + Send>>);

impl First {
    /// Runs `f`, and keeps its panic.
    fn run(&mut self, f: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
            self.keep(Self(Some(panic)));
        }
    }

    fn keep(&mut self, other: Self) {
        if self.0.is_some() {
            other.report();
        } else {
            self.0 = other.0;
        }
    }

    fn report(self) {
        if let Some(panic) = self.0 {
            program::world::reported(panic.downcast_ref::<String>().map(String::as_str));
        }
    }

    /// Resumes the panic, unless the thread is already panicking.
    fn resume(self) {
        match self.0 {
            Some(panic) if !thread::panicking() => resume_unwind(panic),
            _ => self.report(),
        }
    }
}
