//! The random program of a seed, and the checks at its end.

use crate::free::{Kind, Random, Setting, World, start};
use releasepool::{PoolManager, model};
use std::time::Duration;

/// The number of threads that run at once, besides the main thread, a looper and a reclaimer.
const THREADS: usize = 8;
/// The number of steps of all threads together; for one seed in eight, of each thread.
const STEPS: usize = 200;
/// Longer than any program runs, as only naps take time.
const FOREVER: Duration = Duration::from_secs(3_600);

/// Runs a program; prints each step if `log`.
pub fn run(seed: u64, log: bool) {
    model::begin();
    let mut random = Random::new(seed);
    let manager = PoolManager::global();
    let setting = Setting {
        checks: false,
        log,
        ..Setting::CHECKED
    };
    let (world, looper, first) = World::new(setting, &[]);
    let mut kinds = random.kinds();
    // Steps of these kinds would take most of the switches.
    kinds.retain(|kind| !matches!(kind, Kind::Flood | Kind::CreateChain));
    let steps = if random.one_in(8) {
        STEPS
    } else {
        STEPS / THREADS
    };
    for _ in 0..THREADS {
        start(&world, random.program(&kinds, steps), first.another());
    }
    drop(first);
    let mut looper = Some(looper);
    // For half of the seeds, the looper or the reclaimer ends here, while other threads send to it.
    if random.one_in(2) {
        match random.below(2) {
            0 => looper.take().unwrap().shutdown().unwrap(),
            _ => assert!(world.reclaimer.finish(Duration::MAX)),
        }
    }
    if random.one_in(3) {
        world.asks();
        // `shutdown` returns when no other thread has anything left. It runs no closures that were
        // posted to this thread, and does not wait if only such closures are left.
        if let Err(report) = manager.shutdown(FOREVER) {
            let me = manager.current_thread().unwrap().key();
            assert!(report.holders.iter().all(|t| t.key == me), "{report}");
            assert_eq!((report.orphans, report.hot), (0, 0), "{report}");
        }
    }
    world.join();
    drop(looper);
    let kept = world.end();
    let report = manager.shutdown(Duration::ZERO).unwrap();
    assert_eq!((report.orphans, report.hot), (0, 0), "{report}");
    let snapshot = manager.snapshot();
    assert_eq!(snapshot.threads.len(), 1, "{snapshot:?}");
    assert_eq!((snapshot.orphans, snapshot.hot_objects), (0, 0));
    assert_eq!(snapshot.kept, kept as u64);
    assert_eq!(snapshot.live_objects(), kept as u64);
    assert_eq!(model::free_kept(), kept);
    drop(world);
    model::end();
    if log {
        println!("{} switches", shuttle::current::context_switches());
    }
}
