//! Retains and releases of chosen types.

use super::only_group;
use crate::support::allocator::{FOREIGN, bytes};
use crate::support::teardown::{When, at_teardown, push_work, thread_to_the_end};
use crate::support::{alone, assert_says, each_alone, fresh, global, me, only, wait_until};
use releasepool::pool::PoolToken;
use releasepool::{AutoreleasePool, Budget, HandoffPool, HomeRef, Hot, PoolRef, Ref, leaks};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

struct Texture;
struct Sound;

/// Returns place and number of the retains without a release, in the only group.
fn unreleased(scope: &leaks::Scope) -> Vec<(String, u64)> {
    let report = scope.report();
    let each = only_group(&report).unreleased().iter();
    each.map(|retain| (retain.place.clone(), retain.count))
        .collect()
}

/// Asserts that there are retains without a release at one place only, so many of them in `keep` or the
/// like.
#[track_caller]
fn kept(scope: &leaks::Scope, n: u64, function: &str) {
    let left = unreleased(scope);
    let (place, count) = only(&left);
    assert_eq!(*count, n, "{left:?}");
    assert_says(place, &[function]);
}

/// Runs `f` with a scope, and counts the references to textures.
fn counting(f: impl FnOnce(&leaks::Scope)) {
    leaks::count_references(["Texture"]);
    f(&leaks::scope());
}

#[inline(never)]
fn keep<T: 'static>(texture: &Ref<T>) -> Ref<T> {
    texture.clone()
}

/// The line of that retain.
const KEPT_AT: u32 = line!() - 4;

#[inline(never)]
fn draw(texture: &Ref<Texture>) {
    for _ in 0..3 {
        let drawn = texture.clone();
        std::hint::black_box(&drawn);
    }
}

#[test]
fn what_balances_is_folded_and_the_retain_without_release_is_shown() {
    alone!(|| counting(|scope| {
        let texture = Ref::new(Texture);
        // More retains than lines are kept.
        (0..30).for_each(|_| draw(&texture));
        std::mem::forget(keep(&texture));
        draw(&texture);
        drop(texture);
        kept(scope, 1, "keep");
        kept(scope, 1, &format!("balance.rs:{KEPT_AT}:"));
        let text = scope.report().to_string();
        assert_says(&text, &["retained once and not released: at "]);
    }));
}

#[test]
fn objects_that_are_written_later_count_from_then_on() {
    alone!(|| counting(|scope| {
        leaks::record_backtraces(true);
        let mut place = Ref::<Texture>::new_uninit();
        Ref::get_mut(&mut place).unwrap().write(Texture);
        // SAFETY: just written.
        let texture = unsafe { place.assume_init() };
        draw(&texture);
        std::mem::forget(keep(&texture));
        drop(texture);
        kept(scope, 1, "keep");
    }));
}

#[test]
fn objects_that_are_counted_before_they_are_written_count_from_the_beginning() {
    alone!();
    leaks::count_references(["Texture", "MaybeUninit"]);
    let scope = leaks::scope();
    let place = Ref::<Texture>::new_uninit();
    let mut other = keep(&place);
    drop(place);
    Ref::get_mut(&mut other).unwrap().write(Texture);
    // SAFETY: just written.
    let texture = unsafe { other.assume_init() };
    kept(&scope, 1, "keep");
    drop(texture);
}

#[test]
fn the_counts_of_an_object_are_forgotten_when_it_dies() {
    alone!(|| counting(|_| {
        let freed = || {
            let textures: Vec<_> = (0..200).map(|_| Ref::new(Texture)).collect();
            let before = bytes();
            drop(textures);
            (before - bytes()) / 200
        };
        // The first time, symbols are read and kept.
        freed();
        // An object and its handle take 24 bytes; its retain takes more.
        let each = freed();
        assert!(each > 48, "{each} bytes");
    }));
}

