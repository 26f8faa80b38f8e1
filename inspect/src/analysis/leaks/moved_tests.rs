//! References that were moved, so that memory has copies of them.

use super::{Limits, leaks};
use crate::analysis::Analysis;
use crate::analysis::synthetic::Builder;
use crate::analysis::verdict::Verdict;
use crate::graph::{NodeId, RootKind};

fn verdicts(b: Builder) -> Vec<(Verdict, u64)> {
    let graph = b.build();
    let groups = leaks(&Analysis::new(&graph), &Limits::default(), None);
    groups
        .iter()
        .map(|group| (group.verdict, group.figures.leaks))
        .collect()
}

fn objects(b: &mut Builder, n: usize, strong: u32) -> Vec<NodeId> {
    (0..n).map(|_| b.object("Job", strong, 0)).collect()
}

/// Adds an allocation of so many bytes that lives for as long as the program.
fn kept(b: &mut Builder, bytes: u64) -> NodeId {
    let kept = b.plain(bytes);
    b.root(RootKind::Static, "static KEPT", kept);
    kept
}

/// Adds an allocation for each object, all in one list. Each has these words with its object's address.
fn each_in_one(b: &mut Builder, list: NodeId, objects: &[NodeId], words: &[u32]) {
    for (at, object) in (0..).zip(objects) {
        let holder = b.plain(128);
        b.edge(list, 8 * at, holder);
        for word in words {
            b.edge(holder, *word, *object);
        }
    }
}

/// Where a task has its argument, and where it has moved it.
const TASK: [u32; 2] = [56, 72];
/// Where memory that was never written has what was there before.
const STALE: [u32; 1] = [304];

#[test]
fn one_of_the_copies_in_an_allocation_is_the_reference() {
    let moved = |held: bool| {
        let mut b = Builder::new();
        let game = b.object("Game", 1, 0);
        let future = b.plain(32);
        b.edge(future, 0, game).edge(future, 16, game);
        if held {
            b.root(RootKind::Static, "static FUTURE", future);
        }
        verdicts(b)
    };
    assert_eq!(moved(true), []);
    assert_eq!(moved(false), [(Verdict::Allocation, 1)]);
}

#[test]
fn copies_in_two_allocations_hold_where_roots_lead_to_them() {
    let moved = |held: bool| {
        let mut b = Builder::new();
        let game = b.object("Game", 1, 0);
        let lists = [0, 1].map(|_| b.plain(32));
        for list in lists {
            b.edge(list, 0, game).edge(list, 16, game);
            if held {
                b.root(RootKind::Static, "static LIST", list);
            }
        }
        verdicts(b)
    };
    assert_eq!(moved(true), []);
    assert_eq!(moved(false), [(Verdict::NoHolder, 1)]);
}

#[test]
fn stale_words_that_most_objects_have_are_not_taken_for_what_tasks_have() {
    let mut b = Builder::new();
    let jobs = objects(&mut b, 60, 1);
    let forgotten = objects(&mut b, 3, 1);
    let tasks = kept(&mut b, 512);
    each_in_one(&mut b, tasks, &jobs, &TASK);
    let channels = kept(&mut b, 1024);
    each_in_one(&mut b, channels, &jobs[1..], &STALE);
    assert_eq!(verdicts(b), [(Verdict::NoHolder, forgotten.len() as u64)]);
}

#[test]
fn references_in_a_vector_are_told_from_copies_of_their_clones_in_tasks() {
    let mut b = Builder::new();
    let jobs = objects(&mut b, 60, 2);
    // Their tasks have ended.
    let done = objects(&mut b, 1, 1);
    let more = objects(&mut b, 2, 5);
    let vector = kept(&mut b, 1024);
    for (at, job) in (0..).step_by(16).zip([&*jobs, &done, &more].concat()) {
        b.edge(vector, at, job);
    }
    let tasks = kept(&mut b, 512);
    each_in_one(&mut b, tasks, &[&*jobs, &more].concat(), &TASK);
    assert_eq!(verdicts(b), [(Verdict::MoreReferences, 2)]);
}

#[test]
fn one_object_does_not_decide_for_others_that_cannot_tell() {
    let mut b = Builder::new();
    let jobs = objects(&mut b, 60, 1);
    let others = objects(&mut b, 2, 1);
    let tasks = kept(&mut b, 512);
    each_in_one(&mut b, tasks, &jobs, &TASK);
    // These words are stale, say those that only a task has.
    let channels = kept(&mut b, 1024);
    each_in_one(&mut b, channels, &jobs[1..], &STALE);
    let other_tasks = kept(&mut b, 256);
    each_in_one(&mut b, other_tasks, &others, &TASK);
    each_in_one(&mut b, channels, &others[..1], &STALE);
    // For this one, two of what is in that list have words, so that nothing there seems to hold it.
    each_in_one(&mut b, other_tasks, &others[1..], &TASK[..1]);
    let other_channels = kept(&mut b, 2048);
    each_in_one(&mut b, other_channels, &others[1..], &STALE);
    assert_eq!(verdicts(b), []);
}
