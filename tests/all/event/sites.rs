//! The site of an object that was autoreleased while no pool was open.

use crate::event::all_events;
use crate::support::alone;
use releasepool::event::{Event, EventKind};
use releasepool::{PoolManager, Ref, autorelease};
use std::thread;

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
    alone!(|| {
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
    });
}

#[test]
fn only_strays_have_a_site() {
    alone!(|| {
        let told = all_events(|| {
            let manager = PoolManager::builder().root_watermark(1).build();
            manager.autorelease(Ref::new(1));
        });
        let kinds: Vec<_> = told.iter().map(|e| (e.kind, e.site.is_some())).collect();
        let wanted = [(EventKind::NoPool, true), (EventKind::RootWatermark, false)];
        assert_eq!(kinds, wanted);
    });
}
