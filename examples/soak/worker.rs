//! A worker: a short life full of jobs.

use crate::dice::Dice;
use crate::jobs;
use crate::stage::Stage;
use releasepool::PoolManager;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct Worker {
    pub stage: Arc<Stage>,
    pub dice: Dice,
}

impl Worker {
    pub fn new(stage: &Arc<Stage>, number: u64) -> Self {
        Self {
            stage: stage.clone(),
            dice: Dice::new(number),
        }
    }

    /// Milliseconds to a second; most lives are short.
    fn lifetime(&mut self) -> Duration {
        let micros = match self.dice.in_range(0..20) {
            0 => 100_000..1_000_000,
            1..5 => 10_000..100_000,
            _ => 500..10_000,
        };
        Duration::from_micros(self.dice.in_range(micros))
    }

    pub fn live(mut self) {
        // Some leave without ever having used the library, until their end.
        let abstains = self.dice.once_in(50);
        // Thread-locals are torn down newest first: those that are there before the
        // library is used are torn down after it has left the thread.
        if self.dice.once_in(2) {
            jobs::teardown::pack(&mut self);
        }
        if !abstains {
            if let Some(me) = PoolManager::global().current_thread() {
                self.stage.put_handle(me);
            }
            let end = Instant::now() + self.lifetime();
            while Instant::now() < end && !self.stage.is_stopped() {
                jobs::any(&mut self);
            }
        }
        if self.dice.once_in(2) {
            jobs::teardown::pack(&mut self);
        }
        if !abstains {
            jobs::leave(&mut self);
        }
    }
}
