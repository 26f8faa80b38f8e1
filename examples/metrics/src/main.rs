//! Publishes the figures of a program that makes some frames and posts to them, by the feature
//! `metrics`.
//!
//! `cargo run -p releasepool-metrics`; a real program installs an exporter, such as that of the
//! crate `metrics-exporter-prometheus`, instead of the recorder here.

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use releasepool::{FrameConfig, FrameLoop, PoolManager, metrics};
use std::error::Error;
use std::thread;

fn main() -> Result<(), Box<dyn Error>> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    recorder.install()?;
    metrics::describe();

    let mut frames = FrameLoop::new(FrameConfig::new().frames_per_second(60));
    let ui = frames.proxy();
    let worker = thread::spawn(move || {
        for level in 0..100 {
            let show = move |frame: &mut releasepool::Frame<'_>| {
                frame.pool().create(format!("level {level}"));
            };
            ui.post_frame(show).expect("the loop is open");
        }
    });
    worker.join().expect("the worker does not panic");
    for _ in 0..10 {
        let report = frames.tick(|frame| {
            for _ in 0..1_000 {
                frame.pool().create([0u8; 64]);
            }
        });
        metrics::record_frame(&report);
    }
    // Once a second would do.
    metrics::publish(PoolManager::global());

    for (key, unit, _, value) in snapshotter.snapshot().into_vec() {
        let (_, key) = key.into_parts();
        let labels: Vec<_> = key
            .labels()
            .map(|label| format!("{}={:?}", label.key(), label.value()))
            .collect();
        let unit = unit.map_or("", |unit| unit.as_str());
        let value = match value {
            DebugValue::Counter(n) => n.to_string(),
            DebugValue::Gauge(value) => value.to_string(),
            DebugValue::Histogram(values) => format!("{} values", values.len()),
        };
        println!(
            "{:<34} {:<20} {value:>12} {unit}",
            key.name(),
            labels.join(" ")
        );
    }
    Ok(())
}
