//! Collections in blocks: the feature `allocator-api2`.

use crate::block::{CHUNK, LARGEST, layout};
use crate::support::allocator::refusing;
use crate::support::{aborts, fresh_to_the_end};
use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use hashbrown::HashMap;
use releasepool::memory::BlockAllocator;
use std::alloc::Layout;
use std::hash::RandomState;
use std::ptr::NonNull;
use std::thread;

type Bytes = Box<[u8], BlockAllocator>;

/// The greatest size of blocks of which several fit a chunk in all builds.
const SEVERAL: usize = 16_320;

/// Bytes that no block fits.
const LARGE: usize = LARGEST + 400;

/// Returns an allocator at its hard cap: it has one chunk for each of these sizes, with one block
/// in use, and cannot allocate blocks of other sizes. There is room for less than a chunk of
/// large memory.
fn at_cap(sizes: &[usize]) -> (BlockAllocator, std::vec::Vec<Bytes>) {
    let cap = CHUNK as usize * sizes.len() + CHUNK as usize - 1;
    let blocks = BlockAllocator::builder().hard_cap(cap).build();
    let keep = |size| {
        let slice = Box::<[u8], _>::new_zeroed_slice_in(size, blocks.clone());
        // SAFETY: a byte may be 0.
        unsafe { slice.assume_init() }
    };
    let kept = sizes.iter().map(|size| keep(*size)).collect();
    (blocks, kept)
}

/// Returns the blocks in use, and their internal fragmentation.
fn live(blocks: &BlockAllocator) -> (u64, u64) {
    let stats = blocks.stats();
    (stats.live_blocks, stats.waste)
}

#[test]
fn table_dropped_on_another_thread_is_a_remote_free() {
    let blocks = BlockAllocator::new();
    let mut table = HashMap::with_hasher_in(RandomState::new(), blocks.clone());
    for n in 0..10u32 {
        table.insert(n, 2 * n);
    }
    assert!((0..10).all(|n| table[&n] == 2 * n));
    let live = blocks.stats().live_blocks;
    assert_eq!(live, 1);
    thread::spawn(move || drop(table)).join().unwrap();
    blocks.trim();
    let stats = blocks.stats();
    assert_eq!((stats.live_blocks, stats.remote_frees), (0, 1));
    assert_eq!(stats.waste, 0);
}

#[test]
fn vector_outlives_the_handles() {
    let mut list = Vec::new_in(BlockAllocator::new());
    list.extend_from_slice(&[1, 2, 3]);
    assert_eq!(list, [1, 2, 3]);
}

#[test]
fn values_of_size_0_take_no_block() {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Nothing;
    let blocks = BlockAllocator::builder().hard_cap(0).build();
    drop(Box::new_in((), blocks.clone()));
    drop(Box::new_in(Nothing, blocks.clone()));
    drop(Vec::<u64, _>::new_in(blocks.clone()).into_boxed_slice());
    drop(Box::<[u8], _>::new_uninit_slice_in(0, blocks.clone()));
    drop(Box::<[u8], BlockAllocator>::default());
    let mut list = Vec::new_in(blocks.clone());
    list.resize(100, Nothing);
    drop(list.into_boxed_slice().into_vec());
    drop(Box::into_boxed_slice(Box::new_in(
        [0u64; 0],
        blocks.clone(),
    )));
    assert_eq!((blocks.stats().live_blocks, blocks.stats().large), (0, 0));
}

#[test]
fn vector_grows_and_shrinks_in_place_within_its_block() {
    let blocks = BlockAllocator::new();
    let mut list = Vec::with_capacity_in(257, &blocks);
    list.resize(257, 1u8);
    let first = list.as_ptr();
    for capacity in [258, 300, 320] {
        list.reserve_exact(capacity - list.len());
        assert_eq!((list.capacity(), list.as_ptr()), (capacity, first));
        assert_eq!(live(&blocks), (1, (320 - capacity) as u64));
        list.resize(capacity, 2);
    }
    assert!(list[..257].iter().all(|byte| *byte == 1));
    assert!(list[257..].iter().all(|byte| *byte == 2));
    for len in [320, 319, 300, 257] {
        list.truncate(len);
        list.shrink_to_fit();
        assert_eq!((list.capacity(), list.as_ptr()), (len, first));
        assert_eq!(live(&blocks), (1, (320 - len) as u64));
    }
    let taken = blocks.stats();
    list.reserve_exact(64);
    assert_eq!(list.capacity(), 321);
    assert_ne!(list.as_ptr(), first, "in a larger block");
    assert_eq!(live(&blocks), (1, 384 - 321));
    list.truncate(256);
    list.shrink_to_fit();
    assert_eq!(live(&blocks), (1, 0), "in a smaller block");
    assert!(list.iter().all(|byte| *byte == 1));
    drop(list);
    assert_eq!(live(&blocks), (0, 0));
    assert_eq!(blocks.stats().large, taken.large);
}

