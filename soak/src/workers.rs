//! The workers: each runs random programs, one after the other, whose threads come and go.

use crate::failures::fail;
use crate::free::{Kind, Random, Setting, run};
use releasepool::{Ref, ThreadHandle, drop_later, reclaim::Later};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The threads of a program, without a looper and a reclaimer.
pub const THREADS: usize = 4;

/// The most steps of a thread.
const STEPS: usize = 200;

/// How long to wait for something before it counts as hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Programs that have begun, and those that have run to their end.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Returns how many programs have run to their end.
pub fn programs() -> u64 {
    ENDED.load(Relaxed)
}

/// Workers that run programs of one sort.
pub struct Workers {
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl Workers {
    /// Starts workers. Their programs all have destructors that panic and autorelease, or none has, as
    /// each releases what threads of others have left. They send to `ui`, too.
    pub fn start(number: usize, panics: bool, ui: &ThreadHandle) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let worker = |_| {
            let (stop, ui) = (stop.clone(), ui.clone());
            thread::spawn(move || {
                while !stop.load(Relaxed) {
                    program(panics, &ui);
                }
            })
        };
        let threads = (0..number).map(worker).collect();
        Self { threads, stop }
    }

    /// Waits until all workers have ended; returns whether they ended in time.
    pub fn stop(self) -> bool {
        self.stop.store(true, Relaxed);
        let begun = Instant::now();
        for worker in self.threads {
            while !worker.is_finished() {
                if begun.elapsed() > PATIENCE {
                    fail("a program hangs");
                    return false;
                }
                thread::sleep(Duration::from_millis(1));
            }
            // The panic hook has reported a failure. This waits until thread-locals are dropped, too.
            _ = worker.join();
        }
        true
    }
}

/// Runs a program to its end, on other threads.
fn program(panics: bool, ui: &ThreadHandle) {
    let mut random = Random::new(BEGUN.fetch_add(1, Relaxed));
    let (mut kinds, setting) = if panics {
        (Kind::of_hot_objects(), Setting::PANICKING)
    } else {
        (random.kinds(), Setting::CHECKED)
    };
    // A request to other threads would drain root pools whose entries other programs count.
    kinds.retain(|kind| *kind != Kind::Shutdown);
    let programs = (0..THREADS).map(|_| random.program(&kinds, STEPS));
    run(programs.collect(), setting, std::slice::from_ref(ui));
    // These go to the reclaimer of the process.
    drop_later(vec![Ref::new(random.next()); 2]);
    drop(Later::new(Ref::new(random.next())));
    ENDED.fetch_add(1, Relaxed);
}
