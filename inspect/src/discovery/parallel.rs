//! Work on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The most threads that are used.
const MOST_THREADS: usize = 8;

/// Returns what `f` makes of all parts, in their order, on as many threads as are useful.
pub(super) fn in_parallel<P, R>(parts: Vec<P>, f: impl Fn(P) -> Vec<R> + Sync) -> Vec<R>
where
    P: Clone + Sync,
    R: Send,
{
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(parts.len()));
    let work = || {
        loop {
            // Relaxed: only a number for each part; the mutex publishes the results.
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(i) else {
                return;
            };
            let result = f(part.clone());
            done.lock()
                .expect("no thread panics with the lock")
                .push((i, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().expect("no thread panics with the lock");
    done.sort_unstable_by_key(|(i, _)| *i);
    let mut all = Vec::with_capacity(done.iter().map(|(_, part)| part.len()).sum());
    for (_, mut part) in done {
        all.append(&mut part);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_parts() {
        let parts: Vec<u32> = (0..100).collect();
        let found = in_parallel(parts, |n| vec![n; n as usize % 3]);
        let expected: Vec<u32> = (0..100).flat_map(|n| vec![n; n as usize % 3]).collect();
        assert_eq!(found, expected);
        assert!(in_parallel(Vec::new(), |n: u32| vec![n]).is_empty());
    }
}
