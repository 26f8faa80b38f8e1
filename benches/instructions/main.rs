//! The instructions of the hot paths, counted by callgrind: no change may exceed the limits.
//!
//! Each benchmark repeats one operation 1,000 times, on a thread that has done it before. Its limit
//! is what was counted, and one instruction more per operation; the locked instructions
//! (callgrind's `Ge`, global bus events) are limited to what was counted. Where a count shrinks,
//! lower the limit in the same commit. The counts depend on the compiler and the processor:
//!
//! Compiler: rustc 1.95.0
//! Processor: x86-64

#![allow(
    unused_mut,
    reason = "of the states of `hot_paths`, drains change theirs"
)]

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use releasepool::memory::{BlockAllocator, StackAllocator};
use releasepool::slot::SlotCache;
use releasepool::{
    AutoreleasePool, HandoffPool, Hot, HotRef, PoolManager, Ref, Slot, ThreadHandle, Weak,
    autoreleasepool,
};
use std::alloc::Layout;
use std::hint::black_box;

/// How often a benchmark repeats its operation.
const TIMES: u64 = 1_000;

/// How often a benchmark repeats an operation that itself does something [`TIMES`] times.
const ONCE: u64 = 1;

/// The payload of most objects.
type Bytes = [u64; 6];

type RefAndWeak = (Ref<Bytes>, Weak<Bytes>);
type PoolAnd<T> = (AutoreleasePool, T);
type CacheOfSlot = SlotCache<Box<Slot<Bytes>>, Bytes>;
type HotAndRef = (Hot<Bytes>, HotRef<Bytes>);
type HandoffAndThread = (HandoffPool, ThreadHandle);

/// A payload with a destructor.
struct Counted(Bytes);

impl Drop for Counted {
    fn drop(&mut self) {
        black_box(self.0[0]);
    }
}

/// Limits the instructions of a benchmark to those that were counted and one for each operation;
/// `locked` is the number of locked instructions per operation.
fn counted(instructions: u64, locked: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(
        Callgrind::with_args(["--cache-sim=no", "--collect-bus=yes"])
            .format([EventKind::Ir, EventKind::Ge])
            .hard_limits([
                (EventKind::Ir, instructions + TIMES),
                (EventKind::Ge, locked * TIMES),
            ]),
    );
    config
}

fn object() -> Ref<Bytes> {
    drop(Ref::new([0u64; 6]));
    Ref::new([0; 6])
}

fn object_and_weak() -> RefAndWeak {
    let object = object();
    let weak = Ref::downgrade(&object);
    (object, weak)
}

/// Returns a pool that has held and released as many objects as a benchmark will create.
fn pool() -> AutoreleasePool {
    let mut pool = AutoreleasePool::new();
    for _ in 0..2 {
        for _ in 0..TIMES {
            pool.create([0u64; 6]);
            pool.create(Counted([0; 6]));
        }
        pool.drain();
    }
    pool
}

/// Returns a [`pool`] to which `add` has added objects in this many calls.
fn filled_by(times: u64, add: impl Fn(&AutoreleasePool)) -> AutoreleasePool {
    let pool = pool();
    (0..times).for_each(|_| add(&pool));
    pool
}

fn filled_pool() -> AutoreleasePool {
    filled_by(TIMES, |pool| _ = pool.create([0u64; 6]))
}

fn filled_pool_with_destructors() -> AutoreleasePool {
    filled_by(TIMES, |pool| _ = pool.create(Counted([0; 6])))
}

fn filled_pool_of_two_types() -> AutoreleasePool {
    filled_by(TIMES / 2, |pool| {
        pool.create([0u64; 6]);
        pool.create([0i64; 6]);
    })
}

fn pool_and_object() -> PoolAnd<Ref<Bytes>> {
    (pool(), object())
}

fn pool_and_slot() -> PoolAnd<Slot<Bytes>> {
    let slot = Slot::new(object());
    let pool = AutoreleasePool::new();
    slot.load(&pool);
    (pool, slot)
}

fn cache() -> CacheOfSlot {
    let mut cache = CacheOfSlot::new(Box::new(Slot::new(object())));
    cache.load();
    cache
}

/// Returns a hot object's owner and a reference. Others were dropped, with a drain between.
fn hot() -> HotAndRef {
    let hot = Hot::new(object());
    drop(hot.get());
    drop(pool());
    drop(hot.get());
    let reference = hot.get();
    (hot, reference)
}

fn blocks() -> BlockAllocator {
    let blocks = BlockAllocator::new();
    block_with(&blocks);
    blocks
}

fn arena() -> StackAllocator {
    StackAllocator::with_capacity(1 << 20)
}

fn handoff() -> HandoffAndThread {
    let thread = PoolManager::global()
        .current_thread()
        .expect("the main thread has not ended");
    let mut handoff = HandoffPool::new();
    for _ in 0..2 {
        for _ in 0..TIMES {
            handoff.create([0u64; 6]);
        }
        handoff.drain_on(&thread);
        PoolManager::global().run_inbox();
    }
    (handoff, thread)
}

