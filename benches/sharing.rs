//! What it costs to share objects between threads: slots, hot objects, handing objects
//! over to be destroyed elsewhere, and drains within a budget.
//!
//! See README.md.

use arc_swap::ArcSwap;
use basedrop::{Collector, Shared, SharedCell};
use crossbeam_epoch as epoch;
use parking_lot::RwLock as ParkingLot;
use releasepool::{
    AutoreleasePool, Budget, HandoffPool, PoolManager, Ref, Slot, ThreadHandle, autoreleasepool,
};
use releasepool_benches::contest::Effort;
use releasepool_benches::table::{self, Row, Target};
use releasepool_benches::workload::{Workload, timed, timed_half};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

/// 48 bytes, with a destructor that looks at them.
struct Object([u64; 6]);

impl Object {
    fn new(seed: u64) -> Self {
        Self([seed; 6])
    }

    fn touch(&self) {
        black_box(self.0[1]);
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        black_box(self.0[0]);
    }
}

/// Loads between two drains of a pool, unless something else is said.
const USES: u64 = 100;

/// Objects that are handed over at a time.
const BATCH: u64 = 1_000;

// --- loads ---------------------------------------------------------------------

fn slot_load(uses: u64) -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(|| Slot::new(Ref::new(Object::new(1))));
    let name = format!("slot.load(&pool), drained after {uses}");
    Workload::new(name, uses, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            for _ in 0..uses {
                black_box(&*SLOT).load(&pool).touch();
            }
            pool.drain();
        })
    })
}

fn slot_load_full() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(|| Slot::new(Ref::new(Object::new(1))));
    Workload::new("slot.load_full()", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*SLOT).load_full().touch();
            }
        })
    })
}

static SWAP: LazyLock<ArcSwap<Object>> = LazyLock::new(|| ArcSwap::from_pointee(Object::new(1)));

fn arc_swap_load() -> Workload {
    Workload::new("arc-swap, load", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*SWAP).load().touch();
            }
        })
    })
}

fn arc_swap_load_full() -> Workload {
    Workload::new("arc-swap, load_full", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*SWAP).load_full().touch();
            }
        })
    })
}

fn rw_lock() -> Workload {
    static LOCK: LazyLock<RwLock<Arc<Object>>> =
        LazyLock::new(|| RwLock::new(Arc::new(Object::new(1))));
    Workload::new("RwLock<Arc>, read and clone", USES, || {
        timed(|| {
            for _ in 0..USES {
                let object = LOCK.read().expect("no panic").clone();
                object.touch();
            }
        })
    })
}

fn parking_lot() -> Workload {
    static LOCK: LazyLock<ParkingLot<Arc<Object>>> =
        LazyLock::new(|| ParkingLot::new(Arc::new(Object::new(1))));
    Workload::new("parking_lot::RwLock<Arc>, read and clone", USES, || {
        timed(|| {
            for _ in 0..USES {
                let object = LOCK.read().clone();
                object.touch();
            }
        })
    })
}

static ATOMIC: LazyLock<epoch::Atomic<Object>> =
    LazyLock::new(|| epoch::Atomic::new(Object::new(1)));

fn load_atomic(guard: &epoch::Guard) {
    let shared = black_box(&*ATOMIC).load(Ordering::Acquire, guard);
    // SAFETY: nothing is ever put in its place.
    let object = unsafe { shared.deref() };
    object.touch();
}

fn epoch_atomic() -> Workload {
    Workload::new("crossbeam-epoch Atomic, pin each", USES, || {
        timed(|| {
            for _ in 0..USES {
                load_atomic(&epoch::pin());
            }
        })
    })
}

fn epoch_atomic_pinned() -> Workload {
    let name = format!("crossbeam-epoch Atomic, pin every {USES}");
    Workload::new(name, USES, || {
        timed(|| {
            let guard = epoch::pin();
            for _ in 0..USES {
                load_atomic(&guard);
            }
        })
    })
}

