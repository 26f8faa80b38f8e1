//! Panics on purpose, and how they are told from others.

use crate::ledger::{LEDGER, fail};
use releasepool::event::{self, Event, EventKind};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI64, Ordering};

/// How each message of a panic on purpose begins.
const BOMB: &str = "bomb ";

/// Panics that may still happen; filled up every frame, so that they are spread.
static BUDGET: AtomicI64 = AtomicI64::new(0);

const EACH_FRAME: i64 = 6;

pub fn fill_up() {
    BUDGET.store(EACH_FRAME, Ordering::Relaxed);
}

/// Whether there may be so many more.
pub fn may(panics: i64) -> bool {
    BUDGET.fetch_sub(panics, Ordering::Relaxed) >= panics
}

/// Panics.
pub fn explode(id: u64) -> ! {
    LEDGER.bombs.add(1);
    panic!("{BOMB}{id}")
}

/// The id of a panic on purpose; any other is a failure.
fn id_of(payload: &(dyn Any + Send)) -> Option<u64> {
    payload
        .downcast_ref::<String>()?
        .strip_prefix(BOMB)?
        .parse()
        .ok()
}

/// The panic that ended a thread, or got out of a call.
pub fn caught(payload: Box<dyn Any + Send>) -> Option<u64> {
    let id = id_of(&*payload);
    match id {
        Some(_) => LEDGER.caught.add(1),
        // The panic hook has told the message.
        None => fail("a panic got out that nobody expected"),
    }
    id
}

/// Runs `f`, which may end with a panic on purpose; gives that one's id.
pub fn defuse<R>(f: impl FnOnce() -> R) -> Result<R, Option<u64>> {
    catch_unwind(AssertUnwindSafe(f)).map_err(caught)
}

/// Keeps the panic hook from telling of bombs, and listens to the library's events.
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
        // Workers do all of these on purpose.
        EventKind::NoPool | EventKind::RootWatermark | EventKind::OpenAtExit => {}
        _ => fail(event.to_string()),
    }
}
