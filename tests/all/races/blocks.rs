//! Blocks on real threads, for Miri and the sanitizers.

use super::objects::scenario::*;
use super::rounds;
use crate::support::wait_until;
use releasepool::Ref;
use releasepool::memory::BlockAllocator;
use std::sync::mpsc;

/// More than a batch.
const MANY: usize = if cfg!(miri) { 3 } else { 100 };

fn fill(blocks: &BlockAllocator) -> Vec<Ref<Probe>> {
    (0..MANY)
        .map(|_| Ref::new_in(Probe::new(), blocks))
        .collect()
}

fn look(all: &[Ref<Probe>]) {
    all.iter().for_each(|object| object.look());
}

#[test]
fn remote_frees_are_used_again_by_the_heaps_owner() {
    rounds(10, || {
        let blocks = BlockAllocator::new();
        let (to, objects) = mpsc::channel::<Vec<Ref<Probe>>>();
        let home = spawn_with(&blocks, move |blocks| {
            for _ in 0..4 {
                to.send(fill(&blocks)).unwrap();
                look(&fill(&blocks));
            }
        });
        let away = spawn(move || objects.into_iter().for_each(|all| look(&all)));
        go();
        join_all([home, away]);
        assert_eq!(take_deaths().len(), 8 * MANY);
        blocks.trim();
        assert_eq!(blocks.stats().live_blocks, 0);
    });
}

#[test]
fn heap_is_adopted_while_remote_frees_arrive() {
    rounds(10, || {
        let blocks = BlockAllocator::new();
        let (to, objects) = mpsc::channel();
        let leaves = spawn_with(&blocks, move |blocks| to.send(fill(&blocks)).unwrap());
        let frees = spawn(move || objects.into_iter().for_each(|all: Vec<_>| look(&all)));
        let comes = spawn_with(&blocks, |blocks| look(&fill(&blocks)));
        go();
        join_all([leaves, frees, comes]);
        assert_eq!(take_deaths().len(), 2 * MANY);
        wait_until(|| {
            blocks.trim();
            blocks.stats().live_blocks == 0
        });
    });
}

#[test]
fn last_handle_is_dropped_while_threads_free_and_exit() {
    rounds(10, || {
        let blocks = BlockAllocator::new();
        let (to, objects) = mpsc::channel();
        let owner = spawn_with(&blocks, move |blocks| {
            let mut all = fill(&blocks);
            drop(blocks);
            to.send(all.pop().unwrap()).unwrap();
            look(&all);
        });
        let frees = spawn(move || {
            objects
                .into_iter()
                .for_each(|one: Ref<Probe>| last_look(one))
        });
        let closes = spawn(move || drop(blocks));
        go();
        join_all([owner, frees, closes]);
        assert_eq!(take_deaths().len(), MANY);
    });
}

#[test]
fn last_handle_is_dropped_while_the_owner_frees_its_last_block() {
    rounds(10, || {
        let blocks = BlockAllocator::new();
        let owner = spawn_with(&blocks, |blocks| {
            let (first, last) = (Ref::new_in(1, &blocks), Ref::new_in(2, &blocks));
            drop(blocks);
            drop(first);
            drop(last);
        });
        let closes = spawn(move || drop(blocks));
        go();
        join_all([owner, closes]);
    });
}

#[test]
fn several_threads_trim_at_once() {
    rounds(10, || {
        let blocks = BlockAllocator::new();
        let threads = [(); 3].map(|()| {
            spawn_with(&blocks, |blocks| {
                look(&fill(&blocks));
                blocks.trim();
                let all = fill(&blocks);
                blocks.trim();
                look(&all);
                assert!(blocks.stats().heaps > 0);
            })
        });
        go();
        join_all(threads);
        assert_eq!(take_deaths().len(), 6 * MANY);
        blocks.trim();
        assert_eq!(blocks.stats().chunk_bytes, 0);
    });
}
