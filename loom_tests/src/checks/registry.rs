//! The registry on its own; its first bucket has one slot.

use super::steps::*;
use releasepool::model::{parts::Registry, slot};
use releasepool::thread::ThreadKey;

pub fn models() -> Vec<Model> {
    [
        model!(
            registry_lookup_reuse,
            "a look-up while the thread leaves and its slot is reused",
            &[
                "found, same slot",
                "found, other slot",
                "gone, same slot",
                "gone, other slot",
            ],
        ),
        model!(
            registry_claim_race,
            "two threads enter at once, and one leaves",
            &["same slot", "other slot"],
        )
        .plain(&["other slot"]),
        model!(
            registry_free_list,
            "two threads claim and free slots: none is lost, none is claimed twice",
            &["2 slots", "3 slots"],
        )
        // Retries of the exchanges multiply the executions: without a bound, the model takes longer
        // than all other models together.
        .bounded(6),
        model!(
            registry_slots_read,
            "a thread enters while two others look up threads that have left: a slot that is being read stays free",
            &["2 slots", "3 slots"],
        ),
        model!(
            registry_iterate,
            "iteration while one thread leaves and another enters",
            &["old", "new", "old, new", "neither"],
        )
        // Unbounded: an hour in the rmw mode.
        .bounded(3),
    ]
    .into()
}

fn enter(registry: &Registry) -> ThreadKey {
    let key = registry.claim();
    assert_eq!(registry.get(key), Some(key));
    key
}

fn registry_lookup_reuse() -> usize {
    let registry = Arc::new(Registry::default());
    let key = registry.claim();
    let reader = spawn_with(&registry, move |registry| {
        let found = registry.get(key);
        assert!(
            found.is_none_or(|found| found == key),
            "another thread's record"
        );
        found.is_some()
    });
    let successor = spawn_with(&registry, |registry| enter(&registry));
    registry.leave(key);
    let found = reader.join();
    let successor = successor.join();
    assert_ne!(successor, key, "a key was reused");
    assert_eq!(registry.get(key), None, "found after its thread left");
    2 * usize::from(!found) + usize::from(slot(successor) != slot(key))
}

fn registry_claim_race() -> bool {
    let registry = Arc::new(Registry::default());
    let other = spawn_with(&registry, |registry| {
        let key = enter(&registry);
        registry.leave(key);
        key
    });
    let key = enter(&registry);
    let other = other.join();
    assert_ne!(key, other);
    assert_eq!(registry.get(other), None);
    slot(key) == slot(other)
}

fn registry_free_list() -> String {
    let registry = Arc::new(Registry::default());
    let (bottom, top) = (registry.claim(), registry.claim());
    registry.leave(bottom);
    // Claims the newest free slot, perhaps one that the main thread has just freed.
    let other = spawn_with(&registry, move |registry| {
        registry.leave(top);
        registry.claim()
    });
    // ABA: while `other` pops the top of the free list, this thread pops the top and the next slot,
    // and pushes the top again.
    let (one, two) = (registry.claim(), registry.claim());
    assert_ne!(slot(one), slot(two));
    registry.leave(one);
    let other = other.join();
    assert_ne!(slot(other), slot(two));
    assert_eq!(registry.get(two), Some(two));
    assert_eq!(registry.get(other), Some(other));
    registry.leave(two);
    registry.leave(other);
    none_is_lost(&registry, &[bottom, top, one, two, other])
}

/// Asserts that all slots that these keys have had are free; returns how many there are.
fn none_is_lost(registry: &Registry, keys: &[ThreadKey]) -> String {
    let slots = 1 + keys.iter().copied().map(slot).max().unwrap();
    // As many claims as there are slots create no new slot.
    let mut again: Vec<_> = (0..slots).map(|_| slot(registry.claim())).collect();
    again.sort();
    assert!(again.into_iter().eq(0..slots), "a slot was lost");
    format!("{slots} slots")
}

fn registry_slots_read() -> String {
    let registry = Arc::new(Registry::default());
    let [a, b] = [registry.claim(), registry.claim()];
    registry.leave(a);
    registry.leave(b);
    let gone = |key| {
        spawn_with(&registry, move |registry| {
            assert_eq!(registry.get(key), None)
        })
    };
    let readers = [a, b].map(gone);
    let key = registry.claim();
    join_all(readers);
    registry.leave(key);
    none_is_lost(&registry, &[a, b, key])
}

fn registry_iterate() -> usize {
    let registry = Arc::new(Registry::default());
    let old = registry.claim();
    let newcomer = spawn_with(&registry, |registry| registry.claim());
    let leaver = spawn_with(&registry, move |registry| registry.leave(old));
    let seen = registry.all();
    leaver.join();
    let new = newcomer.join();
    assert_eq!(registry.all(), [new]);
    let found: [&[_]; 4] = [&[old], &[new], &[old, new], &[]];
    let found = found.iter().position(|keys| seen == *keys);
    found.unwrap_or_else(|| panic!("{seen:?} of {old:?} and {new:?}"))
}