/// Its garbage, that of all threads, is thrown away by whoever measures.
static COLLECTOR: LazyLock<Mutex<Collector>> = LazyLock::new(|| Mutex::new(Collector::new()));

fn basedrop_load() -> Workload {
    static CELL: LazyLock<SharedCell<Object>> = LazyLock::new(|| {
        let handle = COLLECTOR.lock().expect("no panic").handle();
        SharedCell::new(Shared::new(&handle, Object::new(1)))
    });
    Workload::new("basedrop SharedCell, get", USES, || {
        timed(|| {
            for _ in 0..USES {
                black_box(&*CELL).get().touch();
            }
        })
    })
}

// --- stores --------------------------------------------------------------------

fn slot_store() -> Workload {
    static SLOT: LazyLock<Slot<Object>> = LazyLock::new(|| Slot::new(Ref::new(Object::new(1))));
    Workload::new("slot.store, drained after 100", USES, || {
        timed(|| {
            for seed in 0..USES {
                SLOT.store(Ref::new(Object::new(seed)));
            }
            autoreleasepool(|_| ());
        })
    })
}

fn arc_swap_store() -> Workload {
    static SWAP: LazyLock<ArcSwap<Object>> =
        LazyLock::new(|| ArcSwap::from_pointee(Object::new(1)));
    Workload::new("arc-swap, store", USES, || {
        timed(|| {
            for seed in 0..USES {
                SWAP.store(Arc::new(Object::new(seed)));
            }
        })
    })
}

fn rw_lock_store() -> Workload {
    static LOCK: LazyLock<RwLock<Arc<Object>>> =
        LazyLock::new(|| RwLock::new(Arc::new(Object::new(1))));
    Workload::new("RwLock<Arc>, write", USES, || {
        timed(|| {
            for seed in 0..USES {
                *LOCK.write().expect("no panic") = Arc::new(Object::new(seed));
            }
        })
    })
}

// --- a hot object --------------------------------------------------------------

fn hot_pool_ref(uses: u64) -> Workload {
    static HOT: LazyLock<Ref<Object>> = LazyLock::new(|| Ref::new(Object::new(1)));
    let name = format!("PoolRef, autoreleased once for {uses} uses");
    Workload::new(name, uses, move || {
        let mut pool = AutoreleasePool::new();
        timed(move || {
            let lent = pool.autorelease(HOT.clone());
            for _ in 0..uses {
                let copy = black_box(lent);
                copy.touch();
            }
            pool.drain();
        })
    })
}

fn hot_arc() -> Workload {
    static HOT: LazyLock<Arc<Object>> = LazyLock::new(|| Arc::new(Object::new(1)));
    Workload::new("Arc, clone and drop each", USES, || {
        timed(|| {
            for _ in 0..USES {
                let clone = black_box(HOT.clone());
                clone.touch();
            }
        })
    })
}

// --- handing over --------------------------------------------------------------

fn me() -> ThreadHandle {
    let me = PoolManager::global().current_thread();
    me.expect("this thread is not being torn down")
}

/// What the sender does: it has the objects and gets rid of them. To itself, so that
/// nobody disturbs it; they are destroyed before the next turn, which is not timed.
fn handoff() -> Workload {
    Workload::new("HandoffPool, drain_on", BATCH, || {
        let to = me();
        let mut pool = HandoffPool::new();
        let prepare = || {
            autoreleasepool(|_| ());
            objects(Ref::new)
        };
        timed_half(prepare, move |objects| {
            for object in objects {
                pool.autorelease(object);
            }
            pool.drain_on(&to);
        })
    })
}

fn release_each() -> Workload {
    Workload::new("ThreadHandle::release each", BATCH, || {
        let to = me();
        let prepare = || {
            autoreleasepool(|_| ());
            objects(Ref::new)
        };
        timed_half(prepare, move |objects| {
            for object in objects {
                to.release(object);
            }
        })
    })
}

fn objects<R>(new: impl Fn(Object) -> R) -> Vec<R> {
    (0..BATCH).map(|seed| new(Object::new(seed))).collect()
}

