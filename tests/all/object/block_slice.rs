//! Texts and slices in blocks.

use super::payloads::{Page, through_everything};
use crate::block::LARGEST;
use crate::support::{Log, alone, global, panic_of};
use releasepool::memory::{AllocError, BlockAllocator};
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak};
use releasepool::{PoolManager, unsize};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

#[test]
fn of_every_length() {
    // With a cap, large ones are owned.
    let blocks = BlockAllocator::builder().hard_cap(usize::MAX).build();
    let text = "x".repeat(LARGEST);
    let step = if cfg!(miri) { 44 } else { 1 };
    for len in (0..700).step_by(step).chain(LARGEST - 26..LARGEST - 22) {
        let text = &text[..len];
        let (object, bytes) = (
            Ref::new_str_in(text, &blocks),
            Ref::new_slice_in(text.as_bytes(), &blocks),
        );
        assert_eq!((&*object, &*bytes), (text, text.as_bytes()));
        let in_blocks = if 24 + len <= LARGEST { 2 } else { 0 };
        assert_eq!(blocks.stats().live_blocks, in_blocks, "{len}");
        let asked_for = blocks.stats().live_bytes - blocks.stats().waste;
        assert_eq!(asked_for, in_blocks * (24 + len as u64), "{len}");
    }
    assert_eq!(blocks.stats().live_blocks, 0);
    through_everything(|| Ref::new_str_in("grüße", &blocks), "grüße");
    through_everything(|| Ref::new_slice_in(&[()], &blocks), &[()][..]);
    through_everything(|| Ref::new_slice_in(&[1u128], &blocks), &[1u128][..]);
    through_everything(|| Ref::new_slice_in(&[Page(1)], &blocks), &[Page(1)][..]);
    let strings = ["a", "b"].map(String::from);
    through_everything(|| Ref::new_slice_in(&strings, &blocks), &strings[..]);
    let stats = blocks.stats();
    assert_eq!((stats.live_blocks, stats.live_large_bytes), (0, 0));
}

#[test]
fn pools_create_them() {
    let blocks = BlockAllocator::new();
    let manager = PoolManager::builder().memory(blocks.clone()).build();
    let mut pool = manager.pool();
    let words: Vec<PoolRef<'_, str>> = "to be or not"
        .split(' ')
        .map(|w| pool.create_str(w))
        .collect();
    let counts = pool.create_slice(&words.iter().map(|word| word.len()).collect::<Vec<_>>());
    assert_eq!((&*words[3], &*counts), ("not", &[2, 2, 2, 3][..]));
    assert_eq!(blocks.stats().live_blocks, 5);
    let kept = PoolRef::retain(words[0]);
    let weak: Weak<[usize]> = PoolRef::downgrade(counts);
    assert_eq!(pool.drain(), 5);
    assert_eq!((&*kept, weak.upgrade()), ("to", None));
    assert_eq!(blocks.stats().live_blocks, 2);
    drop(weak);
    thread::spawn(|| drop(kept)).join().unwrap();
    pool.create_str("");
    drop(pool);
    blocks.trim();
    assert_eq!(blocks.stats().live_blocks, 0);
}

#[test]
fn values_are_dropped_once() {
    #[derive(Clone)]
    struct Counted(#[expect(dead_code, reason = "counts references")] Ref<()>);
    let counter = Ref::new(());
    let values = vec![Counted(counter.clone()), Counted(counter.clone())];
    let mut pool = AutoreleasePool::new();
    let slice = PoolRef::retain(pool.create_slice(&values));
    assert_eq!(Ref::strong_count(&counter), 5);
    pool.drain();
    assert_eq!(Ref::strong_count(&counter), 5);
    let array = <Ref<[Counted; 2]>>::try_from(slice).ok().unwrap();
    let slice = unsize!(array => [Counted]);
    drop(slice);
    assert_eq!(Ref::strong_count(&counter), 3);
}

#[test]
fn clones_that_panic_leave_nothing() {
    struct Bomb(u32, Log);
    impl Clone for Bomb {
        fn clone(&self) -> Self {
            assert_ne!(self.0, 2, "no clone of the third");
            Self(self.0, self.1)
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.1.note(self.0);
        }
    }
    let log = Log::new();
    let values: Vec<_> = (0..4).map(|n| Bomb(n, log)).collect();
    let blocks = BlockAllocator::new();
    panic_of(|| Ref::new_slice_in(&values, &blocks));
    assert_eq!((log.ids(), blocks.stats().live_blocks), (vec![0, 1], 0));
    let pool = AutoreleasePool::new();
    panic_of(|| pool.create_slice(&values).len());
    assert_eq!((log.count(), pool.len()), (4, 0));
}

#[test]
fn a_slice_that_is_given_up_is_live_until_its_values_are_gone() {
    static LIVE: AtomicU64 = AtomicU64::new(0);
    struct Bomb(bool);
    impl Clone for Bomb {
        fn clone(&self) -> Self {
            assert!(!self.0, "no clone of this one");
            Self(false)
        }
    }
    impl Drop for Bomb {
        fn drop(&mut self) {
            LIVE.store(global().snapshot().live_objects(), Ordering::Relaxed);
        }
    }
    alone!();
    let values = ManuallyDrop::new([Bomb(false), Bomb(true)]);
    panic_of(|| Ref::new_slice_in(&*values, &BlockAllocator::new()));
    let live = global().snapshot().live_objects();
    assert_eq!((LIVE.load(Ordering::Relaxed), live), (1, 0));
}

#[test]
fn clones_may_use_the_pool() {
    struct Nested<'p>(&'p AutoreleasePool);
    impl Clone for Nested<'_> {
        fn clone(&self) -> Self {
            self.0.create_str("nested");
            Self(self.0)
        }
    }
    let pool = Box::into_raw(Box::new(AutoreleasePool::new()));
    // SAFETY: not freed before the last line.
    let outer: &'static AutoreleasePool = unsafe { &*pool };
    outer.create_slice(&[Nested(outer), Nested(outer)]);
    assert_eq!(outer.len(), 3);
    // SAFETY: from `into_raw`; nothing uses `outer` any more, as the values have no destructor.
    drop(unsafe { Box::from_raw(pool) });
}

#[test]
fn an_allocator_without_memory_is_an_error() {
    let none = BlockAllocator::builder().hard_cap(0).build();
    let is_capped = |error| matches!(error, AllocError::Capped { .. });
    assert!(is_capped(Ref::try_new_str_in("text", &none).unwrap_err()));
    assert!(is_capped(Ref::try_new_slice_in(&[1], &none).unwrap_err()));
    let large = "x".repeat(617);
    assert!(is_capped(Ref::try_new_str_in(&large, &none).unwrap_err()));
}

#[test]
fn make_mut_and_views_of_texts_in_blocks() {
    let blocks = BlockAllocator::new();
    let mut text = Ref::new_str_in("text", &blocks);
    Ref::get_mut(&mut text).unwrap().make_ascii_uppercase();
    let weak = Ref::downgrade(&text);
    Ref::make_mut(&mut text).make_ascii_lowercase();
    assert_eq!((&*text, weak.upgrade()), ("text", None));
    drop(weak);
    assert_eq!(blocks.stats().live_blocks, 0, "moved out of the block");
    let bytes = Ref::<[u8]>::from(Ref::new_str_in("text", &blocks));
    assert_eq!(&*bytes, b"text");
    drop(bytes);
    assert_eq!(blocks.stats().live_blocks, 0);
}
