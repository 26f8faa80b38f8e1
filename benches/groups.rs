//! Lets criterion follow workloads over time. Shared by the benchmarks `core` and `memory`.

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, measurement::WallTime};
use releasepool_benches::contest::Entry;
use releasepool_benches::crew;
use releasepool_benches::rows::Group;
use std::time::Duration;

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, Entry { workload, threads }: &Entry) {
    let on = if *threads == 1 { "thread" } else { "threads" };
    let id = BenchmarkId::new(&workload.name, format!("{threads} {on}"));
    group.throughput(Throughput::Elements(workload.operations));
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|turns| crew::run(*threads, workload, turns));
    });
}

/// Lets criterion run what the command line asks for.
pub fn run_criterion(groups: &[Group]) {
    let mut criterion = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    for Group { name, entries, .. } in groups {
        let mut group = criterion.benchmark_group(name);
        entries.iter().for_each(|entry| bench(&mut group, entry));
        group.finish();
    }
    criterion.final_summary();
}
