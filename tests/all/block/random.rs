//! `BlockAllocator` against a naive model: memory has the layout that was asked for, overlaps no
//! other, and is counted.

use crate::block::{Filled, SIZES, layout};
use proptest::prelude::*;
use releasepool::memory::BlockAllocator;
use std::sync::Mutex;
use std::thread;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Allocates: the size, and the binary logarithm of the alignment.
    Alloc(usize, u32),
    /// Frees memory that the thread holds.
    Free(usize),
    /// Puts memory where all threads find it.
    Share(usize),
    /// Frees memory from there.
    FreeShared,
    Trim,
    /// Ends the thread, and continues on another.
    Next,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let size = prop_oneof![
        6 => 0..100usize,
        6 => 0..700usize,
        1 => 0..5_000usize,
        1 => 0..100_000usize,
    ];
    let align = prop_oneof![8 => 0..5u32, 1 => 0..13u32];
    let op = prop_oneof![
        8 => (size, align).prop_map(|(size, align)| Op::Alloc(size, align)),
        3 => (0..64usize).prop_map(Op::Free),
        3 => (0..64usize).prop_map(Op::Share),
        3 => Just(Op::FreeShared),
        1 => Just(Op::Trim),
        1 => Just(Op::Next),
    ];
    prop::collection::vec(op, 0..if cfg!(miri) { 40 } else { 400 })
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 2 } else { cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Returns the size of the block that the model expects for this layout, if any.
fn block_of(size: usize, shift: u32) -> Option<u64> {
    let block = SIZES.iter().find(|block| **block >= size)?;
    // Each size of blocks that holds an over-aligned value is a multiple of the alignment.
    let block = SIZES
        .iter()
        .find(|more| *more >= block && *more % (1 << shift) == 0)?;
    (size > 0 && shift <= 6).then_some(*block as u64)
}

#[derive(Default)]
struct Model {
    blocks: u64,
    bytes: u64,
    large: u64,
    large_bytes: u64,
}

type Held = (Filled, Option<u64>);

/// Runs the program up to the next `Next`, and returns the rest.
fn run<'p>(
    blocks: &BlockAllocator,
    program: &'p [Op],
    own: &mut Vec<Held>,
    shared: &Mutex<Vec<Held>>,
    model: Option<&mut Model>,
) -> &'p [Op] {
    let mut unused = Model::default();
    let exact = model.is_some();
    let model = model.unwrap_or(&mut unused);
    for (i, op) in program.iter().enumerate() {
        let mut free = |(memory, block): Held| {
            model.blocks = model.blocks.wrapping_sub(u64::from(block.is_some()));
            model.bytes = model.bytes.wrapping_sub(block.unwrap_or(0));
            memory.free(blocks);
        };
        match *op {
            Op::Alloc(size, shift) => {
                let block = block_of(size, shift);
                own.push((
                    Filled::new(blocks, layout(size, 1 << shift), i as u8),
                    block,
                ));
                model.blocks = model.blocks.wrapping_add(u64::from(block.is_some()));
                model.bytes = model.bytes.wrapping_add(block.unwrap_or(0));
                let large = u64::from(size > 0 && block.is_none());
                model.large += large;
                model.large_bytes += large * size as u64;
            }
            Op::Free(n) if !own.is_empty() => free(own.swap_remove(n % own.len())),
            Op::Share(n) if !own.is_empty() => {
                let n = n % own.len();
                shared.lock().unwrap().push(own.swap_remove(n));
            }
            Op::FreeShared => {
                let memory = shared.lock().unwrap().pop();
                memory.into_iter().for_each(free);
            }
            Op::Free(_) | Op::Share(_) => (),
            Op::Trim => _ = blocks.trim(),
            Op::Next => return &program[i + 1..],
        }
        if exact {
            let stats = blocks.stats();
            let large = (stats.large, stats.large_bytes);
            assert_eq!(large, (model.large, model.large_bytes));
            assert!(stats.live_blocks >= model.blocks && stats.live_bytes >= model.bytes);
        }
    }
    &[]
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn random_sizes_on_one_thread_are_counted_to_the_byte(program in ops()) {
        let blocks = BlockAllocator::builder().hard_cap(usize::MAX).build();
        let shared = Mutex::new(Vec::new());
        let mut model = Model::default();
        let mut own = Vec::new();
        let mut rest = &program[..];
        while !rest.is_empty() {
            rest = run(&blocks, rest, &mut own, &shared, Some(&mut model));
            let stats = blocks.stats();
            prop_assert_eq!((stats.live_blocks, stats.live_bytes), (model.blocks, model.bytes));
        }
        let all = own.into_iter().chain(shared.into_inner().unwrap());
        all.for_each(|(memory, _)| memory.free(&blocks));
        let chunks = blocks.stats().chunk_bytes;
        prop_assert_eq!(blocks.trim() as u64, chunks);
        let stats = blocks.stats();
        prop_assert_eq!((stats.live_blocks, stats.chunk_bytes, stats.waste), (0, 0, 0));
        prop_assert_eq!(stats.live_large_bytes, 0);
    }
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn random_sizes_on_threads_that_run_free(programs in prop::collection::vec(ops(), 4)) {
        let blocks = BlockAllocator::new();
        let shared = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for program in &programs {
                let (blocks, shared) = (&blocks, &shared);
                scope.spawn(move || {
                    let mut own = Vec::new();
                    let mut rest = &program[..];
                    while !rest.is_empty() {
                        let work = || run(blocks, rest, &mut own, shared, None);
                        // This waits for its end, so that the next thread finds its heap.
                        rest = thread::scope(|scope| scope.spawn(work).join().unwrap());
                        own.iter().for_each(|(memory, _)| memory.check());
                    }
                    // Only some are freed, so that threads end with blocks in use.
                    own.split_off(own.len() / 2).into_iter().for_each(|(m, _)| m.free(blocks));
                    shared.lock().unwrap().extend(own);
                });
            }
        });
        let left = shared.into_inner().unwrap();
        left.into_iter().for_each(|(memory, _)| memory.free(&blocks));
        crate::support::wait_until(|| {
            blocks.trim();
            blocks.stats().live_blocks == 0
        });
        prop_assert!(blocks.stats().heaps <= 9);
    }
}