fn channel_each() -> Workload {
    Workload::new("Arc, crossbeam channel", BATCH, || {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let prepare = move || {
            receiver.try_iter().for_each(drop);
            objects(Arc::new)
        };
        timed_half(prepare, move |objects| {
            for object in objects {
                sender.send(object).expect("there is a receiver");
            }
        })
    })
}

/// What one would write in its stead: a vector of them in one message.
fn channel_of_vectors() -> Workload {
    Workload::new("Arc, crossbeam channel of Vec", BATCH, || {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let prepare = move || {
            receiver.try_iter().for_each(drop);
            objects(Arc::new)
        };
        timed_half(prepare, move |objects| {
            let mut batch = Vec::new();
            for object in objects {
                batch.push(object);
            }
            sender.send(batch).expect("there is a receiver");
        })
    })
}

fn basedrop_each() -> Workload {
    Workload::new("basedrop Shared, dropped", BATCH, || {
        let handle = COLLECTOR.lock().expect("no panic").handle();
        let prepare = move || {
            COLLECTOR.lock().expect("no panic").collect();
            objects(|object| Shared::new(&handle, object))
        };
        timed_half(prepare, drop)
    })
}

fn here() -> Workload {
    Workload::new("Arc, dropped here", BATCH, || {
        timed_half(|| objects(Arc::new), drop)
    })
}

// --- a budget ------------------------------------------------------------------

const PENDING: usize = 100_000;
const BUDGET: Duration = Duration::from_millis(1);
/// For a call.
const LIMIT: Duration = Duration::from_micros(1_200);

/// Time that this thread has had a processor.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Cold objects, as those that wait for long are.
fn fill(pool: &AutoreleasePool) {
    let mut objects: Vec<_> = (0..PENDING as u64)
        .map(|seed| Ref::new(Object::new(seed)))
        .collect();
    // Not in the order in which the memory lies.
    let mut state = 1u64;
    for i in (1..objects.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        objects.swap(i, (state >> 33) as usize % (i + 1));
    }
    for object in objects {
        pool.autorelease(object);
    }
}

/// Drains 100,000 objects by a millisecond at a time. Gives how many calls took longer
/// than a fifth more, the longest single step in them aside.
fn budget(rounds: usize) -> usize {
    let mut calls = Vec::new();
    let mut beyond = 0;
    let mut pool = AutoreleasePool::new();
    for _ in 0..rounds {
        fill(&pool);
        let mut left = true;
        while left {
            let before = cpu_time();
            let drained = pool.drain_within(Budget::Time(BUDGET));
            let call = cpu_time() - before;
            left = drained.remaining > 0;
            // That cannot be divided: a destructor, or the allocator's tidying up in it.
            let step = drained.slowest.map_or(Duration::ZERO, |(_, time)| time);
            beyond += usize::from(call.saturating_sub(step) > LIMIT);
            calls.push((call, step));
        }
    }
    let start = Instant::now();
    fill(&pool);
    pool.drain();
    let whole = start.elapsed();
    calls.sort();
    let at = |part: usize| calls[(calls.len() - 1) * part / 1_000];
    let late = calls.iter().filter(|(call, _)| *call > LIMIT).count();
    println!(
        "\n{PENDING} objects pending, drained by {BUDGET:?} at a time; this thread's CPU time by call"
    );
    println!(
        "  {} calls: median {:?}, p99 {:?}, longest {:?}, with a single step of {:?}",
        calls.len(),
        at(500).0,
        at(990).0,
        at(1_000).0,
        at(1_000).1,
    );
    println!("  above {LIMIT:?}: {late}; with the longest step aside: {beyond}");
    println!("  made and drained without a budget: {whole:?}");
    beyond
}

// --- readers beside a writer ---------------------------------------------------

/// A thread that does something all the time, until this is dropped.
struct Meanwhile(Arc<AtomicBool>, Option<thread::JoinHandle<()>>);

impl Meanwhile {
    fn spawn(turn: impl Fn() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let thread = thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                turn();
                thread::sleep(Duration::from_micros(100));
            }
        });
        Self(stop, Some(thread))
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().expect("no panic");
        }
    }
}

