//! The intervals at which events with one cause are reported, and the site of an object that was
//! autoreleased while no pool was open.

use crate::event::all_events;
use crate::support::{Bomb, Countdown, alone, assert_says, panic_of};
use releasepool::event::{Event, EventKind};
use releasepool::{
    AutoreleasePool, FrameLoop, HomeRef, PoolManager, Ref, autorelease, frame::FrameConfig,
};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

#[test]
fn short_threads_without_a_pool_are_reported_at_growing_intervals() {
    alone!();
    struct Stray;
    struct Another;
    let told = all_events(|| {
        for n in 0..2_000 {
            let thread = thread::spawn(move || {
                autorelease(Ref::new(Stray));
                if n == 1_500 {
                    autorelease(Ref::new(Another));
                }
            });
            thread.join().unwrap();
        }
    });
    let [once, ten, hundred, thousand, another] = &told[..] else {
        panic!("{} events", told.len())
    };
    assert!(another.type_name.unwrap().ends_with("Another"));
    let counts = [once, ten, hundred, thousand].map(|event| {
        assert_eq!(event.kind, EventKind::NoPool);
        assert!(event.type_name.unwrap().ends_with("Stray"));
        assert_eq!(event.count, event.occurrences);
        event.count
    });
    assert_eq!(counts, [1, 10, 100, 1_000]);
    assert!(!once.to_string().contains("so far"), "{once}");
    assert_says(&thousand, &["(1,000 times so far)"]);
}

#[test]
fn one_thread_without_a_pool_is_reported_at_growing_intervals_for_each_type_and_manager() {
    alone!();
    let managers = [
        PoolManager::new(),
        PoolManager::builder().name("named").build(),
    ];
    let told = all_events(|| {
        for _ in 0..150 {
            for manager in &managers {
                manager.autorelease(Ref::new(1u8));
                manager.autorelease(Ref::new(1u16));
                manager.drain_root();
            }
        }
    });
    let counts_of = |of: &str, named: Option<&str>| {
        let named = |event: &&Event| event.manager.as_deref() == named;
        let of = told.iter().filter(|event| event.type_name == Some(of));
        of.filter(named)
            .map(|event| event.count)
            .collect::<Vec<_>>()
    };
    for named in [None, Some("named")] {
        for of in ["u8", "u16"] {
            assert_eq!(counts_of(of, named), [1, 10, 100]);
        }
    }
    assert_eq!(told.len(), 12);
}

/// Autoreleases a character, which so has the first place among a thread's counts; and `n` bytes, at
/// one site.
fn stray_bytes(n: usize) {
    autorelease(Ref::new('x'));
    (0..n).for_each(|_| autorelease(Ref::new(1u8)));
}

#[test]
fn local_counts_are_added_when_a_thread_ends_or_counts_other_types() {
    alone!();
    let told = all_events(|| {
        // The first is added to the shared count at once, the other 8 when the thread ends.
        let nine = || stray_bytes(9);
        thread::spawn(nine).join().unwrap();
        stray_bytes(1);
        let nine_of_many_types = move || {
            nine();
            macro_rules! others {
                    ($($t:ty)*) => { $(autorelease(Ref::new(<$t>::default()));)* }
                }
            others!(u16 u32 u64 u128 usize i8 i16 i32 i64 i128);
            nine();
        };
        thread::spawn(nine_of_many_types).join().unwrap();
        stray_bytes(72);
    });
    let bytes = told.iter().filter(|event| event.type_name == Some("u8"));
    let counts: Vec<_> = bytes.map(|event| event.count).collect();
    // The shared count is 9 + 18 of other threads and 10 of the 73 of this thread.
    assert_eq!(counts, [1, 10]);
    // Once for the characters, and for each of the others, which have one site.
    assert_eq!(told.len(), 2 + 1 + 10, "{told:?}");
    stray_bytes(1);
    let told = all_events(|| stray_bytes(30));
    let counts: Vec<_> = told.iter().map(|event| event.count).collect();
    assert_eq!(counts, [127], "9 + 18 + 100 of this thread's");
}

