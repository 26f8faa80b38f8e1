//! A worker: a short life full of jobs.

use crate::stage::Stage;
use fastrand::Rng;
use std::sync::Arc;
use std::time::Duration;

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
    pub fn lifetime(&mut self) -> Duration {
        let micros = match self.rng.u64(0..20) {
            0 => 100_000..1_000_000,
            1..5 => 10_000..100_000,
            _ => 500..10_000,
        };
        Duration::from_micros(self.rng.u64(micros))
    }
}
