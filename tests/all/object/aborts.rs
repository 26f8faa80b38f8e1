//! Misuse that aborts the process, as the count, the header or the ledger shows it. Except for counts that
//! overflow, it is possible only through raw pointers.
//!
//! Overflow means more than 2³¹ strong or 2³⁰ weak references. Counting that far takes minutes, so
//! the limits themselves are tested with the count word, in `src/object/count.rs`.

use crate::support::{
    CHECKS, aborts, alone, assert_says, child, children, deep_down, each_aborts, global, on_drop,
};
use releasepool::{AutoreleasePool, Budget, PoolRef, Ref, Weak, autorelease};
use std::sync::Mutex;

struct Texture(#[expect(dead_code)] u32);

const TOO_OFTEN: &str = "released more often than it was retained";

#[test]
fn release_of_a_dead_object_through_raw_calls_aborts_with_type_and_address() {
    let stderr = aborts!(["Texture", TOO_OFTEN], || {
        let object = Ref::new(Texture(0));
        let _memory = Ref::downgrade(&object);
        let raw = Ref::into_raw(object);
        eprintln!("<{raw:p}>");
        // SAFETY: the first call is correct; the second is the misuse under test.
        unsafe {
            Ref::decrement_strong_count(raw);
            Ref::decrement_strong_count(raw);
        }
    });
    let address = stderr.split(['<', '>']).nth(1).unwrap();
    let message = stderr.lines().find(|line| line.contains(TOO_OFTEN));
    assert!(message.unwrap().contains(address), "{stderr}");
}

#[test]
fn calls_for_dead_objects_abort() {
    each_aborts!(&[
        (
            "a pool's entry is released",
            &["Texture", TOO_OFTEN],
            || {
                let pool = AutoreleasePool::new();
                let lent = pool.create(Texture(0));
                let _memory = PoolRef::downgrade(lent);
                // SAFETY: none: the misuse under test, detected by the drain at the latest.
                unsafe { Ref::decrement_strong_count(PoolRef::as_ptr(lent)) };
                drop(pool);
            }
        ),
        (
            "one of two entries is released",
            &["Texture", TOO_OFTEN],
            || {
                let pool = AutoreleasePool::new();
                let object = Ref::new(Texture(0));
                let _memory = Ref::downgrade(&object);
                let raw = Ref::as_ptr(&object);
                pool.autorelease(object.clone());
                pool.autorelease(object);
                // SAFETY: none: the misuse under test. One of two references is left, for two entries.
                unsafe { Ref::decrement_strong_count(raw) };
                drop(pool);
            }
        ),
        (
            "retained",
            &["Texture", "retained after its last release"],
            || {
                let object = Ref::new(Texture(0));
                let _memory = Ref::downgrade(&object);
                let raw = Ref::as_ptr(&object);
                drop(object);
                // SAFETY: none: the misuse under test.
                unsafe { Ref::increment_strong_count(raw) };
            }
        ),
    ]);
}

/// Calls `f` in a destructor, deep in the stack: what is released there queues.
fn far_down(f: fn()) {
    drop(Ref::new(on_drop(move || deep_down(64, f))));
}

#[test]
fn release_of_an_object_that_is_queued_aborts() {
    // Only objects with a destructor queue.
    each_aborts!(&[
        ("by a pool", &["String", TOO_OFTEN], || far_down(|| {
            let pool = AutoreleasePool::new();
            let object = PoolRef::as_ptr(pool.create(String::new()));
            drop(pool);
            // SAFETY: none: the misuse under test.
            unsafe { Ref::decrement_strong_count(object) };
        })),
        ("by its last handle", &["String", TOO_OFTEN], || far_down(
            || {
                let last = Ref::new(String::new());
                let object = Ref::as_ptr(&last);
                drop(last);
                // SAFETY: none: the misuse under test.
                unsafe { Ref::decrement_strong_count(object) };
            }
        )),
    ]);
}

static SELF: Mutex<usize> = Mutex::new(0);

/// Retains and releases itself in its destructor, as C++ code does by mistake.
struct Undead;

impl Drop for Undead {
    fn drop(&mut self) {
        let me = std::ptr::with_exposed_provenance::<Self>(*SELF.lock().unwrap());
        eprintln!("dies");
        // SAFETY: none: the misuse under test.
        unsafe {
            Ref::increment_strong_count(me);
            Ref::decrement_strong_count(me);
        }
    }
}

fn undead() -> Ref<Undead> {
    let object = Ref::new(Undead);
    *SELF.lock().unwrap() = Ref::as_ptr(&object).expose_provenance();
    object
}

#[test]
fn an_object_that_its_own_destructor_retains_is_destroyed_once() {
    let cases: [(&str, fn()); 5] = [
        ("at the last release", || drop(undead())),
        ("at the last release, after another one", || {
            drop(Ref::new(String::new()));
            drop(undead());
        }),
        ("in a drain", || {
            let pool = AutoreleasePool::new();
            pool.autorelease(undead());
        }),
        ("in a slice, in a drain", || {
            let slice: Ref<[Undead]> = Ref::from([Undead]);
            *SELF.lock().unwrap() = Ref::as_ptr(&slice).cast::<Undead>().expose_provenance();
            let pool = AutoreleasePool::new();
            pool.autorelease(slice);
        }),
        ("with weak references around", || {
            let object = undead();
            let weak = Ref::downgrade(&object);
            drop(object);
            assert!(weak.upgrade().is_none());
        }),
    ];
    for (child, (what, _)) in children!(cases).iter().zip(cases) {
        eprintln!("{what}");
        if CHECKS {
            child.assert_aborted_saying(&["Undead", "retained after its last release"]);
        } else {
            // The misuse has no effect.
            child.assert_success();
        }
        assert_eq!(child.stderr.matches("dies").count(), 1, "{}", child.stderr);
    }
}

#[test]
#[cfg_attr(
    target_env = "musl",
    ignore = "the exit runs no thread-local destructors there"
)]
fn exit_of_the_process_inside_pools_is_orderly() {
    // The calling thread's thread-locals are torn down under open pools.
    let child = child!(|| {
        autorelease(Ref::new(on_drop(|| eprintln!("root entry dies"))));
        releasepool::autoreleasepool(|pool| {
            let _token = global().push();
            autorelease(Ref::new(on_drop(|| eprintln!("token entry dies"))));
            pool.create(on_drop(|| eprintln!("guard entry dies")));
            std::process::exit(0)
        });
    });
    child.assert_success();
    assert_says(&child.stderr, &["token entry dies", "root entry dies"]);
    assert!(!child.stderr.contains("guard entry dies"));
}

