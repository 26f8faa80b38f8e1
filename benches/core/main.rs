//! What one object costs: its making, its references, its release by a pool.
//!
//! Every workload is there twice: in criterion's groups, to follow one of them
//! over time, and in a table of ratios that are all measured by turns in one run.
//! See README.md.

mod groups;

use releasepool_benches::chain::*;
use releasepool_benches::contest::Effort;
use releasepool_benches::objects::*;
use releasepool_benches::pooled::*;
use releasepool_benches::references::*;
use releasepool_benches::table::{self, Row, Target};
use releasepool_benches::workload::Workload;

fn pool_rows<P: Payload>(rows: &mut Vec<Row>) {
    for batch in [10, POOL, 100_000] {
        let what = |ours| format!("{ours}, {batch} objects, {}", P::KIND);
        let no_slower = if batch == POOL {
            Target::AtMost(1.05)
        } else {
            Target::None
        };
        let kinds = [
            (
                "autoreleased in a pool",
                no_slower,
                by_autorelease::<P>(batch),
            ),
            ("autoreleased implicitly", no_slower, implicitly::<P>(batch)),
            (
                "released without a pool",
                Target::None,
                ref_in_a_vec::<P>(batch),
            ),
        ];
        for (name, target, ours) in kinds {
            let row = Row::new(what(name), 1, ours)
                .against(target, 1, arc_in_a_vec::<P>(batch))
                .against(Target::None, 1, triomphe_in_a_vec::<P>(batch))
                .against(Target::None, 1, rc_in_a_vec::<P>(batch));
            rows.push(row);
        }
    }
}

fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row::new("control: the same twice", 1, arc_in_a_vec::<Plain>(POOL)).against(
            Target::None,
            1,
            arc_in_a_vec::<Plain>(POOL),
        ),
        Row::new("control: 2 threads", 2, rc_in_a_vec::<Plain>(POOL)).against(
            Target::None,
            1,
            rc_in_a_vec::<Plain>(POOL),
        ),
        Row::new("created in a pool", 1, by_create::<Plain>(POOL))
            .against(Target::Faster(3.0), 1, arc_in_a_vec::<Plain>(POOL))
            .against(Target::AtMost(1.5), 1, free_list_and_array::<Plain>(POOL)),
        Row::new(
            "created in a pool on 2 threads",
            2,
            by_create::<Plain>(POOL),
        )
        .against(Target::AtMost(1.15), 1, by_create::<Plain>(POOL))
        .against(Target::Faster(8.0), 2, behind_a_mutex(POOL))
        .against(Target::Faster(6.0), 2, by_dashmap(POOL))
        .against(Target::None, 2, arc_in_a_vec::<Plain>(POOL)),
        Row::new("created in a pool", 1, by_create::<Plain>(POOL))
            .against(Target::None, 1, behind_a_mutex(POOL))
            .against(Target::None, 1, by_dashmap(POOL)),
    ];
    pool_rows::<Plain>(&mut rows);
    pool_rows::<Dropping>(&mut rows);
    rows.push(
        Row::new(
            "autoreleased in a pool on 2 threads",
            2,
            by_autorelease::<Plain>(POOL),
        )
        .against(Target::AtMost(1.15), 1, by_autorelease::<Plain>(POOL))
        .against(Target::AtMost(1.05), 2, arc_in_a_vec::<Plain>(POOL)),
    );
    rows.push(
        Row::new("entry and release alone", 1, clones_in_a_pool(POOL)).against(
            Target::None,
            1,
            clones_in_a_vec(POOL),
        ),
    );
    let [_, arc, ..] = clones();
    let [opened, within, by_token] = empty_pools();
    for (ours, target) in [
        (opened, Target::AtMost(0.9)),
        (within, Target::AtMost(0.9)),
        (by_token, Target::None),
    ] {
        rows.push(
            Row::new("empty nested pool; against clone and drop", 1, ours).against(
                target,
                1,
                arc.clone(),
            ),
        );
    }
    rows.push(
        Row::new(
            "retained out of a pool; against clone and drop",
            1,
            retain(),
        )
        .against(Target::AtMost(1.05), 1, arc),
    );
    rows.push(versus("clone and drop", Target::AtMost(1.05), clones()));
    rows.push(versus(
        "new and drop, no destructor",
        Target::None,
        new_and_drop::<Plain>(),
    ));
    rows.push(versus(
        "new and drop, destructor",
        Target::None,
        new_and_drop::<Dropping>(),
    ));
    rows.push(versus("downgrade and drop", Target::None, downgrades()));
    rows.push(versus("upgrade and drop", Target::None, upgrades()));
    for nodes in [1_000, CHAIN] {
        rows.push(
            Row::new(format!("drop of a chain of {nodes}"), 1, chain(nodes))
                .against(Target::AtMost(1.2), 1, ref_nodes(nodes))
                .against(Target::None, 1, arc_nodes(nodes)),
        );
    }
    rows
}

/// The first, against each of the others; the target is for the second.
fn versus<const N: usize>(what: &str, target: Target, workloads: [Workload; N]) -> Row {
    let mut workloads = workloads.into_iter();
    let ours = workloads.next().expect("a workload of ours");
    let mut target = Some(target);
    workloads.fold(Row::new(what, 1, ours), |row, theirs| {
        row.against(target.take().unwrap_or(Target::None), 1, theirs)
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only_table = arguments.iter().any(|argument| argument == "--targets");
    // What cargo itself passes; `cargo test --benches` does not.
    let everything = arguments == ["--bench"];
    if !only_table {
        groups::run();
    }
    if only_table || everything {
        table::print(&rows(), Effort::FULL);
    }
}
