//! A check that all implementations do the same work: with counted objects, on one thread and on two.

use crate::rival;
use crate::scenario::{Contestant, Scenario};
use releasepool::PoolManager;
use releasepool_benches::crew;
use releasepool_benches::objects::Count;
use std::time::Duration;

/// Counts the objects of a contestant, in its own process.
pub fn count(contestant: &Contestant, threads: usize) -> Result<Count, String> {
    Count::reset();
    let workload = (contestant.counted)();
    if !crew::run(threads, &workload) {
        return Err("a thread panicked".to_owned());
    }
    drop(workload);
    // Destroys the objects that slots have retired.
    PoolManager::global().quiesce(Duration::from_secs(5));
    let count = Count::now();
    if count.made == count.destroyed {
        Ok(count)
    } else {
        Err(format!(
            "it created {} objects, but destroyed {}",
            count.made, count.destroyed
        ))
    }
}

/// Returns an error if a contestant does other work than the others.
pub fn check(scenarios: &[Scenario]) -> Result<(), String> {
    for scenario in scenarios {
        // The number of created objects for one thread and for two, and the first contestant.
        let mut expected: [Option<(u64, String)>; 2] = [None, None];
        for contestant in &scenario.contestants {
            let most = if contestant.single_threaded() { 1 } else { 2 };
            for threads in 1..=most {
                let count = match contestant.elsewhere {
                    Some(elsewhere) => rival::count(scenario.id, elsewhere, threads),
                    None => count(contestant, threads),
                };
                let expected = &mut expected[threads - 1];
                let equal = count.and_then(|count| {
                    let first = || (count.made, contestant.name.clone());
                    let (made, first) = expected.get_or_insert_with(first);
                    if count.made == *made {
                        return Ok(());
                    }
                    let other = count.made;
                    Err(format!(
                        "it created {other} objects, but {first} created {made}"
                    ))
                });
                equal.map_err(|error| {
                    let name = &contestant.name;
                    format!("{}, {name}, {threads} threads: {error}", scenario.id)
                })?;
            }
        }
    }
    Ok(())
}
