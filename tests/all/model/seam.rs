//! The platform of programs on free threads, here the operating system. The program `shuttle` has a
//! file of this name for its own.

use releasepool::{HomeRef, PoolManager};
use std::cell::RefCell;
use std::panic::resume_unwind;
pub use std::thread::ThreadId;
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub type Thread = JoinHandle<()>;

pub fn spawn(body: impl FnOnce() + Send + 'static) -> Thread {
    thread::spawn(body)
}

/// Waits until the thread's thread-locals are dropped, too.
pub fn join(thread: Thread) {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic));
}

/// From this number of threads on, none is replaced by another while it exits.
pub const ROOM: Option<usize> = None;

pub fn current_id() -> ThreadId {
    thread::current().id()
}

/// True if values of `HomeRef`s are kept for ever when their home has exited. Here nothing would free
/// them.
pub const KEEPS: bool = false;

/// Makes a value that other threads destroy only if this one has exited.
pub fn at_home<T: Send>(value: T) -> HomeRef<T> {
    HomeRef::new_or_anywhere(value)
}

/// How often [`quiesce`] may be needed until nothing is left.
pub const PASSES: usize = 100_000;

pub fn quiesce() {
    PoolManager::global().quiesce(Duration::from_millis(1));
    // Other threads, which have their own pace, may have what is left.
    thread::sleep(Duration::from_micros(50));
}

#[derive(Default)]
struct Luggage(RefCell<Vec<Box<dyn FnOnce()>>>);

impl Drop for Luggage {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|last| last());
    }
}

thread_local! {
    static LUGGAGE: Luggage = Luggage::default();
}

/// Has [`at_teardown`] run closures after the crate's exit hook. Called before the thread uses the
/// crate.
pub fn outlive_the_exit() {
    LUGGAGE.with(|_| ());
}

/// Runs a closure when the thread's thread-locals are dropped: before the crate's exit hook, unless
/// [`outlive_the_exit`] was called.
pub fn at_teardown(last: Box<dyn FnOnce()>) {
    LUGGAGE.with(|luggage| luggage.0.borrow_mut().push(last));
}
