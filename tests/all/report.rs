//! `finish` and its guard: what they end, where they may be called, and what they report. They concern the whole
//! process, so each test has one of its own.

use crate::frame::{HOUR, hold, looper, on_demand, quick, told_by};
use crate::support::{
    Bomb, Countdown, LONG, Log, Worker, alone, assert_says, events, global, listen, me,
    named_to_the_end, on_drop, only_event, panic_of, wait_until,
};
use releasepool::event::EventKind;
use releasepool::frame::FrameConfig;
use releasepool::reclaim::finish_drops;
use releasepool::report::{ExitReport, FinishGuard};
use releasepool::{
    AutoreleasePool, FrameLoop, HomeRef, Looper, PoolManager, Reclaimer, Ref, Slot, autorelease,
    drop_later, finish,
};
use std::ops::ControlFlow::Continue;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);

/// Returns kind and thread's name of the loops that are left.
fn loops(report: &ExitReport) -> Vec<(&'static str, &str)> {
    let name = |thread: &str| thread.len() - thread.find(" (").unwrap_or(0);
    let loops = report.loops.iter();
    let of = loops.map(|l| (l.kind, &l.thread[..l.thread.len() - name(&l.thread)]));
    of.collect()
}

/// Returns manager and number of open pools of each thread that holds something.
fn held(report: &ExitReport) -> Vec<(&str, usize)> {
    let managers = report.managers.iter();
    let held = managers.flat_map(|m| m.report.holders.iter().map(|h| (&m.name[..], h.open_pools)));
    held.collect()
}

#[test]
fn finish_ends_loops_drops_and_managers_and_the_process_can_go_on() {
    let log = alone!();
    let looper = looper();
    let go = hold(looper.thread());
    let own = Reclaimer::new("own").unwrap();
    let level = PoolManager::builder().name("level").build();
    for round in 0..2 {
        log.clear();
        if round == 0 {
            looper.post(move || log.note(0)).unwrap();
            own.drop_later(log.probe(1));
            // A loop that its owner has forgotten, with a closure that uses all the others.
            let frames = quick();
            let post = move || {
                log.note(2);
                drop_later(log.probe(3));
            };
            frames.proxy().post(post).unwrap();
            std::mem::forget(frames);
            go.send(()).unwrap();
        }
        drop_later(on_drop(move || drop_later(log.probe(4))));
        let nested = on_drop(move || PoolManager::global().autorelease(Ref::new(log.probe(5))));
        level.autorelease(Ref::new(nested));
        // Nobody has a handle to this manager.
        PoolManager::new().autorelease(Ref::new(log.probe(6)));
        Slot::new(Ref::new(log.probe(7))).store(Ref::new(log.probe(8)));
        let gone = named_to_the_end("gone", || global().current_thread().unwrap());
        gone.release(Ref::new(log.probe(9)));
        let reclaimer = thread::spawn(|| {
            let (send, receive) = mpsc::channel();
            drop_later(on_drop(move || send.send(thread::current().id()).unwrap()));
            receive.recv().unwrap()
        });
        let reclaimer = reclaimer.join().unwrap();
        let report = finish(LONG).unwrap();
        assert!(report.loops.is_empty() && report.managers.is_empty() && report.kept.is_empty());
        assert!(report.drops.is_empty());
        assert_eq!(report.live_objects, 0);
        assert_says(&report, &["0 objects are alive"]);
        let all: Vec<_> = (4 * round..10).collect();
        assert_eq!(log.sorted(), all);
        assert!(global().thread_by_id(reclaimer).is_none(), "it has ended");
        assert!(looper.post(|| ()).is_err() && !looper.thread().is_alive());
        assert!(!own.thread().is_alive());
        finish(Duration::ZERO).unwrap();
    }
}

#[test]
fn managers_that_feed_others_or_other_threads_are_all_finished() {
    let log = alone!();
    let [fed, feeds] = [(); 2].map(|()| PoolManager::new());
    let worker = Worker::new("drains now and then");
    let theirs = fed.clone();
    worker.run(move || theirs.autorelease(Ref::new(log.probe(0))));
    let theirs = fed.clone();
    worker.begin(move || {
        wait_until(|| {
            drop(theirs.pool());
            log.count() == 2
        });
    });
    let nested = on_drop(move || fed.autorelease(Ref::new(log.probe(1))));
    feeds.autorelease(Ref::new(nested));
    finish(LONG).unwrap();
    assert_eq!(log.sorted(), [0, 1]);
    worker.join();
    let makes = move || PoolManager::new().autorelease(Ref::new(log.probe(2)));
    autorelease(Ref::new(on_drop(makes)));
    finish(LONG).unwrap();
    assert_eq!(log.count(), 3);
    me().release(Ref::new(on_drop(makes)));
    finish(LONG).unwrap();
    assert_eq!(log.count(), 4);
}

