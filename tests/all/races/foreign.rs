//! Foreign references that threads give up, for the checkers: see `races`.

use crate::races::{Line, ROUNDS, Watched, me};
use crate::support::{Log, wait_until};
use releasepool::{Foreign, RemoteRelease};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::{JoinHandle, ThreadId};

/// Two threads together fill more than one segment, except under Miri.
const EACH: u32 = if cfg!(miri) { 3 } else { 100 };
const ALL: usize = 2 * EACH as usize;

// SAFETY: has one reference, which `release` gives up.
unsafe impl Foreign for Watched {
    unsafe fn retain(_: NonNull<Self>) {
        unreachable!("nobody retains")
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: `give_up` leaked the box; this is its only reference.
        drop(unsafe { Box::from_raw(this.as_ptr()) });
    }
}

type Queue<C> = Arc<RemoteRelease<Watched, C>>;

/// Makes a queue of the calling thread.
fn queue() -> Queue<impl Fn() -> bool + Send + Sync> {
    let owner = me();
    Arc::new(RemoteRelease::new(move || me() == owner))
}

/// Makes an object, uses it, and gives it up. Returns whether the queue accepted it; if not,
/// releases it here.
fn give_up<C: Fn() -> bool>(queue: &Queue<C>, id: u32, log: &Log) -> bool {
    let object = NonNull::from(Box::leak(Box::new(Watched::new(id, log))));
    // SAFETY: just made; the only reference, which any thread may release.
    unsafe {
        object.as_ref().look();
        let accepted = queue.push(object);
        if !accepted {
            Watched::release(object);
        }
        accepted
    }
}

/// Starts two threads that give up objects, and return how many were accepted.
fn start_pushers<C: Fn() -> bool + Send + Sync + 'static>(
    queue: &Queue<C>,
    line: &Arc<Line>,
    log: &Log,
) -> [JoinHandle<(usize, ThreadId)>; 2] {
    [0, EACH].map(|first| {
        let (queue, log) = (queue.clone(), log.clone());
        let give_up = move |id: &u32| give_up(&queue, *id, &log);
        line.start(move || (first..first + EACH).filter(give_up).count())
    })
}

/// Waits for the threads; returns how many objects were accepted.
fn accepted(pushers: [JoinHandle<(usize, ThreadId)>; 2]) -> usize {
    pushers.map(|pusher| pusher.join().unwrap().0).iter().sum()
}

#[test]
fn references_are_given_up_while_their_owner_drains() {
    for _ in 0..ROUNDS / 20 + 1 {
        let (log, queue, line) = (Log::new(), queue(), Line::of(3));
        let pushers = start_pushers(&queue, &line, &log);
        line.wait();
        let mut released = 0;
        wait_until(|| {
            released += queue.drain().unwrap();
            released == ALL
        });
        assert_eq!(accepted(pushers), ALL);
        assert!(queue.is_empty());
        assert_eq!(log.threads(), [me(); ALL]);
    }
}

#[test]
fn references_are_given_up_while_their_owner_ends() {
    for _ in 0..ROUNDS / 20 + 1 {
        let (log, queue, line) = (Log::new(), queue(), Line::of(3));
        let pushers = start_pushers(&queue, &line, &log);
        line.wait();
        let released = queue.drain().unwrap() + queue.close().unwrap();
        assert_eq!(accepted(pushers), released);
        let here = log.threads().iter().filter(|at| **at == me()).count();
        assert_eq!((log.count(), here), (ALL, released));
    }
}
