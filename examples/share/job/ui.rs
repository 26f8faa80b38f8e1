//! The UI thread: a frame loop that displays the documents from the workers.

use crate::args::Options;
use crate::job::digest::Digest;
use crate::job::in_flight::{self, Permit};
use crate::job::label::Label;
use crate::job::world::Value;
use crate::progress::Progress;
use hdrhistogram::Histogram;
use releasepool::{
    AutoreleasePool, FrameLoop, HandoffPool, PoolManager, PoolRef, Reclaimer, Ref,
    frame::{Frame, FrameConfig, LoopProxy},
};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// How many documents stay on display, if they are not large.
const SCENE: usize = 4;

/// The part of a frame's time that is for arrivals; a game needs the rest for other work.
const SHARE: f64 = 0.5;

/// An hour in nanoseconds.
const HOUR: u64 = 3_600_000_000_000;

/// The frame time if frames start whenever there is work.
const UNTIMED: Duration = Duration::from_millis(8);

/// A parsed document. When it is destroyed, the next one may be handed over.
pub struct Parsed {
    pub root: Value,
    pub permit: Permit,
}

/// A parsed document on its way from a worker.
pub struct Arrival {
    /// The position in the list of documents.
    pub document: usize,
    pub parsed: Ref<Parsed>,
}

/// A document on display.
struct Shown {
    parsed: Ref<Parsed>,
    caption: Ref<Label>,
}

/// The figures that the UI thread has seen.
pub struct Seen {
    /// For each document, its digests and how often each was found. If all is well, there is one
    /// digest per document.
    pub digests: Vec<Vec<(Digest, u64)>>,
    pub taken: u64,
    /// The bytes of text of the documents taken.
    pub bytes: u64,
    /// The times of frames in nanoseconds, with three digits, up to an hour. Their memory does not grow
    /// with the length of the run.
    pub frames: Histogram<u64>,
    pub peak_live: u64,
    /// Objects created, references autoreleased, and documents handed to the reclaimer, counted by
    /// the example itself.
    pub created: u64,
    pub autoreleased: u64,
    pub reclaimed: u64,
}

impl Seen {
    fn nothing(documents: usize) -> Self {
        Self {
            digests: vec![Vec::new(); documents],
            taken: 0,
            bytes: 0,
            frames: Histogram::new_with_max(HOUR, 3).expect("three digits are supported"),
            peak_live: 0,
            created: 0,
            autoreleased: 0,
            reclaimed: 0,
        }
    }

    fn record(&mut self, frame: Duration) {
        let nanos = u64::try_from(frame.as_nanos()).unwrap_or(u64::MAX);
        self.frames.saturating_record(nanos);
    }
}

/// Makes a frame loop for the calling thread. Without an interval it runs a frame when one is
/// requested.
pub fn frames(interval: Option<Duration>) -> FrameLoop {
    let config = FrameConfig::new();
    FrameLoop::new(match interval {
        Some(interval) => config.frame_time(interval),
        None => config.frame_time(UNTIMED).on_demand(),
    })
}

pub struct Ui<'u> {
    arrivals: Receiver<Arrival>,
    names: Vec<&'u str>,
    /// The thread that destroys what is no longer on display.
    reclaimer: &'u Reclaimer,
    proxy: LoopProxy,
    /// How much of each frame's time is for arrivals.
    time: Duration,
    scene: VecDeque<Shown>,
    handoff: HandoffPool,
    seen: Seen,
}

impl<'u> Ui<'u> {
    pub fn new(
        arrivals: Receiver<Arrival>,
        names: Vec<&'u str>,
        reclaimer: &'u Reclaimer,
        proxy: LoopProxy,
        options: &Options,
    ) -> Self {
        let seen = Seen::nothing(names.len());
        Self {
            arrivals,
            names,
            reclaimer,
            proxy,
            time: options.frame().unwrap_or(UNTIMED).mul_f64(SHARE),
            scene: VecDeque::new(),
            handoff: HandoffPool::new(),
            seen,
        }
    }

    /// Runs frames until all workers have ended and everything they sent has been shown.
    pub fn run(mut self, mut frames: FrameLoop, progress: &mut Progress) -> Seen {
        frames.run(|frame| self.frame(frame, progress));
        if let Some(last) = frames.last_report() {
            self.seen.record(last.busy);
        }
        let pool = AutoreleasePool::new();
        while let Some(shown) = self.scene.pop_front() {
            self.take_down(&pool, shown);
        }
        self.hand_over();
        drop(pool);
        // Releases what the last frames have left.
        drop(frames);
        progress.clear();
        self.seen
    }

    fn frame(&mut self, frame: &Frame<'_>, progress: &mut Progress) -> ControlFlow<()> {
        if let Some(last) = frame.last_report() {
            self.seen.record(last.busy);
        }
        let going_on = self.take_arrivals(frame.pool());
        self.hand_over();
        let live = PoolManager::global().snapshot().live_objects();
        self.seen.peak_live = self.seen.peak_live.max(live);
        let last = frame.last_report().map_or(Duration::ZERO, |last| last.busy);
        progress.update(self.seen.taken, last, live);
        if going_on {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// Shows what has arrived, as far as time permits. Returns whether more may arrive.
    fn take_arrivals(&mut self, pool: &AutoreleasePool) -> bool {
        let start = Instant::now();
        while start.elapsed() < self.time {
            match self.arrivals.try_recv() {
                Ok(arrival) => self.show(pool, arrival),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
        // The next frame takes the rest.
        self.proxy.request_frame();
        true
    }

    fn show(&mut self, pool: &AutoreleasePool, arrival: Arrival) {
        let digest = Digest::of(&arrival.parsed.root);
        let known = &mut self.seen.digests[arrival.document];
        match known.iter_mut().find(|(known, _)| *known == digest) {
            Some((_, count)) => *count += 1,
            None => known.push((digest, 1)),
        }
        self.seen.taken += 1;
        self.seen.bytes += arrival.parsed.permit.bytes() as u64;

        let name = self.names[arrival.document];
        let label = Label::new(format!("{name}: {} values", digest.values()));
        let caption = pool.create(label);
        self.seen.created += 1;
        self.seen.autoreleased += 1;
        self.scene.push_back(Shown {
            parsed: arrival.parsed,
            caption: PoolRef::retain(caption),
        });
        while self.scene.len() > SCENE || self.scene.len() > 1 && self.is_large() {
            if let Some(oldest) = self.scene.pop_front() {
                self.take_down(pool, oldest);
            }
        }
    }

    /// Returns whether what is on display is too large to leave enough room for what is in flight.
    fn is_large(&self) -> bool {
        let sizes = self.scene.iter().map(|shown| shown.parsed.permit.bytes());
        sizes.sum::<usize>() > in_flight::BYTES / 2
    }

    /// Takes a document off the display. It is not released at once, because this frame may still
    /// draw it.
    fn take_down(&mut self, pool: &AutoreleasePool, shown: Shown) {
        self.handoff.autorelease(shown.parsed);
        self.seen.reclaimed += 1;
        // A label must be destroyed on the thread that made it.
        pool.autorelease(shown.caption);
        self.seen.autoreleased += 1;
    }

    /// Hands the documents in the handoff pool to the reclaimer.
    fn hand_over(&mut self) {
        self.handoff.drain_on(self.reclaimer.thread());
    }
}
