//! Retains and releases of chosen types.

use super::only_group;
use crate::support::allocator::FOREIGN;
use crate::support::{alone, assert_says, each_alone, global, me, only, wait_until};
use releasepool::{AutoreleasePool, Budget, HandoffPool, HomeRef, Hot, PoolRef, Ref, leaks};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

struct Texture;
struct Sound;

/// Returns place and number of the retains without a release, in the only group.
fn unreleased(scope: &leaks::Scope) -> Vec<(String, u64)> {
    let report = scope.report();
    let each = only_group(&report).unreleased().iter();
    each.map(|retain| (retain.place().to_owned(), retain.count()))
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
fn keep(texture: &Ref<Texture>) -> Ref<Texture> {
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
        draw(&texture);
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

/// Asserts that a release counts for its own object. Another thread makes the release; as soon as it
/// is made, this thread destroys the object and makes others, one of which gets the address.
fn assert_counts_for_its_object<H: Send + 'static>(
    make: fn() -> H,
    retain: fn(&H) -> H,
    references: fn(&H) -> usize,
    release: fn(H),
) {
    static IS_REPLACED: AtomicBool = AtomicBool::new(false);
    // The ledger allocates when a function makes its first release. If the release was made before,
    // waits for the object's end; if not, in vain.
    let wait = || {
        let moments = (0..50).take_while(|_| !IS_REPLACED.load(Ordering::Relaxed));
        moments.for_each(|_| thread::sleep(Duration::from_millis(1)));
    };
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
    let left: u64 = left.map(|retain| retain.count()).sum();
    assert_eq!(left, next.len() as u64, "{report}");
}

#[test]
fn a_release_counts_for_its_object() {
    let cases: [(&str, fn()); 2] = [
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

#[test]
fn other_types_are_not_counted() {
    alone!(|| counting(|scope| {
        let sound = Ref::new(Sound);
        assert_eq!(unreleased(scope), []);
        drop(sound);
        leaks::count_references([""; 0]);
        let texture = Ref::new(Texture);
        assert_eq!(unreleased(scope), []);
        drop(texture);
    }));
}

/// Retains by functions whose frames begin at multiples of 64, so their sizes differ with the caller's.
#[inline(never)]
fn keep_aligned(texture: &Ref<Texture>, deep: usize) -> Ref<Texture> {
    #[repr(align(64))]
    struct Aligned([u8; 64]);
    let aligned = std::hint::black_box(Aligned([deep as u8; 64]));
    let kept = if deep == 0 {
        keep(texture)
    } else {
        keep_unaligned(texture, deep - 1)
    };
    assert!(std::hint::black_box(&aligned).0[63] == deep as u8);
    kept
}

#[inline(never)]
fn keep_unaligned(texture: &Ref<Texture>, deep: usize) -> Ref<Texture> {
    let array = std::hint::black_box([deep; 3]);
    let kept = keep_aligned(texture, deep);
    assert!(std::hint::black_box(&array)[2] == deep);
    kept
}

/// Each of many ways to the same retain: `keep` has made all of them.
fn keep_in_many_ways(texture: &Ref<Texture>) -> u64 {
    let mut n = 0;
    for _ in 0..3 {
        for deep in 0..8 {
            std::mem::forget(keep_aligned(texture, deep));
            std::mem::forget(keep_unaligned(texture, deep));
            n += 2;
        }
    }
    n
}

#[test]
fn places_are_the_callers_however_large_frames_are() {
    alone!(|| counting(|scope| {
        let texture = Ref::new(Texture);
        let n = keep_in_many_ways(&texture);
        drop(texture);
        kept(scope, n, "keep");
    }));
}

#[cfg(target_os = "linux")]
mod other_stacks {
    use super::*;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    static KEPT: AtomicPtr<Ref<Texture>> = AtomicPtr::new(ptr::null_mut());
    static RETAINS: AtomicU64 = AtomicU64::new(0);

    extern "C" fn on_signal(_: libc::c_int) {
        // SAFETY: the test has put it there, and waits for the signal that it has raised.
        let texture = unsafe { &*KEPT.load(Ordering::Relaxed) };
        RETAINS.fetch_add(keep_in_many_ways(texture), Ordering::Relaxed);
    }

    /// Raises a signal whose handler runs on memory that is unmapped right after.
    fn raise_on_other_stack() {
        const BYTES: usize = 1 << 18;
        // SAFETY: the memory is the handler's stack until the signal was handled, which `raise` waits
        // for, and is unmapped once.
        unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(ptr::null_mut(), BYTES, access, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            let mut stack = libc::stack_t {
                ss_sp: memory,
                ss_flags: 0,
                ss_size: BYTES,
            };
            assert_eq!(libc::sigaltstack(&stack, ptr::null_mut()), 0);
            assert_eq!(libc::raise(libc::SIGUSR1), 0);
            stack.ss_flags = libc::SS_DISABLE;
            assert_eq!(libc::sigaltstack(&stack, ptr::null_mut()), 0);
            assert_eq!(libc::munmap(memory, BYTES), 0);
        }
    }

    #[test]
    fn places_are_known_on_stacks_that_the_thread_has_made() {
        alone!(|| counting(|scope| {
            let mut texture = Ref::new(Texture);
            KEPT.store(&raw mut texture, Ordering::Relaxed);
            // SAFETY: zeros are an action without flags; the handler may use all that the thread may,
            // as the thread raises the signal itself.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(_) as usize;
                action.sa_flags = libc::SA_ONSTACK;
                assert_eq!(libc::sigaction(libc::SIGUSR1, &action, ptr::null_mut()), 0);
            }
            for _ in 0..5 {
                raise_on_other_stack();
                let n = keep_in_many_ways(&texture);
                RETAINS.fetch_add(n, Ordering::Relaxed);
            }
            drop(texture);
            kept(scope, RETAINS.load(Ordering::Relaxed), "keep");
        }));
    }
}
