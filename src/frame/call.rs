//! Running a closure on another thread and waiting for what comes of it.

use crate::sync::thread::Result;
use crate::sync::{Lock, Parker, catch_unwind};
use crate::thread::current::current_key;
use crate::thread::handle::Closed;
use crate::thread::key::ThreadKey;
use std::time::Duration;

/// How long a caller sleeps before it looks whether its loop is still there. It is
/// woken when its call is done; this is for loops that go without a word: forgotten
/// ones, and those that are dropped inside a destructor.
const NAP: Duration = Duration::from_millis(20);

/// Something that one thread waits for.
pub(super) struct Rendezvous<T> {
    value: Lock<Option<T>>,
    parker: Parker,
}

impl<T> Rendezvous<T> {
    pub(super) fn new() -> Self {
        Self {
            value: Lock::new(None),
            parker: Parker::new(),
        }
    }

    pub(super) fn put(&self, value: T) {
        *self.value.lock() = Some(value);
        self.parker.unpark();
    }

    /// Waits for it.
    pub(super) fn take(&self) -> T {
        loop {
            let value = self.value.lock().take();
            match value {
                Some(value) => return value,
                None => self.parker.park(None),
            }
        }
    }
}

/// How far a call has come.
enum Stage<F, R> {
    /// The closure has not begun.
    Sent(F),
    /// It runs on its target; or the caller has taken everything.
    Away,
    Done(Result<R>),
}

/// What a caller and its message share.
pub(super) struct Call<F, R> {
    stage: Lock<Stage<F, R>>,
    caller: Parker,
}

impl<F: FnOnce() -> R, R> Call<F, R> {
    pub(super) fn new(f: F) -> Self {
        Self {
            stage: Lock::new(Stage::Sent(f)),
            caller: Parker::new(),
        }
    }

    /// The message's part. Orphaned, it may find itself on another thread than its
    /// target: then it does nothing, and the caller takes the closure back.
    pub(super) fn run(&self, target: ThreadKey) {
        if current_key() == Some(target) {
            let stage = std::mem::replace(&mut *self.stage.lock(), Stage::Away);
            // Otherwise the caller has given up.
            if let Stage::Sent(f) = stage {
                let result = catch_unwind(f);
                *self.stage.lock() = Stage::Done(result);
            }
        }
        self.caller.unpark();
    }

    /// The caller's part. Once `is_closed`, a closure that has not begun comes back.
    pub(super) fn wait(&self, is_closed: impl Fn() -> bool) -> std::result::Result<R, Closed<F>> {
        loop {
            let closed = is_closed();
            let taken = {
                let mut stage = self.stage.lock();
                match *stage {
                    Stage::Sent(_) if closed => std::mem::replace(&mut *stage, Stage::Away),
                    Stage::Done(_) => std::mem::replace(&mut *stage, Stage::Away),
                    _ => Stage::Away,
                }
            };
            match taken {
                Stage::Sent(f) => return Err(Closed(f)),
                Stage::Done(Ok(result)) => return Ok(result),
                Stage::Done(Err(payload)) => std::panic::resume_unwind(payload),
                Stage::Away => self.caller.park(Some(NAP)),
            }
        }
    }
}