#[test]
#[cfg_attr(
    target_env = "musl",
    ignore = "the exit runs no thread-local destructors there"
)]
fn exit_of_the_process_inside_a_destructor_is_orderly() {
    let child = child!(|| {
        autorelease(Ref::new(on_drop(|| eprintln!("older entry dies"))));
        autorelease(Ref::new(on_drop(|| std::process::exit(0))));
        global().drain_root();
    });
    child.assert_success();
    assert_says(&child.stderr, &["older entry dies"]);
}

#[test]
#[cfg_attr(
    target_env = "musl",
    ignore = "the exit runs no thread-local destructors there"
)]
fn exit_of_the_process_in_a_pop_drains_what_older_entries_push() {
    let child = child!(|| {
        let token = global().push();
        autorelease(Ref::new(on_drop(|| {
            _ = global().push();
            autorelease(Ref::new(on_drop(|| eprintln!("inner entry dies"))));
        })));
        autorelease(Ref::new(on_drop(|| std::process::exit(0))));
        _ = global().pop(token);
    });
    child.assert_success();
    assert_says(&child.stderr, &["inner entry dies"]);
}

#[test]
fn exit_of_the_process_on_one_thread_while_others_go_on() {
    alone!();
    for _ in 0..3 {
        std::thread::spawn(|| {
            loop {
                let pool = AutoreleasePool::new();
                let text = pool.create(String::from("going on"));
                assert_eq!(*text, "going on");
                let weak: Weak<_> = PoolRef::downgrade(text);
                autorelease(PoolRef::retain(text));
                drop(weak);
            }
        });
    }
    std::thread::sleep(std::time::Duration::from_millis(20));
    std::process::exit(0);
}

