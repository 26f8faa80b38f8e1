//! A check that all allocators do the same work.

use super::checked::watch;
use super::contestants;
use super::works::Work;

/// # Panics
/// If an allocator does other work than the others.
pub fn check() {
    let all = contestants::all();
    for work in Work::ALL {
        let mut done = all.iter().filter_map(|contestant| {
            let workload = (contestant.checked)(work)?;
            Some((contestant.name, watch(&workload)))
        });
        let (_, expected) = done.next().expect("the first one can do all works");
        for (name, done) in done {
            assert_eq!(done, expected, "{name}: {work:?}");
        }
    }
    println!("Checked: {} allocators do the same work.", all.len());
    if cfg!(not(feature = "snmalloc")) {
        println!("Not measured: snmalloc, which needs --features snmalloc and a C++ compiler");
    }
}