#[test]
fn vector_is_resized_in_place_on_another_thread() {
    let blocks = BlockAllocator::new();
    let mut list = Vec::with_capacity_in(60, blocks.clone());
    list.resize(50, 1u8);
    assert_eq!(live(&blocks), (1, 4));
    let mut list = fresh_to_the_end(move || {
        let first = list.as_ptr();
        list.shrink_to_fit();
        assert_eq!(live(list.allocator()), (1, 14));
        list.reserve_exact(13);
        assert_eq!(list.as_ptr(), first);
        list
    });
    assert_eq!(live(&blocks), (1, 1));
    list.shrink_to_fit();
    assert_eq!(live(&blocks), (1, 14));
    fresh_to_the_end(move || drop(list));
    blocks.trim();
    assert_eq!(live(&blocks), (0, 0));
}

#[test]
fn vector_that_finds_no_smaller_block_stays_in_place() {
    let (blocks, kept) = at_cap(&[SEVERAL]);
    let mut list = Vec::with_capacity_in(SEVERAL / 8, blocks.clone());
    list.extend(0..SEVERAL as u64 / 8);
    let first = list.as_ptr();
    for len in [60, 5, 1] {
        list.truncate(len);
        list.shrink_to_fit();
        assert_eq!((list.capacity(), list.as_ptr()), (len, first));
        assert_eq!(live(&blocks), (2, (SEVERAL - 8 * len) as u64));
    }
    list.reserve_exact(SEVERAL / 8 - 1);
    // It grows there, too.
    assert_eq!((list.capacity(), list.as_ptr()), (SEVERAL / 8, first));
    // Then it is in memory of the global allocator.
    assert!(list.try_reserve_exact(LARGE / 8).is_ok());
    assert_eq!((live(&blocks), list[0]), ((1, 0), 0));
    drop(list);

    // The vector is shrunk to nothing, or dropped after it was shrunk.
    for len in [0, 3] {
        let mut list = Vec::with_capacity_in(SEVERAL / 8, blocks.clone());
        list.extend(0..SEVERAL as u64 / 8);
        list.truncate(len);
        list.shrink_to_fit();
        assert!(list.into_boxed_slice().iter().copied().eq(0..len as u64));
        assert_eq!(live(&blocks), (1, 0));
    }

    // Another thread frees it than the one that has allocated it, which has ended.
    let theirs = blocks.clone();
    let mut list = Vec::with_capacity_in(SEVERAL, theirs);
    list.resize(SEVERAL, 1u8);
    list.truncate(20);
    fresh_to_the_end(move || {
        list.shrink_to_fit();
        assert_eq!(list, [1; 20]);
    });
    blocks.trim();
    assert_eq!(live(&blocks), (1, 0));
    drop(kept);
    assert_eq!(live(&blocks), (0, 0));
}

#[test]
fn vector_that_stayed_takes_a_smaller_block_when_there_is_one() {
    let (blocks, mut kept) = at_cap(&[16, 640]);
    let mut list = Vec::with_capacity_in(640, blocks.clone());
    list.resize(300, 1u8);
    let first = list.as_ptr();
    list.shrink_to_fit();
    assert_eq!(list.as_ptr(), first);
    kept.truncate(1);
    list.truncate(299);
    list.shrink_to_fit();
    assert_eq!(list.as_ptr(), first, "its chunk is for blocks of 640 bytes");
    drop(kept);
    list.truncate(298);
    list.shrink_to_fit();
    assert_ne!(list.as_ptr(), first);
    assert_eq!(live(&blocks), (1, 320 - 298));
    assert_eq!(list, [1; 298]);
}

#[test]
fn memory_that_stayed_takes_a_smaller_block_of_the_same_size_when_there_is_one() {
    let (blocks, kept) = at_cap(&[16, 640]);
    let (old, new) = (layout(640, 16), layout(300, 16));
    let block = blocks.allocate(old).unwrap().cast::<u8>();
    // SAFETY: allocated by `old`, and resized to `new`.
    let stayed = unsafe { blocks.shrink(block, old, new) }.unwrap().cast();
    assert_eq!(stayed, block);
    drop(kept);
    // SAFETY: resized to `new`.
    let moved = unsafe { blocks.shrink(stayed, new, new) }.unwrap().cast();
    assert_ne!(moved, block);
    // SAFETY: moved to memory of `new`, and not used any more.
    unsafe { blocks.deallocate(moved, new) };
    assert_eq!(live(&blocks), (0, 0));
}

