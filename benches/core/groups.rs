//! Criterion's groups: to follow a workload over time.

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, measurement::WallTime};
use releasepool_benches::chain::*;
use releasepool_benches::crew;
use releasepool_benches::objects::*;
use releasepool_benches::pooled::*;
use releasepool_benches::references::*;
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

fn bench_all(c: &mut Criterion, name: &str, threads: &[usize], workloads: &[Workload]) {
    let mut group = c.benchmark_group(name);
    for workload in workloads {
        for &threads in threads {
            bench(&mut group, threads, workload);
        }
    }
    group.finish();
}

fn bench_pools<P: Payload>(c: &mut Criterion, batch: u64) {
    let name = format!("{batch} objects, {}", P::KIND);
    let workloads = [
        by_create::<P>(batch),
        by_autorelease::<P>(batch),
        implicitly::<P>(batch),
        ref_in_a_vec::<P>(batch),
        arc_in_a_vec::<P>(batch),
        triomphe_in_a_vec::<P>(batch),
        rc_in_a_vec::<P>(batch),
    ];
    bench_all(c, &name, &[1, 2], &workloads);
}

fn groups(c: &mut Criterion) {
    for batch in [10, POOL, 100_000] {
        bench_pools::<Plain>(c, batch);
        bench_pools::<Dropping>(c, batch);
    }
    let references = [
        behind_a_mutex(POOL),
        by_dashmap(POOL),
        free_list_and_array::<Plain>(POOL),
    ];
    bench_all(c, "1000 objects, by other means", &[1, 2], &references);
    let alone = [clones_in_a_pool(POOL), clones_in_a_vec(POOL)];
    bench_all(c, "entry and release alone", &[1, 2], &alone);
    bench_all(c, "empty nested pool", &[1], &empty_pools());
    bench_all(c, "clone, drop", &[1], &clones());
    bench_all(c, "retain out of a pool, drop", &[1], &[retain()]);
    bench_all(c, "new, drop", &[1], &new_and_drop::<Plain>());
    bench_all(
        c,
        "new, drop, destructor",
        &[1],
        &new_and_drop::<Dropping>(),
    );
    bench_all(c, "downgrade, drop", &[1], &downgrades());
    bench_all(c, "upgrade, drop", &[1], &upgrades());
    let chains = [chain(CHAIN), ref_nodes(CHAIN), arc_nodes(CHAIN)];
    bench_all(c, "drop of a chain", &[1], &chains);
}

/// Runs all that the arguments ask for.
pub fn run() {
    let mut criterion = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    groups(&mut criterion);
    criterion.final_summary();
}
