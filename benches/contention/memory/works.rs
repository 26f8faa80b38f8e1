//! The work that allocators do.

use super::allocators::Memory;
use bumpalo::Bump;
use releasepool::memory::{StackAllocator, StackBox};
use releasepool_benches::resident;
use releasepool_benches::workload::{Role, Workload, timed};
use std::alloc::Layout;
use std::hint::black_box;
use std::ops::RangeInclusive;
use std::ptr::NonNull;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Pairs,
    Lifo,
    Fifo,
    Mixed,
    Cross,
}

impl Work {
    pub const ALL: [Self; 5] = [
        Self::Pairs,
        Self::Lifo,
        Self::Fifo,
        Self::Mixed,
        Self::Cross,
    ];
}

/// The layout of blocks of one size.
pub const SMALL: Layout = layout(64);

/// Sizes of the mixed blocks, all of which releasepool's allocator has blocks for.
pub const SIZES: RangeInclusive<usize> = 16..=640;

/// Blocks that are alive at the same time.
const BATCH: u64 = 1_000;

/// Operations in a turn: an allocation and a release each.
const LOOP: u64 = 1_000;

/// Returns a layout with the alignment of most objects.
const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, 8) {
        Ok(layout) => layout,
        Err(_) => panic!("the size is too large"),
    }
}

/// Allocates a block and writes to it, so that page faults are part of the figure.
#[inline]
pub fn fresh<M: Memory>(memory: &mut M, layout: Layout, seed: u64) -> NonNull<u8> {
    let block = memory.alloc(layout);
    // SAFETY: all layouts here have room for a `u64` and are aligned for it.
    unsafe { block.cast::<u64>().write(seed) };
    black_box(block)
}

/// Returns a workload that allocates and frees one block at a time.
pub fn pairs<M: Memory>() -> Workload {
    Workload::timed(M::NAME, LOOP, M::here, |memory| {
        for seed in 0..LOOP {
            let block = fresh(memory, SMALL, seed);
            // SAFETY: `fresh` allocated the block with this layout, and it is used only here.
            unsafe { memory.dealloc(block, SMALL) };
        }
    })
}

fn batches<M: Memory>(free: fn(&mut Vec<NonNull<u8>>, &mut M)) -> Workload {
    let make = || (M::here(), Vec::with_capacity(BATCH as usize));
    Workload::timed(M::NAME, BATCH, make, move |(memory, blocks)| {
        for seed in 0..BATCH {
            blocks.push(fresh(memory, SMALL, seed));
        }
        free(black_box(blocks), memory);
        memory.reset();
    })
}

/// Returns a workload that frees a batch of blocks in the reverse order of their allocation.
pub fn lifo<M: Memory>() -> Workload {
    batches::<M>(|blocks, memory| {
        while let Some(block) = blocks.pop() {
            // SAFETY: `fresh` allocated the block with this layout, and it is used only here.
            unsafe { memory.dealloc(block, SMALL) };
        }
    })
}

/// Returns a workload that frees a batch of blocks in the order of their allocation.
pub fn fifo<M: Memory>() -> Workload {
    batches::<M>(|blocks, memory| {
        for block in blocks.drain(..) {
            // SAFETY: `fresh` allocated the block with this layout, and it is used only here.
            unsafe { memory.dealloc(block, SMALL) };
        }
    })
}

/// Random numbers by Marsaglia's xorshift: the same sequence in every run, and for all allocators. Not
/// `fastrand`: its cost, about a nanosecond, is part of every figure, and another generator would make the
/// figures incomparable with earlier ones.
struct Random(u64);

impl Random {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * end as u64) >> 32) as usize
    }
}

/// Live blocks of random sizes, of which one is replaced at a time.
pub struct Live<M: Memory> {
    memory: M,
    random: Random,
    sizes: RangeInclusive<usize>,
    blocks: Vec<(NonNull<u8>, Layout)>,
}

impl<M: Memory> Live<M> {
    /// Creates an empty list for this many blocks. The memory of the list itself is resident.
    pub fn none(count: usize, sizes: RangeInclusive<usize>) -> Self {
        let mut blocks = vec![(NonNull::dangling(), SMALL); count];
        black_box(&mut blocks).clear();
        Self {
            memory: M::here(),
            random: Random(0x9e37_79b9_7f4a_7c15),
            sizes,
            blocks,
        }
    }

