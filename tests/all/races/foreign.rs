//! Foreign references that threads give up, for the checkers: more than models can.

use super::objects::remote_release::{Queue, died_here, give_up, queue};
use crate::races::probe::{Thread, begin, go, spawn, take_deaths};
use crate::races::{ROUNDS, me};
use crate::support::wait_until;

/// Two threads together fill more than one segment, except under Miri.
const EACH: usize = if cfg!(miri) { 3 } else { 100 };
const ALL: usize = 2 * EACH;

/// Starts two threads that give up objects; each returns how many were accepted.
fn start_pushers<C: Fn() -> bool + Send + Sync + 'static>(queue: &Queue<C>) -> [Thread<usize>; 2] {
    [(); 2].map(|()| {
        let queue = queue.clone();
        spawn(move || (0..EACH).filter(|_| give_up(&*queue)).count())
    })
}

/// Waits for the threads; returns how many objects were accepted.
fn accepted(pushers: [Thread<usize>; 2]) -> usize {
    pushers.map(Thread::join).iter().sum()
}

#[test]
fn references_are_given_up_while_their_owner_drains() {
    for _ in 0..ROUNDS / 20 + 1 {
        begin();
        let queue = queue();
        let pushers = start_pushers(&queue);
        go();
        let mut released = 0;
        wait_until(|| {
            released += queue.drain().unwrap();
            released == ALL
        });
        assert_eq!(accepted(pushers), ALL);
        assert!(queue.is_empty());
        died_here(ALL);
    }
}

#[test]
fn references_are_given_up_while_their_owner_ends() {
    for _ in 0..ROUNDS / 20 + 1 {
        begin();
        let queue = queue();
        let pushers = start_pushers(&queue);
        go();
        let released = queue.drain().unwrap() + queue.close().unwrap();
        assert_eq!(accepted(pushers), released);
        let deaths = take_deaths();
        let here = deaths.iter().filter(|at| **at == me()).count();
        assert_eq!((deaths.len(), here), (ALL, released));
    }
}