#[test]
fn every_kind_of_retain_and_release_counts() {
    alone!();
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
    let other = home.clone();
    assert_eq!(sum(), 2);
    drop(other);
    assert_eq!(sum(), 1);
    drop(home);
    scope.assert_none();
}

/// True once an object has been destroyed, and others have been made.
static IS_REPLACED: AtomicBool = AtomicBool::new(false);

/// Waits until the object is replaced; in vain if its release has not been made.
fn wait() {
    let moments = (0..50).take_while(|_| !IS_REPLACED.load(Ordering::Relaxed));
    moments.for_each(|_| thread::sleep(Duration::from_millis(1)));
}

/// Asserts that a release counts for its own object. Another thread makes the release; as soon as it
/// is made, this thread destroys the object and makes others, one of which gets the address.
fn assert_counts_for_its_object<H: Send + 'static>(
    make: fn() -> H,
    retain: fn(&H) -> H,
    references: fn(&H) -> usize,
    release: fn(H),
) {
    leaks::count_references(["Texture"]);
    let scope = leaks::scope();
    let replace = |object| {
        drop(object);
        [(); 8].map(|()| make())
    };
    // From now on the ledger knows the functions by which this thread does that.
    drop(replace(make()));
    let object = make();
    let other = retain(&object);
    let thread = thread::spawn(move || {
        // The ledger allocates when a function makes its first release.
        FOREIGN.set(Some(wait));
        release(other);
        assert!(FOREIGN.get().is_none(), "it has been called");
    });
    wait_until(|| references(&object) == 1);
    let next = replace(object);
    IS_REPLACED.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    let report = scope.report();
    let left = report.groups().iter().flat_map(|group| group.unreleased());
    let left: u64 = left.map(|retain| retain.count).sum();
    assert_eq!(left, next.len() as u64, "{report}");
}

#[test]
fn a_release_counts_for_its_object() {
    let cases: [(&str, fn()); 3] = [
        ("of a message", || {
            assert_counts_for_its_object(
                || Ref::new(Texture),
                Ref::clone,
                Ref::strong_count,
                |texture| {
                    FOREIGN.set(None);
                    let mut pool = AutoreleasePool::new();
                    // From now on the drain itself allocates nothing.
                    me().release(Ref::new(Sound));
                    pool.drain_within(Budget::All);
                    me().release(texture);
                    // Before its release is made, the message is freed.
                    FOREIGN.set(Some(|| FOREIGN.set(Some(wait))));
                    pool.drain_within(Budget::All);
                },
            );
        }),
        ("by `into_inner`", || {
            assert_counts_for_its_object(
                || Ref::new(Texture),
                Ref::clone,
                Ref::strong_count,
                |texture| assert!(Ref::into_inner(texture).is_none()),
            );
        }),
        ("of a `HomeRef`", || {
            assert_counts_for_its_object(
                || HomeRef::new(Texture),
                HomeRef::clone,
                |texture| HomeRef::downgrade(texture).strong_count(),
                drop,
            );
        }),
    ];
    each_alone!(cases);
}

#[test]
fn releases_count_that_a_budgeted_drain_makes_for_others() {
    alone!(|| counting(|scope| {
        let sum = || unreleased(scope).iter().map(|(_, n)| n).sum::<u64>();
        let texture = Ref::new(Texture);
        let me = me();
        let mut pool = AutoreleasePool::new();
        me.release(texture.clone());
        assert_eq!(sum(), 2);
        pool.drain_within(Budget::All);
        assert_eq!(sum(), 1, "a message");
        drop(Hot::try_new(texture.clone()).ok());
        assert_eq!(sum(), 2);
        pool.drain_within(Budget::All);
        assert_eq!(sum(), 1, "a hot object's row");
    }));
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
fn what_a_drain_releases_is_not_blamed() {
    alone!(|| counting(|scope| {
        let mut pool = AutoreleasePool::named("level");
        let texture = load(&pool);
        for _ in 0..3 {
            std::mem::forget(button(texture));
            render(texture);
        }
        pool.drain();
        kept(scope, 3, "button");
    }));
}

#[test]
fn each_way_into_a_pool_makes_an_entry_of_the_retain_in_its_line() {
    type Autorelease = fn(&Ref<Texture>, &AutoreleasePool, &HandoffPool);
    const WAYS: [Autorelease; 5] = [
        |texture, pool, _| _ = pool.autorelease(texture.clone()),
        |texture, _, handoff| _ = handoff.autorelease(texture.clone()),
        |texture, _, _| releasepool::autorelease(texture.clone()),
        |texture, _, _| Ref::autorelease(texture.clone()),
        |texture, _, _| global().autorelease(texture.clone()),
    ];
    alone!();
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
        kept(&scope, 2, "keep");
    }
}

