//! The comparison with an earlier run.

use releasepool_benches::comparison::Outcome;
use releasepool_benches::findings::outcome;
use releasepool_benches::results::{Before, FORMAT, Point, Results};
use std::path::Path;

pub fn read(path: &Path) -> Result<Results, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    if format != Some(u64::from(FORMAT)) {
        return Err("not results of this version of the benchmark".to_owned());
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// Returns true if the two runs show that the time changed.
fn changed(now: &Point, before: &Point) -> bool {
    let outcome = now
        .over_unpaired(before)
        .map(|spread| outcome(&spread, now, before));
    matches!(outcome, Some(Outcome::Faster | Outcome::Slower))
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
    series.point(threads)
}

/// Adds the earlier figure to each point.
pub fn compare(results: &mut Results, earlier: &Results, name: &str) {
    results.baseline = Some(name.to_owned());
    for scenario in &mut results.scenarios {
        for series in &mut scenario.series {
            for point in &mut series.points {
                let before = find(earlier, &scenario.id, &series.implementation, point.threads);
                point.before = before.map(|before| Before {
                    time: before.time,
                    changed: changed(point, before),
                });
            }
        }
    }
}

/// Returns true if only the code differs, as far as the results tell.
pub fn alike(results: &Results, earlier: &Results) -> bool {
    let (now, then) = (&results.machine, &earlier.machine);
    now.processor == then.processor
        && now.parallelism == then.parallelism
        && now.toolchain == then.toolchain
        && now.flags == then.flags
        && now.allocator == then.allocator
        && results.quick == earlier.quick
}
