//! Collections in blocks: the feature `allocator-api2`.

use allocator_api2::vec::Vec;
use hashbrown::HashMap;
use releasepool::BlockAllocator;
use std::hash::RandomState;
use std::thread;

#[test]
fn vector_moves_from_block_to_block_and_leaves_them_behind() {
    let blocks = BlockAllocator::new();
    let mut list = Vec::new_in(blocks.clone());
    for n in 0..60u64 {
        list.push(n);
        assert_eq!(blocks.stats().live_blocks, 1);
    }
    assert!(blocks.stats().live_bytes >= 60 * 8);
    list.extend(60..1_000);
    assert_eq!(blocks.stats().live_blocks, 0, "too large for one");
    assert!(blocks.stats().large > 0);
    list.truncate(3);
    list.shrink_to_fit();
    assert_eq!(blocks.stats().live_bytes, 32);
    assert!(list.iter().copied().eq(0..3));
    drop(list);
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn table_is_dropped_on_another_thread_and_its_memory_comes_home() {
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
