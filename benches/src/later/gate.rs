//! A place where a receiver of values waits, so that it does not disturb what is measured.

use super::apart::Processors;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct State {
    arrived: bool,
    open: bool,
}

/// A gate that one thread passes, and another one opens.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

/// A value whose destructor passes a gate: it waits until the gate is open. First it moves its thread to
/// the processors of receivers.
pub struct Marker {
    gate: Arc<Gate>,
    processors: Processors,
}

impl Gate {
    /// Creates a closed gate.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Returns a value to be destroyed by the thread that is to pass the gate.
    pub fn marker(self: &Arc<Self>, processors: Processors) -> Marker {
        Marker {
            gate: self.clone(),
            processors,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a thread has arrived at the gate.
    pub fn wait_for_arrival(&self) {
        let state = self
            .changed
            .wait_while(self.state(), |state| !state.arrived);
        drop(state.expect("no thread panics here"));
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.state().open = true;
        self.changed.notify_all();
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        self.processors.restrict_this_thread();
        let gate = &self.gate;
        gate.state().arrived = true;
        gate.changed.notify_all();
        let state = gate.changed.wait_while(gate.state(), |state| !state.open);
        drop(state.expect("no thread panics here"));
    }
}
