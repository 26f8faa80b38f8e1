//! Reads the library of the test's own process: a process without other tests, as they would change
//! what is read.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]

mod own_process;

use own_process::OwnProcess;
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, Budget, Ref};
use releasepool_inspect::image::Memory;
use releasepool_inspect::library::{LibPool, Library, PoolKind};
use std::sync::mpsc;
use std::thread;

fn read() -> Library {
    let library = Library::read(&OwnProcess::new()).unwrap();
    assert_eq!(library.caveats, [] as [&str; 0]);
    library
}

/// Checks that all memory of the library's structures counts as its own, also the memory of empty
/// lists: this thread has empty lists with memory, as it has had a backlog.
fn check_memory_is_owned() {
    let r = Ref::new(5);
    let mut drained = AutoreleasePool::new();
    drained.autorelease(r.clone());
    drained.drain_within(Budget::Count(0));
    drained.drain_within(Budget::Count(10));
    let (own, library) = (OwnProcess::new(), read());
    let layout = &library.layout;
    let mut threads = library.threads.iter();
    let thread = threads.find(|thread| thread.pools.len() > 1).unwrap();
    assert!(thread.pools.iter().all(|pool| library.owns(pool.address)));
    let record_end = thread.record + layout.record.size;
    for end in [thread.pools_at + layout.pools.size, record_end] {
        assert!(library.owns(end - 1));
    }
    assert!(!library.owns(Ref::as_ptr(&r).addr() as u64));
    let is_root = |pool: &&LibPool| pool.kind == PoolKind::Root;
    let root = thread.pools.iter().find(is_root).unwrap().address;
    let lists = root - layout.stack.root + layout.stack.backlog;
    let is_empty = |list: &u64| {
        let items = own.word(list + layout.list.items).unwrap();
        let has_memory = items >= 4096 && own.word(list + layout.list.len) == Some(0);
        assert!(!has_memory || library.owns(items), "{items:#x}");
        has_memory
    };
    let empty = [lists, lists + layout.list.size];
    assert!(empty.iter().filter(|list| is_empty(list)).count() > 0);
}

#[test]
fn free_blocks_are_told_from_blocks_in_use() {
    check_memory_is_owned();
    let blocks = BlockAllocator::new();
    let mut refs: Vec<_> = (0..5_000u64).map(|i| Ref::new_in(i, &blocks)).collect();
    let address = |r: &Ref<u64>| Ref::as_ptr(r).addr() as u64 - 16;
    let elsewhere = refs.split_off(4_000);
    let mut freed: Vec<_> = elsewhere.iter().map(address).collect();
    // The other thread waits while some freed blocks are still in one of its batches.
    let (freed_there, freed_here) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let waiting = thread::spawn(move || {
        drop(elsewhere);
        freed_there.send(()).unwrap();
        _ = ends.recv();
    });
    freed_here.recv().unwrap();
    for i in (0..4_000).rev().step_by(3) {
        let r = refs.swap_remove(i);
        freed.push(address(&r));
    }
    let check = |library: &Library, refs: &[Ref<u64>], freed: &[u64]| {
        let state = |at: u64| {
            let i = library
                .blocks
                .binary_search_by_key(&at, |block| block.address);
            i.ok()
                .map(|i| (library.blocks[i].size, library.blocks[i].in_use))
        };
        let kept = refs.iter().map(address);
        assert!(kept.into_iter().all(|at| state(at) == Some((32, true))));
        assert!(freed.iter().all(|&at| state(at) == Some((32, false))));
        let chunk_of = |at: u64| {
            let chunks = &library.chunks;
            chunks[chunks.partition_point(|chunk| chunk.address <= at) - 1]
        };
        let heap = chunk_of(address(&refs[0])).heap;
        let in_use = library.blocks.iter().filter(|block| block.in_use);
        let in_heap = in_use.filter(|block| chunk_of(block.address).heap == heap);
        assert_eq!(in_heap.count(), refs.len());
        let mut chunks = library.chunks.iter();
        assert!(chunks.all(|chunk| chunk.address % chunk.size == 0 && library.owns(chunk.address)));
    };
    check(&read(), &refs, &freed);
    let library = read();
    drop(end);
    waiting.join().unwrap();
    check(&read(), &refs, &freed);
    // Sorts the freed blocks into the lists of their chunks.
    blocks.trim();
    let still = |library: &Library, at: u64| {
        library
            .chunks
            .iter()
            .any(|c| at.wrapping_sub(c.address) < c.size)
    };
    let (after, in_chunks) = (read(), |at: &&u64| still(&library, **at));
    assert!(freed.iter().all(|at| in_chunks(&at)));
    let freed: Vec<_> = freed.into_iter().filter(|&at| still(&after, at)).collect();
    check(&after, &refs, &freed);
    // Closes the allocator while blocks are in use.
    drop(blocks);
    check(&read(), &refs, &[]);
    let of_closed = read().chunks.len();
    drop(refs);
    assert!(read().chunks.len() < of_closed);
}
