//! What one object costs: its making, its references, its release by a pool.
//!
//! Every workload is there twice: in criterion's groups, to follow one of them
//! over time, and in a table of ratios that are all measured by turns in one run.
//! See README.md.

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, measurement::WallTime};
use dashmap::DashMap;
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, Weak, autorelease, autoreleasepool};
use releasepool_benches::contest::Effort;
use releasepool_benches::crew;
use releasepool_benches::table::{self, Row, Target};
use releasepool_benches::workload::{Workload, timed, timed_half};
use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// 48 bytes.
trait Payload: 'static {
    const KIND: &str;
    fn new(seed: u64) -> Self;
}

/// Nothing to do at the end.
struct Plain(#[expect(dead_code, reason = "there to be written")] [u64; 6]);

impl Payload for Plain {
    const KIND: &str = "no destructor";
    fn new(seed: u64) -> Self {
        Self([seed; 6])
    }
}

/// A destructor that looks at the value.
struct Dropping([u64; 6]);

impl Payload for Dropping {
    const KIND: &str = "destructor";
    fn new(seed: u64) -> Self {
        Self([seed; 6])
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        black_box(self.0[0]);
    }
}

/// Objects in a pool, unless something else is said.
const POOL: u64 = 1_000;

/// Turns of a loop around something that takes a few nanoseconds.
const LOOP: u64 = 1_000;

// --- create, autorelease, drain ------------------------------------------------

fn by_create<P: Payload>(batch: u64) -> Workload {
    Workload::new("pool.create", batch, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for seed in 0..batch {
                black_box(pool.create(P::new(seed)));
            }
            pool.drain();
        })
    })
}

fn by_autorelease<P: Payload>(batch: u64) -> Workload {
    Workload::new("pool.autorelease(Ref::new)", batch, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for seed in 0..batch {
                black_box(pool.autorelease(black_box(Ref::new(P::new(seed)))));
            }
            pool.drain();
        })
    })
}

fn implicitly<P: Payload>(batch: u64) -> Workload {
    Workload::new("autorelease(Ref::new), pool opened", batch, move || {
        timed(move || {
            let pool = AutoreleasePool::new();
            for seed in 0..batch {
                autorelease(black_box(Ref::new(P::new(seed))));
            }
            drop(pool);
        })
    })
}

fn in_a_vec<R: 'static>(
    name: &'static str,
    batch: u64,
    new: impl Fn(u64) -> R + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, batch, move || {
        let mut vec = Vec::with_capacity(batch as usize);
        timed(move || {
            for seed in 0..batch {
                vec.push(black_box(new(seed)));
            }
            black_box(&mut vec).clear();
        })
    })
}

fn arc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Arc in a Vec", batch, |seed| Arc::new(P::new(seed)))
}

fn rc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Rc in a Vec", batch, |seed| Rc::new(P::new(seed)))
}

fn triomphe_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("triomphe::Arc in a Vec", batch, |seed| {
        triomphe::Arc::new(P::new(seed))
    })
}

fn ref_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Ref in a Vec", batch, |seed| Ref::new(P::new(seed)))
}

/// The pool alone: references to one object, so that no memory is allocated and
/// nothing is destroyed. Other objects lie between, as they do in real pools.
fn clones_in_a_pool(batch: u64) -> Workload {
    Workload::new("pool.autorelease(r.clone())", batch, move || {
        let objects = [Ref::new(Plain::new(1)), Ref::new(Plain::new(2))];
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for _ in 0..batch / 2 {
                for object in &objects {
                    black_box(pool.autorelease(object.clone()));
                }
            }
            pool.drain();
        })
    })
}

fn clones_in_a_vec(batch: u64) -> Workload {
    Workload::new("Arc clones in a Vec", batch, move || {
        let objects = [Arc::new(Plain::new(1)), Arc::new(Plain::new(2))];
        let mut vec = Vec::with_capacity(batch as usize);
        timed(move || {
            for _ in 0..batch / 2 {
                for object in &objects {
                    vec.push(black_box(object.clone()));
                }
            }
            black_box(&mut vec).clear();
        })
    })
}

