//! Values that reclaimers destroy, and hooks by which messages wake a foreign event loop.

use super::model::Model;
use super::probe::{Overlap, Probe, me, spawn, take_deaths};
use loom::sync::{Arc, Condvar, Mutex};
use releasepool::model::parts::{Atomic, Room};
use releasepool::{
    Full, LooperProxy, PoolManager, ReclaimerConfig, Ref, WhenFull, drop_later, finish_drops,
};
use std::time::Duration;

pub const MODELS: &[Model] = &[
    Model::new(
        "drop_later_full",
        "a reclaimer for which one value may wait gets two: the sender of the second one waits and is woken",
        &["full", "room"],
        full,
    )
    // The locks of two sleeps. With three preemptions, the plain mode takes more than 400 s.
    .bounded(3)
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
        || refused(|looper| drop(looper.try_drop_later(Probe::new()))),
    )
    // The locks of two sleeps. With one preemption, the plain mode takes more than 100 s.
    .bounded(2)
    .plain_bounded(0),
    Model::new(
        "drop_later_refused_release",
        "a sender waits for room, which a release tries to take: it is woken if that gets it, and if not",
        &["full", "room"],
        || refused(|looper| looper.thread().release(Ref::new(Probe::new()))),
    )
    .bounded(2)
    .plain_bounded(0),
    Model::new(
        "drop_later_refused_bytes",
        "a sender waits for room, while a value is refused that is always too heavy: it is woken",
        Overlap::ANY,
        refused_bytes,
    )
    .plain(&["one after the other"])
    // The locks of two sleeps.
    .bounded(2)
    .plain_bounded(0),
    Model::new(
        "drop_later_end",
        "a value is sent to a reclaimer that ends: it is destroyed once, there or by the sender",
        &["here", "there"],
        end,
    )
    // The whole of an exit, and the lock of the looper's sleep. With three preemptions, the plain mode
    // makes 570,183 executions, with two 68,634.
    .bounded(2)
    .plain_bounded(1),
    Model::new(
        "drop_later_full_end",
        "a sender waits for room while the reclaimer ends: it is woken, and no value is lost",
        &["both here", "both there", "one here"],
        full_end,
    )
    .plain(&["both here", "one here"])
    // The whole of an exit, and the locks of two sleeps. With two preemptions, the plain mode takes more
    // than 300 s.
    .bounded(2)
    .plain_bounded(1),
    Model::new(
        "drop_later_bytes",
        "two values are weighed for a reclaimer that has room for one: the other is destroyed by its sender, or there later",
        &["both there", "one here"],
        bytes,
    )
    // The whole of an exit, and the lock of the looper's sleep.
    .bounded(2)
    .plain_bounded(1),
    Model::new(
        "drop_later_finish",
        "a value is sent to the reclaimer of the process while another thread ends that: it is destroyed once, there, by its sender or by the next reclaimer; the value before is destroyed by then",
        &["here", "next", "there"],
        finish,
    )
    .plain(&["next"])
    // The whole of two exits, and the locks of four sleeps. With one preemption, the plain mode makes more than
    // 180,000 executions. With two, which take minutes, the other mode also finds a value that is counted after the
    // end, as it is about to be refused.
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
    // Two senders, and the loop's lock. With three preemptions: 134,089 executions.
    .bounded(2),
];

fn one_value() -> ReclaimerConfig {
    ReclaimerConfig::new().values(1)
}

fn full() -> String {
    let reclaimer = one_value().spawn("reclaimer").unwrap();
    reclaimer.drop_later(Probe::new());
    let outcome = match reclaimer.try_drop_later(Probe::new()) {
        Ok(()) => "room",
        Err(Full(probe)) => {
            reclaimer.drop_later(probe);
            "full"
        }
    };
    reclaimer.shutdown().unwrap();
    let deaths = take_deaths();
    assert!(deaths.len() == 2 && !deaths.contains(&me()));
    outcome.to_owned()
}

fn heavy() -> String {
    let reclaimer = ReclaimerConfig::new().values(2).bytes(1);
    let reclaimer = reclaimer.spawn("reclaimer").unwrap();
    reclaimer.drop_later_weighed(Probe::new(), 1);
    let outcome = if reclaimer.pending().bytes == 0 {
        "room"
    } else {
        "full"
    };
    reclaimer.drop_later_weighed(Probe::new(), 1);
    reclaimer.shutdown().unwrap();
    let deaths = take_deaths();
    assert!(deaths.len() == 2 && !deaths.contains(&me()));
    outcome.to_owned()
}

/// While a sender waits for room, another thread calls `send`, which destroys what is refused.
fn refused(send: fn(&LooperProxy)) -> String {
    let reclaimer = one_value().spawn("reclaimer").unwrap();
    reclaimer.drop_later(Probe::new());
    let proxy = reclaimer.proxy();
    let other = spawn(move || {
        send(&proxy);
        me()
    });
    reclaimer.drop_later(Probe::new());
    let other = other.join().unwrap();
    reclaimer.shutdown().unwrap();
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 3);
    ["room", "full"][usize::from(deaths.contains(&other))].to_owned()
}

fn refused_bytes() -> String {
    let reclaimer = one_value().bytes(0).spawn("reclaimer").unwrap();
    let proxy = reclaimer.proxy();
    let overlap = Overlap::default();
    let sending = overlap.clone();
    let other = spawn(move || {
        sending.during(|| proxy.drop_later_weighed(Probe::new(), 1));
        me()
    });
    overlap.during(|| reclaimer.drop_later(Probe::new()));
    let other = other.join().unwrap();
    reclaimer.shutdown().unwrap();
    let deaths = take_deaths();
    let there = deaths.iter().filter(|thread| **thread == other).count();
    assert_eq!((deaths.len(), there), (2, 1));
    overlap.outcome()
}