#[test]
fn large_vector_shrinks_at_the_cap_and_grows_below_it() {
    let blocks = BlockAllocator::builder().hard_cap(300_000).build();
    let mut list = Vec::with_capacity_in(30_000, blocks.clone());
    list.extend(0..10_000u64);
    list.shrink_to_fit();
    let large = || blocks.stats().live_large_bytes;
    assert_eq!((list.capacity(), large()), (10_000, 80_000));
    assert!(list.try_reserve_exact(17_501).is_err(), "both must fit");
    list.reserve_exact(17_500);
    assert_eq!((list.capacity(), large()), (27_500, 220_000));
    assert_eq!((list.into_iter().sum(), large()), (49_995_000_u64, 0));
}

/// Returns a vector that was large, and found no block when it shrank.
fn outside(blocks: &BlockAllocator, len: usize) -> Vec<u64, BlockAllocator> {
    let before = blocks.stats();
    let mut list = Vec::with_capacity_in(LARGE / 8, blocks.clone());
    list.extend(0..len as u64);
    list.shrink_to_fit();
    let stats = blocks.stats();
    assert_eq!(live(blocks), (before.live_blocks, before.waste));
    // They are the large allocation and this one.
    assert_eq!(stats.large, before.large + 2);
    assert_eq!(
        stats.large_bytes,
        before.large_bytes + (LARGE + LARGEST) as u64
    );
    list
}

#[test]
fn large_vector_that_finds_no_block_shrinks_in_the_global_allocator() {
    let (blocks, kept) = at_cap(&[LARGEST]);
    let mut list = outside(&blocks, 60);
    let first = list.as_ptr();
    for len in [50, 3, 1] {
        list.truncate(len);
        list.shrink_to_fit();
        assert_eq!((list.capacity(), list.as_ptr()), (len, first));
    }
    for capacity in [2, LARGEST / 8 - 1, LARGEST / 8] {
        list.reserve_exact(capacity - list.len());
        list.extend(list.len() as u64..capacity as u64);
        assert_eq!((list.capacity(), list.as_ptr()), (capacity, first));
    }
    assert!(list.iter().copied().eq(0..LARGEST as u64 / 8));
    let list = fresh_to_the_end(move || {
        assert!(list.try_reserve_exact(1).is_err(), "both must fit");
        list
    });
    assert!(list.iter().copied().eq(0..LARGEST as u64 / 8));
    drop(list);

    // It becomes a box, is shrunk to nothing, or is dropped by another thread.
    assert_eq!(*outside(&blocks, 2).into_boxed_slice(), [0, 1]);
    let mut none = outside(&blocks, 2);
    none.clear();
    none.shrink_to_fit();
    assert_eq!(none.capacity(), 0);
    let theirs = outside(&blocks, 2);
    fresh_to_the_end(move || drop(theirs));

    // It moves into a block when there is one.
    let mut list = outside(&blocks, 2);
    let first = list.as_ptr();
    drop(kept);
    list.truncate(1);
    list.shrink_to_fit();
    assert_ne!(list.as_ptr(), first);
    assert_eq!((live(&blocks), &*list), ((1, 8), &[0][..]));
    drop(list);
    assert_eq!(live(&blocks), (0, 0));
}

#[test]
fn memory_stays_as_it_is_if_resizing_fails() {
    let (blocks, _kept) = at_cap(&[112]);
    let block = blocks.allocate(layout(100, 1)).unwrap().cast::<u8>();
    let large = blocks.allocate(layout(LARGE, 1)).unwrap().cast::<u8>();
    let before = live(&blocks);
    // SAFETY: allocated by these layouts, and not moved, as each call fails.
    unsafe {
        block.write_bytes(1, 100);
        large.write_bytes(2, LARGE);
        refusing(1, || {
            let refused = [
                blocks.grow(block, layout(100, 1), layout(113, 1)),
                blocks.grow(block, layout(100, 1), layout(641, 1)),
                blocks.grow_zeroed(block, layout(100, 1), layout(100, 128)),
                // The block is aligned to 16.
                blocks.shrink(block, layout(100, 1), layout(16, 32)),
                blocks.grow(large, layout(LARGE, 1), layout(LARGE + 1, 1)),
                blocks.shrink(large, layout(LARGE, 1), layout(LARGE - 1, 1)),
                blocks.shrink(large, layout(LARGE, 1), layout(640, 1)),
                blocks.shrink(large, layout(LARGE, 1), layout(16, 32)),
            ];
            assert!(refused.iter().all(Result::is_err));
        });
        assert_eq!(live(&blocks), before);
        let bytes = |at: NonNull<u8>, n| std::slice::from_raw_parts(at.as_ptr(), n);
        assert!(bytes(block, 100).iter().all(|byte| *byte == 1));
        assert!(bytes(large, LARGE).iter().all(|byte| *byte == 2));
        blocks.deallocate(block, layout(100, 1));
        blocks.deallocate(large, layout(LARGE, 1));
    }
}

