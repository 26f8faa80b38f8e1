//! Guard pools and their entries.

use crate::support::{
    Countdown, Log, assert_says, events, listen, on_drop, only_event, panic_of, totals,
};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak, autorelease, autoreleasepool};
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn order_is_newest_first_across_many_pages() {
    const N: u32 = if cfg!(miri) { 600 } else { 10_000 };
    let log = Log::new();
    let pool = AutoreleasePool::new();
    (0..N).for_each(|id| _ = pool.create(log.probe(id)));
    assert_eq!(pool.len(), N as usize);
    drop(pool);
    assert!(log.ids().into_iter().eq((0..N).rev()));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of generations take minutes")]
fn destructor_autoreleases_a_thousand_generations_and_one_warning_names_the_type() {
    listen();
    let mut pool = AutoreleasePool::named("fed");
    pool.create(Countdown(999));
    pool.drain();
    assert_eq!(events(EventKind::EndlessDrain).len(), 0);

    // Once in each drain; the tenth would be reported, too.
    for _ in 0..5 {
        pool.create(Countdown(1_100));
        pool.create(Countdown(2_500));
        assert_eq!(pool.drain(), 3_602, "reported, not cut off");
    }
    let event = only_event(EventKind::EndlessDrain);
    assert_eq!(event.pool.as_deref(), Some("fed"));
    assert!(event.type_name.unwrap().ends_with("Countdown"));
    assert_eq!(event.count, 1_000);
    assert_says(&event, &["Countdown"]);
}

/// Holds a weak reference to itself. Autoreleases, when it is dropped, another one like it, until
/// `left` are gone.
struct WeakRelay {
    left: u32,
    weak: Weak<WeakRelay>,
}

impl WeakRelay {
    fn autorelease(left: u32) {
        let this = |weak: &Weak<_>| WeakRelay {
            left,
            weak: weak.clone(),
        };
        autorelease(Ref::new_cyclic(this));
    }
}

impl Drop for WeakRelay {
    fn drop(&mut self) {
        assert!(self.weak.upgrade().is_none());
        if let Some(left) = self.left.checked_sub(1) {
            WeakRelay::autorelease(left);
        }
    }
}

/// Like [`Relay`], and panics.
struct LoudRelay(u32);

impl Drop for LoudRelay {
    fn drop(&mut self) {
        if let Some(left) = self.0.checked_sub(1) {
            autorelease(Ref::new(LoudRelay(left)));
        }
        panic!("loud");
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of generations take minutes")]
fn generations_of_weakly_referenced_objects_and_of_those_that_panic_count_too() {
    listen();
    let last_named = |name| {
        let events = events(EventKind::EndlessDrain);
        let last = events.last().and_then(|event| event.type_name);
        last.is_some_and(|last| last.ends_with(name))
    };
    let mut pool = AutoreleasePool::new();
    WeakRelay::autorelease(1_200);
    assert_eq!(pool.drain(), 1_201);
    assert!(last_named("::WeakRelay"));
    pool.create(LoudRelay(1_200));
    assert_eq!(panic_of(|| pool.drain()), "loud");
    assert!(last_named("::LoudRelay"));
}

/// Autoreleases the next one when it is dropped, as many times as this number; then panics.
struct LoudAtLast(u32);

impl Drop for LoudAtLast {
    fn drop(&mut self) {
        let left = self.0.checked_sub(1).expect("the last");
        autorelease(Ref::new(LoudAtLast(left)));
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of generations take minutes")]
fn the_last_of_999_generations_may_panic_without_a_warning() {
    listen();
    let mut pool = AutoreleasePool::new();
    // Pools with few entries make some releases before they begin to count.
    (0..100).for_each(|n| _ = pool.create(n));
    pool.create(LoudAtLast(999));
    assert_eq!(panic_of(|| pool.drain()), "the last");
    assert_eq!(events(EventKind::EndlessDrain).len(), 0);
}

/// Autoreleases a chain of 500 if this number is `chain_at`, else a number; and then the next step.
struct Step {
    left: u32,
    chain_at: u32,
}

impl Drop for Step {
    fn drop(&mut self) {
        let Some(left) = self.left.checked_sub(1) else {
            return;
        };
        match self.left == self.chain_at {
            true => autorelease(Ref::new(Countdown(500))),
            false => autorelease(Ref::new(left)),
        }
        let chain_at = self.chain_at;
        autorelease(Ref::new(Step { left, chain_at }));
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of generations take minutes")]
fn a_generation_is_counted_from_that_of_its_entry_whatever_was_above_that() {
    listen();
    // The chain begins after 101 generations, and after 599.
    for (chain_at, told) in [(500, 0), (2, 1)] {
        let pool = AutoreleasePool::named("steps");
        // Pools with few entries make some releases before they begin to count.
        (0..100).for_each(|n| _ = pool.create(n));
        pool.create(Step {
            left: 600,
            chain_at,
        });
        drop(pool);
        assert_eq!(events(EventKind::EndlessDrain).len(), told, "{chain_at}");
    }
}

#[test]
fn the_objects_of_a_drain_are_counted_in_batches() {
    let mut pool = AutoreleasePool::new();
    let (before, most) = (totals().destroyed, Rc::new(Cell::new(0)));
    for n in 0..40 {
        let most = most.clone();
        let look = move || most.set(most.get().max(totals().destroyed - before));
        let object = Ref::new(on_drop(look));
        if n % 2 == 0 {
            pool.autorelease(object.clone());
        }
        pool.autorelease(object);
    }
    assert_eq!(pool.drain(), 60);
    assert_eq!((most.get(), totals().destroyed - before), (0, 40));
}

#[test]
fn destructor_that_fans_out_widely_is_no_endless_drain() {
    listen();
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let wide = if cfg!(miri) { 100 } else { 3_000 };
    for id in 0..wide {
        let child = Ref::new(log.probe(id));
        pool.create(on_drop(move || autorelease(child)));
    }
    assert_eq!(pool.drain(), 2 * wide as usize);
    assert_eq!(log.count(), wide as usize);
    assert_eq!(events(EventKind::EndlessDrain).len(), 0);
}

#[test]
fn lent_references_live_until_the_pool_is_drained() {
    let log = Log::new();
    let mut pool = AutoreleasePool::new();
    let lent = pool.create(log.probe(1));
    let copy = lent;
    assert!(PoolRef::ptr_eq(lent, copy));
    let pair = AutoreleasePool::new();
    assert!(!PoolRef::ptr_eq(pair.create(1), pair.create(1)));
    assert_eq!(PoolRef::get(lent).id, 1);
    let kept = PoolRef::retain(lent);
    let weak = PoolRef::downgrade(copy);
    assert_eq!(PoolRef::as_ptr(lent), Ref::as_ptr(&kept));
    assert_eq!((Ref::strong_count(&kept), Ref::weak_count(&kept)), (2, 1));
    pool.drain();
    assert_eq!(Ref::strong_count(&kept), 1);
    drop(kept);
    assert_eq!(log.ids(), [1]);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_pool_finds_its_entries() {
    let pool = AutoreleasePool::named(String::from("scene"));
    let (inside, outside) = (Ref::new(1), Ref::new(1));
    assert!(pool.is_empty());
    pool.autorelease(inside.clone());
    (0..600).for_each(|i| _ = pool.create(i));
    assert_eq!(
        (pool.len(), pool.name(), pool.is_empty()),
        (601, "scene", false)
    );
    assert!(pool.contains(&inside), "by address, on another page");
    assert!(!pool.contains(&outside), "not by value");
    assert_eq!(AutoreleasePool::new().name(), "unnamed");
    assert_eq!(AutoreleasePool::default().name(), "unnamed");
    let debug = format!("{pool:?}");
    assert!(debug.contains("scene") && debug.contains("601"), "{debug}");
}

#[test]
fn a_dump_lists_the_entries_newest_first() {
    let pool = AutoreleasePool::named("loading");
    let number = pool.create(1.5f32);
    let text = Ref::<str>::from("text");
    pool.autorelease(text.clone());
    let dump = pool.dump().to_string();
    let lines: Vec<_> = dump.lines().collect();
    assert!(lines[0].starts_with("pool \"loading\", thread ") && lines[0].ends_with(": 2 entries"));
    assert_says(
        &lines[1],
        &[&format!("{:p}", Ref::as_ptr(&text).cast::<u8>())],
    );
    assert!(lines[1].ends_with("str count 2"), "{dump}");
    assert_eq!(lines[2].trim(), format!("{number:p} f32 count 1"));
    assert_eq!(lines.len(), 3);
    assert_eq!(format!("{:?}", pool.dump()), dump);
}

#[test]
fn creation_that_fails_or_panics_leaves_nothing_behind() {
    let log = Log::new();
    let pool = AutoreleasePool::new();
    assert_eq!(*pool.try_create(|| Ok::<_, ()>(3)).unwrap(), 3);
    let half = log.probe(0);
    let failed = pool.try_create(|| {
        drop(half);
        Err::<u8, _>("no")
    });
    assert_eq!(failed.err(), Some("no"));
    crate::support::panic_of(|| pool.try_create::<u8, ()>(|| panic!("init")));
    assert_eq!((pool.len(), log.count()), (1, 1));
}

#[test]
fn the_result_of_autoreleasepool_may_be_a_retained_object() {
    let log = Log::new();
    let kept = autoreleasepool(|pool| {
        pool.create(log.probe(0));
        let kept = PoolRef::retain(pool.create(log.probe(1)));
        assert_eq!(pool.drain(), 2);
        pool.create(log.probe(2));
        kept
    });
    assert_eq!(log.ids(), [0, 2]);
    drop(kept);
    assert_eq!(log.ids(), [0, 2, 1]);
}

#[test]
fn lent_references_compare_and_hash_as_their_values() {
    use std::collections::{BTreeSet, HashMap};
    let pool = AutoreleasePool::new();
    let [a, b, other] = ["a", "a", "b"].map(|text| pool.create_str(text));
    assert!(a == b && a != other && a < other);
    assert!(!PoolRef::ptr_eq(a, b));
    let mut counts: HashMap<PoolRef<'_, str>, u32> = HashMap::new();
    for term in [a, other, b] {
        *counts.entry(term).or_default() += 1;
    }
    assert_eq!((counts.get("a"), counts.get("b")), (Some(&2), Some(&1)));
    let sorted: BTreeSet<_> = [other, a, b].into_iter().collect();
    assert_eq!(sorted.into_iter().collect::<Vec<_>>(), [a, other]);
}

#[test]
fn a_scope_drains_the_pool_whose_guard_it_has_at_its_end() {
    for entries in [0, 1] {
        let log = Log::new();
        let base = AutoreleasePool::new();
        let mut other = AutoreleasePool::new();
        other.create(log.probe(0));
        autoreleasepool(|pool| {
            (0..entries).for_each(|_| _ = pool.create(log.probe(1)));
            std::mem::swap(pool, &mut other);
        });
        assert_eq!(log.ids(), [0], "{entries}");
        autorelease(Ref::new(0));
        assert_eq!((base.len(), other.len()), (1, entries));
    }
}

#[test]
fn a_scope_whose_own_pool_is_gone_leaves_the_one_below_current() {
    let below = AutoreleasePool::new();
    autoreleasepool(|pool| {
        drop(std::mem::replace(pool, below));
        autorelease(Ref::new(0));
        assert_eq!(pool.len(), 1);
    });
}
