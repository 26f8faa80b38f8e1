//! The workers: each one that ends is replaced at once.

use crate::bomb;
use crate::jobs;
use crate::ledger::{LEDGER, fail};
use crate::stage::Stage;
use crate::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two checks for workers that have ended.
const LOOK: Duration = Duration::from_micros(300);

/// How long workers may take to stop when they are told to.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Crew {
    stage: Arc<Stage>,
    workers: Vec<JoinHandle<()>>,
    size: usize,
}

impl Crew {
    pub fn new(stage: &Arc<Stage>, size: usize) -> Self {
        Self {
            stage: stage.clone(),
            workers: Vec::new(),
            size,
        }
    }

    /// Keeps the crew complete for this long.
    pub fn work(&mut self, time: Duration) {
        let end = Instant::now() + time;
        self.stage.stop.store(false, Ordering::Relaxed);
        while Instant::now() < end {
            self.join_ended();
            while self.workers.len() < self.size && self.hire() {}
            thread::sleep(LOOK);
        }
    }

    fn hire(&mut self) -> bool {
        let stage = self.stage.clone();
        let number = stage.number();
        let body = move || jobs::live(Worker::new(&stage, number));
        let name = format!("worker {number}");
        match thread::Builder::new().name(name).spawn(body) {
            Ok(worker) => {
                LEDGER.threads.add(1);
                self.workers.push(worker);
                true
            }
            // The system has no threads left; it will have some later.
            Err(_) => false,
        }
    }

    fn join_ended(&mut self) {
        for index in (0..self.workers.len()).rev() {
            if self.workers[index].is_finished() {
                // Waits until its thread-locals are destroyed, too.
                if let Err(panic) = self.workers.swap_remove(index).join() {
                    bomb::caught(panic);
                }
            }
        }
    }

    /// Stops all workers; returns whether all of them ended in time.
    pub fn stop(&mut self) -> bool {
        self.stage.stop.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        while !self.workers.is_empty() {
            self.join_ended();
            if begun.elapsed() > PATIENCE {
                fail(format!("{} workers hang", self.workers.len()));
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }
}