#[test]
fn the_report_says_what_is_left_and_where() {
    struct Texture;
    alone!();
    let (level, unnamed) = (
        PoolManager::builder().name("level").build(),
        PoolManager::new(),
    );
    let worker = Worker::new("worker");
    let there = level.clone();
    worker.run(move || {
        std::mem::forget((there.pool(), there.pool()));
        // One that `finish` cannot end, as its owner does not drop it.
        std::mem::forget(quick());
        // It has a message, which belongs to no manager in particular.
        let slot = Slot::new(Ref::new("old"));
        let pool = AutoreleasePool::named("pinned");
        slot.load(&pool);
        slot.store(Ref::new("new"));
        std::mem::forget(pool);
    });
    let looper = looper();
    let go = hold(looper.thread());
    let wait_first = || {
        let (send, receive) = mpsc::channel::<()>();
        drop_later(on_drop(move || _ = receive.recv()));
        send
    };
    let older = wait_first();
    assert!(!finish_drops(Duration::ZERO));
    let newer = wait_first();
    let homeless = || ([(); 2].map(|()| HomeRef::new(Texture)), HomeRef::new(1));
    drop(named_to_the_end("ui", homeless));
    let kept = Ref::new("in a variable");
    let pool = unnamed.pool();
    let report = finish(SHORT).unwrap_err();
    let expected = [
        ("frame loop", "worker"),
        ("looper", "looper"),
        ("reclaimer", "reclaimer"),
        ("reclaimer", "reclaimer"),
    ];
    assert_eq!(loops(&report), expected);
    let drops: Vec<_> = report.drops.iter().map(|drops| drops.values).collect();
    assert_eq!(drops, [1, 1]);
    // The looper and the reclaimers hold something of the global manager, too.
    assert_eq!(
        held(&report)[..3],
        [("level", 2), ("unnamed", 1), ("global", 1)]
    );
    let [level_left, _, of_process] = &report.managers[..] else {
        panic!("three managers")
    };
    let of_level = &level_left.report;
    assert!(of_level.orphans == 0 && of_level.epoch_holders.is_empty());
    assert_eq!(of_process.report.epoch_holders[0].pool, "pinned");
    // In the order of their names.
    let homes = &report.kept[0];
    assert_eq!((report.kept.len(), homes.values), (2, 2));
    assert!(homes.home.starts_with("ui (") && homes.type_name.ends_with("Texture"));
    assert_eq!(
        report.live_objects, 6,
        "two textures, a number, two that the slot has retired, the variable"
    );
    #[cfg(feature = "leak-detection")]
    {
        let mut groups = report.leaks.groups().iter();
        let textures = groups.find(|group| group.type_name().ends_with("Texture"));
        assert_eq!(textures.unwrap().objects(), 2);
        assert_says(&report, &[&report.leaks.to_string()]);
    }
    let words = [
        "6 objects are alive",
        "frame loop on thread worker (",
        "looper on thread looper (",
        "manager \"level\": not shut down",
        "holds 2 open pools",
        "manager \"global\": not shut down",
        "Texture kept: their home, thread ui (",
        "1 value of i32 kept",
    ];
    assert_says(&report, &words);
    let text = report.to_string();
    assert_eq!(text.matches("drop_later: 1 waiting").count(), 2);
    drop((older, newer, go, pool, looper));
    worker.join();
    let start = Instant::now();
    let report = finish(SHORT).unwrap_err();
    let took = start.elapsed();
    assert!((SHORT..=took).contains(&report.managers[0].report.elapsed));
    assert!(report.loops.is_empty() && report.drops.is_empty());
    // The forgotten pool of the ended thread still holds what the slot has retired.
    assert_eq!((held(&report).len(), report.managers.len()), (0, 1));
    drop(kept);
}

#[test]
fn a_loop_is_left_until_it_has_dropped_its_posts() {
    alone!();
    let (send, receive) = mpsc::channel();
    let frames = quick();
    let finishes = on_drop(move || _ = send.send(thread::spawn(|| finish(Duration::ZERO)).join()));
    let post = move || drop(finishes);
    frames.proxy().post_after(HOUR, post).unwrap();
    drop(frames);
    let report = receive.recv().unwrap().unwrap().unwrap_err();
    assert_eq!(report.loops[0].kind, "frame loop");
    finish(LONG).unwrap();
}

