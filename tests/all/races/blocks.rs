//! Blocks on real threads, for Miri and the sanitizers: see `races`.

use crate::races::{Line, ROUNDS, Watched};
use crate::support::{Log, wait_until};
use releasepool::{BlockAllocator, Ref};
use std::sync::mpsc;

/// More than a batch.
const MANY: u32 = if cfg!(miri) { 3 } else { 100 };

fn fill(blocks: &BlockAllocator, log: &Log) -> Vec<Ref<Watched>> {
    let make = |id| Ref::new_in(Watched::new(id, log), blocks);
    (0..MANY).map(make).collect()
}

fn look(all: &[Ref<Watched>]) {
    all.iter().for_each(|object| object.look());
}

#[test]
fn remote_frees_are_used_again_by_the_heaps_owner() {
    for _ in 0..ROUNDS / 10 + 1 {
        let log = Log::new();
        let blocks = BlockAllocator::new();
        let line = Line::of(2);
        let (to, objects) = mpsc::channel::<Vec<Ref<Watched>>>();
        let (theirs, deaths) = (blocks.clone(), log.clone());
        let home = line.start(move || {
            for _ in 0..4 {
                to.send(fill(&theirs, &deaths)).unwrap();
                look(&fill(&theirs, &deaths));
            }
        });
        let away = line.start(move || objects.into_iter().for_each(|all| look(&all)));
        home.join().unwrap();
        away.join().unwrap();
        assert_eq!(log.count(), 8 * MANY as usize);
        blocks.trim();
        assert_eq!(blocks.stats().live_blocks, 0);
    }
}

#[test]
fn heap_is_adopted_while_remote_frees_arrive() {
    for _ in 0..ROUNDS / 10 + 1 {
        let log = Log::new();
        let blocks = BlockAllocator::new();
        let line = Line::of(3);
        let (to, objects) = mpsc::channel();
        let (theirs, deaths) = (blocks.clone(), log.clone());
        let leaves = line.start(move || to.send(fill(&theirs, &deaths)).unwrap());
        let frees = line.start(move || objects.into_iter().for_each(|all: Vec<_>| look(&all)));
        let (theirs, deaths) = (blocks.clone(), log.clone());
        let comes = line.start(move || look(&fill(&theirs, &deaths)));
        leaves.join().unwrap();
        frees.join().unwrap();
        comes.join().unwrap();
        assert_eq!(log.count(), 2 * MANY as usize);
        wait_until(|| {
            blocks.trim();
            blocks.stats().live_blocks == 0
        });
    }
}

#[test]
fn last_handle_is_dropped_while_threads_free_and_exit() {
    for _ in 0..ROUNDS / 10 + 1 {
        let log = Log::new();
        let blocks = BlockAllocator::new();
        let line = Line::of(3);
        let (to, objects) = mpsc::channel();
        let (theirs, deaths) = (blocks.clone(), log.clone());
        let owner = line.start(move || {
            let mut all = fill(&theirs, &deaths);
            drop(theirs);
            to.send(all.pop().unwrap()).unwrap();
            look(&all);
        });
        let frees =
            line.start(move || objects.into_iter().for_each(|one: Ref<Watched>| one.look()));
        let closes = line.start(move || drop(blocks));
        owner.join().unwrap();
        frees.join().unwrap();
        closes.join().unwrap();
        assert_eq!(log.count(), MANY as usize);
    }
}

#[test]
fn last_handle_is_dropped_while_the_owner_frees_its_last_block() {
    for _ in 0..ROUNDS / 10 + 1 {
        let blocks = BlockAllocator::new();
        let line = Line::of(2);
        let theirs = blocks.clone();
        let owner = line.start(move || {
            let (first, last) = (Ref::new_in(1, &theirs), Ref::new_in(2, &theirs));
            drop(theirs);
            drop(first);
            drop(last);
        });
        let closes = line.start(move || drop(blocks));
        owner.join().unwrap();
        closes.join().unwrap();
    }
}

#[test]
fn several_threads_trim_at_once() {
    for _ in 0..ROUNDS / 10 + 1 {
        let log = Log::new();
        let blocks = BlockAllocator::new();
        let line = Line::of(3);
        let threads = [0, 1, 2].map(|_| {
            let (theirs, deaths) = (blocks.clone(), log.clone());
            line.start(move || {
                look(&fill(&theirs, &deaths));
                theirs.trim();
                let all = fill(&theirs, &deaths);
                theirs.trim();
                look(&all);
                assert!(theirs.stats().heaps > 0);
            })
        });
        threads
            .into_iter()
            .for_each(|thread| _ = thread.join().unwrap());
        assert_eq!(log.count(), 6 * MANY as usize);
        blocks.trim();
        assert_eq!(blocks.stats().chunk_bytes, 0);
    }
}
