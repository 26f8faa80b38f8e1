//! Failures, which end the run within a second.

use crate::free::ON_PURPOSE;
use releasepool::event::{self, Event, EventKind};
use releasepool_examples_common::output::complain;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many failures are printed; the first ones are the most useful.
const PRINTED: u64 = 20;

static FAILURES: AtomicU64 = AtomicU64::new(0);

/// Reports a failure. May be called on any thread at any time, including in destructors of objects
/// and of thread-locals.
pub fn fail(what: impl Into<String>) {
    if FAILURES.fetch_add(1, Ordering::Relaxed) < PRINTED {
        complain(&format!("soak: FAILED: {}", what.into()));
    }
}

/// Returns the number of failures so far.
pub fn failures() -> u64 {
    FAILURES.load(Ordering::Relaxed)
}

/// Reports a failure unless the two values are equal.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) {
    if found != wanted {
        fail(format!("{what}: {found:?} instead of {wanted:?}"));
    }
}

/// Makes panics and unexpected events failures. The panics of destructors call no hook.
pub fn install_hooks() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        fail("an unexpected panic");
        default_hook(info);
    }));
    event::set_hook(Some(Box::new(on_event)));
}

fn on_event(event: &Event) {
    match event.kind {
        EventKind::Panic if event.message.as_deref() == Some(ON_PURPOSE) => {}
        // Programs cause all of these deliberately.
        EventKind::NoPool
        | EventKind::RootWatermark
        | EventKind::OpenAtExit
        | EventKind::PoolsOpen
        | EventKind::TokenLeft => {}
        // A program keeps its handles until its end, which takes seconds on a busy machine.
        EventKind::HotLetGo => {}
        _ => fail(event.to_string()),
    }
}
