//! The exit of a thread whose destructors feed its pools for ever: the drain is cut off, with an
//! event.

#![cfg(not(miri))] // Miri starts no processes.

use super::events_of_a_thread;
use crate::support::{alone, fresh, global};
use releasepool::event::{Event, EventKind};
use releasepool::{AutoreleasePool, Ref, ThreadHandle, autorelease};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An object whose destructor autoreleases another one, for ever. It is for child processes only:
/// after a million objects the process exits with an exit code of its own.
struct Endless;

const GAVE_UP: i32 = 77;

const ENDLESS: u32 = 1_000_000;

static MADE: AtomicU32 = AtomicU32::new(0);

fn another_one() {
    if MADE.fetch_add(1, Ordering::Relaxed) > ENDLESS {
        eprintln!("never cut off");
        std::process::exit(GAVE_UP);
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        another_one();
        autorelease(Ref::new(Endless));
    }
}

fn assert_loud_leak(events: &[Event], type_name: &str) {
    let of = |kind| events.iter().filter(move |event| event.kind == kind);
    assert_eq!(of(EventKind::EndlessDrain).count(), 1, "{events:?}");
    let cut: Vec<_> = of(EventKind::CutOff).collect();
    assert_eq!(cut.len(), 1, "{events:?}");
    assert!(cut[0].type_name.unwrap().ends_with(type_name));
    assert_eq!(cut[0].count, 1);
    assert!(cut[0].to_string().contains("leaked"), "{}", cut[0]);
}

#[test]
fn thread_ends_with_endless_regeneration_in_the_root_pool_and_is_cut_off() {
    alone!(|| {
        let events = events_of_a_thread(|| autorelease(Ref::new(Endless)));
        assert_loud_leak(&events, "Endless");
        // The count includes the first object and 100,000 generations.
        assert_eq!(MADE.load(Ordering::Relaxed), 100_001);
    });
}

#[test]
fn thread_ends_with_endless_regeneration_that_shutdown_has_asked_for_and_is_cut_off() {
    alone!(|| {
        let events = events_of_a_thread(|| {
            autorelease(Ref::new(Endless));
            fresh(|| global().shutdown(Duration::ZERO).unwrap_err());
        });
        let cut = events.iter().filter(|e| e.kind == EventKind::CutOff);
        assert_eq!(cut.count(), 1);
        // The drain is cut off, and so are both of the drains that `shutdown` has asked for.
        assert!(MADE.load(Ordering::Relaxed) < 400_000);
    });
}

#[test]
fn thread_ends_with_endless_regeneration_in_a_token_pool_and_is_cut_off() {
    alone!(|| {
        let events = events_of_a_thread(|| {
            let _token = global().push();
            autorelease(Ref::new(Endless));
        });
        assert_loud_leak(&events, "Endless");
    });
}

#[test]
fn thread_ends_with_endless_regeneration_through_ever_new_token_pools_and_is_cut_off() {
    struct Pushing;
    impl Drop for Pushing {
        fn drop(&mut self) {
            another_one();
            let _left = global().push();
            autorelease(Ref::new(Pushing));
        }
    }
    alone!(|| {
        for in_root in [false, true] {
            MADE.store(0, Ordering::Relaxed);
            let events = events_of_a_thread(move || {
                if !in_root {
                    let _token = global().push();
                }
                autorelease(Ref::new(Pushing));
            });
            let cut_off = events.iter().any(|event| event.kind == EventKind::CutOff);
            // The second event has the same cause.
            assert!(cut_off || in_root, "{events:?}");
            // The drain of the root pool pops as many at its end, and leaves the rest to the exit.
            let most = if in_root { 200_010 } else { 100_010 };
            let made = MADE.load(Ordering::Relaxed);
            assert!((100_000..most).contains(&made), "{made}");
        }
    });
}

#[test]
fn thread_ends_with_endless_regeneration_through_its_own_inbox_and_hands_it_on() {
    struct Mailing(ThreadHandle);
    impl Drop for Mailing {
        fn drop(&mut self) {
            another_one();
            self.0.release(Ref::new(Mailing(self.0.clone())));
        }
    }
    alone!(|| {
        let events = events_of_a_thread(|| {
            let me = global().current_thread().unwrap();
            autorelease(Ref::new(Mailing(me)));
        });
        assert!(
            events.iter().all(|event| event.kind == EventKind::NoPool),
            "{events:?}"
        );
        let snapshot = global().snapshot();
        // The object is late, but not lost.
        assert_eq!((snapshot.orphans, snapshot.live_objects()), (1, 1));
        // A drain that finds it does not go on forever either.
        drop(AutoreleasePool::new());
        assert!(!global().quiesce(Duration::from_millis(1)));
    });
}
