//! The memory that allocators hold in long-running programs.

use crate::block::{CHUNK, assert_empty, elsewhere};
use crate::frame::quick;
#[cfg(target_os = "linux")]
use crate::support::resident;
use crate::support::{sized, wait_until};
use releasepool::memory::{BlockAllocator, BlockStats};
use releasepool::{FrameLoop, Looper, PoolManager, Ref};
use std::sync::mpsc;
use std::thread;

/// The number of objects at a peak.
const PEAK: usize = 100_000;

/// Runs frames in which a number of objects are made and destroyed.
struct Frames {
    frames: FrameLoop,
    manager: PoolManager,
    blocks: BlockAllocator,
}

impl Frames {
    fn new() -> Self {
        let blocks = BlockAllocator::new();
        Self {
            frames: quick(),
            manager: PoolManager::builder().memory(blocks.clone()).build(),
            blocks,
        }
    }

    fn frame(&mut self, objects: usize) -> BlockStats {
        self.frames.tick(|_| {
            let pool = self.manager.pool();
            (0..objects).for_each(|i| _ = pool.create(i));
        });
        self.blocks.stats()
    }
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of frames: takes too long")]
fn chunks_of_a_peak_are_freed_gradually_half_of_them_at_a_time() {
    let mut frames = Frames::new();
    let peak = frames.frame(PEAK).chunk_bytes;
    assert!(peak >= PEAK as u64 * 32);
    for _ in 0..50 {
        assert_eq!(frames.frame(10).chunk_bytes, peak, "not at once");
    }
    let mut before = peak;
    for n in 50..1_050 {
        let now = frames.frame(10).chunk_bytes;
        // A frame frees at most sixteen chunks.
        assert!(now <= before && before - now <= 16 * CHUNK);
        before = now;
        // Half of those that were not used in sixty frames, of which the first include the peak.
        let half = peak / 2;
        assert!(
            n != 129 || now.abs_diff(half) <= 2 * CHUNK,
            "{now} of {peak}"
        );
    }
    assert!(before <= 2 * CHUNK, "{before} bytes are kept");
    let stats = frames.blocks.stats();
    assert_eq!((stats.peak_bytes, stats.live_blocks), (peak, 0));
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of frames: takes too long")]
fn chunks_for_a_peak_every_few_frames_are_kept() {
    let mut frames = Frames::new();
    let objects = PEAK / 5;
    let peak = frames.frame(objects).chunk_bytes;
    for _ in 0..10 {
        for _ in 0..30 {
            assert_eq!(frames.frame(10).chunk_bytes, peak);
        }
        assert_eq!(frames.frame(objects).chunk_bytes, peak);
    }
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of frames: takes too long")]
fn chunks_that_are_made_after_a_trim_are_kept_for_a_whole_window() {
    let mut frames = Frames::new();
    let objects = PEAK / 5;
    frames.frame(objects);
    // Another window has begun when they are trimmed.
    (0..60).for_each(|_| _ = frames.frame(10));
    assert_ne!(frames.blocks.trim(), 0);
    let peak = frames.frame(objects).chunk_bytes;
    for _ in 0..60 {
        assert_eq!(frames.frame(10).chunk_bytes, peak);
    }
}

#[test]
#[cfg_attr(miri, ignore = "hundreds of frames: takes too long")]
fn loopers_free_chunks_after_commands() {
    let looper = Looper::spawn("gives back").unwrap();
    let blocks = BlockAllocator::new();
    let theirs = blocks.clone();
    let peak = looper
        .call(move || {
            let all: Vec<_> = (0..PEAK).map(|i| Ref::new_in(i, &theirs)).collect();
            drop(all);
            theirs.stats().chunk_bytes
        })
        .unwrap();
    assert!(peak >= PEAK as u64 * 32);
    for _ in 0..700 {
        looper.call(|| ()).unwrap();
    }
    assert!(blocks.stats().chunk_bytes <= 2 * CHUNK);
    looper.shutdown().unwrap();
}

#[test]
fn heap_without_a_thread_does_not_keep_a_chunk_of_each_size() {
    let blocks = BlockAllocator::new();
    elsewhere(&blocks, move |theirs| {
        for size in [8, 64, 128, 256, 512] {
            drop(Ref::new_slice_in(&vec![0_u8; size], theirs));
        }
        assert_eq!(theirs.stats().chunk_bytes, 5 * CHUNK);
    });
    assert!(blocks.stats().chunk_bytes <= 2 * CHUNK);
}

#[test]
fn heap_that_was_asked_to_trim_does_so_once() {
    let looper = Looper::spawn("trims").unwrap();
    let blocks = BlockAllocator::new();
    let peak = || {
        let theirs = blocks.clone();
        let make = move || Vec::from_iter((0..PEAK).map(|i| Ref::new_in(i, &theirs)));
        looper.call(move || drop(make())).unwrap();
        // Its idle work is done.
        looper.call(|| ()).unwrap();
    };
    peak();
    blocks.trim();
    wait_until(|| {
        looper.call(|| ()).unwrap();
        blocks.stats().chunk_bytes <= CHUNK
    });
    peak();
    assert!(blocks.stats().chunk_bytes >= PEAK as u64 * 32);
    looper.shutdown().unwrap();
}

#[test]
fn looper_that_sleeps_holds_no_remote_frees() {
    let blocks = BlockAllocator::new();
    let looper = Looper::spawn("sends home").unwrap();
    let object = Ref::new_in(1, &blocks);
    assert_ne!(blocks.stats().chunk_bytes, 0);
    looper.post(move || drop(object)).unwrap();
    wait_until(|| {
        blocks.trim();
        blocks.stats().chunk_bytes == 0
    });
    looper.shutdown().unwrap();
}

#[test]
fn producer_and_consumer_have_flat_memory() {
    // `ci/long.sh memory` sets a larger number.
    let all = std::env::var("RELEASEPOOL_OBJECTS").ok();
    let all = all.map(|n| n.parse::<usize>().expect("a number of objects"));
    let most = all.unwrap_or(sized(2_000, 200_000, 1_000_000));
    let blocks = BlockAllocator::new();
    let theirs = blocks.clone();
    // Objects are sent in groups, as a message for each would take longer than the rest.
    let (to, parcels) = mpsc::sync_channel::<Vec<Ref<dyn Sized4>>>(8);
    let consumer = thread::spawn(move || {
        for parcel in parcels {
            let ids = parcel.iter().map(|object| object.id());
            assert!(ids.eq(0..parcel.len()));
        }
    });
    #[cfg(target_os = "linux")]
    let mut before = 0;
    let producer = thread::spawn(move || {
        let mut made = 0;
        while made < most {
            let parcel: Vec<_> = (0..100).map(|i| sized4(i, &theirs)).collect();
            made += parcel.len();
            to.send(parcel).unwrap();
            #[cfg(target_os = "linux")]
            if before == 0 && made >= most / 10 {
                before = resident();
            }
        }
        #[cfg(target_os = "linux")]
        if all.is_some() {
            let grown = resident().saturating_sub(before);
            assert!(grown < 8 << 20, "{grown} bytes more are in memory");
        }
    });
    producer.join().unwrap();
    consumer.join().unwrap();
    let stats = blocks.stats();
    let freed = stats.remote_frees + stats.inbox;
    assert_eq!(freed, most.next_multiple_of(100) as u64);
    let peak = stats.peak_bytes;
    assert!(
        peak <= 32 * CHUNK,
        "{peak} bytes for the blocks in use at a time"
    );
    // The consumer has no heap.
    assert_eq!((stats.heaps, stats.orphans), (1, 1));
    assert_empty(&blocks);
}

/// An object of one of four sizes.
trait Sized4: Send + Sync {
    fn id(&self) -> usize;
}

impl<const N: usize> Sized4 for [usize; N] {
    fn id(&self) -> usize {
        self[N - 1]
    }
}

fn sized4(id: usize, blocks: &BlockAllocator) -> Ref<dyn Sized4> {
    use releasepool::unsize;
    match id % 4 {
        0 => unsize!(Ref::new_in([id; 1], blocks) => dyn Sized4),
        1 => unsize!(Ref::new_in([id; 5], blocks) => dyn Sized4),
        2 => unsize!(Ref::new_in([id; 20], blocks) => dyn Sized4),
        _ => unsize!(Ref::new_in([id; 75], blocks) => dyn Sized4),
    }
}

#[test]
fn threads_that_come_and_go_share_few_heaps() {
    const THREADS: usize = if cfg!(miri) { 6 } else { 3_000 };
    let blocks = BlockAllocator::new();
    let mut kept = Vec::new();
    let mut middle = 0;
    for n in 0..THREADS / 2 {
        let threads = [0, 1].map(|which| {
            let blocks = blocks.clone();
            thread::spawn(move || {
                let make = |i| Ref::new_in((which, i), &blocks);
                let mut all: Vec<_> = (0..100).map(make).collect();
                // Some are destroyed on other threads.
                all.split_off(50)
            })
        });
        let left = threads.map(|thread| thread.join().unwrap());
        kept.extend(left);
        if kept.len() > 20 {
            let old = kept.remove(n % 20);
            assert!(old.iter().enumerate().all(|(i, object)| object.1 == 50 + i));
            drop(old);
            drop(kept.remove(0));
        }
        if n == THREADS / 4 {
            middle = blocks.stats().chunk_bytes;
        }
    }
    let stats = blocks.stats();
    assert!(
        stats.heaps <= 2 && stats.orphans == stats.heaps,
        "{stats:?}"
    );
    assert!(
        stats.chunk_bytes <= middle + 2 * CHUNK,
        "{middle}: {stats:?}"
    );
    drop(kept);
    assert_empty(&blocks);
}
