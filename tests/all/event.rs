//! Events: their messages, their hook, the intervals at which they are reported, and what `tracing`
//! is told.

mod hook;
mod limits;
#[cfg(feature = "tracing")]
mod spans;
#[cfg(feature = "tracing")]
mod tracing;

use releasepool::event::{self, Event};
use std::sync::{Arc, Mutex};

/// Runs `f` with a hook that keeps all events, and returns those. As a process has one hook, this
/// needs a process of its own: see [`child`](crate::support::child).
pub fn all_events(f: impl FnOnce()) -> Vec<Event> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let inner = told.clone();
    event::set_hook(Some(Box::new(move |event: &Event| {
        inner.lock().unwrap().push(event.clone());
    })));
    f();
    drop(event::set_hook(None));
    let told = told.lock().unwrap();
    told.clone()
}
