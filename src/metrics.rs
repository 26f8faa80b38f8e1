//! Figures for dashboards, by the facade crate `metrics`. Needs the feature `metrics`.
//!
//! The crate `metrics` passes figures on to the recorder that the program has installed: an
//! exporter for Prometheus, StatsD, or one of your own. This module has no thread and no timer, and
//! nothing is published unless you ask: call [`publish`] for each manager as often as the dashboard
//! needs it, such as once a second in a frame or a [`Looper`](crate::Looper), and [`record_frame`]
//! with the report of each frame. Without a recorder nothing is recorded.
//!
//! ```
//! use releasepool::{FrameLoop, PoolManager, frame::FrameConfig, metrics};
//! use std::time::{Duration, Instant};
//!
//! metrics::describe(); // after the recorder has been installed
//! let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
//! let mut next = Instant::now();
//! for _ in 0..3 {
//!     let report = frames.tick(|_frame| { /* update and draw */ });
//!     metrics::record_frame(&report);
//!     if Instant::now() >= next {
//!         metrics::publish(PoolManager::global());
//!         next += Duration::from_secs(1);
//!     }
//! }
//! ```
//!
//! The names and units below are part of the crate's interface. Counters never go down as long as
//! the process lives, with one exception: entries of a root pool that is drained during the call
//! may count twice as autoreleased, until the next call. Gauges are values at the time of the call.
//! Counters and gauges are read while other threads run, as in a [`Snapshot`].
//!
//! # Of the process, by [`publish`] of any manager
//!
//! | name | kind | unit | meaning |
//! |---|---|---|---|
//! | `releasepool_live_objects` | gauge | objects | counted objects that are alive |
//! | `releasepool_created_total` | counter | objects | objects created |
//! | `releasepool_destroyed_total` | counter | objects | objects destroyed |
//! | `releasepool_handed_over_total` | counter | references | references sent to other threads to be released |
//! | `releasepool_orphans` | gauge | messages | releases and closures whose thread has ended, and references that slots have retired |
//! | `releasepool_kept` | gauge | objects | values of `HomeRef`s that have outlived their home |
//! | `releasepool_hot_objects` | gauge | objects | hot objects |
//! | `releasepool_threads` | gauge | threads | live threads that have used the crate |
//!
//! # Of a manager, by [`publish`]
//!
//! The label `manager` is the manager's [name](crate::PoolManager::name): "global" for the global
//! one, "unnamed" for others without a name. Managers of one name overwrite each other's figures,
//! so give them different names. Figures of threads are added up.
//!
//! | name | kind | unit | meaning |
//! |---|---|---|---|
//! | `releasepool_pools_opened_total` | counter | pools | pools opened |
//! | `releasepool_open_pools` | gauge | pools | pools open |
//! | `releasepool_autoreleased_total` | counter | entries | entries added to pools, without those that an open pool other than a root pool still holds |
//! | `releasepool_drained_total` | counter | entries | entries released by drains |
//! | `releasepool_root_entries` | gauge | entries | entries of root pools |
//! | `releasepool_backlog` | gauge | releases | releases that drains within a budget have left |
//! | `releasepool_inbox` | gauge | messages | releases and closures sent to threads that have not run; inboxes serve all managers |
//! | `releasepool_block_bytes` | gauge | bytes | blocks in use, of the [allocator](crate::pool::PoolManagerBuilder::memory) of the manager's pools; other objects are on the global heap, and not counted |
//! | `releasepool_chunk_bytes` | gauge | bytes | memory that this allocator has got from the system |
//!
//! The global manager, and others without an allocator of their own, use the [process-wide
//! allocator](crate::memory::BlockAllocator::process), so each of them publishes the figures of that
//! allocator.
//!
//! # Of frames, by [`record_frame`]
//!
//! | name | kind | unit | meaning |
//! |---|---|---|---|
//! | `releasepool_frame_busy_seconds` | histogram | seconds | [`FrameReport::busy`] |
//! | `releasepool_frame_drain_seconds` | histogram | seconds | how long the frame's drain took |
//! | `releasepool_frame_released` | histogram | releases | what the drain has released |
//! | `releasepool_frame_remaining` | gauge | releases | what the drain has left to later frames |
//! | `releasepool_frame_closures_total` | counter | closures | posted closures that have run |
//! | `releasepool_frame_panics_total` | counter | closures | posted closures that panicked |
//!
//! # Of reclaimers, by [`record_reclaimer`]
//!
//! The label `reclaimer` is the name that the caller gives.
//!
//! | name | kind | unit | meaning |
//! |---|---|---|---|
//! | `releasepool_reclaimer_values` | gauge | values | values and references that wait for their destruction |
//! | `releasepool_reclaimer_bytes` | gauge | bytes | the bytes of those values, as senders have stated them to `drop_later_weighed` |
//! | `releasepool_reclaimer_busy_seconds` | gauge | seconds | for how long the reclaimer has been at work without a pause: no value has waited longer |
//!
//! # Cost
//! Costs nothing on any hot path, as the crate keeps these figures anyway. [`publish`] takes a
//! [snapshot](crate::PoolManager::snapshot), some hundred loads for each thread and an allocation
//! for each name, and looks up seventeen metrics in the recorder: some microseconds. The recorder
//! is foreign code, which runs on the calling thread, under no lock of this crate.

