//! Values that reclaimers destroy, and hooks by which messages wake a foreign event loop.

use super::steps::*;
use releasepool::model::parts::{Atomic, Room};
use releasepool::reclaim::{Full, ReclaimerBuilder, WhenFull, finish_drops};
use releasepool::{Reclaimer, Ref, drop_later};
use std::time::Duration;

pub fn models() -> Vec<Model> {
    [
        Model::new(
            "drop_later_full",
            "a reclaimer for which one value may wait gets two: the sender of the second one waits and is woken",
            &["full", "room"],
            full,
        )
        // One preemption runs the reclaimer's round between the sender's look for room and its
        // sleep, a second one stops it halfway. With three: 13,145 executions in the rmw mode.
        .bounded(2)
        .plain_bounded(1),
        Model::new(
            "drop_later_heavy",
            "a reclaimer with room for one byte gets two values of one byte: the sender of the second one waits and is woken",
            &["full", "room"],
            heavy,
        )
        .bounded(2)
        .plain_bounded(1),
        Model::new(
            "drop_later_refused",
            "a sender waits for room, which another sender tries to take: it is woken if the other gets it, and if not",
            &["full", "room"],
            || refused(|to| drop(to.try_drop_later(Probe::new()))),
        )
        // With one preemption, the plain mode takes more than 100 s.
        .bounded(2)
        .plain_bounded(0),
        Model::new(
            "drop_later_refused_release",
            "a sender waits for room, which a release tries to take: it is woken if that gets it, and if not",
            &["full", "room"],
            || refused(|to| to.thread().release(Ref::new(Probe::new()))),
        )
        .bounded(2)
        .plain_bounded(0),
        Model::new(
            "drop_later_refused_bytes",
            "a sender waits for room, while a value is refused that is always too heavy: it is woken",
            OVERLAP,
            refused_bytes,
        )
        .plain(&["one after the other"])
        .bounded(2)
        .plain_bounded(0),
        Model::new(
            "drop_later_end",
            "a value is sent to a reclaimer that ends: it is destroyed once, there or by the sender",
            &["here", "there"],
            end,
        )
        // The plain mode makes 570,183 executions with three preemptions, 68,634 with two.
        .bounded(2)
        .plain_bounded(1),
        Model::new(
            "drop_later_full_end",
            "a sender waits for room while the reclaimer ends: it is woken, and no value is lost",
            &["both there", "one here", "both here"],
            full_end,
        )
        .plain(&["both here", "one here"])
        // With two preemptions, the plain mode takes more than 300 s.
        .bounded(2)
        .plain_bounded(1),
        Model::new(
            "drop_later_bytes",
            "three values are weighed for a reclaimer that has room for two: the last is destroyed by its sender, or there later",
            &["all there", "one here"],
            bytes,
        )
        .bounded(2)
        .plain_bounded(1),
        Model::new(
            "drop_later_finish",
            "a value is sent to the reclaimer of the process while another thread ends that: it is destroyed once, there, by its sender or by the next reclaimer; the value before is destroyed by then",
            &["here", "next", "there"],
            finish,
        )
        .plain(&["next"])
        // Only with two preemptions does the sender meet the end between its look-up and its send.
        .bounded(2)
        .plain_bounded(0),
        Model::new(
            "drop_later_next",
            "a thread that has used the reclaimer of the process sends to the next one, which one of the two starts",
            OVERLAP,
            next,
        )
        .plain(&["at once"])
        .bounded(1)
        .plain_bounded(0),
        Model::new(
            "room_made",
            "a sender finds no room, and none when another one has taken what was made: it is woken each time",
            &["found room", "waited once", "waited twice"],
            room_made,
        )
        .bounded(3),
        Model::new(
            "room_end",
            "a sender waits for room that is never made: it is woken by the end",
            &["before the end", "woken"],
            room_end,
        ),
        Model::new(
            "inbox_hook",
            "two releases to a thread whose foreign loop sleeps until its hook is called: both are made",
            &["one turn", "two turns"],
            hook,
        )
        // With three preemptions: 134,089 executions.
        .bounded(2),
    ]
    .into()
}

fn start(builder: ReclaimerBuilder) -> Arc<Reclaimer> {
    Arc::new(builder.spawn("reclaimer").unwrap())
}

/// Starts a reclaimer with room for one value.
fn one_value() -> Arc<Reclaimer> {
    start(Reclaimer::builder().values(1))
}

/// Asserts that `n` values have been destroyed; returns how many of them on `thread`.
fn destroyed_on(thread: ThreadId, n: usize) -> usize {
    let deaths = take_deaths();
    assert_eq!(deaths.len(), n);
    deaths.into_iter().filter(|at| *at == thread).count()
}

fn full() -> bool {
    let reclaimer = one_value();
    reclaimer.drop_later(Probe::new());
    let refused = reclaimer.try_drop_later(Probe::new()).err();
    let was_full = refused.is_some();
    if let Some(Full(probe)) = refused {
        reclaimer.drop_later(probe);
    }
    drop(reclaimer);
    assert_eq!(destroyed_on(me(), 2), 0);
    was_full
}

fn heavy() -> bool {
    let reclaimer = start(Reclaimer::builder().values(2).bytes(1));
    reclaimer.drop_later_weighed(Probe::new(), 1);
    let is_full = reclaimer.pending().bytes != 0;
    reclaimer.drop_later_weighed(Probe::new(), 1);
    drop(reclaimer);
    assert_eq!(destroyed_on(me(), 2), 0);
    is_full
}

