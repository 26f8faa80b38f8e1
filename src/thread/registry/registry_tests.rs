//! Tests of the registry of threads.

use super::*;
use std::collections::HashSet;

#[test]
fn slots_are_located_without_gaps() {
    let mut expected = Vec::new();
    for bucket in 0..BUCKETS {
        expected.extend((0..FIRST << bucket).map(|place| (bucket, place)));
    }
    let located: Vec<_> = (0..expected.len()).map(locate).collect();
    assert_eq!(located, expected);
}

#[test]
fn the_fields_of_a_state_do_not_overlap() {
    assert_eq!(READERS & PHASE, 0);
    assert_eq!(READERS | PHASE, GENERATION - 1);
    const { assert!(CLAIMING & PHASE == CLAIMING && LIVE & PHASE == LIVE) };
}

/// Returns the number of slots ever handed out.
fn len(registry: &Registry) -> usize {
    registry.len.load(Ordering::Relaxed)
}

/// Returns the free slots, newest first.
fn free(registry: &Registry) -> Vec<usize> {
    let mut at = registry.free.load(Ordering::Relaxed) & INDEX;
    std::iter::from_fn(|| {
        let index = (at as usize).checked_sub(1)?;
        at = registry.slot(index).unwrap().next.load(Ordering::Relaxed);
        Some(index)
    })
    .collect()
}

#[test]
fn free_slots_are_claimed_newest_first_and_none_is_lost() {
    let registry = Registry::new();
    let claim = || registry.claim(|key| Arc::new(Record::new(key, None))).key();
    let keys: Vec<_> = (0..6).map(|_| claim()).collect();
    assert_eq!((len(&registry), free(&registry)), (6, vec![]));
    for at in [3, 0, 5] {
        registry.leave(keys[at]);
    }
    assert_eq!(free(&registry), [5, 0, 3]);
    // A slot that is being read stays in the list.
    let state = &registry.slot(5).unwrap().state;
    state.fetch_add(READER, Ordering::Relaxed);
    assert_eq!([claim().index(), claim().index()], [0, 3]);
    assert_eq!(free(&registry), [5]);
    assert_eq!(claim().index(), 6, "there is no other");
    assert_eq!(free(&registry), [5]);
    state.fetch_sub(READER, Ordering::Relaxed);
    assert_eq!(claim().index(), 5);
    assert_eq!((len(&registry), free(&registry)), (7, vec![]));
}

#[test]
fn keys_are_never_reused_and_every_push_has_a_new_tag() {
    let registry = Registry::new();
    let claim = || registry.claim(|key| Arc::new(Record::new(key, None))).key();
    let (mut keys, mut heads) = (HashSet::new(), HashSet::new());
    for _ in 0..100 {
        let key = claim();
        assert!(keys.insert(key) && registry.get(key).is_some());
        registry.leave(key);
        assert!(registry.get(key).is_none());
        assert!(heads.insert(registry.free.load(Ordering::Relaxed)));
    }
    // After the last tag, the tags begin again.
    let index = registry.free.load(Ordering::Relaxed) & INDEX;
    registry.free.store(!INDEX | index, Ordering::Relaxed);
    registry.leave(claim());
    assert_eq!(registry.free.load(Ordering::Relaxed), 1);
    assert_eq!(claim().index(), 0);
    assert_eq!((len(&registry), free(&registry)), (1, vec![]));
}

#[test]
#[should_panic(expected = "too many threads at once for the registry")]
fn a_full_registry_says_so() {
    let registry = Registry::new();
    let all = (0..BUCKETS).map(slots_in).sum();
    registry.len.store(all, Ordering::Relaxed);
    registry.claim(|key| Arc::new(Record::new(key, None)));
}

#[test]
fn a_dropped_registry_drops_its_records() {
    let registry = Registry::new();
    let claim = || registry.claim(|key| Arc::new(Record::new(key, None)));
    let records = [claim(), claim(), claim(), claim()];
    drop(registry);
    assert_eq!(records.map(|record| Arc::strong_count(&record)), [1; 4]);
}

#[test]
fn a_slot_whose_generations_are_exhausted_is_never_reused() {
    let registry = Registry::new();
    let claim = || registry.claim(|key| Arc::new(Record::new(key, None))).key();
    registry.leave(claim());
    let exhausted = u64::from(u32::MAX - 1) * GENERATION;
    registry
        .slot(0)
        .unwrap()
        .state
        .store(exhausted, Ordering::Relaxed);
    let last = claim();
    assert_eq!(last, ThreadKey::new(0, u32::MAX));
    registry.leave(last);
    assert_eq!(claim(), ThreadKey::new(1, 1));
}
