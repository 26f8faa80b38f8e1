//! A worker: a short life full of jobs.

use crate::jobs;
use crate::stage::Stage;
use fastrand::Rng;
use releasepool::PoolManager;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct Worker {
    pub stage: Arc<Stage>,
    pub rng: Rng,
}

impl Worker {
    pub fn new(stage: &Arc<Stage>, number: u64) -> Self {
        Self {
            stage: stage.clone(),
            rng: Rng::with_seed(number),
        }
    }

    /// Returns true once in `n` calls, on average.
    pub fn once_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    /// Chooses how long to live: from a millisecond to a second, mostly short.
    fn lifetime(&mut self) -> Duration {
        let micros = match self.rng.u64(0..20) {
            0 => 100_000..1_000_000,
            1..5 => 10_000..100_000,
            _ => 500..10_000,
        };
        Duration::from_micros(self.rng.u64(micros))
    }

    pub fn live(mut self) {
        // Some workers do not use the library before their thread-locals are destroyed.
        let abstains = self.once_in(50);
        // The newest thread-local is destroyed first. One that exists before the thread's first use
        // of the library is destroyed after the library has left the thread.
        if self.once_in(2) {
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
        if self.once_in(2) {
            jobs::teardown::pack(&mut self);
        }
        if !abstains {
            jobs::leave(&mut self);
        }
    }
}
