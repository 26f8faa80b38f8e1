//! The platform on which the programs of [`free`](crate::free) run: here shuttle.

use releasepool::{HomeRef, model};
pub use shuttle::thread::ThreadId;

pub type Thread = model::JoinHandle<()>;

pub fn spawn(body: impl FnOnce() + Send + 'static) -> Thread {
    model::spawn(body)
}

pub fn join(thread: Thread) {
    thread.join();
}

/// With this many threads none starts another: half of the 31 slots, as several may count at once.
pub const ROOM: Option<usize> = Some(16);

pub fn current_id() -> ThreadId {
    shuttle::thread::current().id()
}

/// True if values of `HomeRef`s are kept for ever when their home has exited.
pub const KEEPS: bool = true;

pub fn at_home<T>(value: T) -> HomeRef<T> {
    HomeRef::new(value)
}

/// How often [`quiesce`] may be needed until nothing is left.
pub const PASSES: usize = 4;

pub fn quiesce() {
    model::quiesce();
}

/// Does nothing: under shuttle, a thread calls its exit, and runs no code afterwards.
pub fn outlive_the_exit() {}

/// Runs `last` now: under shuttle, no code of a thread runs after its exit.
pub fn at_teardown(last: Box<dyn FnOnce()>) {
    last();
}