/// The least that there is to do, by one thread that need not think of others: a
/// free list, an array, and a count that is not atomic.
fn free_list_and_array(batch: u64) -> Workload {
    struct Object {
        count: u64,
        value: Plain,
    }
    let fresh = || {
        let value = Plain::new(0);
        Box::new(Object { count: 0, value })
    };
    Workload::new("free list and array", batch, move || {
        let mut free: Vec<_> = (0..batch).map(|_| fresh()).collect();
        let mut pool = Vec::with_capacity(batch as usize);
        timed(move || {
            for seed in 0..batch {
                let mut object = free.pop().unwrap_or_else(fresh);
                object.count = 1;
                object.value = Plain::new(seed);
                black_box(&object.value);
                pool.push(object);
            }
            while let Some(mut object) = black_box(&mut pool).pop() {
                object.count -= 1;
                if object.count == 0 {
                    free.push(object);
                } else {
                    std::mem::forget(object);
                }
            }
        })
    })
}

type Pending = Vec<Arc<Plain>>;

/// The patch that is known for making pools safe: those of all threads in a map
/// behind a mutex.
fn behind_a_mutex(batch: u64) -> Workload {
    static POOLS: LazyLock<Mutex<HashMap<ThreadId, Pending>>> = LazyLock::new(Mutex::default);
    fn with<R>(me: ThreadId, f: impl FnOnce(&mut Pending) -> R) -> R {
        f(POOLS.lock().expect("no panic").entry(me).or_default())
    }
    Workload::new("Arc, pools behind a mutex", batch, move || {
        let me = thread::current().id();
        timed(move || {
            for seed in 0..batch {
                let object = Arc::new(Plain::new(seed));
                with(me, |pending| pending.push(object));
            }
            let mut drained = with(me, std::mem::take);
            drained.clear();
            with(me, |pending| *pending = drained);
        })
    })
}

/// The same by a sharded map.
fn by_dashmap(batch: u64) -> Workload {
    static POOLS: LazyLock<DashMap<ThreadId, Pending>> = LazyLock::new(DashMap::new);
    Workload::new("Arc, DashMap entry per operation", batch, move || {
        let me = thread::current().id();
        timed(move || {
            for seed in 0..batch {
                let object = Arc::new(Plain::new(seed));
                POOLS.entry(me).or_default().push(object);
            }
            let mut drained = std::mem::take(&mut *POOLS.entry(me).or_default());
            drained.clear();
            *POOLS.entry(me).or_default() = drained;
        })
    })
}

// --- one operation in a loop ---------------------------------------------------

fn looped<S: 'static>(
    name: &'static str,
    make: impl Fn() -> S + Send + Sync + 'static,
    operation: impl Fn(&S) + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, LOOP, move || {
        let state = make();
        timed(move || {
            for _ in 0..LOOP {
                operation(&state);
            }
        })
    })
}

/// All inside one outer pool.
fn empty_pools() -> [Workload; 3] {
    [
        looped("AutoreleasePool::new, drop", AutoreleasePool::new, |_| {
            drop(black_box(AutoreleasePool::new()));
        }),
        looped("autoreleasepool(|_| {})", AutoreleasePool::new, |_| {
            autoreleasepool(|pool| {
                black_box(pool);
            });
        }),
        looped("push, pop by token", AutoreleasePool::new, |_| {
            let manager = PoolManager::global();
            let released = manager.pop(black_box(manager.push()));
            black_box(released.is_ok());
        }),
    ]
}

fn plain() -> Plain {
    Plain::new(1)
}

fn clone_and_drop<R: Clone + 'static>(
    name: &'static str,
    make: impl Fn() -> R + Send + Sync + 'static,
) -> Workload {
    looped(name, make, |r| drop(black_box(r.clone())))
}

fn clones() -> [Workload; 4] {
    [
        clone_and_drop("Ref", || Ref::new(plain())),
        clone_and_drop("Arc", || Arc::new(plain())),
        clone_and_drop("triomphe::Arc", || triomphe::Arc::new(plain())),
        clone_and_drop("Rc", || Rc::new(plain())),
    ]
}

