//! Criterion's groups: to follow a work over time.

use crate::arena;
use crate::contestants::Contestant;
use crate::objects::in_blocks;
use crate::works::Work;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, measurement::WallTime};
use releasepool_benches::crew;
use releasepool_benches::objects::{POOL, Plain, arc_in_a_vec, free_list_and_array};
use releasepool_benches::pooled::{by_autorelease, by_create};
use releasepool_benches::workload::Workload;
use std::time::Duration;

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, threads: usize, workload: &Workload) {
    let on = if threads == 1 { "thread" } else { "threads" };
    let id = BenchmarkId::new(&workload.name, format!("{threads} {on}"));
    group.throughput(Throughput::Elements(workload.operations));
    group.bench_function(id, |bencher| {
        bencher.iter_custom(|turns| crew::run(threads, workload, turns));
    });
}

fn groups(c: &mut Criterion, all: &[Contestant]) {
    for (name, work, most) in [
        ("pairs", Work::Pairs, 2),
        ("batches, last in, first out", Work::Lifo, 2),
        ("batches, first in, first out", Work::Fifo, 2),
        ("mixed sizes", Work::Mixed, 2),
        // It brings its other thread with it.
        ("from thread to thread", Work::Cross, 1),
    ] {
        let mut group = c.benchmark_group(name);
        for contestant in all {
            let most = if contestant.on_threads { most } else { 1 };
            if let Some(workload) = contestant.work(work) {
                (1..=most).for_each(|threads| bench(&mut group, threads, workload));
            }
        }
        group.finish();
    }
    let mut group = c.benchmark_group("in an arena");
    for workload in [
        arena::newest_first(),
        arena::oldest_first(),
        arena::bumpalo(),
    ] {
        bench(&mut group, 1, &workload);
    }
    group.finish();
    let mut group = c.benchmark_group("objects");
    for workload in [
        by_create::<Plain>(POOL),
        by_autorelease::<Plain>(POOL),
        in_blocks::<Plain>(POOL),
        arc_in_a_vec::<Plain>(POOL),
        free_list_and_array::<Plain>(POOL),
    ] {
        bench(&mut group, 1, &workload);
    }
    group.finish();
}

/// Runs all that the arguments ask for.
pub fn run(all: &[Contestant]) {
    let mut criterion = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    groups(&mut criterion, all);
    criterion.final_summary();
}
