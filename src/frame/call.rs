//! Runs a closure on another thread and waits for its result.

use crate::sync::thread::Result;
use crate::sync::{Lock, Parker, catch_unwind, elapsed};
use crate::thread::current::current_key;
use crate::thread::key::ThreadKey;
use crate::thread::thread_handle::{CHECK_INTERVAL, Closed};
use std::time::Duration;

/// A one-shot channel: one thread puts a value into it, and another waits for the value.
pub(super) struct OneShot<T> {
    value: Lock<Option<T>>,
    parker: Parker,
}

impl<T> OneShot<T> {
    pub(super) fn new() -> Self {
        Self {
            value: Lock::new(None),
            parker: Parker::default(),
        }
    }

    pub(super) fn put(&self, value: T) {
        *self.value.lock() = Some(value);
        self.parker.unpark();
    }

    /// Waits for the value, until `elapsed` reaches `until` if there is a limit, and takes it.
    pub(super) fn take_by(&self, until: Option<Duration>) -> Option<T> {
        let left = || until.map(|until| until.saturating_sub(elapsed()));
        loop {
            // Reads the clock first: a value that was put in time is found.
            let (left, value) = (left(), self.value.lock().take());
            if value.is_some() || left == Some(Duration::ZERO) {
                return value;
            }
            self.parker.park(left);
        }
    }
}

enum Stage<F, R> {
    /// The closure has not begun.
    Posted(F),
    /// The target thread is running the closure, or the caller has taken it back or has taken the
    /// result.
    Taken,
    Done(Result<R>),
}

/// A call, shared by its caller and the posted message. The message takes the closure, to run it;
/// or the caller, if it finds the loop closed first, takes the closure back.
pub(super) struct Call<F, R> {
    stage: Lock<Stage<F, R>>,
    caller: Parker,
}

impl<F: FnOnce() -> R, R> Call<F, R> {
    pub(super) fn new(f: F) -> Self {
        Self {
            stage: Lock::new(Stage::Posted(f)),
            caller: Parker::default(),
        }
    }

    /// Runs the closure, on behalf of the message. An orphaned message may run on a thread other
    /// than its target: then this does nothing, and the caller takes the closure back.
    pub(super) fn run(&self, target: ThreadKey) {
        if current_key() == Some(target) {
            let stage = std::mem::replace(&mut *self.stage.lock(), Stage::Taken);
            // If no closure is posted any more, the caller has taken it back.
            if let Stage::Posted(f) = stage {
                let result = catch_unwind(f);
                *self.stage.lock() = Stage::Done(result);
            }
        }
        self.caller.unpark();
    }

    /// Waits for the result, on the caller's thread. Once `is_closed` returns true, takes back a
    /// closure that has not begun.
    pub(super) fn wait(&self, is_closed: impl Fn() -> bool) -> std::result::Result<R, Closed<F>> {
        loop {
            let closed = is_closed();
            let taken = {
                let mut stage = self.stage.lock();
                match *stage {
                    Stage::Posted(_) if !closed => Stage::Taken,
                    _ => std::mem::replace(&mut *stage, Stage::Taken),
                }
            };
            match taken {
                Stage::Posted(f) => return Err(Closed(f)),
                Stage::Done(Ok(result)) => return Ok(result),
                Stage::Done(Err(payload)) => std::panic::resume_unwind(payload),
                Stage::Taken => self.caller.park(Some(CHECK_INTERVAL)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    #[cfg_attr(miri, ignore = "a sleep takes longer there")]
    fn a_caller_looks_for_its_loop_every_20_milliseconds() {
        let looks = || {
            let (began, looks) = (elapsed(), Cell::new(0));
            let ends = || {
                looks.set(looks.get() + 1);
                elapsed() - began >= Duration::from_millis(100)
            };
            assert!(Call::new(|| ()).wait(ends).is_err());
            looks.get()
        };
        // Six, or fewer in an attempt in which sleeps take longer; four if it looked half as often.
        assert!((0..100).any(|_| looks() > 4));
    }
}
