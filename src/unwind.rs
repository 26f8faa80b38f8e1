//! Handles panics in code in which several may happen, or from which none may escape.
//!
//! The rule everywhere: work that has begun is finished, and then the first panic is resumed. Each
//! later panic is reported as an [event](crate::event::EventKind::Panic). If the thread is already
//! unwinding, the first panic is reported, too, because resuming it would abort the process.

use crate::event::{Event, EventKind, text_of, words};
use crate::sync::catch_unwind;
use crate::sync::thread::panicking;
use std::any::Any;

/// The value that a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Keeps the first of several panics and reports the others.
#[derive(Default)]
pub(crate) struct FirstPanic(Option<Payload>);

impl FirstPanic {
    /// Keeps a panic if it is the first, and reports it otherwise.
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

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Forgets this value, which holds no panic: dropping it would cost a function call.
    #[inline(always)]
    pub(crate) fn expect_none(self) {
        debug_assert!(self.is_none(), "a panic would be lost");
        std::mem::forget(self);
    }

    pub(crate) fn into_first(self) -> Option<Payload> {
        self.0
    }

    /// Resumes the first panic, if there was one; reports it if the thread is unwinding.
    #[inline]
    pub(crate) fn resume(self) {
        self.0.into_iter().for_each(resume_or_report);
    }

    /// Reports the first panic, if there was one.
    pub(crate) fn report(self) {
        self.0.into_iter().for_each(report);
    }
}

/// Reports a panic that cannot be resumed.
#[cold]
pub(crate) fn report(payload: Payload) {
    let event = Event::new(EventKind::Panic, words::current_label());
    event.panic(&*payload).emit();
    drop_payload(payload);
}

/// Runs `f`, and reports its panic.
pub(crate) fn reporting<R>(f: impl FnOnce() -> R) {
    if let Err(payload) = catch_unwind(f) {
        report(payload);
    }
}

/// Drops a payload. Its destructor may panic as well: that second panic is not reported.
fn drop_payload(payload: Payload) {
    if let Err(another) = catch_unwind(|| drop(payload)) {
        std::mem::forget(another);
    }
}

/// Returns the message of a panic that is passed on as an error, if the payload is a text.
#[cold]
pub(crate) fn message_of(payload: Payload) -> Option<String> {
    let message = text_of(&*payload);
    drop_payload(payload);
    message
}

/// Resumes a panic, or reports it if the thread is already unwinding.
#[cold]
pub(crate) fn resume_or_report(payload: Payload) {
    if panicking() {
        report(payload);
    } else {
        std::panic::resume_unwind(payload);
    }
}
