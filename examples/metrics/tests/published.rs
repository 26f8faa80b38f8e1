//! The feature `metrics`: what is published, under which names and units.

use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use releasepool::frame::FrameConfig;
use releasepool::memory::BlockAllocator;
use releasepool::{Budget, FrameLoop, PoolManager, Reclaimer, Ref, metrics};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// The recorder of the process, which one test uses at a time.
fn recorder() -> (MutexGuard<'static, ()>, &'static Snapshotter) {
    static RECORDER: OnceLock<Snapshotter> = OnceLock::new();
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let snapshotter = RECORDER.get_or_init(|| {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        recorder.install().unwrap();
        metrics::describe();
        snapshotter
    });
    (one, snapshotter)
}

/// The recorded figures: the value by name and manager.
struct Recorded(BTreeMap<(String, Option<String>), (MetricKind, DebugValue)>);

impl Recorded {
    fn take(snapshotter: &Snapshotter) -> Self {
        let all = snapshotter.snapshot().into_vec().into_iter();
        Self(
            all.map(|(key, unit, about, value)| {
                let (kind, key) = key.into_parts();
                let labels: Vec<_> = key.labels().collect();
                assert!(
                    labels.len() <= 1
                        && labels
                            .iter()
                            .all(|l| ["manager", "reclaimer"].contains(&l.key()))
                );
                assert!(
                    unit.is_some() && about.is_some(),
                    "{} is described",
                    key.name()
                );
                let manager = labels.first().map(|label| label.value().to_owned());
                ((key.name().to_owned(), manager), (kind, value))
            })
            .collect(),
        )
    }

    fn figure(&self, name: &str, manager: Option<&str>) -> f64 {
        let key = (format!("releasepool_{name}"), manager.map(str::to_owned));
        match &self.0[&key].1 {
            DebugValue::Counter(n) => *n as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(values) => values.iter().map(|v| v.into_inner()).sum(),
        }
    }
}

#[test]
fn a_manager_s_figures() {
    let (_one, snapshotter) = recorder();
    let blocks = BlockAllocator::new();
    let manager = PoolManager::builder().name("level").memory(blocks.clone());
    let manager = manager.build();
    let of = Some("level");
    // Everything runs on a new thread, which lives until the figures have been read.
    thread::scope(|scope| {
        scope.spawn(|| {
            metrics::publish(&manager);
            let before = Recorded::take(snapshotter);
            assert_eq!(before.figure("drained_total", of), 0.0);
            assert_eq!(before.figure("block_bytes", of), 0.0);

            let mut pool = manager.pool();
            for n in 0..10u64 {
                pool.create(n);
            }
            manager.autorelease(Ref::new(String::from("stray")));
            let handle = manager.current_thread().unwrap();
            handle.post(|| ()).unwrap();
            handle.post(|| ()).unwrap();
            metrics::publish(&manager);
            let open = Recorded::take(snapshotter);
            assert_eq!(open.figure("open_pools", of), 1.0);
            assert_eq!(open.figure("pools_opened_total", of), 1.0);
            assert_eq!(open.figure("inbox", of), 2.0);
            let bytes = blocks.stats();
            assert_eq!(open.figure("block_bytes", of), bytes.live_bytes as f64);
            assert_eq!(open.figure("chunk_bytes", of), bytes.chunk_bytes as f64);
            assert!(bytes.live_bytes >= 10 * 24, "{bytes:?}");
            let live = open.figure("live_objects", None) - before.figure("live_objects", None);
            assert_eq!(live, 11.0);
            let created = open.figure("created_total", None) - before.figure("created_total", None);
            assert_eq!(created, 11.0);

            assert_eq!(pool.drain_within(Budget::Count(4)).remaining, 7);
            metrics::publish(&manager);
            let left = Recorded::take(snapshotter);
            assert_eq!(left.figure("backlog", of), 7.0);
            assert_eq!(left.figure("drained_total", of), 4.0);

            manager.drain_backlog(Budget::All);
            drop(pool);
            manager.autorelease(Ref::new(String::from("stray")));
            metrics::publish(&manager);
            let drained = Recorded::take(snapshotter);
            assert_eq!(drained.figure("backlog", of), 0.0);
            assert_eq!(drained.figure("drained_total", of), 11.0);
            assert_eq!(drained.figure("autoreleased_total", of), 12.0);
            assert_eq!(drained.figure("root_entries", of), 1.0);
            assert_eq!(drained.figure("open_pools", of), 0.0);
            assert_eq!(drained.figure("block_bytes", of), 0.0);
            let died =
                drained.figure("destroyed_total", None) - before.figure("destroyed_total", None);
            assert_eq!(died, 11.0);
            assert!(drained.figure("threads", None) >= 1.0);
            assert_eq!(drained.figure("kept", None), 0.0);
            manager.run_inbox();
            manager.drain_root();
        });
    });
}

