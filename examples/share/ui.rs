//! The UI thread: a frame loop that shows what the workers made.

use crate::digest::Digest;
use crate::histogram::Histogram;
use crate::home::Label;
use crate::node::Node;
use crate::progress::{Figures, Progress};
use crate::world::ours::Ours;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// Documents that stay on display.
const SCENE: usize = 4;

/// The share of a frame's time that is for arrivals; a game has more to do.
const BUDGET: f64 = 0.7;

/// How long a frame takes in arrivals where none follows at a given time; also
/// how long it waits for the first one.
const UNTIMED: Duration = Duration::from_millis(8);

/// A finished document, on its way from a worker.
pub struct Arrival {
    pub document: usize,
    pub root: Ref<Node<Ours>>,
}

/// On display, until newer ones replace it.
struct Shown {
    root: Ref<Node<Ours>>,
    caption: Ref<Label>,
}

/// What the UI thread has seen.
pub struct Seen {
    /// For each document, what it was found to be, and how often. One digest each,
    /// if all is well.
    pub digests: Vec<Vec<(Digest, u64)>>,
    pub taken: u64,
    pub frames: Histogram,
    pub peak_live: u64,
    /// Objects made and references autoreleased here, counted where it is done.
    pub created: u64,
    pub autoreleased: u64,
}

pub struct Ui<'u> {
    arrivals: Receiver<Arrival>,
    /// Documents sent by all workers so far.
    sent: &'u AtomicU64,
    names: Vec<&'u str>,
    scene: VecDeque<Shown>,
    seen: Seen,
}

impl<'u> Ui<'u> {
    pub fn new(arrivals: Receiver<Arrival>, sent: &'u AtomicU64, names: Vec<&'u str>) -> Self {
        let seen = Seen {
            digests: vec![Vec::new(); names.len()],
            taken: 0,
            frames: Histogram::new(),
            peak_live: 0,
            created: 0,
            autoreleased: 0,
        };
        Self {
            arrivals,
            sent,
            names,
            scene: VecDeque::new(),
            seen,
        }
    }

    /// Runs frames until all workers are done and all they sent has been shown.
    pub fn run(mut self, interval: Option<Duration>, progress: &mut Progress) -> Seen {
        let manager = PoolManager::global();
        let mut pool = AutoreleasePool::named("frame");
        let mut next = Instant::now();
        let budget = interval.unwrap_or(UNTIMED).mul_f64(BUDGET);
        let mut most = 1;
        let mut going_on = true;
        while going_on {
            // The untimed frame begins when there is something to do.
            let first = match interval {
                Some(_) => None,
                None => match self.arrivals.recv_timeout(UNTIMED) {
                    Ok(arrival) => Some(arrival),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                },
            };
            let start = Instant::now();
            let before = self.seen.taken;
            going_on = self.take_arrivals(&pool, first, most);
            let live = manager.snapshot().live_objects();
            pool.drain();
            let time = start.elapsed();
            if self.seen.taken - before == most {
                most = fitting(most, time, budget);
            }

            self.seen.frames.record(time);
            self.seen.peak_live = self.seen.peak_live.max(live);
            progress.update(|| Figures {
                documents: self.seen.taken,
                frames: self.seen.frames.count(),
                frame_time: time,
                queue: self.waiting(),
                live,
            });
            if let Some(interval) = interval {
                next = (next + interval).max(Instant::now());
                if going_on {
                    thread::sleep(next - Instant::now());
                }
            }
        }
        while let Some(shown) = self.scene.pop_front() {
            self.take_down(&pool, shown);
        }
        drop(pool);
        progress.clear();
        self.seen
    }

    /// Shows what has arrived, but not more than `most`, lest the frame take too
    /// long. Whether there may be more, now or later.
    fn take_arrivals(&mut self, pool: &AutoreleasePool, first: Option<Arrival>, most: u64) -> bool {
        let others = most - u64::from(first.is_some());
        if let Some(arrival) = first {
            self.show(pool, arrival);
        }
        for _ in 0..others {
            match self.arrivals.try_recv() {
                Ok(arrival) => self.show(pool, arrival),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        true
    }

    fn show(&mut self, pool: &AutoreleasePool, arrival: Arrival) {
        let digest = Digest::of(&*arrival.root);
        let known = &mut self.seen.digests[arrival.document];
        match known.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, count)) => *count += 1,
            None => known.push((digest, 1)),
        }
        self.seen.taken += 1;

        let name = self.names[arrival.document];
        let caption = pool.create(Label::new(format!("{name}: {} nodes", digest.nodes())));
        self.seen.created += 1;
        self.seen.autoreleased += 1;
        self.scene.push_back(Shown {
            root: arrival.root,
            caption: PoolRef::retain(caption),
        });
        if self.scene.len() > SCENE {
            if let Some(oldest) = self.scene.pop_front() {
                self.take_down(pool, oldest);
            }
        }
    }

    /// Not released at once: this frame may still draw it.
    fn take_down(&mut self, pool: &AutoreleasePool, shown: Shown) {
        pool.autorelease(shown.root);
        pool.autorelease(shown.caption);
        self.seen.autoreleased += 2;
    }

    /// Documents in the queue.
    fn waiting(&self) -> u64 {
        let sent = self.sent.load(Ordering::Relaxed);
        sent.saturating_sub(self.seen.taken)
    }
}

/// How many documents the next frame can take in, if `most` took this time with
/// all there was to release.
fn fitting(most: u64, time: Duration, budget: Duration) -> u64 {
    if time < budget / 2 {
        most.saturating_mul(2)
    } else if time < budget {
        most + 1
    } else {
        let share = budget.as_secs_f64() / time.as_secs_f64();
        ((most as f64 * share) as u64).max(1)
    }
}