#[test]
fn frame_loops_of_other_threads_are_asked_and_their_runs_return() {
    let slow = || FrameLoop::new(FrameConfig::new().frame_time(HOUR));
    alone!();
    for make in [on_demand as fn() -> FrameLoop, slow] {
        let log = Log::new();
        let (give, proxy) = mpsc::channel();
        let ui = thread::spawn(move || {
            let mut frames = make();
            let mut give = Some((give, frames.proxy()));
            frames.run(|_| {
                if let Some((give, proxy)) = give.take() {
                    give.send(proxy).unwrap();
                }
                Continue(())
            });
            frames.proxy().post(|| ()).expect_err("it refuses posts");
            frames.run(|_| unreachable!("no frame is made"));
            drop(frames);
            log.note(1);
        });
        let proxy = proxy.recv().unwrap();
        // Accepted: it runs, at the latest when the loop is dropped.
        proxy.post(move || log.note(0)).unwrap();
        finish(LONG).unwrap();
        assert!(proxy.is_closed());
        ui.join().unwrap();
        assert_eq!(log.ids(), [0, 1]);
    }
}

#[test]
fn a_host_that_ticks_is_woken_and_sees_that_its_loop_is_closed() {
    alone!();
    let mut frames = quick();
    let told = told_by(&mut frames);
    told.take();
    let there = thread::spawn(|| finish(SHORT).unwrap_err());
    assert_eq!(loops(&there.join().unwrap())[0].0, "frame loop");
    assert_eq!(told.take(), 1, "asked once");
    assert!(frames.proxy().is_closed());
    // On its own thread the loop is closed, also in a frame.
    frames.tick(|_| _ = finish(Duration::MAX).unwrap_err());
    finish(Duration::MAX).unwrap();
}

#[test]
fn finish_does_not_wait_for_what_its_caller_would_have_to_do() {
    alone!();
    let finish = || finish(Duration::MAX);
    let pool = AutoreleasePool::new();
    assert_eq!(held(&finish().unwrap_err()), [("global", 1)]);
    drop(pool);
    let (looper, log) = (looper(), Log::new());
    let probe = log.probe(0);
    looper.post_after(HOUR, move || drop(probe)).unwrap();
    let there = looper.call(move || (finish().unwrap_err(), log.count()));
    let (there, dropped) = there.unwrap();
    assert_eq!(loops(&there), [("looper", "looper")]);
    assert_eq!(dropped, 0, "the looper closes itself, after the command");
    // In a destructor that the reclaimer runs, which then ends; and in one of this thread.
    let (send, receive) = mpsc::channel();
    drop_later(on_drop(move || send.send(finish().unwrap_err()).unwrap()));
    assert_eq!(
        loops(&receive.recv().unwrap()),
        [("reclaimer", "reclaimer")]
    );
    let log = Log::new();
    let frames = quick();
    frames.proxy().post(move || log.note(0)).unwrap();
    autorelease(Ref::new(on_drop(move || {
        let report = finish().unwrap_err();
        assert_eq!(report.managers[0].report.holders[0].inbox, 1);
        assert_eq!(log.count(), 0, "closures do not run in destructors");
    })));
    global().drain_root();
    drop(frames);
    assert_eq!(log.count(), 1);
    drop(named_to_the_end("home", || HomeRef::new(())));
    assert_eq!(finish().unwrap_err().kept[0].values, 1);
}

#[test]
fn finish_runs_no_closures_for_a_frame_loop_that_has_ended() {
    let log = alone!();
    let frames = quick();
    let _proxy = frames.proxy();
    drop(frames);
    me().post(move || log.note(0)).unwrap();
    let report = finish(Duration::ZERO).unwrap_err();
    assert_eq!(report.managers[0].report.holders[0].inbox, 1);
    assert_eq!((log.count(), global().run_inbox()), (0, 1));
    finish(LONG).unwrap();
}

#[test]
fn finish_waits_for_other_threads_though_its_own_looper_is_left() {
    alone!();
    // It has nothing left, and is looked at before the global one.
    let _empty = PoolManager::new();
    let leaves: [fn(); 2] = [
        || std::mem::forget(quick()),
        || global().autorelease(Ref::new(0)),
    ];
    for leave in leaves {
        let looper = looper();
        let worker = Worker::new("worker");
        worker.run(leave);
        let (send, receive) = mpsc::channel();
        let finishes = move || send.send(finish(LONG).unwrap_err()).unwrap();
        looper.post(finishes).unwrap();
        thread::sleep(SHORT);
        worker.join();
        let report = receive.recv().unwrap();
        assert_eq!(loops(&report), [("looper", "looper")]);
        assert!(!report.to_string().contains("worker"), "{report}");
    }
}

