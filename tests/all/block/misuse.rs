//! Misuse of blocks, which takes raw calls: it aborts the process with a message that names size,
//! address and owner.

use crate::block::{CHUNK, layout};
use crate::support::allocator::FOREIGN;
use crate::support::{aborts, fresh_to_the_end};
use releasepool::{BlockAllocator, Ref};
use std::cell::Cell;
use std::ptr::NonNull;

/// Allocates a block of 48 bytes.
fn block(blocks: &BlockAllocator) -> NonNull<u8> {
    blocks.alloc(layout(48, 8)).unwrap()
}

/// Frees a block, and prints its address.
///
/// # Safety
/// None can be given: this commits the misuse.
unsafe fn free(blocks: &BlockAllocator, at: NonNull<u8>, size: usize) {
    eprintln!("<{at:p}>");
    // SAFETY: none: the tests are about this misuse.
    unsafe { blocks.dealloc(at, layout(size, 8)) };
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

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn block_freed_twice() {
    let stderr = aborts!([OF_48, "freed twice", "of thread ", "'s heap"], || {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        // SAFETY: none: the test is about this misuse.
        unsafe {
            free(&blocks, at, 48);
            free(&blocks, at, 48);
        }
    });
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn threads_heap_is_named_as_the_thread_is() {
    let stderr = aborts!([OF_48], || {
        let blocks = BlockAllocator::new();
        // The other thread's key is not the first one then.
        block(&blocks);
        fresh_to_the_end(move || {
            let at = block(&blocks);
            // SAFETY: none: the test is about this misuse.
            unsafe {
                free(&blocks, at, 48);
                free(&blocks, at, 48);
            }
        });
    });
    assert_names_the_address(&stderr);
    let heap = stderr.split_once("of thread ").unwrap().1;
    let key = heap.split_once("'s heap").unwrap().0;
    let thread = format!("{key})");
    assert!(stderr.contains(&thread), "{stderr}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn block_freed_twice_by_another_thread_than_its_own() {
    let stderr = aborts!(
        [
            OF_48,
            "freed twice",
            "of a heap without a thread",
            "(thread "
        ],
        || {
            let blocks = BlockAllocator::new();
            let theirs = blocks.clone();
            let at = fresh_to_the_end(move || block(&theirs).as_ptr().expose_provenance());
            let at = NonNull::new(std::ptr::with_exposed_provenance_mut(at)).unwrap();
            // SAFETY: none: the test is about this misuse.
            unsafe {
                free(&blocks, at, 48);
                free(&blocks, at, 48);
            }
        }
    );
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn block_freed_twice_after_its_chunk_was_freed() {
    let stderr = aborts!(["but no allocator owns that address"], || {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        // SAFETY: none: the test is about this misuse.
        unsafe {
            free(&blocks, at, 48);
            assert!(blocks.trim() > 0);
            free(&blocks, at, 48);
        }
    });
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn block_freed_with_a_wrong_size() {
    let stderr = aborts!([OF_48, "was freed as a block of 64 bytes"], || {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        // SAFETY: none: the test is about this misuse.
        unsafe { free(&blocks, at, 49) };
    });
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn pointer_that_is_no_block_is_freed() {
    let stderr = aborts!(
        [
            "as a block of 48 bytes",
            "but no allocator owns that address"
        ],
        || {
            let blocks = BlockAllocator::new();
            let foreign = NonNull::from(Box::leak(Box::new([0u8; 48]))).cast::<u8>();
            // SAFETY: none: the test is about this misuse.
            unsafe { free(&blocks, foreign, 48) };
        }
    );
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn middle_of_a_block_is_freed() {
    let stderr = aborts!([OF_48, "a block does not begin at that address"], || {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        // SAFETY: the address is within the block. For the rest none: the test is about this
        // misuse.
        unsafe { free(&blocks, at.add(16), 48) };
    });
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn block_that_was_never_handed_out_is_freed() {
    let stderr = aborts!([OF_48, "or never handed out"], || {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        // SAFETY: the address is that of the next block. For the rest none: the test is about this
        // misuse.
        unsafe { free(&blocks, at.add(48), 48) };
    });
    assert_names_the_address(&stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
#[cfg_attr(releasepool_asan, ignore = "AddressSanitizer sees it first")]
fn block_written_after_it_was_freed() {
    let stderr = aborts!([OF_48, "was written at byte 20 after it was freed"], || {
        let blocks = BlockAllocator::new();
        let at = block(&blocks);
        // SAFETY: none: the test is about this misuse.
        unsafe {
            free(&blocks, at, 48);
            at.add(20).write(0);
        }
        // This goes on until that block is handed out again.
        (0..2_000).for_each(|_| _ = block(&blocks));
    });
    assert_names_the_address(&stderr);
}
