//! Panics in places where several may come, or none may get out.
//!
//! The rule everywhere: what was begun goes on to its end; then the first panic
//! is resumed. Later ones are reported. If the thread is unwinding already, the
//! first is reported too, as resuming it would abort the process.

use crate::event::{Event, EventKind};
use crate::sync::catch_unwind;
use crate::sync::thread::panicking;
use crate::thread::current::current_label;
use std::any::Any;

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Keeps the first of several panics and reports the others.
#[derive(Default)]
pub(crate) struct FirstPanic(Option<Payload>);

impl FirstPanic {
    #[cold]
    pub(crate) fn note(&mut self, payload: Payload) {
        if self.0.is_none() {
            self.0 = Some(payload);
        } else {
            report(payload);
        }
    }

    /// Runs `f`, and keeps or reports its panic.
    pub(crate) fn guard(&mut self, f: impl FnOnce()) {
        if let Err(payload) = catch_unwind(f) {
            self.note(payload);
        }
    }

    pub(crate) fn into_first(self) -> Option<Payload> {
        self.0
    }
}

/// Tells of a panic that cannot be resumed.
#[cold]
pub(crate) fn report(payload: Payload) {
    let event = Event::new(EventKind::Panic, current_label());
    event.panic(&*payload).emit();
    // A payload's destructor may panic in its turn; that one is forgotten.
    if let Err(another) = catch_unwind(|| drop(payload)) {
        std::mem::forget(another);
    }
}

/// Goes on with a panic, or reports it if the thread is unwinding already.
#[cold]
pub(crate) fn resume_or_report(payload: Payload) {
    if panicking() {
        report(payload);
    } else {
        std::panic::resume_unwind(payload);
    }
}
