//! The benchmark `tails`: the slowest of many operations, each timed by itself, beside the median. A
//! rare operation does what others leave to it: it gets a chunk or a page, moves a vector, or advances
//! an epoch. See README.md.

use arc_swap::ArcSwap;
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, Ref, Slot};
use releasepool_benches::objects::{Dropping as Object, POOL, Payload, arc_in_a_vec};
use releasepool_benches::pooled::by_create;
use releasepool_benches::terminal;
use releasepool_benches::workload::{Workload, timed_half};
use std::hint::black_box;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Instant;

/// Turns of one operation in a round.
const TURNS: u64 = 1_000_000;
/// Turns of a frame of [`POOL`] objects in a round.
const FRAMES: u64 = 10_000;
/// Rounds, in which the workloads take turns. Each figure is the median of all rounds.
const ROUNDS: usize = 5;

/// The titles of the figures, and the widths of their columns.
const TITLES: [(&str, u16); 4] = [
    ("half", 10),
    ("99 of 100", 10),
    ("999 of 1,000", 12),
    ("all", 10),
];

/// Returns a workload of one operation on a value that exists already. Before every [`POOL`]th
/// turn, `end` destroys what earlier turns have left.
fn each<S: 'static>(
    name: &str,
    make: impl Fn() -> S + Send + Sync + 'static,
    operation: impl Fn(&mut S, u64) + Copy + Send + Sync + 'static,
    end: fn(&mut S),
) -> Workload {
    Workload::new(name, 1, move || {
        let (mut state, mut seed) = (make(), 0);
        Box::new(move |_| {
            if seed % POOL == 0 {
                end(&mut state);
            }
            seed += 1;
            let start = Instant::now();
            operation(&mut state, seed);
            start.elapsed()
        })
    })
}

/// Returns a workload that drops last references to objects, which are made [`POOL`] at a time.
fn dropped<R: 'static>(
    name: &str,
    new: impl Fn(u64) -> R + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, 1, move || {
        let mut objects = Vec::new().into_iter();
        let prepare = move || {
            if objects.len() == 0 {
                objects = (0..POOL).map(new).collect::<Vec<_>>().into_iter();
            }
            objects.next()
        };
        timed_half(prepare, |object| drop(black_box(object)))
    })
}

fn create(pool: &mut AutoreleasePool, seed: u64) {
    black_box(pool.create(Object::new(seed)));
}

fn push(arcs: &mut Vec<Arc<Object>>, seed: u64) {
    arcs.push(black_box(Arc::new(Object::new(seed))));
}

/// Replaces the object behind a lock, and destroys the old one afterwards.
fn replace(lock: &mut RwLock<Arc<Object>>, seed: u64) {
    let new = Arc::new(Object::new(seed));
    let mut held = lock.write().expect("no thread panicked");
    let old = std::mem::replace(&mut *held, new);
    drop(held);
    drop(old);
}

/// The name of an operation, and the ways to do it that are compared.
type Group = (&'static str, Vec<Workload>);

fn groups() -> [Group; 5] {
    let slot = || {
        let slot = Slot::new(Ref::new(Object::new(0)));
        (slot, AutoreleasePool::new())
    };
    let store = |(slot, _): &mut (Slot<Object>, _), seed| slot.store(Ref::new(Object::new(seed)));
    // Releases what the stores have replaced.
    let drain = |(_, pool): &mut (_, AutoreleasePool)| _ = pool.drain();
    let swap = || ArcSwap::from_pointee(Object::new(0));
    let swapped = |swap: &mut ArcSwap<Object>, seed| swap.store(Arc::new(Object::new(seed)));
    let lock = || RwLock::new(Arc::new(Object::new(0)));
    let in_a_block = |seed| Ref::new_in(Object::new(seed), &BlockAllocator::process());
    let new_pool = |(): &mut ()| {
        let mut pool = AutoreleasePool::new();
        (0..POOL).for_each(|seed| create(&mut pool, seed));
    };
    let nothing = each("", || (), |(), _| (), |()| ());
    let created = [
        each("pool.create", AutoreleasePool::new, create, |pool| {
            pool.drain();
        }),
        each("Arc in a Vec", Vec::new, push, Vec::clear),
    ];
    let last = [
        dropped("Ref in a block", in_a_block),
        dropped("Arc", |seed| Arc::new(Object::new(seed))),
    ];
    let replaced = [
        each("slot.store", slot, store, drain),
        each("arc-swap", swap, swapped, |_| ()),
        each("RwLock", lock, replace, |_| ()),
    ];
    let frames = [
        by_create::<Object>(POOL),
        arc_in_a_vec::<Object>(POOL),
        Workload::timed("a new pool each time", POOL, || (), new_pool),
    ];
    [
        ("the clock alone, in all others, too", vec![nothing]),
        ("an object is created, 1,000 to a pool", created.into()),
        ("the last reference is dropped", last.into()),
        ("a shared pointer is replaced", replaced.into()),
        ("a frame of 1,000 objects", frames.into()),
    ]
}

/// Returns what half, nearly all and all of the turns of a round took at most, in nanoseconds.
fn measure(workload: &Workload) -> [u128; 4] {
    let turns = if workload.operations == 1 {
        TURNS
    } else {
        FRAMES
    };
    // On a thread of its own: see "How it is measured" in README.md.
    let times = thread::scope(|scope| {
        let round = scope.spawn(|| {
            let mut job = workload.job();
            (0..turns).map(|_| job(1).as_nanos()).collect()
        });
        round.join()
    });
    let mut times: Vec<_> = times.expect("the work does not panic");
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    [at(0.5), at(0.99), at(0.999), at(1.0)]
}

fn main() {
    let groups = groups();
    let workloads = || groups.iter().flat_map(|(_, workloads)| workloads);
    let mut measured = vec![Vec::new(); workloads().count()];
    for round in 0..=ROUNDS {
        for (workload, figures) in workloads().zip(&mut measured) {
            let new = measure(workload);
            // The first round is a warm-up.
            figures.extend((round > 0).then_some(new));
        }
        eprintln!("round {round} of {ROUNDS}");
    }
    println!("\nNanoseconds of one operation: the medians of {ROUNDS} rounds");
    let mut measured = measured.into_iter();
    for (what, workloads) in &groups {
        let [half, most, nearly, all] = TITLES;
        let mut table = terminal::figures([(what, 40), half, most, nearly, all]);
        for (workload, rounds) in workloads.iter().zip(&mut measured) {
            let median = |at: usize| {
                let mut values: Vec<_> = rounds.iter().map(|figures| figures[at]).collect();
                values.sort_unstable();
                values[values.len() / 2].to_string()
            };
            let [half, most, nearly, all] = [0, 1, 2, 3].map(median);
            table.add_row([&workload.name, &half, &most, &nearly, &all]);
        }
        println!("\n{}", table.trim_fmt());
    }
}
