//! Misuse that aborts the process. Except for counts that overflow, it is possible only through raw
//! pointers.
//!
//! Overflow means more than 2³¹ strong or 2³⁰ weak references. Counting that far takes minutes, so
//! the limits themselves are tested with the count word, in `src/object/count.rs`.

use crate::support::{CHECKS, aborts, child, on_drop};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, Weak, autorelease};
use std::sync::Mutex;

struct Texture(#[expect(dead_code)] u32);

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn release_of_a_dead_object_through_raw_calls_aborts_with_type_and_address() {
    let stderr = aborts!(
        ["Texture", "released more often than it was retained"],
        || {
            let object = Ref::new(Texture(0));
            let _memory = Ref::downgrade(&object);
            let raw = Ref::into_raw(object);
            eprintln!("<{raw:p}>");
            // SAFETY: the first call is correct; the second is the misuse under test.
            unsafe {
                Ref::decrement_strong_count(raw);
                Ref::decrement_strong_count(raw);
            }
        }
    );
    let address = stderr.split(['<', '>']).nth(1).unwrap();
    let message = stderr
        .lines()
        .find(|line| line.contains("released more often"));
    assert!(message.unwrap().contains(address), "{stderr}");
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn release_of_a_dead_object_by_a_pool_aborts() {
    aborts!(
        ["Texture", "released more often than it was retained"],
        || {
            let pool = AutoreleasePool::new();
            let lent = pool.create(Texture(0));
            let _memory = PoolRef::downgrade(lent);
            // SAFETY: none: the misuse under test, detected by the drain at the latest.
            unsafe { Ref::decrement_strong_count(PoolRef::as_ptr(lent)) };
            drop(pool);
        }
    );
}

/// Calls `f` in a destructor, deep in the stack: what is released there queues.
fn far_down(f: fn()) {
    #[inline(never)]
    fn down(times: u32, f: fn()) {
        let filler = std::hint::black_box([0u8; 1_024]);
        if times > 0 {
            down(times - 1, f);
        } else {
            f();
        }
        std::hint::black_box(&filler);
    }
    drop(Ref::new(crate::support::on_drop(move || down(64, f))));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn release_of_an_object_that_a_pool_has_queued_aborts() {
    aborts!(
        ["String", "released more often than it was retained"],
        || far_down(|| {
            let pool = AutoreleasePool::new();
            // Only objects with a destructor queue.
            let object = PoolRef::as_ptr(pool.create(String::new()));
            drop(pool);
            // SAFETY: none: the misuse under test.
            unsafe { Ref::decrement_strong_count(object) };
        })
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn release_of_an_object_that_its_last_handle_has_queued_aborts() {
    aborts!(
        ["String", "released more often than it was retained"],
        || far_down(|| {
            let last = Ref::new(String::new());
            let object = Ref::as_ptr(&last);
            drop(last);
            // SAFETY: none: the misuse under test.
            unsafe { Ref::decrement_strong_count(object) };
        })
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn release_of_too_many_entries_for_one_object_by_a_pool_aborts() {
    aborts!(
        ["Texture", "released more often than it was retained"],
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
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn retain_of_a_dead_object_aborts() {
    aborts!(["Texture", "retained after its last release"], || {
        let object = Ref::new(Texture(0));
        let _memory = Ref::downgrade(&object);
        let raw = Ref::as_ptr(&object);
        drop(object);
        // SAFETY: none: the misuse under test.
        unsafe { Ref::increment_strong_count(raw) };
    });
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

fn assert_died_once(child: &crate::support::Child) {
    if CHECKS {
        child.assert_aborted_saying(&["Undead", "retained after its last release"]);
    } else {
        // The misuse has no effect.
        child.assert_success();
    }
    assert_eq!(child.stderr.matches("dies").count(), 1, "{}", child.stderr);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn retained_by_its_own_destructor_at_the_last_release() {
    assert_died_once(&child!(|| drop(undead())));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn retained_by_its_own_destructor_in_a_drain() {
    assert_died_once(&child!(|| {
        let pool = AutoreleasePool::new();
        pool.autorelease(undead());
        drop(pool);
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn retained_by_the_destructor_of_its_own_slice_in_a_drain() {
    let child = child!(|| {
        let slice: Ref<[Undead]> = Ref::from([Undead]);
        *SELF.lock().unwrap() = Ref::as_ptr(&slice).cast::<Undead>().expose_provenance();
        let pool = AutoreleasePool::new();
        pool.autorelease(slice);
        drop(pool);
    });
    assert_died_once(&child);
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn retained_by_its_own_destructor_with_weak_references_around() {
    assert_died_once(&child!(|| {
        let object = undead();
        let weak = Ref::downgrade(&object);
        drop(object);
        assert!(weak.upgrade().is_none());
    }));
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
#[cfg_attr(
    target_env = "musl",
    ignore = "the exit runs no thread-local destructors there"
)]
fn exit_of_the_process_inside_pools_is_orderly() {
    // The calling thread's thread-locals are torn down under open pools.
    let child = child!(|| {
        autorelease(Ref::new(on_drop(|| eprintln!("root entry dies"))));
        releasepool::autoreleasepool(|pool| {
            let _token = PoolManager::global().push();
            autorelease(Ref::new(on_drop(|| eprintln!("token entry dies"))));
            pool.create(on_drop(|| eprintln!("guard entry dies")));
            std::process::exit(0)
        });
    });
    child.assert_success();
    assert!(
        child.stderr.contains("token entry dies"),
        "{}",
        child.stderr
    );
    assert!(child.stderr.contains("root entry dies"), "{}", child.stderr);
    assert!(
        !child.stderr.contains("guard entry dies"),
        "{}",
        child.stderr
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
#[cfg_attr(
    target_env = "musl",
    ignore = "the exit runs no thread-local destructors there"
)]
fn exit_of_the_process_inside_a_destructor_is_orderly() {
    let child = child!(|| {
        autorelease(Ref::new(on_drop(|| eprintln!("older entry dies"))));
        autorelease(Ref::new(on_drop(|| std::process::exit(0))));
        PoolManager::global().drain_root();
    });
    child.assert_success();
    assert!(
        child.stderr.contains("older entry dies"),
        "{}",
        child.stderr
    );
}

#[test]
#[cfg_attr(miri, ignore = "starts a process")]
fn exit_of_the_process_on_one_thread_while_others_go_on() {
    let child = child!(|| {
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
    child.assert_success();
}
