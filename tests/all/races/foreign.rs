//! Foreign references that threads give up, for the checkers: more than models can.

use super::objects::remote_release::{Queue, died_here, give_up, queue};
use super::objects::scenario::*;
use super::rounds;
use crate::support::wait_until;

/// Two threads together fill more than one segment, except under Miri.
const EACH: usize = if cfg!(miri) { 3 } else { 100 };
const ALL: usize = 2 * EACH;

/// Starts two threads that give up objects; each returns how many were accepted.
fn start_pushers<C: Fn() -> bool + Send + Sync + 'static>(queue: &Queue<C>) -> [Thread<usize>; 2] {
    let give_up = |queue: Queue<C>| (0..EACH).filter(|_| give_up(&*queue)).count();
    [(); 2].map(|()| spawn_with(queue, give_up))
}

/// Waits for the threads; returns how many objects were accepted.
fn accepted(pushers: [Thread<usize>; 2]) -> usize {
    join_all(pushers).iter().sum()
}

#[test]
fn references_are_given_up_while_their_owner_drains() {
    rounds(20, || {
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
    });
}

#[test]
fn references_are_given_up_while_their_owner_ends() {
    rounds(20, || {
        let queue = queue();
        let pushers = start_pushers(&queue);
        go();
        let released = queue.drain().unwrap() + queue.close().unwrap();
        assert_eq!(accepted(pushers), released);
        let deaths = deaths();
        let here = deaths.iter().filter(|at| **at == me()).count();
        assert_eq!((deaths.len(), here), (ALL, released));
    });
}
