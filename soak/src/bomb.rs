//! Deliberate panics ("bombs"), and how they are told from unexpected ones.

use crate::ledger::{LEDGER, fail};
use releasepool::event::{self, Event, EventKind};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};

/// The beginning of the message of every deliberate panic.
const BOMB: &str = "bomb ";

/// How many more deliberate panics are allowed. Refilled every frame, so that they are spread over
/// the run.
static BUDGET: AtomicI64 = AtomicI64::new(0);

const EACH_FRAME: i64 = 6;

pub fn fill_up() {
    BUDGET.store(EACH_FRAME, Ordering::Relaxed);
}

/// Takes this many panics from the budget; returns whether it held enough.
pub fn may(panics: i64) -> bool {
    BUDGET.fetch_sub(panics, Ordering::Relaxed) >= panics
}

/// Panics deliberately.
pub fn explode(id: u64) -> ! {
    LEDGER.bombs.add(1);
    panic!("{BOMB}{id}")
}

/// Returns the id in the payload of a deliberate panic, `None` for any other panic.
fn id_of(payload: &(dyn Any + Send)) -> Option<u64> {
    payload
        .downcast_ref::<String>()?
        .strip_prefix(BOMB)?
        .parse()
        .ok()
}

/// Counts a panic that ended a thread or was caught around a call, and returns its id. Fails if it
/// was not deliberate.
pub fn caught(payload: Box<dyn Any + Send>) -> Option<u64> {
    let id = id_of(&*payload);
    match id {
        Some(_) => LEDGER.caught.add(1),
        // The panic hook has printed the message.
        None => fail("an unexpected panic was caught"),
    }
    id
}

/// Runs `f`, which may panic deliberately; then returns the id of the panic as an error.
pub fn defuse<R>(f: impl FnOnce() -> R) -> Result<R, Option<u64>> {
    catch_unwind(AssertUnwindSafe(f)).map_err(caught)
}

/// Installs a panic hook that does not print deliberate panics, and a hook for the library's
/// events.
pub fn install_hooks() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if id_of(info.payload()).is_some() {
            LEDGER.hooked.add(1);
        } else {
            fail("an unexpected panic");
            default_hook(info);
        }
    }));
    event::set_hook(Some(Box::new(on_event)));
}

fn on_event(event: &Event) {
    match event.kind {
        EventKind::Panic => match event.message.as_deref() {
            Some(message) if message.starts_with(BOMB) => LEDGER.reported.add(1),
            _ => fail(event.to_string()),
        },
        // Workers cause all of these deliberately.
        EventKind::NoPool
        | EventKind::RootWatermark
        | EventKind::OpenAtExit
        | EventKind::PoolsOpen
        | EventKind::TokenLeft => {}
        _ => fail(event.to_string()),
    }
}