#[inline(never)]
fn made() -> Ref<Texture> {
    Ref::new(Texture)
}

#[inline(never)]
fn close(pool: AutoreleasePool) {
    drop(pool);
}

#[test]
fn autoreleases_after_the_exit_of_a_thread_count_as_any_other() {
    alone!();
    leaks::count_references(["Texture"]);
    for is_open in [false, true] {
        thread_to_the_end(move || {
            push_work(move || {
                let pool = is_open.then(AutoreleasePool::new);
                let texture = made();
                releasepool::autorelease(texture.clone());
                std::mem::forget((keep(&texture), texture));
                _ = pool.map(close);
            });
            // The pools of the thread outlast its exit.
            std::mem::forget(AutoreleasePool::new());
        });
    }
    let report = leaks::report();
    let is_texture = |group: &&leaks::LeakGroup| group.type_name().ends_with("::Texture");
    let group = report.groups().iter().find(is_texture).unwrap();
    let left = group.unreleased();
    let of = |name| left.iter().filter(|one| one.place.contains(name)).count();
    assert_eq!((left.len(), of("made"), of("keep")), (4, 2, 2), "{left:?}");
}

#[test]
fn an_allocator_may_close_the_pool_to_which_a_thread_autoreleases_after_its_exit() {
    thread_local! {
        static TOKEN: Cell<Option<PoolToken>> = const { Cell::new(None) };
    }
    alone!();
    leaks::count_references(["Texture"]);
    at_teardown(When::AfterOurExit, || {
        let texture = made();
        let weak = Ref::downgrade(&texture);
        TOKEN.set(Some(global().push()));
        // The ledger allocates when a function autoreleases for the first time.
        FOREIGN.set(Some(|| _ = global().pop(TOKEN.take().unwrap())));
        releasepool::autorelease(texture);
        assert!(FOREIGN.get().is_none(), "it has been called");
        assert!(weak.upgrade().is_none(), "it is released at once");
    });
}

#[test]
fn other_types_are_not_counted() {
    alone!(|| counting(|scope| {
        let sound = Ref::new(Sound);
        assert_eq!(unreleased(scope), []);
        drop(sound);
        let mut place = Ref::<Sound>::new_uninit();
        Ref::get_mut(&mut place).unwrap().write(Sound);
        // SAFETY: just written.
        let sound = unsafe { place.assume_init() };
        assert_eq!(unreleased(scope), []);
        drop(sound);
        leaks::count_references([""; 0]);
        let texture = Ref::new(Texture);
        assert_eq!(unreleased(scope), []);
        drop(texture);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "70 threads: takes too long")]
fn retains_and_releases_beyond_the_lines_that_are_kept_are_counted_together() {
    alone!(|| counting(|scope| {
        let texture = Ref::new(Texture);
        // 64 lines are kept: of the creation and of 63 threads. The last one also counts the retains of the
        // other threads, and the releases of the last three.
        for n in 0..70 {
            fresh(|| {
                let retained = texture.clone();
                if n < 67 {
                    std::mem::forget(retained);
                }
            });
        }
        let left = unreleased(scope);
        assert_eq!(left[0], ("one of many places".to_owned(), 1 + 7 - 3));
        assert_eq!(left.len(), 16, "the places that a report lists");
    }));
}
