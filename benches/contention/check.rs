//! That everybody does the same: each work with counted objects, by one thread and by two.

use crate::scenario::{Contestant, Scenario};
use crossbeam_epoch as epoch;
use releasepool::{PoolManager, autoreleasepool};
use releasepool_benches::crew::Meeting;
use releasepool_benches::objects::Count;
use releasepool_benches::workload::Workload;
use std::thread;
use std::time::{Duration, Instant};

/// For what is destroyed later.
const PATIENCE: Duration = Duration::from_secs(5);

/// Objects that were alive at a time, by scenario and contestant, with one thread.
pub type Peaks = Vec<(&'static str, &'static str, u64)>;

/// Does the work by so many threads. Gives whether none of them panicked.
fn work(workload: &Workload, threads: usize) -> bool {
    let meeting = Meeting::default();
    thread::scope(|scope| {
        let work = || {
            let mut job = workload.job();
            meeting.meet(threads);
            job(1);
            job(2);
        };
        let crew: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ends: Vec<_> = crew.into_iter().map(|member| member.join()).collect();
        ends.iter().all(Result::is_ok)
    })
}

/// Has everything destroyed that waits for a moment at which nobody uses it.
fn settle() -> Count {
    let end = Instant::now() + PATIENCE;
    loop {
        let count = Count::now();
        if count.made == count.destroyed || Instant::now() > end {
            return count;
        }
        autoreleasepool(|_| ());
        PoolManager::global().quiesce(Duration::from_millis(10));
        epoch::pin().flush();
        thread::yield_now();
    }
}

fn count(contestant: &Contestant, threads: usize) -> Result<Count, String> {
    Count::reset();
    let workload = (contestant.counted)();
    if !work(&workload, threads) {
        return Err("a thread panicked".to_owned());
    }
    drop(workload);
    let count = settle();
    if count.made == count.destroyed {
        Ok(count)
    } else {
        Err(format!(
            "{} objects made, but {} destroyed",
            count.made, count.destroyed
        ))
    }
}

/// Says who does something else than the others.
pub fn check(scenarios: &[Scenario]) -> Result<Peaks, String> {
    let mut peaks = Peaks::new();
    for scenario in scenarios {
        // By number of threads.
        let mut expected: [Option<(u64, &str)>; 2] = [None; 2];
        for contestant in &scenario.contestants {
            let most = if contestant.alone() { 1 } else { 2 };
            for threads in 1..=most {
                let what = |error: String| {
                    let name = contestant.name;
                    format!("{}, {name}, threads: {threads}: {error}", scenario.id)
                };
                let count = count(contestant, threads).map_err(what)?;
                let expected = &mut expected[threads - 1];
                let (made, first) = *expected.get_or_insert((count.made, contestant.name));
                if count.made != made {
                    let error = format!("{} objects made, but {made} by {first}", count.made);
                    return Err(what(error));
                }
                if scenario.peak && threads == 1 {
                    peaks.push((scenario.id, contestant.name, count.peak));
                }
            }
        }
    }
    Ok(peaks)
}