    // Inlined by force: returning the result through memory would take longer than some allocators.
    #[inline(always)]
    fn one_more(&mut self, seed: u64) -> (NonNull<u8>, Layout) {
        let (least, most) = (*self.sizes.start(), *self.sizes.end());
        let layout = layout(least + self.random.below(most - least + 1));
        (fresh(&mut self.memory, layout, seed), layout)
    }

    pub fn fill(&mut self) {
        while self.blocks.len() < self.blocks.capacity() {
            let block = self.one_more(0);
            self.blocks.push(block);
        }
    }

    #[inline(always)]
    pub fn replace_one(&mut self, seed: u64) {
        let at = self.random.below(self.blocks.len());
        let (block, layout) = self.blocks[at];
        // SAFETY: `one_more` allocated the block with this layout, and it is replaced below.
        unsafe { self.memory.dealloc(block, layout) };
        self.blocks[at] = self.one_more(seed);
    }

    /// Returns the sum of the sizes.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|(_, layout)| layout.size()).sum()
    }
}

impl<M: Memory> Drop for Live<M> {
    fn drop(&mut self) {
        for (block, layout) in self.blocks.drain(..) {
            // SAFETY: `one_more` allocated the block with this layout, and it is used only here.
            unsafe { self.memory.dealloc(block, layout) };
        }
        self.memory.reset();
    }
}

/// Returns a workload that replaces many live blocks, one at a time, chosen at random.
pub fn mixed<M: Memory>() -> Workload {
    let make = || {
        let mut live = Live::<M>::none(BATCH as usize, SIZES);
        live.fill();
        live
    };
    Workload::timed(M::NAME, LOOP, make, |live| {
        for seed in 0..LOOP {
            live.replace_one(seed);
        }
    })
}

// --- peak memory ---------------------------------------------------------------

/// Objects that are alive at the same time.
pub const OBJECTS: usize = 100_000;

/// Objects of mixed sizes that are replaced.
const REPLACED: u64 = 1_000_000;

/// Allocates objects of 64 bytes, or of many sizes, which are replaced at random. Returns the sum of the
/// objects' sizes, and the peak of the resident memory, or 0 if the system does not tell it.
pub fn usage<M: Memory>(is_mixed: bool) -> [u64; 2] {
    let sizes = if is_mixed { SIZES } else { 64..=64 };
    let mut live = Live::<M>::none(OBJECTS, sizes);
    let before = resident::now();
    live.fill();
    let mut requested = live.bytes();
    for seed in 0..if is_mixed { REPLACED } else { 0 } {
        live.replace_one(seed);
        if seed % 10_000 == 0 {
            requested = requested.max(live.bytes());
        }
    }
    let peak = resident::peak().zip(before);
    [
        requested as u64,
        peak.map_or(0, |(peak, before)| peak - before),
    ]
}

// --- an arena ------------------------------------------------------------------

/// A value of 64 bytes.
type Value = [u64; 8];

type DropAll = fn(&mut Vec<StackBox<'static, Value>>);

/// Returns a workload of boxes in a `StackAllocator`, which each turn leaves empty without a reset.
fn boxes(name: &'static str, drop_all: DropAll) -> Workload {
    Workload::new(name, BATCH, move || {
        // Leaked, as the boxes in the vector refer to it.
        let arena: &'static StackAllocator = Box::leak(Box::new(StackAllocator::with_capacity(
            2 * BATCH as usize * size_of::<Value>(),
        )));
        let mut boxes = Vec::with_capacity(BATCH as usize);
        timed(move || {
            for seed in 0..BATCH {
                let value = arena.alloc([seed; 8]);
                // Not the box itself: storing its two words would take longer than allocating it.
                black_box(&*value);
                boxes.push(value);
            }
            drop_all(black_box(&mut boxes));
            assert!(arena.used() == 0 && boxes.is_empty());
        })
    })
}

pub fn newest_first() -> Workload {
    boxes("StackAllocator, newest first", |boxes| {
        while boxes.pop().is_some() {}
    })
}

pub fn oldest_first() -> Workload {
    boxes("StackAllocator, oldest first", Vec::clear).role(Role::Ours)
}

/// Returns a workload of values in bumpalo, which drops nothing and reuses all memory at once.
pub fn bumpalo() -> Workload {
    let make = || Bump::with_capacity(2 * BATCH as usize * size_of::<Value>());
    let workload = Workload::timed("bumpalo, reset", BATCH, make, |bump| {
        for seed in 0..BATCH {
            black_box(Bump::alloc(bump, [seed; 8]));
        }
        bump.reset();
    });
    workload.role(Role::Reference)
}
