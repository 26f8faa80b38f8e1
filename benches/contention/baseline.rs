//! An earlier run beside this one.

use releasepool_benches::contest::Figure;
use releasepool_benches::results::{Before, FORMAT, Point, Results};
use std::path::Path;

pub fn read(path: &Path) -> Result<Results, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format != Some(u64::from(FORMAT)) {
        return Err("results of another version of this benchmark, or something else".to_owned());
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// Whether two figures have nothing between their quartiles in common.
fn apart(a: Figure, b: Figure) -> bool {
    a.high < b.low || b.high < a.low
}

fn find<'r>(
    earlier: &'r Results,
    scenario: &str,
    implementation: &str,
    threads: usize,
) -> Option<&'r Point> {
    let scenario = earlier.scenarios.iter().find(|s| s.id == scenario)?;
    let mut series = scenario.series.iter();
    let series = series.find(|s| s.implementation == implementation)?;
    series.points.iter().find(|point| point.threads == threads)
}

/// Tells every point what it was.
pub fn compare(results: &mut Results, earlier: &Results, name: &str) {
    results.baseline = Some(name.to_owned());
    for scenario in &mut results.scenarios {
        for series in &mut scenario.series {
            for point in &mut series.points {
                let before = find(earlier, &scenario.id, &series.implementation, point.threads);
                point.before = before.map(|before| Before {
                    time: before.time,
                    changed: apart(before.time, point.time),
                });
            }
        }
    }
}

/// Whether nothing but the code is different, as far as one can tell.
pub fn alike(results: &Results, earlier: &Results) -> bool {
    let (now, then) = (&results.machine, &earlier.machine);
    now.processor == then.processor
        && now.parallelism == then.parallelism
        && now.toolchain == then.toolchain
        && now.flags == then.flags
        && now.allocator == then.allocator
        && results.quick == earlier.quick
}
