//! Misuse that aborts the process. Except for counts that overflow, it is possible only through raw
//! pointers.
//!
//! Overflow means more than 2³¹ strong or 2³⁰ weak references. Counting that far takes minutes, so
//! the limits themselves are tested with the count word, in `src/object/count.rs`.

use crate::support::{
    CHECKS, aborts, alone, assert_says, child, children, deep_down, each_aborts, global, on_drop,
};
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak, autorelease};
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
fn release_of_an_object_that_a_pool_has_queued_aborts() {
    aborts!(["String", TOO_OFTEN], || far_down(|| {
        let pool = AutoreleasePool::new();
        // Only objects with a destructor queue.
        let object = PoolRef::as_ptr(pool.create(String::new()));
        drop(pool);
        // SAFETY: none: the misuse under test.
        unsafe { Ref::decrement_strong_count(object) };
    }));
}

#[test]
fn release_of_an_object_that_its_last_handle_has_queued_aborts() {
    aborts!(["String", TOO_OFTEN], || far_down(|| {
        let last = Ref::new(String::new());
        let object = Ref::as_ptr(&last);
        drop(last);
        // SAFETY: none: the misuse under test.
        unsafe { Ref::decrement_strong_count(object) };
    }));
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
    let cases: [(&str, fn()); 4] = [
        ("at the last release", || drop(undead())),
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
fn exit_of_the_process_on_one_thread_while_others_go_on() {
    alone!(|| {
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
    });
}
