//! Misuse of blocks, which takes raw calls: it aborts the process with a message that names size,
//! address and owner.

use crate::block::{CHUNK, elsewhere, layout};
use crate::support::allocator::FOREIGN;
use crate::support::{CHECKS, aborts, assert_says, child, each_aborts, fresh_to_the_end};
use releasepool::Ref;
use releasepool::memory::BlockAllocator;
use std::cell::Cell;
use std::ptr::NonNull;

/// Allocates a block of 48 bytes.
fn block(blocks: &BlockAllocator) -> NonNull<u8> {
    blocks.alloc(layout(48, 8)).unwrap()
}

/// Frees memory, and prints its address. Only the processes of this file call it, which commit
/// misuse and abort.
fn free(blocks: &BlockAllocator, at: NonNull<u8>, size: usize) {
    eprintln!("<{at:p}>");
    // SAFETY: none: the tests are about this misuse.
    unsafe { blocks.dealloc(at, layout(size, 8)) };
}

fn free_twice(blocks: &BlockAllocator, at: NonNull<u8>) {
    free(blocks, at, 48);
    free(blocks, at, 48);
}

/// Frees what lies at this offset from a block.
fn free_at(offset: usize, size: usize) {
    let blocks = BlockAllocator::new();
    let at = block(&blocks).map_addr(|at| at.checked_add(offset).unwrap());
    free(&blocks, at, size);
}

/// Asserts that the message has the address of what was freed last.
fn assert_names_the_address(stderr: &str) {
    let address = stderr.rsplit(['<', '>']).nth(1).unwrap();
    let message = stderr.lines().find(|line| line.contains("aborting"));
    assert!(message.unwrap().contains(address), "{stderr}");
}

/// The table of chunks, by which misuse is found, forgets a chunk before its memory is free: whoever gets
/// that memory next enters it anew.
#[test]
fn chunk_that_is_made_as_another_one_is_freed_is_known() {
    thread_local! {
        static MEANWHILE: Cell<Option<Ref<u8>>> = const { Cell::new(None) };
    }
    fresh_to_the_end(|| {
        for _ in 0..10 {
            let blocks = BlockAllocator::new();
            drop(Ref::new_in(1, &blocks));
            // The allocator calls it when the memory is free.
            FOREIGN.set(Some(|| {
                MEANWHILE.set(Some(Ref::new_in(7_u8, &BlockAllocator::new())));
            }));
            assert_eq!(blocks.trim(), CHUNK as usize);
            drop(MEANWHILE.take().expect("the chunk has been freed"));
        }
    });
}

const OF_48: &str = "the block of 48 bytes at 0x";
const NO_OWNER: &str = "but no allocator owns that address";

#[test]
fn what_is_freed_must_be_a_block_of_that_size_in_use() {
    let children = each_aborts!(&[
        (
            "twice, on its own thread",
            &[OF_48, "freed twice", "of thread ", "'s heap"],
            || {
                let blocks = BlockAllocator::new();
                free_twice(&blocks, block(&blocks));
            }
        ),
        (
            "twice, on another thread than its own, which has ended",
            &[
                OF_48,
                "freed twice",
                "of a heap without a thread",
                "(thread "
            ],
            || {
                let blocks = BlockAllocator::new();
                let at = elsewhere(&blocks, |blocks| block(blocks).as_ptr().expose_provenance());
                let at = NonNull::new(std::ptr::with_exposed_provenance_mut(at));
                free_twice(&blocks, at.unwrap());
            }
        ),
        ("behind the last one", &["does not begin at that"], || {
            let blocks = BlockAllocator::new();
            // Of this size, a chunk has room for a part of one more.
            let at = blocks.alloc(layout(160, 8)).unwrap();
            let room = CHUNK as usize - at.addr().get() % CHUNK as usize;
            assert_ne!(room % 160, 0);
            let behind = at.map_addr(|at| at.checked_add(room / 160 * 160).unwrap());
            free(&blocks, behind, 160);
        }),
        ("after its chunk was freed", &[NO_OWNER], || {
            let blocks = BlockAllocator::new();
            let at = block(&blocks);
            free(&blocks, at, 48);
            assert!(blocks.trim() > 0);
            free(&blocks, at, 48);
        }),
        ("no block", &["as a block of 48 bytes", NO_OWNER], || {
            let foreign = NonNull::from(Box::leak(Box::new([0u8; 48])));
            free(&BlockAllocator::new(), foreign.cast(), 48);
        }),
        (
            "of another size",
            &[OF_48, "was freed as a block of 64 bytes"],
            || free_at(0, 49)
        ),
        (
            "inside a block",
            &[OF_48, "a block does not begin at that address"],
            || free_at(16, 48)
        ),
        ("never handed out", &[OF_48, "or never handed out"], || {
            free_at(48, 48);
        }),
    ]);
    for child in children {
        assert_names_the_address(&child.stderr);
    }
}

#[test]
fn threads_heap_is_named_as_the_thread_is() {
    let stderr = aborts!([OF_48], || {
        let blocks = BlockAllocator::new();
        // The other thread's key is not the first one then.
        block(&blocks);
        fresh_to_the_end(move || free_twice(&blocks, block(&blocks)));
    });
    assert_names_the_address(&stderr);
    let heap = stderr.split_once("of thread ").unwrap().1;
    let key = heap.split_once("'s heap").unwrap().0;
    let thread = format!("{key})");
    assert!(stderr.contains(&thread), "{stderr}");
}

#[test]
fn block_written_after_it_was_freed() {
    const ASAN: bool = cfg!(releasepool_asan);
    if !(CHECKS || ASAN) {
        return;
    }
    let child = child!(|| {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        free(&blocks, at, 48);
        // SAFETY: none: the test is about this misuse.
        unsafe { at.add(20).write(0) };
        // This goes on until that block is handed out again.
        (0..2_000).for_each(|_| _ = block(&blocks));
    });
    if ASAN {
        // It ends the process as soon as this is written, without a signal.
        return assert_says(&child.stderr, &["use-after-poison"]);
    }
    child.assert_aborted_saying(&[OF_48, "was written at byte 20 after it was freed"]);
    assert_names_the_address(&child.stderr);
}
