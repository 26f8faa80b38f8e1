//! The benchmark `tails`: the slowest of many operations, each timed by itself, beside the median. A
//! rare operation does what others leave to it: it gets a chunk or a page, moves a vector, or advances
//! an epoch. See README.md.

use arc_swap::ArcSwap;
use releasepool::{AutoreleasePool, BlockAllocator, Ref, Slot};
use releasepool_benches::objects::{Dropping as Object, POOL, Payload};
use releasepool_benches::terminal;
use std::hint::black_box;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Instant;

/// Turns of each operation in a round.
const TURNS: u64 = 1_000_000;
/// Frames in a round.
const FRAMES: u64 = 10_000;
/// Rounds, in which the operations take turns. The figures are medians of theirs.
const ROUNDS: usize = 5;

/// Nanoseconds of single operations.
type Times = Vec<u64>;

/// One row.
struct Tail {
    what: &'static str,
    by: &'static str,
    /// Measures a round.
    round: fn() -> Times,
}

fn timed<R>(times: &mut Times, operation: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = operation();
    times.push(start.elapsed().as_nanos() as u64);
    result
}

/// Times an operation on a value that exists already.
fn each<S>(mut state: S, mut operation: impl FnMut(&mut S, u64)) -> Times {
    let mut times = Times::with_capacity(TURNS as usize);
    for turn in 0..TURNS {
        timed(&mut times, || operation(&mut state, turn));
    }
    times
}

/// Times an operation; after each [`POOL`] of them, `end` destroys what it has left.
fn in_pools<S>(mut state: S, operation: impl Fn(&mut S, u64), end: impl Fn(&mut S)) -> Times {
    let mut times = Times::with_capacity(TURNS as usize);
    for turn in 0..TURNS {
        timed(&mut times, || operation(&mut state, turn));
        if turn % POOL == POOL - 1 {
            end(&mut state);
        }
    }
    times
}

/// Times the last drops of references, a thousand of which exist.
fn dropped<R>(new: impl Fn(u64) -> R) -> Times {
    let mut times = Times::with_capacity(TURNS as usize);
    for turn in 0..TURNS / POOL {
        let objects: Vec<R> = (0..POOL).map(|n| new(turn + n)).collect();
        for object in objects {
            timed(&mut times, || drop(black_box(object)));
        }
    }
    times
}

/// Times frames of a thousand objects.
fn frames<S>(mut state: S, create: impl Fn(&mut S, u64), end: impl Fn(&mut S)) -> Times {
    let mut times = Times::with_capacity(FRAMES as usize);
    for _ in 0..FRAMES {
        timed(&mut times, || {
            (0..POOL).for_each(|seed| create(&mut state, seed));
            end(&mut state);
        });
    }
    times
}

fn create(pool: &mut AutoreleasePool, seed: u64) {
    black_box(pool.create(Object::new(seed)));
}

fn drain(pool: &mut AutoreleasePool) {
    pool.drain();
}

fn push(arcs: &mut Vec<Arc<Object>>, seed: u64) {
    arcs.push(black_box(Arc::new(Object::new(seed))));
}

const TAILS: [Tail; 11] = [
    Tail {
        what: "the clock alone, in all others, too",
        by: "",
        round: || each((), |(), _| ()),
    },
    Tail {
        what: "an object is created, 1,000 to a pool",
        by: "pool.create",
        round: || in_pools(AutoreleasePool::new(), create, drain),
    },
    Tail {
        what: "",
        by: "Arc in a Vec",
        round: || in_pools(Vec::new(), push, Vec::clear),
    },
    Tail {
        what: "the last reference is dropped",
        by: "Ref in a block",
        round: || {
            let blocks = BlockAllocator::process();
            dropped(|seed| Ref::new_in(Object::new(seed), &blocks))
        },
    },
    Tail {
        what: "",
        by: "Arc",
        round: || dropped(|seed| Arc::new(Object::new(seed))),
    },
    Tail {
        what: "a shared pointer is replaced",
        by: "slot.store",
        round: || {
            let slot = Slot::new(Ref::new(Object::new(0)));
            // A drain releases what the stores have replaced.
            let store = |_: &mut _, seed| slot.store(Ref::new(Object::new(seed)));
            in_pools(AutoreleasePool::new(), store, drain)
        },
    },
    Tail {
        what: "",
        by: "arc-swap",
        round: || {
            let swap = ArcSwap::from_pointee(Object::new(0));
            each(swap, |swap, seed| swap.store(Arc::new(Object::new(seed))))
        },
    },
    Tail {
        what: "",
        by: "RwLock",
        round: || {
            let lock = RwLock::new(Arc::new(Object::new(0)));
            each(lock, |lock, seed| {
                let new = Arc::new(Object::new(seed));
                let mut held = lock.write().expect("no thread panicked");
                let old = std::mem::replace(&mut *held, new);
                drop(held);
                drop(old);
            })
        },
    },
    Tail {
        what: "a frame of 1,000 objects",
        by: "pool.create, drain",
        round: || frames(AutoreleasePool::new(), create, drain),
    },
    Tail {
        what: "",
        by: "Arc in a Vec, clear",
        round: || frames(Vec::new(), push, Vec::clear),
    },
    Tail {
        what: "",
        by: "a new pool each time",
        round: || {
            frames(
                None,
                |pool, seed| create(pool.get_or_insert_default(), seed),
                |pool| *pool = None,
            )
        },
    },
];

/// Returns what most, nearly all and all of the operations took at most.
fn figures(mut times: Times) -> [u64; 4] {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    [at(0.5), at(0.99), at(0.999), at(1.0)]
}

fn main() {
    let measure = |tail: &Tail| {
        // On a thread of its own: see "How it is measured" in README.md.
        let times = thread::spawn(tail.round).join();
        figures(times.expect("the work does not panic"))
    };
    let mut rounds = vec![Vec::new(); TAILS.len()];
    for round in 0..=ROUNDS {
        for (tail, figures) in TAILS.iter().zip(&mut rounds) {
            let measured = measure(tail);
            // The first round is a warm-up.
            if round > 0 {
                figures.push(measured);
            }
        }
        eprintln!("round {round} of {ROUNDS}");
    }
    println!("\nNanoseconds of one operation: the medians of {ROUNDS} rounds\n");
    let mut table = terminal::figures([
        ("", 40),
        ("", 22),
        ("half", 8),
        ("99 of 100", 10),
        ("999 of 1,000", 12),
        ("all", 10),
    ]);
    for (tail, rounds) in TAILS.iter().zip(rounds) {
        let median = |at: usize| {
            let mut values: Vec<u64> = rounds.iter().map(|figures| figures[at]).collect();
            values.sort_unstable();
            values[values.len() / 2].to_string()
        };
        let [half, most, nearly, all] = [0, 1, 2, 3].map(median);
        table.add_row([tail.what, tail.by, &half, &most, &nearly, &all]);
    }
    println!("{}", table.trim_fmt());
}
