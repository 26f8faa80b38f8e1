//! The crate's allocators.

use super::*;

pub(super) const ROWS: &[Row] = &[
    ("raw", || {
        let large = |n| Layout::array::<u8>(4_000 + n).unwrap();
        let memory = calls(|n| alloc_by_hand(large(n)).unwrap());
        // SAFETY: just allocated, with these layouts.
        let free = |(n, at)| call(|| unsafe { free_by_hand(at, large(n)) });
        memory.into_iter().enumerate().for_each(free);
        // More than a dozen of the regions that are noted.
        let blocks = (0..3_000).map(|_| alloc_by_hand(BLOCK).unwrap());
        let blocks: Vec<_> = call(|| blocks.collect());
        // SAFETY: just allocated, with this layout.
        let free = |block| unsafe { free_by_hand(block, BLOCK) };
        call(|| blocks.into_iter().for_each(free));
    }),
    ("BlockAllocator", || {
        let blocks = call(BlockAllocator::new);
        drop(call(BlockAllocator::builder));
        call(|| drop((BlockAllocator::default(), BlockAllocator::process())));
        for blocks in [&blocks, &shared().blocks] {
            let layout = Layout::new::<[u8; 600]>();
            let made = calls(|_| blocks.alloc(layout).unwrap());
            // SAFETY: blocks of this allocator with this layout.
            made.into_iter()
                .for_each(|block| call(|| unsafe { blocks.dealloc(block, layout) }));
            call(|| (blocks.trim(), blocks.stats()));
        }
        let kept = Ref::new_in(1, &blocks);
        fresh(|| call(|| drop(kept)));
        cloned(blocks);
    }),
    ("BlockAllocatorBuilder", || {
        let builder = BlockAllocatorBuilder::default();
        let builder = call(|| builder.soft_cap(1 << 16, |_| ()).hard_cap(1 << 20));
        let blocks = call(|| builder.clone().build());
        calls(|_| Ref::try_new_in([1_u8; 1_000], &blocks).is_ok());
        shown(builder);
    }),
    ("BlockStats", || {
        cloned((BlockStats::default(), shared().blocks.stats()))
    }),
    ("AllocError", || {
        let blocks = BlockAllocator::builder().hard_cap(0).build();
        let error = call(|| Ref::try_new_in(1, &blocks)).unwrap_err();
        call(|| format!("{error}"));
        cloned(error);
    }),
    ("StackAllocator", || {
        call(|| drop((StackAllocator::new(), StackAllocator::default())));
        call(|| StackAllocator::try_with_capacity(100).is_ok());
        let mut arena = call(|| StackAllocator::with_capacity(1_000));
        let boxes = calls(|n| arena.alloc([n; 20]));
        call(|| drop((arena.try_alloc(1).is_ok(), arena.alloc_slice(9, |n| n))));
        call(|| arena.try_alloc_slice(9, |n| n).is_ok());
        call(|| drop((arena.alloc_slice_copy(&[1; 900]), arena.alloc_str("text"))));
        call(|| arena.capacity());
        call(|| arena.high_water());
        call(|| arena.used());
        dropped(boxes);
        call(|| arena.reset());
        shown(arena);
    }),
    ("StackBox", || {
        let arena = StackAllocator::with_capacity(1_000);
        let value = call(|| arena.alloc(vec![1]));
        call(|| StackBox::as_ptr(&value));
        call(|| format!("{value:?}"));
        call(|| drop(StackBox::into_inner(value)));
        call(|| *StackBox::leak(arena.alloc(1)) += 1);
        call(|| arena.alloc(vec![1].into_iter()).next());
    }),
];
