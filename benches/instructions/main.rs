//! The instructions of the hot paths, counted by callgrind: no change may exceed the limits.
//!
//! Each benchmark repeats one operation 1,000 times, on a thread that has done it before. Its limit
//! is what was counted, and one instruction more per operation; the locked instructions
//! (callgrind's `Ge`, global bus events) are limited to what was counted. Where a count shrinks,
//! lower the limit in the same commit. The counts depend on the compiler and the processor:
//!
//! Compiler: rustc 1.95.0
//! Processor: x86-64

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};
use releasepool::{
    AutoreleasePool, BlockAllocator, HandoffPool, Hot, HotRef, PoolManager, Ref, Slot,
    StackAllocator, ThreadHandle, Weak, autoreleasepool,
};
use std::alloc::Layout;
use std::hint::black_box;

/// How often a benchmark repeats its operation.
const TIMES: u64 = 1_000;

/// The payload of most objects.
type Bytes = [u64; 6];

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

fn object_and_weak() -> (Ref<Bytes>, Weak<Bytes>) {
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

/// Returns a pool that holds as many objects as a benchmark repeats.
fn filled_pool() -> AutoreleasePool {
    let pool = pool();
    for _ in 0..TIMES {
        pool.create([0u64; 6]);
    }
    pool
}

fn filled_pool_with_destructors() -> AutoreleasePool {
    let pool = pool();
    for _ in 0..TIMES {
        pool.create(Counted([0; 6]));
    }
    pool
}

/// Returns a pool of objects of two types in turn.
fn filled_pool_of_two_types() -> AutoreleasePool {
    let pool = pool();
    for _ in 0..TIMES / 2 {
        pool.create([0u64; 6]);
        pool.create([0i64; 6]);
    }
    pool
}

fn pool_and_object() -> (AutoreleasePool, Ref<Bytes>) {
    (pool(), object())
}

fn pool_and_slot() -> (AutoreleasePool, Slot<Bytes>) {
    let slot = Slot::new(object());
    let pool = AutoreleasePool::new();
    slot.load(&pool);
    (pool, slot)
}

/// Returns an owner and a reference, after one has been dropped, and a drain.
fn hot() -> (Hot<Bytes>, HotRef<Bytes>) {
    let hot = Hot::try_new(object()).expect("there is room");
    drop(hot.get());
    drop(pool());
    drop(hot.get());
    let reference = hot.get();
    (hot, reference)
}

fn blocks() -> BlockAllocator {
    block_with(BlockAllocator::new())
}

fn arena() -> StackAllocator {
    StackAllocator::with_capacity(1 << 20)
}

fn handoff() -> (HandoffPool, ThreadHandle) {
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

#[library_benchmark(config = counted(179_157, 0), setup = object)]
#[bench::one()]
fn create_and_drop(other: Ref<Bytes>) -> Ref<Bytes> {
    for i in 0..TIMES {
        black_box(Ref::new([i; 6]));
    }
    other
}

#[library_benchmark(config = counted(13_041, 2), setup = object)]
#[bench::one()]
fn clone_and_drop(object: Ref<Bytes>) -> Ref<Bytes> {
    for _ in 0..TIMES {
        black_box(Ref::clone(black_box(&object)));
    }
    object
}

#[library_benchmark(config = counted(33_042, 2), setup = object_and_weak)]
#[bench::one()]
fn upgrade_and_drop(objects: (Ref<Bytes>, Weak<Bytes>)) -> (Ref<Bytes>, Weak<Bytes>) {
    for _ in 0..TIMES {
        black_box(black_box(&objects.1).upgrade());
    }
    objects
}

#[library_benchmark(config = counted(38_446, 0), setup = pool)]
#[bench::one()]
fn pool_create(pool: AutoreleasePool) -> AutoreleasePool {
    for i in 0..TIMES {
        black_box(pool.create([i; 6]));
    }
    pool
}

#[library_benchmark(config = counted(38_472, 0), setup = pool)]
#[bench::one()]
fn pool_create_with_destructor(pool: AutoreleasePool) -> AutoreleasePool {
    for i in 0..TIMES {
        black_box(pool.create(Counted([i; 6])));
    }
    pool
}

#[library_benchmark(config = counted(24_650, 0), setup = filled_pool)]
#[bench::one()]
fn drain(mut pool: AutoreleasePool) -> AutoreleasePool {
    pool.drain();
    pool
}

#[library_benchmark(config = counted(64_454, 0), setup = filled_pool_with_destructors)]
#[bench::one()]
fn drain_with_destructors(mut pool: AutoreleasePool) -> AutoreleasePool {
    pool.drain();
    pool
}

#[library_benchmark(config = counted(54_444, 0), setup = filled_pool_of_two_types)]
#[bench::one()]
fn drain_of_two_types(mut pool: AutoreleasePool) -> AutoreleasePool {
    pool.drain();
    pool
}

#[library_benchmark(config = counted(11_332, 1), setup = pool_and_object)]
#[bench::one()]
fn autorelease(state: (AutoreleasePool, Ref<Bytes>)) -> (AutoreleasePool, Ref<Bytes>) {
    for _ in 0..TIMES {
        black_box(state.0.autorelease(Ref::clone(&state.1)));
    }
    state
}

#[library_benchmark(config = counted(27_030, 0), setup = hot)]
#[bench::one()]
fn hot_clone_and_drop(state: (Hot<Bytes>, HotRef<Bytes>)) -> (Hot<Bytes>, HotRef<Bytes>) {
    for _ in 0..TIMES {
        black_box(HotRef::clone(black_box(&state.1)));
    }
    state
}

#[library_benchmark(config = counted(182_007, 1), setup = hot)]
#[bench::one()]
fn drain_with_one_noted(state: (Hot<Bytes>, HotRef<Bytes>)) -> (Hot<Bytes>, HotRef<Bytes>) {
    for _ in 0..TIMES {
        drop(black_box(state.0.get()));
        black_box(AutoreleasePool::new());
    }
    state
}

#[library_benchmark(config = counted(50_023, 0), setup = pool)]
#[bench::one()]
fn empty_pool(outer: AutoreleasePool) -> AutoreleasePool {
    for _ in 0..TIMES {
        black_box(AutoreleasePool::new());
    }
    outer
}

#[library_benchmark(config = counted(301_233, 0), setup = pool)]
#[bench::one()]
fn scope_with_destructor(outer: AutoreleasePool) -> AutoreleasePool {
    for i in 0..TIMES {
        autoreleasepool(|pool| {
            black_box(pool.create(Counted([i; 6])));
        });
    }
    outer
}

#[library_benchmark(config = counted(203_227, 0), setup = pool)]
#[bench::one()]
fn scope_of_one_object(outer: AutoreleasePool) -> AutoreleasePool {
    for i in 0..TIMES {
        autoreleasepool(|pool| {
            black_box(pool.create([i; 6]));
        });
    }
    outer
}

#[library_benchmark(config = counted(9_024, 0), setup = pool_and_slot)]
#[bench::one()]
fn slot_load(state: (AutoreleasePool, Slot<Bytes>)) -> (AutoreleasePool, Slot<Bytes>) {
    for _ in 0..TIMES {
        black_box(black_box(&state.1).load(&state.0));
    }
    state
}

#[library_benchmark(config = counted(34_456, 0), setup = handoff)]
#[bench::one()]
fn handoff_create(state: (HandoffPool, ThreadHandle)) -> (HandoffPool, ThreadHandle) {
    for i in 0..TIMES {
        black_box(state.0.create([i; 6]));
    }
    state
}

#[library_benchmark(config = counted(78_474, 0), setup = blocks)]
#[bench::one()]
fn block(blocks: BlockAllocator) -> BlockAllocator {
    block_with(blocks)
}

fn block_with(blocks: BlockAllocator) -> BlockAllocator {
    let layout = Layout::new::<[u64; 8]>();
    for _ in 0..TIMES {
        let block = black_box(blocks.alloc(layout).expect("there is memory"));
        // SAFETY: just allocated with this layout, and not used any more.
        unsafe { blocks.dealloc(block, layout) };
    }
    blocks
}

#[library_benchmark(config = counted(45_034, 0), setup = arena)]
#[bench::one()]
fn arena_value(arena: StackAllocator) -> StackAllocator {
    for i in 0..TIMES {
        black_box(arena.alloc([i; 6]));
    }
    arena
}

library_benchmark_group!(
    name = hot_paths;
    benchmarks = create_and_drop, clone_and_drop, upgrade_and_drop, pool_create, pool_create_with_destructor,
        drain, drain_with_destructors, drain_of_two_types, autorelease, hot_clone_and_drop, drain_with_one_noted,
        empty_pool, scope_of_one_object, scope_with_destructor, slot_load, handoff_create, block, arena_value
);
main!(library_benchmark_groups = hot_paths);
