//! The end of a process, in a process of its own: it ends the loops of all tests.

use releasepool::report::{ExitReport, FinishGuard, KeptValues, LivingLoop, ManagerLeft};
use releasepool::{AutoreleasePool, HomeRef, Looper, drop_later, finish};
use std::thread;
use std::time::Duration;

#[test]
fn the_process_ends_and_says_what_is_left() {
    let _finish = FinishGuard::new(Duration::from_secs(60));
    let looper = Looper::spawn("looper").unwrap();
    drop_later(vec![1, 2, 3]);
    let homeless = thread::spawn(|| HomeRef::new(5)).join().unwrap();
    drop(homeless);
    let pool = AutoreleasePool::new();
    // The looper's thread needs time for this, or has ended.
    let (Ok(report) | Err(report)): Result<ExitReport, ExitReport> = finish(Duration::ZERO);
    let loops: &[LivingLoop] = &report.loops;
    let [manager, ..]: &[ManagerLeft] = &report.managers else {
        panic!("{report}");
    };
    let kept: &[KeptValues] = &report.kept;
    assert!(loops.len() <= 2 && manager.name == "global" && kept[0].values == 1);
    drop((pool, looper));
}