#[test]
fn managers_are_told_apart() {
    let (_one, snapshotter) = recorder();
    let unnamed = PoolManager::new();
    drop(unnamed.pool());
    drop(unnamed.pool());
    metrics::publish(&unnamed);
    metrics::publish(PoolManager::global());
    let recorded = Recorded::take(snapshotter);
    assert_eq!(recorded.figure("pools_opened_total", Some("unnamed")), 2.0);
    recorded.figure("pools_opened_total", Some("global"));
}

#[test]
fn frames() {
    let (_one, snapshotter) = recorder();
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
    let proxy = frames.proxy();
    for _ in 0..2 {
        proxy.post(|| ()).unwrap();
    }
    proxy.post(|| panic!("on purpose")).unwrap();
    let (mut busy, mut drain) = (0.0, 0.0);
    for n in 0..4 {
        let report = frames.tick(|frame| {
            for _ in 0..n {
                frame.pool().create(n);
            }
        });
        metrics::record_frame(&report);
        busy += report.busy.as_secs_f64();
        drain += report.drained.elapsed.as_secs_f64();
    }
    let recorded = Recorded::take(snapshotter);
    let close = |name, value: f64| (recorded.figure(name, None) - value).abs() < 1e-9;
    assert!(close("frame_busy_seconds", busy) && close("frame_drain_seconds", drain));
    assert_eq!(recorded.figure("frame_released", None), 6.0);
    assert_eq!(recorded.figure("frame_remaining", None), 0.0);
    assert_eq!(recorded.figure("frame_closures_total", None), 3.0);
    assert_eq!(recorded.figure("frame_panics_total", None), 1.0);
}

#[test]
fn reclaimers() {
    let (_one, snapshotter) = recorder();
    let reclaimer = Reclaimer::new("reclaimer").unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    struct Waits(std::sync::mpsc::Receiver<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }
    reclaimer.drop_later_weighed(Waits(wait), 100);
    reclaimer.drop_later_weighed(1, 20);
    metrics::record_reclaimer("scenes", &reclaimer.pending());
    drop(go);
    let recorded = Recorded::take(snapshotter);
    let figure = |name| recorded.figure(name, Some("scenes"));
    assert_eq!(
        (figure("reclaimer_values"), figure("reclaimer_bytes")),
        (2.0, 120.0)
    );
    assert!(figure("reclaimer_busy_seconds") >= 0.0);
}

/// The tables in the documentation name what is published, with the kind.
#[test]
fn the_documentation_names_all() {
    let (_one, snapshotter) = recorder();
    metrics::publish(PoolManager::global());
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
    metrics::record_frame(&frames.tick(|_| ()));
    metrics::record_reclaimer("scenes", &Default::default());
    let mut published: Vec<_> = Recorded::take(snapshotter)
        .0
        .into_iter()
        .map(|((name, _), (kind, _))| (name, format!("{kind:?}").to_lowercase()))
        .collect();
    published.sort();
    published.dedup();
    let mut documented: Vec<_> = include_str!("../../../src/metrics.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//! | `releasepool_"))
        .map(|line| {
            let (name, rest) = line.split_once('`').unwrap();
            let kind = rest.split('|').nth(1).unwrap().trim();
            (format!("releasepool_{name}"), kind.to_owned())
        })
        .collect();
    documented.sort();
    assert_eq!(published, documented);
}

#[test]
fn figures_of_threads_are_added_up() {
    let (_one, snapshotter) = recorder();
    let manager = PoolManager::builder().name("two threads").build();
    let _own = manager.pool();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _theirs = manager.pool();
            metrics::publish(&manager);
        });
    });
    let recorded = Recorded::take(snapshotter);
    assert_eq!(recorded.figure("open_pools", Some("two threads")), 2.0);
}
