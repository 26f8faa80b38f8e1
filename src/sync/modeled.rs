//! What loom and shuttle have in common.

use super::atomic::AtomicPtr;
use std::any::Any;

mod ledger;
mod map;

pub(crate) use ledger::{forget_objects, live_objects, note_created, note_freed};
pub(crate) use map::Map;

/// Empty: models have no readers outside of the process.
pub(crate) struct Roll;

/// Empty, like [`Roll`].
#[derive(Debug)]
pub(crate) struct Link;

impl Roll {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) unsafe fn add(&self, _: &Link) {}

    pub(crate) unsafe fn remove(&self, _: &Link) {}
}

impl Link {
    pub(crate) const fn new() -> Self {
        Self
    }
}

pub(crate) fn null_pointers<T, const N: usize>() -> [AtomicPtr<T>; N] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

macro_rules! array_of {
    ($item:expr; $n:expr) => {
        std::array::from_fn::<_, { $n }, _>(|_| $item)
    };
}
pub(crate) use array_of;

macro_rules! const_fn {
    ($(#[$doc:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$doc])* $vis fn $($rest)* };
}
pub(crate) use const_fn;

/// True: atomics are those of the model checker, and larger than native ones.
pub(crate) const CHECKED: bool = true;

/// True: models have no room for large tables, and must cross every bucket and page boundary.
pub(crate) const SMALL: bool = true;

/// Catches nothing: the checkers report a failure by a panic, which must propagate.
pub(crate) fn catch_unwind<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    Ok(f())
}

/// Does nothing: loom runs thread-local destructors after `join` has returned, so the threads of
/// models call the thread exit themselves.
pub(crate) fn at_thread_exit(_exit: fn()) -> bool {
    true
}