#[test]
fn other_events_are_reported_at_growing_intervals_for_each_cause() {
    alone!();
    std::panic::set_hook(Box::new(|_| ()));
    let counts = |told: &[Event], kind| {
        let of_kind = told.iter().filter(|event| event.kind == kind);
        of_kind.map(|event| event.occurrences).collect::<Vec<_>>()
    };
    // The first panic of each drain is resumed, the second is reported.
    let bombs = |message| {
        let pool = AutoreleasePool::new();
        pool.create(Bomb(message));
        pool.create(Bomb(message));
        assert_eq!(panic_of(|| drop(pool)), message);
    };
    let told = all_events(|| {
        (0..20).for_each(|_| bombs("one"));
        (0..20).for_each(|_| bombs("another"));
        thread::spawn(move || bombs("one")).join().unwrap();
    });
    assert_eq!(counts(&told, EventKind::Panic), [1, 10, 1, 10, 1]);

    let forgetful = |name: &str| {
        let thread = thread::Builder::new().name(name.to_owned());
        let forget = || std::mem::forget(AutoreleasePool::new());
        thread.spawn(forget).unwrap().join().unwrap();
    };
    let told = all_events(|| {
        (0..20).for_each(|_| forgetful("one"));
        (0..5).for_each(|_| forgetful("another"));
    });
    assert_eq!(counts(&told, EventKind::OpenAtExit), [1, 10, 1]);

    let gone = || {
        struct Homely(#[expect(dead_code)] Rc<u8>);
        let made = thread::spawn(|| HomeRef::new(Homely(Rc::new(0))));
        drop(made.join().unwrap());
    };
    let told = all_events(|| (0..20).for_each(|_| gone()));
    assert_eq!(counts(&told, EventKind::HomeGone), [1, 10]);
    assert_eq!(told[1].count, 10);

    let dropped = || {
        let frames = FrameLoop::new(FrameConfig::default());
        let proxy = frames.proxy();
        proxy.post_after(Duration::from_secs(3_600), || ()).unwrap();
        drop(frames);
    };
    let told = all_events(|| (0..20).for_each(|_| dropped()));
    assert_eq!(counts(&told, EventKind::PostsDropped), [1, 10]);
    assert_eq!(told[1].count, 1, "the number of posts of the 10th event");
}

#[test]
fn endless_drains_are_reported_at_growing_intervals() {
    alone!();
    let told = all_events(|| {
        let mut pool = AutoreleasePool::named("ashes");
        for _ in 0..20 {
            pool.create(Countdown(1_100));
            pool.drain();
        }
    });
    let counts: Vec<_> = told.iter().map(|event| event.occurrences).collect();
    assert_eq!(counts, [1, 10]);
    assert!(told.iter().all(|event| event.count == 1_000));
    let message = told[1].to_string();
    assert_says(
        &message,
        &[
            "pool \"ashes\"",
            "1,000 generations",
            "Countdown",
            "(10 times so far)",
        ],
    );
}

/// The line that this is called on, plus `n`.
#[track_caller]
fn line(n: u32) -> u32 {
    std::panic::Location::caller().line() + n
}

#[test]
fn strays_of_one_type_are_reported_for_each_site() {
    struct Stray;
    #[track_caller]
    fn wrapped() {
        autorelease(Ref::new(Stray));
    }
    alone!();
    let manager = PoolManager::new();
    let first = line(6);
    // One thread each time, so that only the process-wide count is at work.
    let told = all_events(|| {
        for _ in 0..12 {
            let manager = manager.clone();
            let strays = move || {
                autorelease(Ref::new(Stray));
                Ref::autorelease(Ref::new(Stray));
                manager.autorelease(Ref::new(Stray));
                wrapped();
            };
            thread::spawn(strays).join().unwrap();
        }
    });
    let of_line = |line| {
        let at_line = |event: &&Event| event.site.unwrap().line() == line;
        let counts = told.iter().filter(at_line).map(|event| event.count);
        counts.collect::<Vec<_>>()
    };
    for line in first..first + 4 {
        assert_eq!(of_line(line), [1, 10], "line {line}: {told:?}");
    }
    assert_eq!(told.len(), 8);
    let place = format!(" at {}:{first}:", file!());
    assert!(told[0].to_string().contains(&place), "{}", told[0]);
}

#[test]
fn only_strays_have_a_site() {
    alone!();
    let told = all_events(|| {
        let manager = PoolManager::new();
        manager.set_root_watermark(1);
        manager.autorelease(Ref::new(1));
    });
    let kinds: Vec<_> = told.iter().map(|e| (e.kind, e.site.is_some())).collect();
    let wanted = [(EventKind::NoPool, true), (EventKind::RootWatermark, false)];
    assert_eq!(kinds, wanted);
}
