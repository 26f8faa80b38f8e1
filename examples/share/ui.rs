//! The UI thread: a frame loop that shows what the workers made.

use crate::args::Options;
use crate::digest::Digest;
use crate::histogram::Histogram;
use crate::home::Label;
use crate::node::Node;
use crate::progress::{Figures, Progress};
use crate::world::ours::{Memory, Ours};
use releasepool::{
    AutoreleasePool, Frame, FrameConfig, FrameLoop, FrameProxy, FrameReport, HandoffPool, Looper,
    PoolManager, PoolRef, Ref,
};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// Documents that stay on display.
const SCENE: usize = 4;

/// The share of a frame's time that is for arrivals; a game has more to do.
const SHARE: f64 = 0.5;

/// Documents that may wait for the reclaimer: each is some megabytes.
const WAITING: usize = 8;

/// How long a frame takes in arrivals where none follows at a given time.
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

/// How the UI thread gets rid of documents that it shows no more.
#[derive(Clone, Copy)]
pub enum Clearing<'u> {
    /// By a pool that is drained to the end in every frame, as Cocos2d-x does.
    Whole,
    /// By the frame's pool, which is drained as far as the frame has time.
    Budget,
    /// By a pool that is handed to another thread, unless that has enough to do; what is
    /// left, within the budget.
    Handoff(&'u Looper),
}

/// What the UI thread has seen.
pub struct Seen {
    /// For each document, what it was found to be, and how often. One digest each,
    /// if all is well.
    pub digests: Vec<Vec<(Digest, u64)>>,
    pub taken: u64,
    pub frames: Histogram,
    pub peak_live: u64,
    /// Releases that frames have left to later ones, at most.
    pub peak_backlog: usize,
    /// Objects made, references autoreleased and handed to the reclaimer here, counted
    /// where it is done.
    pub created: u64,
    pub autoreleased: u64,
    pub reclaimed: u64,
}

impl Seen {
    fn nothing(documents: usize) -> Self {
        Self {
            digests: vec![Vec::new(); documents],
            taken: 0,
            frames: Histogram::new(),
            peak_live: 0,
            peak_backlog: 0,
            created: 0,
            autoreleased: 0,
            reclaimed: 0,
        }
    }
}

/// A frame loop for the calling thread. Without an interval it makes frames when it is
/// asked for one.
pub fn frames(interval: Option<Duration>) -> FrameLoop {
    let config = FrameConfig::new();
    FrameLoop::new(match interval {
        Some(interval) => config.frame_time(interval),
        None => config.frame_time(UNTIMED).on_demand(),
    })
}

pub struct Ui<'u> {
    arrivals: Receiver<Arrival>,
    /// Documents sent by all workers so far.
    sent: &'u AtomicU64,
    names: Vec<&'u str>,
    clearing: Clearing<'u>,
    proxy: FrameProxy,
    memory: Memory,
    /// For a frame's arrivals.
    time: Duration,
    scene: VecDeque<Shown>,
    handoff: HandoffPool,
    seen: Seen,
}

impl<'u> Ui<'u> {
    pub fn new(
        arrivals: Receiver<Arrival>,
        sent: &'u AtomicU64,
        names: Vec<&'u str>,
        clearing: Clearing<'u>,
        proxy: FrameProxy,
        options: &Options,
    ) -> Self {
        let seen = Seen::nothing(names.len());
        Self {
            arrivals,
            sent,
            names,
            clearing,
            proxy,
            memory: options.memory,
            time: options.frame.unwrap_or(UNTIMED).mul_f64(SHARE),
            scene: VecDeque::new(),
            handoff: HandoffPool::new(),
            seen,
        }
    }

    /// Runs frames until all workers are done and all they sent has been shown.
    pub fn run(mut self, mut frames: FrameLoop, progress: &mut Progress) -> Seen {
        frames.run(|frame| self.frame(frame, progress));
        if let Some(last) = frames.last_report() {
            self.note(last);
        }
        let pool = AutoreleasePool::new();
        while let Some(shown) = self.scene.pop_front() {
            self.take_down(&pool, shown);
        }
        self.hand_over();
        drop(pool);
        // What the last frames have left is released here.
        drop(frames);
        progress.clear();
        self.seen
    }

    fn frame(&mut self, frame: &Frame<'_>, progress: &mut Progress) -> ControlFlow<()> {
        if let Some(last) = frame.last_report() {
            self.note(last);
        }
        let going_on = match self.clearing {
            Clearing::Whole => self.take_arrivals(&AutoreleasePool::named("documents")),
            _ => self.take_arrivals(frame.pool()),
        };
        self.hand_over();
        let live = PoolManager::global().snapshot().live_objects();
        self.seen.peak_live = self.seen.peak_live.max(live);
        progress.update(|| Figures {
            documents: self.seen.taken,
            frames: self.seen.frames.count(),
            frame_time: frame.last_report().map_or(Duration::ZERO, |last| last.busy),
            queue: self.waiting(),
            live,
        });
        if going_on {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// What a frame came to, its drain included.
    fn note(&mut self, report: &FrameReport) {
        self.seen.frames.record(report.busy);
        let backlog = report.drained.remaining;
        self.seen.peak_backlog = self.seen.peak_backlog.max(backlog);
    }

    /// Shows what has arrived, as far as there is time. Whether there may be more, now or
    /// later.
    fn take_arrivals(&mut self, pool: &AutoreleasePool) -> bool {
        let start = Instant::now();
        while start.elapsed() < self.time {
            match self.arrivals.try_recv() {
                Ok(arrival) => self.show(pool, arrival),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        // For the others.
        self.proxy.request_frame();
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
        let label = Label::new(format!("{name}: {} nodes", digest.nodes()));
        let caption = self.memory.create(pool, label);
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
        match self.clearing {
            Clearing::Handoff(reclaimer) if reclaimer.waiting() + self.handoff.len() < WAITING => {
                self.handoff.autorelease(shown.root);
                self.seen.reclaimed += 1;
            }
            _ => {
                pool.autorelease(shown.root);
                self.seen.autoreleased += 1;
            }
        }
        // A label must die on the thread that made it: see `home.rs`.
        pool.autorelease(shown.caption);
        self.seen.autoreleased += 1;
    }

    fn hand_over(&mut self) {
        if let Clearing::Handoff(reclaimer) = self.clearing {
            self.handoff.drain_on(reclaimer.thread());
        }
    }

    /// Documents in the queue.
    fn waiting(&self) -> u64 {
        let sent = self.sent.load(Ordering::Relaxed);
        sent.saturating_sub(self.seen.taken)
    }
}
