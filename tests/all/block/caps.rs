//! Soft and hard caps of allocators, and a system without memory.

use crate::block::{CHUNK, Filled, LARGEST, assert_empty, elsewhere, fill, free, layout};
use crate::support::allocator::{FOREIGN, TOO_LARGE, refusing};
use crate::support::{
    Log, Worker, alone, child, events, fresh, fresh_to_the_end, listen, on_drop, on_threads,
    panic_of, wait_until,
};
use releasepool::event::EventKind;
use releasepool::memory::{AllocError, BlockAllocator, BlockStats};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, unsize};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

const CAP: usize = 2 * CHUNK as usize;

/// The least number of blocks of 640 bytes in a chunk.
const EACH: usize = 100;

/// An allocator with a soft cap: the hook gets the allocator, and its calls are counted.
struct Soft {
    blocks: BlockAllocator,
    calls: Arc<AtomicUsize>,
    /// Emptied at the end, as the allocator would own itself otherwise.
    inside: Arc<Mutex<Option<BlockAllocator>>>,
}

impl Soft {
    fn new(hook: impl Fn(&BlockAllocator, &BlockStats) + Send + Sync + 'static) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let inside = Arc::<Mutex<Option<BlockAllocator>>>::default();
        let (counted, cell) = (calls.clone(), inside.clone());
        let blocks = BlockAllocator::builder()
            .soft_cap(CAP, move |stats| {
                counted.fetch_add(1, Ordering::Relaxed);
                let blocks = cell.lock().unwrap().clone();
                hook(&blocks.unwrap(), stats);
            })
            .build();
        *inside.lock().unwrap() = Some(blocks.clone());
        Self {
            blocks,
            calls,
            inside,
        }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Drop for Soft {
    fn drop(&mut self) {
        self.inside.lock().unwrap().take();
    }
}

#[test]
fn soft_cap_is_reported_once_and_again_after_it_was_below() {
    let soft = Soft::new(|_, stats| {
        assert_eq!(stats.chunk_bytes, CAP as u64 + CHUNK);
    });
    let blocks = &soft.blocks;
    fresh(|| {
        let some = fill(blocks, 2 * EACH, 640);
        assert_eq!((soft.calls(), blocks.stats().chunk_bytes), (0, CAP as u64));
        let more = fill(blocks, 5 * EACH, 640);
        assert_eq!(soft.calls(), 1);
        free(blocks, more);
        let more = fill(blocks, EACH, 640);
        assert_eq!(soft.calls(), 1, "it was not below the cap meanwhile");
        free(blocks, more);
        blocks.trim();
        assert!(blocks.stats().chunk_bytes <= CAP as u64);
        let more = fill(blocks, 5 * EACH, 640);
        assert_eq!(soft.calls(), 2);
        assert!(events(EventKind::Panic).is_empty());
        free(blocks, more);
        free(blocks, some);
    });
}

#[test]
fn soft_cap_hook_may_do_anything_with_the_allocator() {
    let held = Arc::new(Mutex::new(Vec::new()));
    let inner = held.clone();
    let soft = Soft::new(move |blocks, _| {
        // These are more blocks of the same size than are left, and blocks of other sizes.
        let all = fill(blocks, 3 * EACH, 640);
        let small = Filled::small(blocks, 1);
        let object = Ref::new_in(String::from("text"), blocks);
        let pool = AutoreleasePool::new();
        pool.create(1);
        let manager = PoolManager::builder().memory(blocks.clone()).build();
        let own = manager.pool();
        assert_eq!(*own.create([7u8; 600]), [7; 600]);
        all.iter().for_each(Filled::check);
        assert_eq!(*object, "text");
        small.free(blocks);
        free(blocks, all);
        // Some stay, some are freed on another thread.
        let away = fill(blocks, 10, 640);
        elsewhere(blocks, |blocks| free(blocks, away));
        inner.lock().unwrap().extend(fill(blocks, 2 * EACH, 640));
        blocks.trim();
    });
    let blocks = &soft.blocks;
    elsewhere(blocks, |blocks| {
        let all = fill(blocks, 6 * EACH, 640);
        free(blocks, all);
        assert!(events(EventKind::Panic).is_empty());
    });
    assert!(soft.calls() >= 1);
    free(blocks, std::mem::take(&mut *held.lock().unwrap()));
    assert_empty(blocks);
}

#[test]
fn soft_cap_hook_that_trims_is_not_called_for_ever() {
    // The chunk that the request needs is the one that the hook is told of: it stays.
    let soft = Soft::new(|blocks, _| _ = blocks.trim());
    let blocks = &soft.blocks;
    let all = fill(blocks, 6 * EACH, 640);
    assert_eq!(soft.calls(), 1);
    free(blocks, all);
    blocks.trim();
    assert_eq!(blocks.stats().chunk_bytes, 0);
}

#[test]
fn soft_cap_hook_that_panics_is_reported() {
    let soft = Soft::new(|_, _| panic!("on purpose"));
    fresh(|| {
        let all = fill(&soft.blocks, 3 * EACH, 640);
        let panics = events(EventKind::Panic);
        assert_eq!(panics.len(), 1);
        assert!(panics[0].to_string().contains("on purpose"));
        assert_eq!(soft.blocks.stats().live_blocks, 3 * EACH as u64);
        free(&soft.blocks, all);
        assert_eq!(soft.blocks.stats().live_blocks, 0);
    });
}

#[test]
fn soft_cap_hook_is_dropped_with_the_last_handle() {
    let other = BlockAllocator::new();
    let log = Log::new();
    let (probe, held) = (log.probe(1), Ref::new_in(5, &other));
    let blocks = BlockAllocator::builder()
        .soft_cap(CAP, move |_| _ = (&probe, &held))
        .build();
    let object = Ref::new_in(1, &blocks);
    let handle = blocks.clone();
    drop(blocks);
    assert_eq!((log.count(), other.stats().live_blocks), (0, 1));
    drop(handle);
    assert_eq!((log.count(), other.stats().live_blocks), (1, 0));
    assert_eq!(*object, 1, "blocks outlive the handle");
}

#[test]
fn captures_of_the_soft_cap_hook_may_panic_when_they_are_dropped() {
    listen();
    let bomb = Mutex::new(Some(on_drop(|| panic!("on purpose"))));
    let blocks = BlockAllocator::builder()
        .soft_cap(CAP, move |_| drop(bomb.lock()))
        .build();
    drop(PoolManager::builder().memory(blocks).build().pool());
    // The manager's stack has a handle, too, until the thread uses another manager.
    drop(PoolManager::new().pool());
    assert_eq!(events(EventKind::Panic).len(), 1);
}

#[test]
fn soft_caps_hook_may_drop_another_allocator() {
    let other = BlockAllocator::new();
    let object = Ref::new_in(String::from("other"), &other);
    let cell = Mutex::new(Some(other));
    let soft = Soft::new(move |_, _| drop(cell.lock().unwrap().take()));
    let all = fill(&soft.blocks, 3 * EACH, 640);
    assert_eq!((soft.calls(), object.as_str()), (1, "other"));
    free(&soft.blocks, all);
}

#[test]
fn hard_cap_refuses_and_works_again_when_chunks_are_freed() {
    let log = Log::new();
    let blocks = BlockAllocator::builder().hard_cap(CAP).build();
    let mut all = Vec::new();
    let refused = loop {
        match blocks.alloc(layout(640, 1)) {
            Ok(at) => all.push(at),
            Err(error) => break error,
        }
    };
    let (cap, held) = (CAP, CAP);
    assert_eq!(refused, AllocError::Capped { cap, held });
    assert!(all.len() >= 2 * EACH);
    let error = Ref::try_new_in((log.probe(1), [0u8; 500]), &blocks).err();
    assert!(matches!(error, Some(AllocError::Capped { .. })));
    assert_eq!(log.count(), 1, "the value is dropped");
    assert_eq!(blocks.alloc(layout(LARGEST + 1, 1)), Err(refused));
    let free = |at| {
        // SAFETY: allocated above, and freed once.
        unsafe { blocks.dealloc(at, layout(640, 1)) };
    };
    free(all.pop().unwrap());
    drop(Ref::try_new_in([0u8; 600], &blocks).unwrap());
    // There is no chunk for another size.
    assert!(Ref::try_new_in(1u8, &blocks).is_err());
    all.into_iter().for_each(free);
    let object = Ref::try_new_in(1u8, &blocks).unwrap();
    assert_eq!(blocks.stats().live_blocks, 1);
    assert_eq!(blocks.stats().peak_bytes, CAP as u64);
    drop(object);
}

#[test]
fn hard_cap_trims_remote_frees_first() {
    let blocks = BlockAllocator::builder().hard_cap(CAP).build();
    for _ in 0..if cfg!(miri) { 1 } else { 10 } {
        let all = fill(&blocks, 2 * EACH, 640);
        elsewhere(&blocks, |blocks| free(blocks, all));
        // A block of another size needs a chunk without a block in use.
        Filled::small(&blocks, 1).free(&blocks);
    }
    // Heaps of threads that have ended keep such chunks, but are trimmed first.
    blocks.trim();
    let left = elsewhere(&blocks, |blocks| fill(blocks, 2 * EACH, 640));
    assert!(Ref::try_new_in(1, &blocks).is_err());
    elsewhere(&blocks, |blocks| free(blocks, left));
    drop(Ref::try_new_in(1, &blocks).unwrap());
}

#[test]
fn a_thread_with_blocks_at_hand_keeps_its_unused_chunk_until_it_closes_a_pool() {
    let blocks = BlockAllocator::builder().hard_cap(CAP).build();
    let worker = Worker::new("keeps a chunk");
    let [one, other] = [(); 2].map(|()| blocks.clone());
    let first = worker.run(move || {
        Filled::small(&one, 1).free(&one);
        fill(&one, 1, 640)
    });
    assert!(Ref::try_new_in(1, &blocks).is_err(), "and asks the worker");
    let second = worker.run(move || fill(&other, 1, 640));
    assert!(Ref::try_new_in(1, &blocks).is_err());
    worker.run(|| drop(AutoreleasePool::new()));
    drop(Ref::try_new_in(1, &blocks).unwrap());
    free(&blocks, first);
    free(&blocks, second);
}

/// A thread gathers blocks that it frees for another thread's heap, but not those of an allocator
/// with a hard cap, which others may wait for: not even if the heap lies where another one did.
#[test]
fn blocks_of_a_capped_allocator_are_not_held_back() {
    let worker = Worker::new("frees");
    let free_there = |blocks: &BlockAllocator, all| {
        let blocks = blocks.clone();
        worker.run(move || free(&blocks, all));
    };
    for _ in 0..if cfg!(miri) { 2 } else { 50 } {
        let plain = BlockAllocator::new();
        free_there(&plain, fill(&plain, 64, 640));
        drop(plain);
        let capped = BlockAllocator::builder().hard_cap(CHUNK as usize).build();
        free_there(&capped, fill(&capped, 1, 640));
        // A block of another size needs a chunk without a block in use.
        drop(Ref::try_new_in(1, &capped).unwrap());
    }
}

#[test]
fn hard_cap_holds_for_many_threads() {
    let blocks = BlockAllocator::builder().hard_cap(CAP).build();
    on_threads(4, |_| {
        for _ in 0..if cfg!(miri) { 2 } else { 50 } {
            let object = Ref::try_new_in([1u8; 600], &blocks);
            let plain = Ref::try_new_in(1, &blocks);
            let large = Ref::try_new_in([1u8; 50_000], &blocks);
            assert!(blocks.stats().peak_bytes <= CAP as u64);
            drop((object, plain));
            fresh_to_the_end(move || drop(large));
            blocks.trim();
        }
    });
    wait_until(|| blocks.trim() == 0 && blocks.stats().chunk_bytes == 0);
    assert_empty(&blocks);
    drop(Ref::try_new_in([1u8; 600], &blocks).unwrap());
}

#[test]
fn system_without_memory_is_an_error_and_survived() {
    let log = alone!();
    let blocks = BlockAllocator::new();
    let kept = Ref::new_in(1, &blocks);
    let before = blocks.stats();
    TOO_LARGE.store(CHUNK as usize, Ordering::Relaxed);
    let out = |size| AllocError::OutOfMemory {
        layout: layout(size, 16),
    };
    assert_eq!(blocks.alloc(layout(640, 16)), Err(out(640)));
    assert_eq!(blocks.alloc(layout(70_000, 16)), Err(out(70_000)));
    let error = Ref::try_new_in((log.probe(1), [0u8; 300]), &blocks).err();
    assert_eq!(error, Some(out(384)));
    let large = Ref::try_new_in((log.probe(2), [0u8; 70_000]), &blocks).err();
    assert!(matches!(large, Some(AllocError::OutOfMemory { .. })));
    assert_eq!(log.count(), 2);
    // Its heap has no chunks.
    elsewhere(&blocks, |blocks| {
        assert!(blocks.alloc(layout(32, 1)).is_err())
    });
    // All blocks of the chunks that there are can be allocated.
    let mut all = Vec::new();
    let full = loop {
        match Ref::try_new_in(2, &blocks) {
            Ok(object) => all.push(object),
            Err(error) => break error,
        }
    };
    assert_eq!(full, out(32));
    assert!(all.len() > 1_900);
    drop(all);
    assert_eq!(blocks.stats().chunk_bytes, before.chunk_bytes);
    assert_eq!(blocks.stats().peak_bytes, before.peak_bytes);
    TOO_LARGE.store(usize::MAX, Ordering::Relaxed);
    drop(Ref::new_in([0u8; 300], &blocks));
    let stats = blocks.stats();
    assert_eq!((*kept, stats.live_blocks), (1, 1));
}

#[test]
fn chunk_of_another_size_is_used_when_the_system_has_none() {
    alone!();
    let blocks = BlockAllocator::new();
    let all = fill(&blocks, EACH, 640);
    free(&blocks, all);
    TOO_LARGE.store(CHUNK as usize, Ordering::Relaxed);
    // The chunk is the bin's current one. The trim frees it, and the system has no memory for
    // another.
    assert!(blocks.alloc(layout(32, 1)).is_err());
    TOO_LARGE.store(usize::MAX, Ordering::Relaxed);
    Filled::small(&blocks, 1).free(&blocks);
}

#[test]
fn create_aborts_without_memory() {
    let child = child!(|| {
        let pool = AutoreleasePool::new();
        TOO_LARGE.store(CHUNK as usize, Ordering::Relaxed);
        pool.create([0u8; 84]);
    });
    child.assert_aborted_saying(&["memory allocation of 112 bytes failed"]);
}

#[test]
fn new_in_and_create_panic_at_the_hard_cap_and_drop_the_value() {
    let log = Log::new();
    let none = BlockAllocator::builder().hard_cap(0).build();
    let manager = PoolManager::builder().memory(none.clone()).build();
    let pool = manager.pool();
    let large = |id| (log.probe(id), [0u8; 70_000]);
    let said = [
        panic_of(|| drop(Ref::new_in(log.probe(0), &none))),
        panic_of(|| drop(Ref::new_in(large(1), &none))),
        panic_of(|| _ = pool.create(log.probe(2))),
        panic_of(|| _ = pool.create(large(3))),
        panic_of(|| _ = pool.create_slice(&[1; 70_000])),
        panic_of(|| _ = pool.create_str("text")),
    ];
    for said in said {
        assert_eq!(said, "the allocator holds 0 bytes, and its hard cap is 0");
    }
    assert_eq!((log.ids(), pool.len()), (vec![0, 1, 2, 3], 0));
    assert!(Ref::try_new_in(large(4), &none).is_err());
    assert_eq!((log.count(), none.stats().large), (5, 0));
    assert_empty(&none);
}

#[test]
fn large_objects_give_their_bytes_back_once_however_they_end() {
    // No block is aligned so.
    #[derive(Clone, PartialEq, Debug)]
    #[repr(align(128))]
    struct Many(u8);
    const MANY: Many = Many(7);
    // Of the object, its header, and the prefix.
    const BYTES: u64 = 3 * 128;
    let blocks = BlockAllocator::builder().hard_cap(CAP).build();
    let made = || Ref::new_in(MANY, &blocks);
    let large = || blocks.stats().live_large_bytes;
    let object: Ref<dyn Send + Sync> = unsize!(made() => dyn Send + Sync);
    let weak = Ref::downgrade(&object);
    fresh_to_the_end(move || drop(object));
    assert_eq!(large(), BYTES, "a weak reference keeps the memory");
    fresh_to_the_end(move || drop(weak));
    assert_eq!(large(), 0);
    assert_eq!(Ref::try_unwrap(made()).unwrap(), MANY);
    assert_eq!(large(), 0);
    let mut shared = made();
    let kept = shared.clone();
    Ref::make_mut(&mut shared).0 = 1;
    drop(kept);
    assert_eq!((large(), shared.0), (0, 1), "the copy is not counted");
    // The type info of a value replaces that of an uninitialized one.
    let mut uninit = Ref::new_in(MaybeUninit::<(String, Many)>::uninit(), &blocks);
    let value = (String::from("text"), MANY);
    Ref::get_mut(&mut uninit).unwrap().write(value);
    // SAFETY: just written.
    drop(unsafe { uninit.assume_init() });
    let uninit = Ref::new_slice_in(&[MaybeUninit::new(5u64); 9_000], &blocks);
    // SAFETY: the values were written before they were cloned.
    drop(unsafe { uninit.assume_init() });
    assert_eq!(large(), 0);
    let manager = PoolManager::builder().memory(blocks.clone()).build();
    let mut pool = manager.pool();
    let kept = PoolRef::retain(pool.create(MANY));
    assert_eq!((pool.drain(), large()), (1, BYTES));
    drop((pool, manager, blocks));
    assert_eq!(*kept, MANY, "an object outlives all handles");
}

#[test]
fn raw_large_memory_counts_for_the_hard_cap() {
    let blocks = BlockAllocator::builder().hard_cap(CAP).build();
    let all = layout(CAP, 4_096);
    let memory = Filled::new(&blocks, all, 1);
    let (cap, held) = (CAP, CAP);
    let full = AllocError::Capped { cap, held };
    assert_eq!(blocks.alloc(layout(LARGEST + 1, 1)), Err(full));
    assert_eq!(Ref::try_new_in(1, &blocks).err(), Some(full));
    elsewhere(&blocks, |blocks| memory.free(blocks));
    // A chunk that is not in use makes room for large memory.
    Filled::small(&blocks, 1).free(&blocks);
    Filled::new(&blocks, all, 1).free(&blocks);
    assert!(blocks.alloc(layout(CAP + 1, 1)).is_err());
    Filled::new(&blocks, all, 1).free(&blocks);
    let stats = blocks.stats();
    assert_eq!((stats.peak_bytes, stats.large), (CAP as u64, 3));
    assert_eq!(stats.large_bytes, 3 * CAP as u64);
    assert_empty(&blocks);
}

#[test]
fn large_memory_counts_for_the_soft_cap() {
    let soft = Soft::new(|blocks, stats| {
        assert_eq!(stats.live_large_bytes, CAP as u64 + 32 + 8);
        drop(Ref::new_str_in(&"x".repeat(70_000), blocks));
    });
    for calls in 1..=2 {
        let object = Ref::new_in([0u64; CAP / 8 + 1], &soft.blocks);
        assert_eq!(soft.calls(), calls);
        drop(object);
    }
    assert!(events(EventKind::Panic).is_empty());
    assert_empty(&soft.blocks);
}

#[test]
fn a_request_that_the_system_refuses_counts_for_no_soft_cap() {
    static BLOCKS: OnceLock<BlockAllocator> = OnceLock::new();
    static MOST: AtomicU64 = AtomicU64::new(0);
    let hook = |stats: &BlockStats| _ = MOST.fetch_max(stats.peak_bytes, Ordering::Relaxed);
    let limited = BlockAllocator::builder().soft_cap(CAP, hook).build();
    let blocks = BLOCKS.get_or_init(|| limited);
    // Others allocate while the request is made.
    let others = || drop(Ref::new_in([0_u8; 70_000], BLOCKS.get().unwrap()));
    FOREIGN.set(Some(others));
    refusing(1 << 20, || {
        assert!(blocks.alloc(layout(1 << 20, 8)).is_err())
    });
    assert!(FOREIGN.get().is_none(), "it has been called");
    assert!(blocks.stats().peak_bytes < CAP as u64);
    assert_eq!(MOST.load(Ordering::Relaxed), 0);
    // Without a cap, large memory is not counted while it is in use.
    let unlimited = BlockAllocator::new();
    let _object = Ref::new_in([0_u8; 70_000], &unlimited);
    let stats = unlimited.stats();
    assert_eq!((stats.live_large_bytes, stats.large_bytes), (0, 70_016));
    // Nor for a hard cap.
    let capped = BlockAllocator::builder().hard_cap(CAP).build();
    refusing(CAP, || assert!(capped.alloc(layout(CAP, 8)).is_err()));
    assert_eq!(capped.stats().peak_bytes, 0);
    Filled::new(&capped, layout(CAP, 8), 1).free(&capped);
}

#[test]
fn memory_counts_for_the_hard_cap_until_it_is_free() {
    static BLOCKS: OnceLock<BlockAllocator> = OnceLock::new();
    static LARGE: AtomicU64 = AtomicU64::new(1);
    let capped = BlockAllocator::builder().hard_cap(CHUNK as usize).build();
    let blocks = BLOCKS.get_or_init(|| capped);
    // The allocator calls it when it has freed the memory.
    let look = || {
        let blocks = BLOCKS.get().unwrap();
        let large = blocks.stats().live_large_bytes;
        let is_full = blocks.alloc(layout(CHUNK as usize, 8)).is_err();
        LARGE.store(if is_full { large } else { u64::MAX }, Ordering::Relaxed);
    };
    Filled::small(blocks, 1).free(blocks);
    FOREIGN.set(Some(look));
    assert_eq!(blocks.trim() as u64, CHUNK);
    assert_eq!(LARGE.load(Ordering::Relaxed), 0);
    let large = Filled::new(blocks, layout(CHUNK as usize, 8), 1);
    FOREIGN.set(Some(look));
    large.free(blocks);
    assert_eq!(LARGE.load(Ordering::Relaxed), CHUNK);
    assert_empty(blocks);
}
