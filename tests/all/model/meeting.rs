//! A barrier that threads leave for good when they end or panic.

use std::sync::{Condvar, Mutex};

pub struct Meeting {
    state: Mutex<State>,
    met: Condvar,
}

struct State {
    members: usize,
    waiting: usize,
    rounds: usize,
}

/// Leaves the meeting when it is dropped.
pub struct Leave<'m>(&'m Meeting);

impl Meeting {
    pub fn new(members: usize) -> Self {
        Self {
            state: Mutex::new(State {
                members,
                waiting: 0,
                rounds: 0,
            }),
            met: Condvar::new(),
        }
    }

    pub fn wait(&self) {
        let mut state = self.state.lock().unwrap();
        let round = state.rounds;
        state.waiting += 1;
        self.go_on_if_all_are_here(&mut state);
        drop(self.met.wait_while(state, |state| state.rounds == round));
    }

    pub fn leave_at_the_end(&self) -> Leave<'_> {
        Leave(self)
    }

    fn go_on_if_all_are_here(&self, state: &mut State) {
        if state.waiting >= state.members {
            state.waiting = 0;
            state.rounds += 1;
            self.met.notify_all();
        }
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap();
        state.members -= 1;
        self.0.go_on_if_all_are_here(&mut state);
    }
}