use crate::frame::FrameReport;
use crate::memory::block::block_allocator::BlockAllocator;
use crate::memory::block::shared::BlockStats;
use crate::pool::manager::PoolManager;
use crate::reclaim::PendingDrops;
use crate::report::snapshot::{Snapshot, ThreadSnapshot, Totals};
use ::metrics::Unit::{self, Bytes, Count, Seconds};
use ::metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

/// The data from which [`publish`] reads the figures of the process and of a manager.
struct Figures {
    snapshot: Snapshot,
    /// The sums of the figures of all threads, live or ended.
    totals: Totals,
    blocks: BlockStats,
}

impl Figures {
    fn of(manager: &PoolManager) -> Self {
        let snapshot = manager.snapshot();
        let memory = manager.memory().map(BlockAllocator::stats);
        Self {
            totals: snapshot.totals(),
            snapshot,
            blocks: memory.unwrap_or_else(|| BlockAllocator::process().stats()),
        }
    }

    fn threads(&self, figure: fn(&ThreadSnapshot) -> usize) -> u64 {
        self.snapshot.threads.iter().map(figure).sum::<usize>() as u64
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
}
use Kind::{Counter, Gauge};

/// A metric that `publish` publishes.
struct Metric {
    name: &'static str,
    kind: Kind,
    unit: Unit,
    about: &'static str,
    read: fn(&Figures) -> u64,
}

/// Makes a table of metrics, each in the form `name: kind, unit, "about", how it is read;`.
macro_rules! metrics {
    ($($name:ident: $kind:ident, $unit:ident, $about:literal, $read:expr;)*) => {
        &[$(Metric {
            name: concat!("releasepool_", stringify!($name)),
            kind: $kind,
            unit: $unit,
            about: $about,
            read: $read,
        }),*]
    };
}

/// The figures of the process.
const PROCESS: &[Metric] = metrics! {
    live_objects: Gauge, Count, "Counted objects that are alive", |f| f.snapshot.live_objects();
    created_total: Counter, Count, "Objects created", |f| f.totals.created;
    destroyed_total: Counter, Count, "Objects destroyed", |f| f.totals.destroyed;
    handed_over_total: Counter, Count,
        "References sent to other threads to be released",
        |f| f.totals.handed_over;
    orphans: Gauge, Count,
        "Releases and closures whose thread has ended, and references that slots have retired",
        |f| f.snapshot.orphans as u64;
    kept: Gauge, Count, "Values of HomeRefs that have outlived their home", |f| f.snapshot.kept;
    hot_objects: Gauge, Count, "Hot objects", |f| f.snapshot.hot_objects;
    threads: Gauge, Count,
        "Live threads that have used the crate",
        |f| f.snapshot.threads.len() as u64;
};

/// The figures of a manager.
const MANAGER: &[Metric] = metrics! {
    pools_opened_total: Counter, Count, "Pools opened", |f| f.totals.pools_pushed;
    open_pools: Gauge, Count, "Pools open", |f| f.threads(|thread| thread.open_pools);
    autoreleased_total: Counter, Count,
        "Entries added to this manager's pools, without those that an open pool other than the root \
         pool still holds",
        |f| f.totals.autoreleased;
    drained_total: Counter, Count, "Entries released by drains", |f| f.totals.released;
    root_entries: Gauge, Count,
        "Entries of root pools",
        |f| f.threads(|thread| thread.root_entries);
    backlog: Gauge, Count,
        "Releases that drains within a budget have left",
        |f| f.threads(|thread| thread.backlog);
    inbox: Gauge, Count,
        "Releases and closures sent to threads that have not run",
        |f| f.threads(|thread| thread.inbox);
    block_bytes: Gauge, Bytes,
        "Bytes of blocks in use, of the allocator of the manager's pools",
        |f| f.blocks.live_bytes;
    chunk_bytes: Gauge, Bytes,
        "Bytes that the allocator of the manager's pools has got from the system",
        |f| f.blocks.chunk_bytes;
};

/// Publishes the current figures of the process and of `manager`. May be called on any thread.
///
/// See the [module](self) for names, units and cost. Counters are set to totals, not incremented,
/// so it does not matter how often this is called, nor by how many threads.
///
/// ```
/// use releasepool::{PoolManager, metrics};
///
/// let level = PoolManager::builder().name("level").build();
/// metrics::publish(PoolManager::global());
/// metrics::publish(&level); // with the label `manager="level"`
/// ```
pub fn publish(manager: &PoolManager) {
    let figures = Figures::of(manager);
    let label = [("manager", manager.label().to_owned())];
    for (metrics, labels) in [(PROCESS, &label[..0]), (MANAGER, &label[..])] {
        for metric in metrics {
            let figure = (metric.read)(&figures);
            match metric.kind {
                Counter => counter!(metric.name, labels).absolute(figure),
                Gauge => gauge!(metric.name, labels).set(figure as f64),
            }
        }
    }
}

const BUSY: &str = "releasepool_frame_busy_seconds";
const DRAIN: &str = "releasepool_frame_drain_seconds";
const RELEASED: &str = "releasepool_frame_released";
const REMAINING: &str = "releasepool_frame_remaining";
const CLOSURES: &str = "releasepool_frame_closures_total";
const PANICS: &str = "releasepool_frame_panics_total";

/// Records the report of a frame: call it once for each frame, on any thread.
///
/// See the [module](self) for names and units. Looks up six metrics in the recorder.
///
/// ```
/// use releasepool::{FrameLoop, frame::FrameConfig, metrics};
///
/// let mut frames = FrameLoop::new(FrameConfig::new());
/// let report = frames.tick(|frame| {
///     frame.pool().create("a sprite");
/// });
/// metrics::record_frame(&report);
/// ```
pub fn record_frame(report: &FrameReport) {
    histogram!(BUSY).record(report.busy);
    histogram!(DRAIN).record(report.drained.elapsed);
    histogram!(RELEASED).record(report.drained.released as f64);
    gauge!(REMAINING).set(report.drained.remaining as f64);
    counter!(CLOSURES).increment(report.closures as u64);
    counter!(PANICS).increment(report.panics as u64);
}

const VALUES: &str = "releasepool_reclaimer_values";
const BYTES: &str = "releasepool_reclaimer_bytes";
const LAG: &str = "releasepool_reclaimer_busy_seconds";

/// Records what waits for a reclaimer, with `name` as the label `reclaimer`; `pending` is the
/// result of [`Reclaimer::pending`](crate::Reclaimer::pending).
///
/// See the [module](self) for names and units. Looks up three metrics in the recorder.
///
/// ```
/// use releasepool::{Reclaimer, metrics};
/// let reclaimer = Reclaimer::new("scenes")?;
/// reclaimer.drop_later(vec![1, 2, 3]);
/// metrics::record_reclaimer("scenes", &reclaimer.pending());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn record_reclaimer(name: &str, pending: &PendingDrops) {
    gauge!(VALUES, "reclaimer" => name.to_owned()).set(pending.values as f64);
    gauge!(BYTES, "reclaimer" => name.to_owned()).set(pending.bytes as f64);
    gauge!(LAG, "reclaimer" => name.to_owned()).set(pending.busy.as_secs_f64());
}