/// Resizes memory to one layout after the other, by all calls: asserts that contents stay, and that
/// what is added is zeroed. `then` is called with each layout that the memory has got.
pub fn resize_to_each(
    allocator: &impl Allocator,
    layouts: impl Iterator<Item = Layout>,
    may_refuse: bool,
    mut then: impl FnMut(Layout),
) {
    let mut layout = layout(0, 1);
    let mut memory = allocator.allocate(layout).unwrap();
    let mut filled = 0;
    for new in layouts {
        let ptr = memory.cast::<u8>();
        let grows = new.size() >= layout.size();
        // SAFETY: allocated or resized to this layout, and not freed.
        let resized = unsafe {
            match grows {
                true => allocator.grow_zeroed(ptr, layout, new),
                false => allocator.shrink(ptr, layout, new),
            }
        };
        let Ok(resized) = resized else {
            assert!(may_refuse && grows, "{new:?}");
            continue;
        };
        memory = resized;
        assert_eq!(memory.len(), new.size());
        assert_eq!(memory.cast::<u8>().addr().get() % new.align(), 0);
        // SAFETY: not freed, and all bytes up to there were written.
        let bytes = unsafe { memory.as_mut() };
        filled = filled.min(bytes.len());
        assert_eq!(bytes[..filled], vec![9; filled]);
        if new.size() > layout.size() {
            assert_eq!(bytes[filled..], vec![0; bytes.len() - filled]);
        }
        bytes.fill(9);
        filled = bytes.len();
        layout = new;
        then(new);
    }
    // SAFETY: allocated or resized to this layout, and not freed.
    unsafe { allocator.deallocate(memory.cast(), layout) };
}

#[test]
fn memory_keeps_its_contents_in_every_resize() {
    let sizes = [
        1, 10, 16, 17, 100, 112, 113, 640, 641, 65_000, 65_001, 640, 639, 320, 33, 33, 5, 0, 0,
        LARGE, 6, 600, 601, 1, 0, 40, LARGE, 41, 42, SEVERAL, 30, 700, 0,
    ];
    let aligns = [1, 16, 8, 64, 64, 1, 4096, 16, 2];
    // Blocks of all sizes are available, or only of one.
    for capped in [false, true] {
        let (blocks, kept) = if capped {
            at_cap(&[SEVERAL])
        } else {
            Default::default()
        };
        let before = live(&blocks);
        let layouts = sizes.into_iter().zip(aligns.into_iter().cycle());
        let layouts = layouts.map(|(size, align)| layout(size, align));
        resize_to_each(&blocks, layouts, capped, |layout| {
            let (taken, wasted) = live(&blocks);
            let fits = (1..=LARGEST).contains(&layout.size()) && layout.align() <= 64;
            assert!(capped || taken == before.0 + u64::from(fits), "{layout:?}");
            let most = LARGEST - layout.size().min(LARGEST);
            assert!(wasted <= most as u64, "{wasted} at {layout:?}");
        });
        assert!(kept.iter().all(|slice| **slice == [0; SEVERAL]));
        assert_eq!(live(&blocks), before);
    }
    // Of four neighbours in blocks of 48 bytes, one is aligned to 64 by chance.
    let blocks = BlockAllocator::new();
    let _kept: [_; 4] = std::array::from_fn(|_| {
        let layouts = [layout(40, 16), layout(41, 64)].into_iter();
        resize_to_each(&blocks, layouts, false, |_| ());
        Vec::<u8, _>::with_capacity_in(48, blocks.clone())
    });
}

#[test]
fn memory_that_is_no_block_cannot_grow() {
    let words = [
        "as a block of 48 bytes",
        "but no allocator owns that address",
    ];
    aborts!(words, || {
        let foreign = NonNull::from(std::boxed::Box::leak(std::boxed::Box::new([0u8; 48])));
        // SAFETY: none: the misuse under test.
        _ = unsafe { BlockAllocator::new().grow(foreign.cast(), layout(48, 8), layout(49, 8)) };
    });
}
