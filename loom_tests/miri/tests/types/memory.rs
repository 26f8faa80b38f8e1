use releasepool::Ref;
use releasepool::memory::{
    AllocError, BlockAllocator, BlockAllocatorBuilder, BlockStats, StackAllocator, StackBox,
};
use scenes::Log;
use std::thread;

#[test]
fn blocks_are_freed_by_any_thread() {
    let log = Log::default();
    let builder: BlockAllocatorBuilder = BlockAllocator::builder().hard_cap(1 << 20);
    let memory: BlockAllocator = builder.build();
    let nodes: Vec<_> = (0..10)
        .map(|_| Ref::new_in(log.node("node", vec![]), &memory))
        .collect();
    let stats: BlockStats = memory.stats();
    assert_eq!(stats.live_blocks, 10);
    thread::spawn(move || drop(nodes)).join().unwrap();
    // Takes back what the other thread has freed.
    memory.trim();
    assert_eq!((memory.stats().live_blocks, log.take().len()), (0, 10));
    let none = BlockAllocator::builder().hard_cap(1).build();
    let refused: Result<Ref<u32>, AllocError> = Ref::try_new_in(5, &none);
    assert!(matches!(refused, Err(AllocError::Capped { .. })));
    let large = Ref::new_in([0_u8; 1_000], &memory);
    drop(memory);
    thread::spawn(move || drop(large)).join().unwrap();
}

#[test]
fn short_lived_values_are_dropped_in_any_order() {
    let log = Log::default();
    let mut arena = StackAllocator::with_capacity(1_024);
    let first: StackBox<_> = arena.alloc(log.node("first", vec![]));
    let text: StackBox<str> = arena.alloc_str("text");
    let second = arena.alloc(log.node("second", vec![]));
    drop(first);
    assert_eq!((&*text, second.name.as_str()), ("text", "second"));
    drop((text, second));
    assert!(arena.used() == 0);
    arena.reset();
    assert_eq!(log.take(), ["first", "second"]);
}