/// Tells the recorder the units and descriptions of all metrics. Call `describe` once, after the
/// recorder has been installed; before that, a call does nothing.
///
/// ```
/// use releasepool::{PoolManager, metrics};
///
/// // The program installs its recorder here, such as an exporter for Prometheus.
/// metrics::describe();
/// metrics::publish(PoolManager::global());
/// ```
pub fn describe() {
    for metric in PROCESS.iter().chain(MANAGER) {
        match metric.kind {
            Counter => describe_counter!(metric.name, metric.unit, metric.about),
            Gauge => describe_gauge!(metric.name, metric.unit, metric.about),
        }
    }
    describe_histogram!(BUSY, Seconds, "How long frames took, with their drains");
    describe_histogram!(DRAIN, Seconds, "How long the drains of frames took");
    describe_histogram!(RELEASED, Count, "Releases by the drains of frames");
    describe_gauge!(
        REMAINING,
        Count,
        "Releases that frames have left to later ones"
    );
    describe_counter!(CLOSURES, Count, "Posted closures that frames have run");
    describe_counter!(PANICS, Count, "Posted closures that panicked");
    describe_gauge!(VALUES, Count, "Values that wait for a reclaimer");
    describe_gauge!(BYTES, Bytes, "Bytes of weighed values that wait");
    describe_gauge!(
        LAG,
        Seconds,
        "How long a reclaimer has worked without a pause"
    );
}