fn slot_load_beside_a_writer() -> Workload {
    let name = "slot.load(&pool), 100 per pool, one stores every 100 µs";
    Workload::new(name, USES, || {
        let slot = Arc::new(Slot::new(Ref::new(Object::new(1))));
        let writer = {
            let slot = slot.clone();
            Meanwhile::spawn(move || slot.store(Ref::new(Object::new(2))))
        };
        let mut pool = AutoreleasePool::new();
        timed(move || {
            let _running = &writer;
            for _ in 0..USES {
                black_box(&*slot).load(&pool).touch();
            }
            pool.drain();
        })
    })
}

fn arc_swap_load_beside_a_writer() -> Workload {
    Workload::new("arc-swap, load, the same", USES, || {
        let swap = Arc::new(ArcSwap::from_pointee(Object::new(1)));
        let writer = {
            let swap = swap.clone();
            Meanwhile::spawn(move || swap.store(Arc::new(Object::new(2))))
        };
        timed(move || {
            let _running = &writer;
            for _ in 0..USES {
                black_box(&*swap).load().touch();
            }
        })
    })
}

// --- the table -----------------------------------------------------------------

fn rows() -> Vec<Row> {
    let loads = |threads, what: &str| {
        Row::new(what, threads, slot_load(USES))
            .against(Target::Faster(4.0), threads, arc_swap_load())
            .against(Target::None, threads, arc_swap_load_full())
            .against(Target::None, threads, rw_lock())
            .against(Target::None, threads, parking_lot())
            .against(Target::None, threads, epoch_atomic())
            .against(Target::None, threads, epoch_atomic_pinned())
            .against(Target::None, threads, basedrop_load())
    };
    vec![
        loads(1, "loads of a shared pointer"),
        loads(2, "loads of a shared pointer by 2 threads").against(
            Target::AtMost(1.15),
            1,
            slot_load(USES),
        ),
        Row::new("loads, 1,000 per pool", 1, slot_load(1_000)).against(
            Target::Faster(4.0),
            1,
            arc_swap_load(),
        ),
        Row::new("loads, 10 per pool", 1, slot_load(10)).against(Target::None, 1, arc_swap_load()),
        Row::new("counted loads", 1, slot_load_full())
            .against(Target::None, 1, arc_swap_load_full())
            .against(Target::None, 1, rw_lock()),
        Row::new("loads beside a writer", 1, slot_load_beside_a_writer()).against(
            Target::None,
            1,
            arc_swap_load_beside_a_writer(),
        ),
        Row::new("stores", 1, slot_store())
            .against(Target::None, 1, arc_swap_store())
            .against(Target::None, 1, rw_lock_store()),
        Row::new("a hot object used by 2 threads", 2, hot_pool_ref(1_000)).against(
            Target::Faster(20.0),
            2,
            hot_arc(),
        ),
        Row::new("the same, 100 uses a pool", 2, hot_pool_ref(100)).against(
            Target::None,
            2,
            hot_arc(),
        ),
        Row::new("a hot object used by 1 thread", 1, hot_pool_ref(1_000)).against(
            Target::None,
            1,
            hot_arc(),
        ),
        Row::new("objects got rid of, the sender's part", 1, handoff())
            .within(5.0)
            .against(Target::None, 1, release_each())
            .against(Target::None, 1, channel_each())
            .against(Target::None, 1, channel_of_vectors())
            .against(Target::None, 1, basedrop_each())
            .against(Target::None, 1, here()),
    ]
}

fn main() {
    let only_budget = std::env::args().any(|argument| argument == "--budget");
    let missed = if only_budget {
        0
    } else {
        table::print(&rows(), Effort::FULL)
    };
    // On a spawned thread, as all else.
    let late = thread::spawn(|| budget(20)).join().expect("no panic");
    println!(
        "\n{missed} targets missed; {late} calls beyond the budget, {}",
        if late == 0 { "ok" } else { "MISSED" }
    );
}