/// Overwrites the header of an object: the two words before its value.
fn overwrite(value: *const Texture) {
    overwrite_by(7, value);
}

fn overwrite_by(word: usize, value: *const Texture) {
    // SAFETY: none: the misuse under test. The header is there, and no thread uses it meanwhile.
    unsafe {
        value
            .cast_mut()
            .cast::<[usize; 2]>()
            .sub(1)
            .write([word, word])
    };
}

#[test]
#[cfg(feature = "leak-detection")]
fn a_header_of_another_type_aborts() {
    aborts!(["an entry of pool \"ui\", was overwritten"], || {
        let other = Ref::new(0_u32);
        let pool = AutoreleasePool::named("ui");
        let texture = PoolRef::as_ptr(pool.create(Texture(0)));
        let type_info = |of: *const u32| of.cast::<usize>().wrapping_sub(1).cast_mut();
        // SAFETY: none: the misuse under test. The words before both values are there.
        unsafe { type_info(texture.cast()).write(type_info(Ref::as_ptr(&other)).read()) };
    });
}

#[test]
fn pointers_to_no_object_and_overwritten_headers_abort() {
    const UI: &[&str] = if cfg!(feature = "leak-detection") {
        &[
            "the header of all::object::aborts::Texture at 0x",
            ", an entry of pool \"ui\", was overwritten",
            concat!("; created at ", file!(), ":"),
        ]
    } else {
        &["an entry of pool \"ui\", was overwritten"]
    };
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
        ("a low address", UI, || {
            let pool = AutoreleasePool::named("ui");
            overwrite_by(64, PoolRef::as_ptr(pool.create(Texture(0))));
        }),
        ("a high address", UI, || {
            let pool = AutoreleasePool::named("ui");
            overwrite_by(usize::MAX - 63, PoolRef::as_ptr(pool.create(Texture(0))));
        }),
        (
            "an address within a type info",
            &["\"ui\", was overwritten"],
            || {
                let pool = AutoreleasePool::named("ui");
                let one = PoolRef::as_ptr(pool.create(Texture(0)));
                let other = PoolRef::as_ptr(pool.create(0_u64)).cast();
                // SAFETY: the word before a value is the address of its type info.
                let info = |value: *const Texture| unsafe { *value.cast::<usize>().sub(1) };
                let lower = if info(one) < info(other) { one } else { other };
                overwrite_by(info(lower) + 1, lower);
            }
        ),
        ("a drain of objects with destructors", UI, || {
            let pool = AutoreleasePool::named("ui");
            overwrite(PoolRef::as_ptr(pool.create(Texture(0))));
            pool.create(String::new());
        }),
        ("a drain of many objects without destructors", UI, || {
            let pool = AutoreleasePool::named("ui");
            (0..20).for_each(|n| _ = pool.create(Texture(n)));
            overwrite(PoolRef::as_ptr(pool.create(Texture(20))));
        }),
        ("below others, with the count of one", UI, || {
            let pool = AutoreleasePool::named("ui");
            overwrite_by(1, PoolRef::as_ptr(pool.create(Texture(0))));
            (0..20).for_each(|_| _ = pool.create(String::new()));
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
    alone!();
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
    // The object's death was long ago, so the ledger has forgotten it.
    let object = Ref::new(Texture(0));
    let raw = Ref::downgrade(&object).into_raw();
    drop(object);
    let others: Vec<_> = (0..20_000).map(|n| Ref::new(Texture(n))).collect();
    drop(others);
    // SAFETY: of `into_raw`.
    drop(unsafe { Weak::from_raw(raw) });
    let none = Weak::<Texture>::new().into_raw();
    // SAFETY: of `into_raw`.
    drop(unsafe { Weak::from_raw(none) });
}

#[cfg(feature = "leak-detection")]
#[test]
fn misuse_that_the_ledger_knows_aborts() {
    /// Uses a pointer to an object that another thread has destroyed, after a call of `before`.
    fn use_dead(before: fn()) {
        let object = Ref::new(Texture(0));
        let (raw, _memory) = (Ref::as_ptr(&object), Ref::downgrade(&object));
        for (name, object) in [("eraser", object), ("other", Ref::new(Texture(1)))] {
            let erase = move || {
                before();
                drop(object);
            };
            let thread = std::thread::Builder::new().name(name.into());
            thread.spawn(erase).unwrap().join().unwrap();
        }
        // SAFETY: none: the misuse under test.
        std::mem::forget(unsafe { Ref::from_raw(raw) });
    }
    const DEAD: &[&str] = &[
        "Texture at 0x",
        concat!("used after its death, by Ref::from_raw at ", file!(), ":"),
        concat!("created at ", file!(), ":"),
        "destroyed by thread eraser (#",
    ];
    const WITHOUT_KEY: &[&str] = &["destroyed by thread eraser (without a key)"];
    const FREED: &[&str] = &[
        "Texture at 0x",
        "used after its memory was freed, by Weak::from_raw at ",
    ];
    const POOLED: &[&str] = &[
        "Texture at 0x",
        "was destroyed while a pool holds it",
        "held by pool \"ui\" of thread ",
        concat!("created at ", file!(), ":"),
        "in all::object::aborts::misuse_that_the_ledger_knows_aborts",
        ", called by ",
    ];
    const TWICE: &[&str] = &[
        "was destroyed while a pool holds it",
        "; held by pool \"outer\" of thread ",
        "; held by pool \"middle\" of thread ",
    ];
    const THIRD: &[&str] = &[
        "was destroyed while a pool holds it",
        "; held by pool \"(further pools)\" of thread ",
    ];
    each_aborts!(&[
        ("a pointer to a dead object", DEAD, || {
            use_dead(|| drop(AutoreleasePool::new()));
        }),
        (
            "a pointer to what a thread without a key has destroyed",
            WITHOUT_KEY,
            || use_dead(|| ())
        ),
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
        ("one reference in three pools", TWICE, || {
            let outer = AutoreleasePool::named("outer");
            let middle = AutoreleasePool::named("middle");
            let raw = Ref::into_raw(Ref::new(String::new()));
            let inner = AutoreleasePool::named("inner");
            // SAFETY: none: the misuse under test: one reference becomes three.
            unsafe {
                outer.autorelease(Ref::from_raw(raw));
                middle.autorelease(Ref::from_raw(raw));
                inner.autorelease(Ref::from_raw(raw));
            }
            drop(inner);
            std::process::exit(0);
        }),
        ("a release of what only a third pool holds", THIRD, || {
            let mut pools = ["first", "second", "third"].map(AutoreleasePool::named);
            let object = Ref::new(Texture(0));
            for pool in &pools {
                pool.autorelease(object.clone());
            }
            _ = (pools[0].drain(), pools[1].drain());
            let raw = Ref::into_raw(object);
            // SAFETY: none: the second release is the misuse under test.
            unsafe {
                Ref::decrement_strong_count(raw);
                Ref::decrement_strong_count(raw);
            }
            std::process::exit(0);
        }),
    ]);
}

#[test]
fn objects_in_several_pools_may_be_drained_in_any_order() {
    alone!();
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