/// Calls `send`, which destroys what is refused, on another thread while this one waits for room.
fn refused(send: fn(&Reclaimer)) -> bool {
    let reclaimer = one_value();
    reclaimer.drop_later(Probe::new());
    let other = spawn_with(&reclaimer, move |to| send(&to));
    reclaimer.drop_later(Probe::new());
    let other = other.ended();
    drop(reclaimer);
    destroyed_on(other, 3) > 0
}

fn refused_bytes() -> bool {
    let reclaimer = start(Reclaimer::builder().values(1).bytes(0));
    let to = reclaimer.clone();
    let heavy = move || {
        to.drop_later_weighed(Probe::new(), 1);
        me()
    };
    let (other, (), at_once) = overlap(heavy, || reclaimer.drop_later(Probe::new()));
    drop(reclaimer);
    assert_eq!(destroyed_on(other, 2), 1);
    at_once
}

fn end() -> bool {
    let builder = Reclaimer::builder().values(1);
    let reclaimer = start(builder.when_full(WhenFull::DestroyHere));
    let sender = spawn_with(&reclaimer, |to| to.drop_later(Probe::new()));
    assert!(reclaimer.finish(Duration::MAX));
    let sender = sender.ended();
    let pending = reclaimer.pending();
    assert!(pending.values == 0 && pending.types.is_empty(), "{pending}");
    destroyed_on(sender, 1) == 1
}

fn full_end() -> usize {
    let reclaimer = one_value();
    // One thread makes both values: with blocks of two heaps, what the threads share would depend
    // on addresses.
    let sender = spawn_with(&reclaimer, |to| {
        to.drop_later(Probe::new());
        to.drop_later(Probe::new());
    });
    assert!(reclaimer.finish(Duration::MAX));
    destroyed_on(sender.ended(), 2)
}

fn bytes() -> usize {
    let builder = Reclaimer::builder().bytes(2);
    let reclaimer = start(builder.when_full(WhenFull::DestroyHere));
    (0..3).for_each(|_| reclaimer.drop_later_weighed(Probe::new(), 1));
    assert!(reclaimer.finish(Duration::MAX));
    let pending = reclaimer.pending();
    assert_eq!((pending.bytes, pending.values), (0, 0));
    destroyed_on(me(), 3)
}

/// Over-aligned, so not in blocks: with blocks of two heaps, what threads share would depend on
/// addresses.
#[repr(align(128))]
struct OverAligned(#[expect(dead_code, reason = "it is dropped")] Probe);

fn finish() -> &'static str {
    let send = || drop_later(OverAligned(Probe::new()));
    send();
    let sender = spawn(send);
    assert!(finish_drops(Duration::MAX));
    let mut deaths = take_deaths();
    let there = deaths[0];
    let sender = sender.ended();
    assert!(finish_drops(Duration::MAX));
    deaths.extend(take_deaths());
    assert!(!deaths.contains(&me()) && there != sender);
    match deaths[1..] {
        [at] if at == there => "there",
        [at] if at == sender => "here",
        [_] => "next",
        ref other => panic!("{other:?}"),
    }
}

fn next() -> bool {
    let send = || drop_later(OverAligned(Probe::new()));
    let (sent, ended, next) = (Door::new(), Door::new(), Overlap::shared());
    let sender = spawn_with(
        &(sent.clone(), ended.clone(), next.clone()),
        move |(sent, ended, next)| {
            send();
            sent.open();
            ended.wait();
            next.during(send);
        },
    );
    sent.wait();
    assert!(finish_drops(Duration::MAX));
    ended.open();
    next.during(send);
    let sender = sender.ended();
    assert!(finish_drops(Duration::MAX));
    let deaths = take_deaths();
    assert!(deaths.len() == 3 && !deaths.contains(&me()) && !deaths.contains(&sender));
    next.at_once()
}

fn room_made() -> usize {
    /// Two values, each of which is 1 while it waits, and the reclaimer's room for one value.
    #[derive(Default)]
    struct Shared {
        first: Atomic,
        second: Atomic,
        room: Room,
    }
    let shared = Arc::new(Shared::default());
    shared.first.store(1);
    let (here, there) = (shared.clone(), shared.clone());
    let other = spawn_without_exit(move || there.second.store(1));
    let reclaimer = spawn_without_exit(move || {
        here.first.store(0);
        here.room.made();
        other.join();
        here.second.store(0);
        here.room.made();
    });
    let is_there = || shared.first.load() == 0 && shared.second.load() == 0;
    let mut waits: usize = 0;
    while !is_there() {
        assert!(shared.room.wait(is_there), "not ended");
        waits += 1;
    }
    reclaimer.join();
    waits.min(2)
}

fn room_end() -> usize {
    let room = Arc::new(Room::default());
    let there = room.clone();
    let reclaimer = spawn_without_exit(move || there.end());
    let woken = std::iter::from_fn(|| room.wait(|| false).then_some(())).count();
    reclaimer.join();
    woken.min(1)
}

fn hook() -> usize {
    let woken = Door::new();
    let there = woken.clone();
    // The hook of an outer loop, which must not be called while the inner hook is set, as the outer
    // one wakes nobody.
    let outer = manager().set_inbox_hook(|| ());
    let hook = manager().set_inbox_hook(move || there.open());
    let this = this();
    let senders = [(), ()].map(|()| spawn_with(&this, |to| to.release(Ref::new(Probe::new()))));
    let (mut died, mut more_turns) = (0, 0);
    while died < 2 {
        woken.wait();
        manager().run_inbox();
        let now = take_deaths().len();
        more_turns += usize::from(now > 0 && died > 0);
        died += now;
    }
    join_all(senders);
    drop((hook, outer));
    more_turns
}
