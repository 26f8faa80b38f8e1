//! Groups of workloads: criterion follows each workload over time, and the table compares them.
//! Shared by the benchmarks `core` and `memory`.

use criterion::{BenchmarkId, Criterion, Throughput};
use releasepool_benches::contest::{Effort, Entry};
use releasepool_benches::crew;
use releasepool_benches::table::{self, Row};
use releasepool_benches::workload::Workload;
use std::time::Duration;

pub struct Group {
    name: String,
    entries: Vec<Entry>,
    rows: Vec<Row>,
}

impl Group {
    /// Creates a group without workloads.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            entries: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Lets criterion measure each workload on 1 to `threads` threads.
    pub fn follow<'w>(
        mut self,
        threads: usize,
        workloads: impl IntoIterator<Item = &'w Workload>,
    ) -> Self {
        for workload in workloads {
            let entries = (1..=threads).map(|threads| Entry::new(threads, workload));
            self.entries.extend(entries);
        }
        self
    }

    /// Adds rows to the table.
    pub fn compare(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    fn bench(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(&self.name);
        for Entry { workload, threads } in &self.entries {
            let on = if *threads == 1 { "thread" } else { "threads" };
            let id = BenchmarkId::new(&workload.name, format!("{threads} {on}"));
            group.throughput(Throughput::Elements(workload.operations));
            group.bench_function(id, |bencher| {
                bencher.iter_custom(|turns| crew::run(*threads, workload, turns));
            });
        }
        group.finish();
    }
}

/// Lets criterion run what the command line asks for.
pub fn run_criterion(groups: &[Group]) {
    let mut criterion = Criterion::default()
        .sample_size(15)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    for group in groups {
        group.bench(&mut criterion);
    }
    criterion.final_summary();
}

/// Measures and prints the table.
pub fn print_table(groups: Vec<Group>, effort: Effort) {
    table::print(groups.into_iter().flat_map(|group| group.rows), effort);
}
