//! Misuse that is detected by more than the count: by the header, and by the ledger.

use crate::support::{alone, each_aborts, global};
use releasepool::{AutoreleasePool, Budget, PoolRef, Ref, Weak};

struct Texture(#[expect(dead_code)] u32);

/// Overwrites the header of an object: the two words before its value.
fn overwrite(value: *const Texture) {
    // SAFETY: none: the misuse under test. The header is there, and no thread uses it meanwhile.
    unsafe { value.cast_mut().cast::<[usize; 2]>().sub(1).write([7, 7]) };
}

#[test]
fn pointers_to_no_object_and_overwritten_headers_abort() {
    const UI: &[&str] = &["an entry of pool \"ui\", was overwritten"];
    const BACKLOG: &[&str] = &["an entry of pool \"backlog\", was overwritten"];
    each_aborts!(&[
        ("null", &["Ref::from_raw got a null pointer"], || {
            // SAFETY: none: the misuse under test.
            drop(unsafe { Ref::<Texture>::from_raw(std::ptr::null()) });
        }),
        (
            "misaligned",
            &[
                "Ref::increment_strong_count got 0x",
                "is no object's address"
            ],
            || {
                let object = Ref::new([0u8; 16]);
                // SAFETY: none: the misuse under test. The address is within the value.
                unsafe { Ref::increment_strong_count(Ref::as_ptr(&object).byte_add(1)) };
            }
        ),
        ("a drain of one object", UI, || {
            let pool = AutoreleasePool::named("ui");
            overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
        }),
        ("a drain of objects with destructors", UI, || {
            let pool = AutoreleasePool::named("ui");
            overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
            pool.create(String::new());
        }),
        ("a drain of many objects without destructors", UI, || {
            let pool = AutoreleasePool::named("ui");
            (0..9).for_each(|n| _ = pool.create(Texture(n)));
            overwrite(PoolRef::as_ptr(pool.create(Texture(9))));
        }),
        ("a budgeted drain", BACKLOG, || {
            let mut pool = AutoreleasePool::named("ui");
            overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
            pool.drain_within(Budget::All);
        }),
        (
            "a raw call",
            &["passed to Ref::from_raw, was overwritten"],
            || {
                let raw = Ref::into_raw(Ref::new(Texture(0)));
                overwrite(raw);
                // SAFETY: none: the misuse under test.
                std::mem::forget(unsafe { Ref::from_raw(raw) });
            }
        ),
    ]);
}

#[test]
fn raw_calls_that_are_correct_pass() {
    alone!(|| {
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
}

#[cfg(feature = "leak-detection")]
#[test]
fn misuse_that_the_ledger_knows_aborts() {
    const DEAD: &[&str] = &[
        "Texture at 0x",
        concat!("used after its death, by Ref::from_raw at ", file!(), ":"),
        concat!("created at ", file!(), ":"),
        "destroyed by thread eraser (#",
    ];
    const FREED: &[&str] = &[
        "Texture at 0x",
        "used after its memory was freed, by Weak::from_raw at ",
    ];
    const POOLED: &[&str] = &[
        "Texture at 0x",
        "was destroyed while a pool holds it",
        "held by pool \"ui\" of thread ",
        concat!("created at ", file!(), ":"),
        "in all::object::misuse::misuse_that_the_ledger_knows_aborts",
    ];
    const TWICE: &[&str] = &[
        "was destroyed while a pool holds it",
        "held by pool \"outer\" of thread ",
    ];
    each_aborts!(&[
        ("a pointer to a dead object", DEAD, || {
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
        }),
        (
            "a pointer to a box",
            &["Ref::decrement_strong_count at ", "is no object"],
            || {
                let boxed = Box::new([0u64; 4]);
                // SAFETY: none: the misuse under test.
                unsafe { Ref::decrement_strong_count(&raw const boxed[2]) };
            }
        ),
        ("a weak pointer to freed memory", FREED, || {
            let object = Ref::new(Texture(0));
            let weak = Ref::downgrade(&object);
            let raw = weak.as_ptr();
            drop(object);
            drop(weak);
            // SAFETY: none: the misuse under test.
            std::mem::forget(unsafe { Weak::from_raw(raw) });
        }),
        ("a release of what a pool holds", POOLED, || {
            let pool = AutoreleasePool::named("ui");
            let object = PoolRef::as_ptr(pool.create(Texture(0)));
            // SAFETY: none: the misuse under test.
            unsafe { Ref::decrement_strong_count(object) };
            std::process::exit(0);
        }),
        ("one reference in two pools", TWICE, || {
            let outer = AutoreleasePool::named("outer");
            let raw = Ref::into_raw(Ref::new(String::new()));
            let inner = AutoreleasePool::named("inner");
            // SAFETY: none: the misuse under test: one reference becomes two.
            unsafe {
                outer.autorelease(Ref::from_raw(raw));
                inner.autorelease(Ref::from_raw(raw));
            }
            drop(inner);
            std::process::exit(0);
        }),
    ]);
}

#[test]
fn objects_in_several_pools_may_be_drained_in_any_order() {
    alone!(|| {
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
            global().drain_backlog(Budget::All);
        }
    });
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