fn new_and_drop<P: Payload>() -> [Workload; 4] {
    [
        looped("Ref", || (), |()| drop(black_box(Ref::new(P::new(1))))),
        looped("Arc", || (), |()| drop(black_box(Arc::new(P::new(1))))),
        looped(
            "triomphe::Arc",
            || (),
            |()| {
                drop(black_box(triomphe::Arc::new(P::new(1))));
            },
        ),
        looped("Rc", || (), |()| drop(black_box(Rc::new(P::new(1))))),
    ]
}

fn downgrades() -> [Workload; 2] {
    [
        looped(
            "Ref",
            || Ref::new(plain()),
            |r| {
                drop(black_box(Ref::downgrade(r)));
            },
        ),
        looped(
            "Arc",
            || Arc::new(plain()),
            |r| {
                drop(black_box(Arc::downgrade(r)));
            },
        ),
    ]
}

fn upgrades() -> [Workload; 2] {
    let ours = || {
        let r = Ref::new(plain());
        (Ref::downgrade(&r), r)
    };
    let theirs = || {
        let r = Arc::new(plain());
        (Arc::downgrade(&r), r)
    };
    [
        looped("Ref", ours, |(w, _): &(Weak<Plain>, _)| {
            drop(black_box(w.upgrade()));
        }),
        looped("Arc", theirs, |(w, _)| drop(black_box(w.upgrade()))),
    ]
}

/// A reference out of a pool, kept for a moment.
fn retain() -> Workload {
    Workload::new("PoolRef::retain, drop", LOOP, || {
        timed(|| {
            let pool = AutoreleasePool::new();
            let lent = pool.create(plain());
            for _ in 0..LOOP {
                drop(black_box(PoolRef::retain(lent)));
            }
        })
    })
}

// --- a chain -------------------------------------------------------------------

const CHAIN: u64 = 1_000_000;

struct Node<L> {
    _next: Option<L>,
    _rest: [u64; 5],
}

impl<L> Node<L> {
    fn new(next: Option<L>, seed: u64) -> Self {
        Self {
            _next: next,
            _rest: [seed; 5],
        }
    }
}

struct Link {
    _to: Ref<Node<Link>>,
}

impl Link {
    fn to(next: Option<Self>, seed: u64) -> Self {
        let _to = Ref::new(Node::new(next, seed));
        Self { _to }
    }
}

/// The nodes die in the order from the newest to the oldest in every one of
/// these; only their releases are timed.
fn chain(nodes: u64) -> Workload {
    Workload::new("Ref, each node in the next", nodes, move || {
        let build = move || {
            let mut first = None;
            for seed in 0..nodes {
                first = Some(Link::to(first, seed));
            }
            first
        };
        timed_half(build, drop)
    })
}

fn unlinked<R: 'static>(
    name: &'static str,
    nodes: u64,
    new: impl Fn(u64) -> R + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, nodes, move || {
        let build = move || {
            let mut all: Vec<_> = (0..nodes).map(new).collect();
            all.reverse();
            all
        };
        timed_half(build, drop)
    })
}

fn ref_nodes(nodes: u64) -> Workload {
    unlinked("Ref nodes in a Vec", nodes, |seed| Link::to(None, seed))
}

fn arc_nodes(nodes: u64) -> Workload {
    struct Shared {
        _to: Arc<Node<Shared>>,
    }
    unlinked("Arc nodes in a Vec", nodes, |seed| Shared {
        _to: Arc::new(Node::new(None, seed)),
    })
}

// --- the table -----------------------------------------------------------------

const EFFORT: Effort = Effort {
    sample: Duration::from_millis(1),
    total: Duration::from_millis(1_500),
    least: 15,
};

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
            .against(Target::AtMost(1.5), 1, free_list_and_array(POOL)),
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

// --- criterion's groups --------------------------------------------------------

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
        free_list_and_array(POOL),
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

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only_table = arguments.iter().any(|argument| argument == "--targets");
    // What cargo itself passes; `cargo test --benches` does not.
    let everything = arguments == ["--bench"];
    if !only_table {
        let mut criterion = Criterion::default()
            .sample_size(15)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(600))
            .configure_from_args();
        groups(&mut criterion);
        criterion.final_summary();
    }
    if only_table || everything {
        table::print(&rows(), EFFORT);
    }
}