fn end() -> String {
    let reclaimer = one_value().when_full(WhenFull::DestroyHere);
    let reclaimer = reclaimer.spawn("reclaimer").unwrap();
    let proxy = reclaimer.proxy();
    let sender = {
        let proxy = proxy.clone();
        spawn(move || {
            proxy.drop_later(Probe::new());
            me()
        })
    };
    reclaimer.shutdown().unwrap();
    let sender = sender.join().unwrap();
    let pending = proxy.pending();
    assert!(pending.values == 0 && pending.types.is_empty(), "{pending}");
    let deaths = take_deaths();
    assert_eq!(deaths.len(), 1);
    if deaths[0] == sender { "here" } else { "there" }.to_owned()
}

fn full_end() -> String {
    let reclaimer = one_value().spawn("reclaimer").unwrap();
    let proxy = reclaimer.proxy();
    // One thread makes both values: which lists blocks of two heaps share depends on addresses.
    let sender = spawn(move || {
        proxy.drop_later(Probe::new());
        proxy.drop_later(Probe::new());
        me()
    });
    reclaimer.shutdown().unwrap();
    let sender = sender.join().unwrap();
    let deaths = take_deaths();
    let here = deaths.iter().filter(|thread| **thread == sender).count();
    assert_eq!(deaths.len(), 2);
    ["both there", "one here", "both here"][here].to_owned()
}

fn bytes() -> String {
    let reclaimer = ReclaimerConfig::new()
        .bytes(1)
        .when_full(WhenFull::DestroyHere);
    let reclaimer = reclaimer.spawn("reclaimer").unwrap();
    let proxy = reclaimer.proxy();
    proxy.drop_later_weighed(Probe::new(), 1);
    proxy.drop_later_weighed(Probe::new(), 1);
    reclaimer.shutdown().unwrap();
    assert_eq!((proxy.pending().bytes, proxy.pending().values), (0, 0));
    let deaths = take_deaths();
    let here = deaths.iter().filter(|thread| **thread == me()).count();
    assert!(deaths.len() == 2 && here <= 1);
    ["both there", "one here"][here].to_owned()
}

fn finish() -> String {
    const LONG: Duration = Duration::MAX;
    // Too large for blocks: which lists blocks of two heaps share depends on addresses.
    let send = || drop_later((Probe::new(), [0_u8; 1_000]));
    send();
    let sender = spawn(move || {
        send();
        me()
    });
    assert!(finish_drops(LONG));
    let mut deaths = take_deaths();
    let there = deaths[0];
    let sender = sender.join().unwrap();
    assert!(finish_drops(LONG));
    deaths.extend(take_deaths());
    assert!(!deaths.contains(&me()) && there != sender);
    match deaths[1..] {
        [at] if at == there => "there",
        [at] if at == sender => "here",
        [_] => "next",
        ref other => panic!("{other:?}"),
    }
    .to_owned()
}

fn room_made() -> String {
    /// Two values, each 1 while it waits, and the room for one.
    #[derive(Default)]
    struct Shared {
        first: Atomic,
        second: Atomic,
        room: Room,
    }
    let shared = Arc::new(Shared::default());
    shared.first.store(1);
    let (here, there) = (shared.clone(), shared.clone());
    let other = loom::thread::spawn(move || there.second.store(1));
    let reclaimer = loom::thread::spawn(move || {
        here.first.store(0);
        here.room.made();
        other.join().unwrap();
        here.second.store(0);
        here.room.made();
    });
    let is_there = || shared.first.load() == 0 && shared.second.load() == 0;
    let mut waits = 0;
    while !is_there() {
        assert!(shared.room.wait(is_there), "not ended");
        waits += 1;
    }
    reclaimer.join().unwrap();
    ["found room", "waited once", "waited twice"][waits.min(2)].to_owned()
}

fn room_end() -> String {
    let room = Arc::new(Room::default());
    let there = room.clone();
    let reclaimer = loom::thread::spawn(move || there.end());
    let woken = std::iter::from_fn(|| room.wait(|| false).then_some(())).count();
    reclaimer.join().unwrap();
    ["before the end", "woken"][woken.min(1)].to_owned()
}

fn hook() -> String {
    let manager = PoolManager::global();
    let woken = Arc::new((Mutex::new(false), Condvar::new()));
    let there = woken.clone();
    // Of a loop around this one: it is not called meanwhile, and would wake nobody.
    let outer = manager.set_inbox_hook(|| ());
    let hook = manager.set_inbox_hook(move || {
        *there.0.lock().unwrap() = true;
        there.1.notify_one();
    });
    let this = manager.current_thread().unwrap();
    let senders = [(), ()].map(|()| {
        let this = this.clone();
        spawn(move || this.release(Ref::new(Probe::new())))
    });
    let (mut died, mut turns) = (0, 0);
    while died < 2 {
        let mut woken_now = woken.0.lock().unwrap();
        while !std::mem::replace(&mut *woken_now, false) {
            woken_now = woken.1.wait(woken_now).unwrap();
        }
        drop(woken_now);
        manager.run_inbox();
        let now = take_deaths().len();
        turns += usize::from(now > 0);
        died += now;
    }
    senders
        .into_iter()
        .for_each(|sender| sender.join().unwrap());
    drop((hook, outer));
    ["one turn", "two turns"][turns - 1].to_owned()
}
