//! Random schedules in which threads stall.

use crate::free::Random;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::collections::BTreeMap;

/// The running thread stalls at one switch in this many, on average.
const RARITY: usize = 32;
/// A stall lasts for fewer switches than 2 to this power.
const LONGEST: usize = 11;

/// Switches at random, but sometimes leaves one thread out for long: a thread in the middle of a
/// loop, say, while other threads change what the loop has read, and change it back. If all threads
/// were equally likely to run, a thread would hardly ever miss that much.
pub struct Stalls {
    random: Random,
    is_new: bool,
    switches: u64,
    /// The threads that stall, and the number of the switch at which each goes on.
    until: BTreeMap<TaskId, u64>,
}

impl Stalls {
    /// Returns a scheduler of one execution.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(!seed),
            is_new: true,
            switches: 0,
            until: BTreeMap::new(),
        }
    }
}

impl Scheduler for Stalls {
    fn new_execution(&mut self) -> Option<Schedule> {
        std::mem::take(&mut self.is_new).then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        _is_yielding: bool,
    ) -> Option<TaskId> {
        self.switches += 1;
        if let Some(current) = current.filter(|_| self.random.one_in(RARITY)) {
            let longest = 1 << self.random.below(LONGEST + 1);
            let length = self.random.below(longest) as u64;
            self.until.insert(current, self.switches + length);
        }
        self.until.retain(|_, until| *until > self.switches);
        let all: Vec<TaskId> = runnable.iter().map(|task| task.id()).collect();
        let ready: Vec<_> = all
            .iter()
            .filter(|id| !self.until.contains_key(id))
            .collect();
        // If all stall, any may run.
        let ready = if ready.is_empty() {
            all.iter().collect()
        } else {
            ready
        };
        Some(*ready[self.random.below(ready.len())])
    }

    fn next_u64(&mut self) -> u64 {
        self.random.next()
    }
}