fn block_with(blocks: &BlockAllocator) {
    let layout = Layout::new::<[u64; 8]>();
    for _ in 0..TIMES {
        let block = black_box(blocks.alloc(layout).expect("there is memory"));
        // SAFETY: the block was just allocated with this layout, and is not used any more.
        unsafe { blocks.dealloc(block, layout) };
    }
}

/// Defines the benchmarks. Each has an attribute, and an operation that is repeated on the state
/// which the setup makes. The caller passes the attribute, as it needs the caller's hygiene.
macro_rules! hot_paths {
    ($($hash:tt $attribute:tt
        $name:ident: |$state:ident: $type:ty, $i:pat_param in $times:ident| $operation:expr;)*) => {
        $($hash $attribute
        fn $name(mut $state: $type) -> $type {
            for $i in 0..$times {
                $operation;
            }
            $state
        })*
        library_benchmark_group!(name = hot_paths; benchmarks = $($name),*);
    };
}

hot_paths! {
    #[library_benchmark(config = counted(179_157, 0), setup = object)]
    create_and_drop: |other: Ref<Bytes>, i in TIMES| black_box(Ref::new([i; 6]));
    #[library_benchmark(config = counted(13_041, 2), setup = object)]
    clone_and_drop: |object: Ref<Bytes>, _ in TIMES| black_box(Ref::clone(black_box(&object)));
    #[library_benchmark(config = counted(33_042, 2), setup = object_and_weak)]
    upgrade_and_drop: |objects: RefAndWeak, _ in TIMES| black_box(black_box(&objects.1).upgrade());
    #[library_benchmark(config = counted(38_446, 0), setup = pool)]
    pool_create: |pool: AutoreleasePool, i in TIMES| black_box(pool.create([i; 6]));
    #[library_benchmark(config = counted(38_472, 0), setup = pool)]
    pool_create_with_destructor: |pool: AutoreleasePool, i in TIMES| black_box(pool.create(Counted([i; 6])));
    #[library_benchmark(config = counted(24_650, 0), setup = filled_pool)]
    drain: |pool: AutoreleasePool, _ in ONCE| pool.drain();
    #[library_benchmark(config = counted(64_454, 0), setup = filled_pool_with_destructors)]
    drain_with_destructors: |pool: AutoreleasePool, _ in ONCE| pool.drain();
    #[library_benchmark(config = counted(54_444, 0), setup = filled_pool_of_two_types)]
    drain_of_two_types: |pool: AutoreleasePool, _ in ONCE| pool.drain();
    #[library_benchmark(config = counted(11_332, 1), setup = pool_and_object)]
    autorelease: |state: PoolAnd<Ref<Bytes>>, _ in TIMES| black_box(state.0.autorelease(Ref::clone(&state.1)));
    #[library_benchmark(config = counted(27_030, 0), setup = hot)]
    hot_clone_and_drop: |state: HotAndRef, _ in TIMES| black_box(HotRef::clone(black_box(&state.1)));
    #[library_benchmark(config = counted(182_007, 1), setup = hot)]
    drain_with_one_noted: |state: HotAndRef, _ in TIMES| {
        drop(black_box(state.0.get()));
        black_box(AutoreleasePool::new());
    };
    #[library_benchmark(config = counted(50_023, 0), setup = pool)]
    empty_pool: |outer: AutoreleasePool, _ in TIMES| black_box(AutoreleasePool::new());
    #[library_benchmark(config = counted(301_233, 0), setup = pool)]
    scope_with_destructor: |outer: AutoreleasePool, i in TIMES|
        autoreleasepool(|pool| { black_box(pool.create(Counted([i; 6]))); });
    #[library_benchmark(config = counted(203_227, 0), setup = pool)]
    scope_of_one_object: |outer: AutoreleasePool, i in TIMES|
        autoreleasepool(|pool| { black_box(pool.create([i; 6])); });
    #[library_benchmark(config = counted(9_024, 0), setup = pool_and_slot)]
    slot_load: |state: PoolAnd<Slot<Bytes>>, _ in TIMES| black_box(black_box(&state.1).load(&state.0));
    #[library_benchmark(config = counted(23_017, 0), setup = cache)]
    cached_load: |cache: CacheOfSlot, _ in TIMES| black_box(black_box(&mut cache).load());
    #[library_benchmark(config = counted(34_456, 0), setup = handoff)]
    handoff_create: |state: HandoffAndThread, i in TIMES| black_box(state.0.create([i; 6]));
    #[library_benchmark(config = counted(77_945, 0), setup = blocks)]
    block: |blocks: BlockAllocator, _ in ONCE| block_with(&blocks);
    #[library_benchmark(config = counted(45_034, 0), setup = arena)]
    arena_value: |arena: StackAllocator, i in TIMES| black_box(arena.alloc([i; 6]));
}
main!(library_benchmark_groups = hot_paths);
