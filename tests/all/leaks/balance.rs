//! Retains and releases of chosen types.

use crate::support::child;
use releasepool::{
    AutoreleasePool, Budget, HandoffPool, HomeRef, Hot, PoolManager, PoolRef, Ref, leaks,
};

struct Texture;
struct Sound;

/// Returns place and number of the retains without a release, in the only group.
fn unreleased(scope: &leaks::Scope) -> Vec<(String, u64)> {
    let report = scope.report();
    let [group] = report.groups() else {
        panic!("{report}")
    };
    let each = group.unreleased().iter();
    each.map(|retain| (retain.place().to_owned(), retain.count()))
        .collect()
}

#[inline(never)]
fn keep(texture: &Ref<Texture>) -> Ref<Texture> {
    texture.clone()
}

#[inline(never)]
fn draw(texture: &Ref<Texture>) {
    for _ in 0..3 {
        let drawn = texture.clone();
        std::hint::black_box(&drawn);
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_balances_is_folded_and_the_retain_without_release_is_shown() {
    let child = child!(|| {
        leaks::count_references(["Texture"]);
        let scope = leaks::scope();
        let texture = Ref::new(Texture);
        draw(&texture);
        std::mem::forget(keep(&texture));
        draw(&texture);
        drop(texture);
        let left = unreleased(&scope);
        assert_eq!(left.len(), 1, "{left:?}");
        let (place, n) = &left[0];
        assert!(*n == 1 && place.contains("balance.rs:24:"), "{left:?}");
        assert!(place.contains("keep"), "{left:?}");
        let text = scope.report().to_string();
        assert!(
            text.contains("retained once and not released: at "),
            "{text}"
        );
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn objects_that_are_written_later_count_from_then_on() {
    let child = child!(|| {
        leaks::count_references(["Texture"]);
        let scope = leaks::scope();
        let mut place = Ref::<Texture>::new_uninit();
        Ref::get_mut(&mut place).unwrap().write(Texture);
        // SAFETY: just written.
        let texture = unsafe { place.assume_init() };
        draw(&texture);
        std::mem::forget(keep(&texture));
        drop(texture);
        let left = unreleased(&scope);
        let [(place, 1)] = &left[..] else {
            panic!("{left:?}")
        };
        assert!(place.contains("keep"), "{left:?}");
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn every_kind_of_retain_and_release_counts() {
    let child = child!(|| {
        leaks::count_references(["all::leaks::balance::Texture"]);
        let scope = leaks::scope();
        let sum = || unreleased(&scope).iter().map(|(_, n)| n).sum::<u64>();
        let texture = Ref::new(Texture);
        assert_eq!(sum(), 1, "the creation");
        let weak = Ref::downgrade(&texture);
        let upgraded = weak.upgrade().unwrap();
        assert_eq!(sum(), 2);
        let pool = AutoreleasePool::named("ui");
        let lent = pool.autorelease(upgraded);
        let retained = PoolRef::retain(lent);
        assert_eq!(sum(), 3);
        drop(pool);
        assert_eq!(sum(), 2);
        assert!(Ref::into_inner(retained).is_none());
        assert_eq!(sum(), 1);
        let raw = Ref::into_raw(texture);
        // SAFETY: of `into_raw`, which gave up its reference; each call is balanced.
        unsafe {
            Ref::increment_strong_count(raw);
            assert_eq!(sum(), 2);
            Ref::decrement_strong_count(raw);
            assert_eq!(sum(), 1);
            Ref::decrement_strong_count(raw);
        }
        scope.assert_none();
        let home = HomeRef::new(Texture);
        drop(home);
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn releases_count_that_a_budgeted_drain_makes_for_others() {
    let child = child!(|| {
        leaks::count_references(["Texture"]);
        let scope = leaks::scope();
        let sum = || unreleased(&scope).iter().map(|(_, n)| n).sum::<u64>();
        let texture = Ref::new(Texture);
        let me = PoolManager::global().current_thread().unwrap();
        let mut pool = AutoreleasePool::new();
        me.release(texture.clone());
        assert_eq!(sum(), 2);
        pool.drain_within(Budget::All);
        assert_eq!(sum(), 1, "a message");
        drop(Hot::try_new(texture.clone()).ok());
        assert_eq!(sum(), 2);
        pool.drain_within(Budget::All);
        assert_eq!(sum(), 1, "a hot object's row");
    });
    child.assert_success();
}

#[inline(never)]
fn load(pool: &AutoreleasePool) -> PoolRef<'_, Texture> {
    pool.create(Texture)
}

#[inline(never)]
fn button(texture: PoolRef<'_, Texture>) -> Box<dyn Fn()> {
    let texture = PoolRef::retain(texture);
    Box::new(move || _ = &texture)
}

#[inline(never)]
fn render(texture: PoolRef<'_, Texture>) {
    let drawn = PoolRef::retain(texture);
    std::hint::black_box(&drawn);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn what_a_drain_releases_is_not_blamed() {
    let child = child!(|| {
        leaks::count_references(["Texture"]);
        let scope = leaks::scope();
        let mut pool = AutoreleasePool::named("level");
        let texture = load(&pool);
        for _ in 0..3 {
            std::mem::forget(button(texture));
            render(texture);
        }
        pool.drain();
        let left = unreleased(&scope);
        assert_eq!(left.len(), 1, "{left:?}");
        let (place, n) = &left[0];
        assert!(*n == 3 && place.contains("button"), "{left:?}");
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn each_way_into_a_pool_makes_an_entry_of_the_retain_in_its_line() {
    type Autorelease = fn(&Ref<Texture>, &AutoreleasePool, &HandoffPool);
    const WAYS: [Autorelease; 5] = [
        |texture, pool, _| _ = pool.autorelease(texture.clone()),
        |texture, _, handoff| _ = handoff.autorelease(texture.clone()),
        |texture, _, _| releasepool::autorelease(texture.clone()),
        |texture, _, _| Ref::autorelease(texture.clone()),
        |texture, _, _| PoolManager::global().autorelease(texture.clone()),
    ];
    let child = child!(|| {
        leaks::count_references(["Texture"]);
        for autorelease in WAYS {
            let scope = leaks::scope();
            let texture = Ref::new(Texture);
            let (pool, mut handoff) = (AutoreleasePool::new(), HandoffPool::new());
            // Twice, so that the retain that is kept is the latest when the other one is an entry.
            for _ in 0..2 {
                autorelease(&texture, &pool, &handoff);
                std::mem::forget(keep(&texture));
            }
            handoff.drain();
            drop((pool, texture));
            let left = unreleased(&scope);
            assert!(left.len() == 1 && left[0].1 == 2, "{left:?}");
            assert!(left[0].0.contains("keep"), "{left:?}");
        }
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn other_types_are_not_counted() {
    let child = child!(|| {
        leaks::count_references(["Texture"]);
        let scope = leaks::scope();
        let sound = Ref::new(Sound);
        assert_eq!(unreleased(&scope), []);
        drop(sound);
        leaks::count_references([""; 0]);
        let texture = Ref::new(Texture);
        assert_eq!(unreleased(&scope), []);
        drop(texture);
    });
    child.assert_success();
}
