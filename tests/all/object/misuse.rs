//! Misuse that is detected by more than the count: by the header, and by the ledger.

use crate::support::{aborts, child};
use releasepool::{AutoreleasePool, Budget, PoolManager, PoolRef, Ref, Weak};

struct Texture(#[expect(dead_code)] u32);

/// True if the ledger knows all objects.
const LEDGER: bool = cfg!(feature = "leak-detection");

/// Overwrites the header of an object: the two words before its value.
fn overwrite(value: *const Texture) {
    // SAFETY: none: the misuse under test. The header is there, and no thread uses it meanwhile.
    unsafe { value.cast_mut().cast::<[usize; 2]>().sub(1).write([7, 7]) };
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_null_pointer_aborts() {
    aborts!(["Ref::from_raw got a null pointer"], || {
        // SAFETY: none: the misuse under test.
        drop(unsafe { Ref::<Texture>::from_raw(std::ptr::null()) });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_misaligned_pointer_aborts() {
    aborts!(
        [
            "Ref::increment_strong_count got 0x",
            "is no object's address"
        ],
        || {
            let object = Ref::new([0u8; 16]);
            // SAFETY: none: the misuse under test. The address is within the value.
            unsafe { Ref::increment_strong_count(Ref::as_ptr(&object).byte_add(1)) };
        }
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_drain_that_finds_an_overwritten_header_names_the_pool() {
    aborts!(["an entry of pool \"ui\", was overwritten"], || {
        let pool = AutoreleasePool::named("ui");
        overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
        drop(pool);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_drain_of_objects_with_destructors_finds_an_overwritten_header_too() {
    aborts!(["an entry of pool \"ui\", was overwritten"], || {
        let pool = AutoreleasePool::named("ui");
        overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
        pool.create(String::new());
        drop(pool);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_drain_of_many_objects_without_destructors_finds_an_overwritten_header_too() {
    aborts!(["an entry of pool \"ui\", was overwritten"], || {
        let pool = AutoreleasePool::named("ui");
        for n in 0..9 {
            pool.create(Texture(n));
        }
        overwrite(PoolRef::as_ptr(pool.create(Texture(9))));
        drop(pool);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_budgeted_drain_finds_an_overwritten_header_too() {
    aborts!(["an entry of pool \"backlog\", was overwritten"], || {
        let mut pool = AutoreleasePool::named("ui");
        overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
        pool.drain_within(Budget::All);
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_raw_call_finds_an_overwritten_header() {
    aborts!(["passed to Ref::from_raw, was overwritten"], || {
        let raw = Ref::into_raw(Ref::new(Texture(0)));
        overwrite(raw);
        // SAFETY: none: the misuse under test.
        std::mem::forget(unsafe { Ref::from_raw(raw) });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn raw_calls_that_are_correct_pass() {
    let child = child!(|| {
        for with_weak in [false, true] {
            let object = Ref::new(Texture(0));
            let weak = with_weak.then(|| Ref::downgrade(&object));
            let raw = Ref::into_raw(object);
            // SAFETY: of `into_raw`; each reference is given up once.
            unsafe {
                Ref::increment_strong_count(raw);
                drop(Ref::from_raw(raw));
                Ref::decrement_strong_count(raw);
            }
            // A weak reference to a dead object, whose memory is there.
            let raw = weak.map(Weak::into_raw);
            // SAFETY: of `into_raw`.
            drop(raw.map(|raw| unsafe { Weak::from_raw(raw) }));
        }
        let none = Weak::<Texture>::new().into_raw();
        // SAFETY: of `into_raw`.
        drop(unsafe { Weak::from_raw(none) });
    });
    child.assert_success();
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_pointer_to_a_dead_object_aborts_with_site_and_both_threads() {
    if !LEDGER {
        return;
    }
    let words = [
        "Texture at 0x",
        concat!("used after its death, by Ref::from_raw at ", file!(), ":"),
        concat!("created at ", file!(), ":"),
        "destroyed by thread eraser (#",
    ];
    aborts!(words, || {
        let object = Ref::new(Texture(0));
        let raw = Ref::as_ptr(&object);
        let eraser = std::thread::Builder::new().name("eraser".into());
        let erase = move || {
            drop(AutoreleasePool::new());
            drop(object);
        };
        eraser.spawn(erase).unwrap().join().unwrap();
        // SAFETY: none: the misuse under test.
        std::mem::forget(unsafe { Ref::from_raw(raw) });
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_pointer_to_no_object_aborts() {
    if !LEDGER {
        return;
    }
    aborts!(["Ref::decrement_strong_count at ", "is no object"], || {
        let boxed = Box::new([0u64; 4]);
        // SAFETY: none: the misuse under test.
        unsafe { Ref::decrement_strong_count(&raw const boxed[2]) };
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn a_weak_pointer_to_freed_memory_aborts() {
    if !LEDGER {
        return;
    }
    aborts!(
        [
            "Texture at 0x",
            "used after its memory was freed, by Weak::from_raw at "
        ],
        || {
            let object = Ref::new(Texture(0));
            let weak = Ref::downgrade(&object);
            let raw = weak.as_ptr();
            drop(object);
            drop(weak);
            // SAFETY: none: the misuse under test.
            std::mem::forget(unsafe { Weak::from_raw(raw) });
        }
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn the_release_that_destroys_what_a_pool_holds_aborts() {
    if !LEDGER {
        return;
    }
    let words = [
        "Texture at 0x",
        "was destroyed while a pool holds it",
        "held by pool \"ui\" of thread ",
        concat!("created at ", file!(), ":"),
        "in all::object::misuse::the_release_that_destroys_what_a_pool_holds_aborts",
    ];
    aborts!(words, || {
        let pool = AutoreleasePool::named("ui");
        let object = PoolRef::as_ptr(pool.create(Texture(0)));
        // SAFETY: none: the misuse under test.
        unsafe { Ref::decrement_strong_count(object) };
        eprintln!("not reached");
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn one_reference_in_two_pools_aborts_in_the_first_drain() {
    if !LEDGER {
        return;
    }
    let words = [
        "was destroyed while a pool holds it",
        "held by pool \"outer\" of thread ",
    ];
    aborts!(words, || {
        let outer = AutoreleasePool::named("outer");
        let raw = Ref::into_raw(Ref::new(String::new()));
        let inner = AutoreleasePool::named("inner");
        // SAFETY: none: the misuse under test: one reference becomes two.
        unsafe {
            outer.autorelease(Ref::from_raw(raw));
            inner.autorelease(Ref::from_raw(raw));
        }
        drop(inner);
        eprintln!("not reached");
    });
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn objects_in_several_pools_may_be_drained_in_any_order() {
    let child = child!(|| {
        let objects = || [Ref::new(Texture(0)), Ref::new(Texture(1))];
        for first in 0..3 {
            let mut pools: Vec<_> = (0..3).map(|_| AutoreleasePool::new()).collect();
            for object in objects() {
                for pool in &pools {
                    pool.autorelease(object.clone());
                    pool.create(object.clone());
                }
            }
            drop(pools.remove(first));
            let mut last = pools.pop().unwrap();
            last.drain_within(Budget::Count(1));
            drop(pools);
            PoolManager::global().drain_backlog(Budget::All);
        }
    });
    child.assert_success();
}

#[cfg(feature = "leak-detection")]
mod sites {
    use crate::support::{events, fresh};
    use releasepool::event::EventKind;
    use releasepool::{HomeRef, Ref, autorelease};

    #[test]
    fn events_have_the_site_of_the_object() {
        fresh(|| {
            struct Sited;
            autorelease(Ref::new(Sited));
            let line = line!() - 1;
            let homeless = std::thread::spawn(|| HomeRef::new(Sited)).join().unwrap();
            let homeless_line = line!() - 1;
            drop(homeless);
            for (kind, line) in [
                (EventKind::NoPool, line),
                (EventKind::HomeGone, homeless_line),
            ] {
                let all = events(kind);
                let event = all
                    .iter()
                    .find(|event| event.type_name.unwrap().ends_with("Sited"));
                let event = event.unwrap();
                assert_eq!(event.created_at.unwrap().line(), line);
                let site = format!("; created at {}:{line}:", file!());
                assert!(event.to_string().contains(&site), "{event}");
            }
        });
    }
}