#[test]
fn a_deadline_of_zero_asks_and_two_threads_may_finish_at_once() {
    let log = alone!();
    let [looper, second] = [(); 2].map(|()| looper());
    let go = hold(looper.thread());
    looper.post(move || log.note(0)).unwrap();
    drop_later(log.probe(1));
    assert!(loops(&finish(Duration::ZERO).unwrap_err()).contains(&("looper", "looper")));
    assert!(looper.post(|| ()).is_err() && second.post(|| ()).is_err());
    let both = [(); 2].map(|()| thread::spawn(|| finish(LONG).is_ok()));
    thread::sleep(SHORT);
    // More work comes, for another reclaimer.
    drop_later(log.probe(2));
    go.send(()).unwrap();
    both.into_iter()
        .for_each(|thread| assert!(thread.join().unwrap()));
    finish(LONG).unwrap();
    assert_eq!(log.sorted(), [0, 1, 2]);
    // A looper whose command waits for a thread that is in `finish`.
    let (give, waits) = mpsc::channel();
    let other = Looper::spawn("other").unwrap();
    let inner = thread::spawn(move || {
        waits.recv().unwrap();
        finish(SHORT).is_err()
    });
    other.post(move || assert!(inner.join().unwrap())).unwrap();
    give.send(()).unwrap();
    finish(LONG).unwrap();
    // The loop of this thread is closed, but what feeds its drain is left.
    let mut frames = quick();
    frames.tick(|_| ());
    let feeds = || autorelease(Ref::new(Countdown(10_000)));
    frames.proxy().post(feeds).unwrap();
    std::mem::forget([frames, quick()]);
    thread::sleep(10 * SHORT);
    let left = finish(Duration::ZERO).unwrap_err();
    assert!(left.loops.is_empty(), "{left}");
    assert_eq!(left.managers[0].name, "global");
}

#[test]
fn a_guard_finishes_on_errors_and_panics_and_reports_by_events() {
    alone!();
    // The reclaimer may end at any point of a look.
    for _ in 0..300 {
        drop_later(());
        finish(LONG).unwrap();
    }
    listen();
    let log = Log::new();
    let fails = || -> Result<(), std::num::ParseIntError> {
        let _finish = FinishGuard::new(LONG);
        drop_later(log.probe(0));
        "five".parse::<u32>()?;
        Ok(())
    };
    fails().unwrap_err();
    assert_eq!(log.ids(), [0]);
    let panics = || {
        let _finish = FinishGuard::new(LONG);
        drop_later(log.probe(1));
        autorelease(Ref::new(Bomb("in a destructor")));
        panic!("in main");
    };
    assert_eq!(panic_of(panics), "in main");
    assert_eq!(log.ids(), [0, 1]);
    assert_eq!(
        only_event(EventKind::Panic).message.unwrap(),
        "in a destructor"
    );
    assert!(events(EventKind::NotFinished).is_empty());
    let pool = AutoreleasePool::new();
    drop(FinishGuard::new(LONG));
    drop(FinishGuard::new(LONG));
    let events = events(EventKind::NotFinished);
    assert_eq!(events.len(), 2, "always reported");
    let words = ["something is left", "1 open pool", "FinishGuard"];
    assert_says(&events[0], &words);
    drop(pool);
}

#[test]
fn the_first_panic_is_resumed_when_all_is_done() {
    let log = alone!();
    let others = [(); 2].map(|()| PoolManager::new());
    for manager in &others {
        manager.autorelease(Ref::new(Bomb("first")));
    }
    global().autorelease(Ref::new(log.probe(0)));
    drop_later(log.probe(1));
    assert_eq!(panic_of(|| finish(LONG)), "first");
    assert_eq!(log.sorted(), [0, 1]);
    finish(Duration::ZERO).unwrap();
}

#[test]
fn a_reclaimer_that_was_told_to_end_by_finish_is_waited_for_by_others() {
    let log = alone!();
    let (send, receive) = mpsc::channel::<()>();
    drop_later(on_drop(move || _ = receive.recv()));
    finish(Duration::ZERO).unwrap_err();
    // Another one destroys this, while the first one waits.
    drop_later(log.probe(0));
    wait_until(|| log.count() == 1);
    assert!(!finish_drops(SHORT));
    drop(send);
    assert!(finish_drops(LONG));
    finish(Duration::ZERO).unwrap();
}
