//! `Looper`: a thread that runs posted closures in order.

use crate::frame::{HOUR, enough, hold, id_of, looper, noting, on_demand};
use crate::support::{Log, alone, events_of, fresh_to_the_end, listen, on_drop, wait_until};
use releasepool::event::EventKind;
use releasepool::thread::Closed;
use releasepool::{AutoreleasePool, HandoffPool, Looper, PoolManager, Ref, autorelease};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_micros(50);

#[test]
fn commands_run_in_order_on_a_named_thread() {
    let log = Log::new();
    let looper = looper();
    for id in 0..100 {
        looper.post(noting(&log, id)).unwrap();
    }
    let name = looper.call(|| thread::current().name().map(String::from));
    assert_eq!(name.unwrap().as_deref(), Some("looper"));
    assert_eq!(looper.thread().name(), Some("looper"));
    assert!(log.ids().into_iter().eq(0..100));
    assert_eq!(log.threads(), [id_of(looper.thread()); 100]);
    looper.shutdown().unwrap();
}

#[test]
fn every_command_has_a_pool_of_its_own() {
    let log = Log::new();
    let looper = looper();
    let id = id_of(looper.thread());
    for n in 0..3 {
        let probe = log.probe(n * 2);
        let command = move || {
            autorelease(Ref::new(probe));
            // A forgotten pool does not get what the next command autoreleases.
            std::mem::forget(AutoreleasePool::new());
        };
        looper.post(command).unwrap();
    }
    assert_eq!(looper.call(move || log.ids()).unwrap(), [0, 2, 4]);
    looper.shutdown().unwrap();
    let kinds: Vec<_> = events_of(id).iter().map(|e| e.kind).collect();
    assert_eq!(kinds, [EventKind::OpenAtExit]);
}

#[test]
fn panicking_command_is_reported_and_the_next_goes_on() {
    let looper = looper();
    let id = id_of(looper.thread());
    looper.post(|| panic!("command")).unwrap();
    let autoreleases = || autorelease(Ref::new(on_drop(|| panic!("destructor"))));
    looper.post(autoreleases).unwrap();
    looper
        .thread()
        .release(Ref::new(on_drop(|| panic!("released"))));
    assert_eq!(looper.call(|| 1).unwrap(), 1);
    looper.shutdown().unwrap();
    let mut messages: Vec<_> = events_of(id)
        .into_iter()
        .filter_map(|e| e.message)
        .collect();
    // The looper may make the release in any pause between the commands.
    messages.sort();
    assert_eq!(messages, ["command", "destructor", "released"]);
    assert!(events_of(id)[0].thread.starts_with("looper ("));
}

#[test]
fn pool_around_the_commands_may_panic_too() {
    let looper = looper();
    let id = id_of(looper.thread());
    let feeds = on_drop(|| autorelease(Ref::new(on_drop(|| panic!("fed")))));
    looper.thread().release(Ref::new(feeds));
    wait_until(|| events_of(id).len() == 1);
    assert_eq!(looper.call(|| 2).unwrap(), 2);
    looper.shutdown().unwrap();
    let events = events_of(id);
    assert_eq!(events[0].message.as_deref(), Some("fed"));
    assert_eq!(events.len(), 1, "{events:?}");
}

#[test]
fn sleeping_looper_is_woken_by_a_post_a_release_and_a_deadline() {
    let log = Log::new();
    let looper = looper();
    for id in 0..if cfg!(miri) { 4 } else { 200 } {
        match id % 4 {
            0 => looper.post(noting(&log, id)).unwrap(),
            1 => looper.thread().release(Ref::new(log.probe(id))),
            2 => _ = looper.post_after(SOON, noting(&log, id)).unwrap(),
            _ => looper.thread().post(noting(&log, id)).unwrap(),
        }
        wait_until(|| log.count() as u32 == id + 1);
    }
    looper.shutdown().unwrap();
}

#[test]
fn earlier_deadline_wakes_a_looper_that_waits_for_a_later_one() {
    let log = Log::new();
    let looper = looper();
    let late = looper.post_after(HOUR, noting(&log, 1)).unwrap();
    looper.call(|| ()).unwrap();
    looper.post_after(SOON, noting(&log, 0)).unwrap();
    wait_until(|| log.count() == 1);
    assert!(looper.cancel(late));
    looper.shutdown().unwrap();
    assert_eq!(log.ids(), [0]);
}

#[test]
fn shutdown_runs_posted_closures_and_drops_those_not_due() {
    let log = Log::new();
    listen();
    // A name of its own: events with one cause are reported for the first thread of a name only.
    let looper = Looper::spawn("shutdown drops posts").unwrap();
    let id = id_of(looper.thread());
    let go = hold(looper.thread());
    looper.post(noting(&log, 1)).unwrap();
    looper.post_after(Duration::ZERO, noting(&log, 0)).unwrap();
    let never = log.probe(5);
    looper.post_after(HOUR, move || drop(never)).unwrap();
    looper.thread().release(Ref::new(log.probe(3)));
    let (proxy, probe) = (looper.proxy(), log.probe(2));
    let command = move || {
        autorelease(Ref::new(probe));
        wait_until(|| proxy.is_closed());
        // A closing looper refuses posts of its own commands.
        assert!(proxy.post(|| ()).is_err());
    };
    looper.post(command).unwrap();
    let proxy = looper.proxy();
    drop(go);
    looper.shutdown().unwrap();
    assert_eq!(log.sorted(), [0, 1, 2, 3, 5]);
    assert!(proxy.is_closed() && !proxy.thread().is_alive());
    let Closed(_) = proxy.post(|| ()).unwrap_err();
    let events = events_of(id);
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.kind, event.count))
        .collect();
    assert_eq!(told, [(EventKind::PostsDropped, 1)]);
}

#[test]
fn a_looper_ends_in_the_documented_order() {
    let log = Log::new();
    let looper = looper();
    let go = hold(looper.thread());
    let proxy = looper.proxy();
    let (note, probe) = (noting(&log, 2), log.probe(3));
    let command = move || {
        note();
        autorelease(Ref::new(probe));
    };
    looper.post(command).unwrap();
    looper.post_after(Duration::ZERO, noting(&log, 1)).unwrap();
    let (inside, inner_log) = (proxy.thread().clone(), log);
    let manager = PoolManager::new();
    let command = move || {
        // This goes to a root pool, which is drained last.
        manager.autorelease(Ref::new(inner_log.probe(6)));
        // The drain of the command releases as many of these as its share of the time allows,
        // the end of the looper the others.
        (0..100).for_each(|_| inside.release(Ref::new(inner_log.probe(4))));
    };
    looper.post(command).unwrap();
    let never = log.probe(5);
    looper.post_after(HOUR, move || drop(never)).unwrap();
    let closer = thread::spawn(move || looper.shutdown());
    // Step 1 closes the looper before the rest runs.
    wait_until(|| proxy.is_closed());
    log.note(0);
    drop(go);
    closer.join().unwrap().unwrap();
    log.note(7);
    let ids = log.ids();
    let (sent, others): (Vec<_>, Vec<_>) = ids.iter().partition(|id| **id == 4);
    assert_eq!((sent.len(), &others[..]), (100, &[0, 1, 2, 3, 5, 6, 7][..]));
    let first = |of| ids.iter().position(|id| *id == of);
    let last = ids.iter().rposition(|id| *id == 4);
    assert!(first(3) < first(4) && last < first(6));
}

#[test]
fn looper_that_is_dropped_or_shut_down_on_its_own_thread_does_not_wait() {
    for shutdown in [false, true] {
        let log = Log::new();
        let looper = looper();
        let proxy = looper.proxy();
        looper.post(noting(&log, 0)).unwrap();
        let slot = Arc::new(Mutex::new(Some(looper)));
        let (inside, inner_log) = (slot.clone(), log);
        let end = move || {
            let looper = inside.lock().unwrap().take().unwrap();
            looper.post(noting(&inner_log, 1)).unwrap();
            if shutdown {
                looper.shutdown().unwrap();
            } else {
                drop(looper);
            }
            // Not reached if it has tried to wait: that panics.
            inner_log.note(2);
        };
        proxy.post(end).unwrap();
        wait_until(|| !proxy.thread().is_alive());
        wait_until(|| log.count() == 3);
        assert_eq!(log.ids(), [0, 2, 1]);
        assert!(slot.lock().unwrap().is_none());
    }
}

#[test]
fn commands_are_not_held_up_by_many_releases() {
    let log = Log::new();
    let looper = looper();
    let (tell, told) = mpsc::channel();
    let mut pool = HandoffPool::new();
    for n in 0..20 {
        let (proxy, tell) = (looper.proxy(), tell.clone());
        pool.create(on_drop(move || {
            log.note(n);
            if n == 19 {
                // The first object to be released.
                proxy.post(move || tell.send(log.count()).unwrap()).unwrap();
            }
            // The time that a looper spends on releases between two rounds of commands.
            thread::sleep(Duration::from_millis(1));
        }));
    }
    pool.drain_on(looper.thread());
    assert!(told.recv().unwrap() < 20);
    looper.shutdown().unwrap();
    assert_eq!(log.count(), 20);
}

#[test]
fn frame_loop_may_run_inside_a_command() {
    let log = Log::new();
    let looper = looper();
    let (tell, told) = mpsc::channel();
    let note = noting(&log, 0);
    let command = move || {
        let mut frames = on_demand();
        let proxy = frames.proxy();
        tell.send(frames.proxy()).unwrap();
        let stop = Log::new();
        proxy
            .post_after(Duration::from_millis(1), noting(&stop, 0))
            .unwrap();
        frames.run(|_| enough(stop.count() == 1));
        note();
    };
    looper.post(command).unwrap();
    let proxy = told.recv().unwrap();
    // The frame loop inside serves the looper's inbox.
    looper.post(noting(&log, 1)).unwrap();
    looper.shutdown().unwrap();
    assert!(proxy.is_closed());
    assert_eq!(log.count(), 2);
}

#[test]
fn names_with_null_bytes_are_refused_before_a_thread_starts() {
    assert!(std::panic::catch_unwind(|| Looper::spawn("nul\0")).is_err());
    let looper = Looper::spawn("").unwrap();
    assert_eq!(looper.thread().name(), Some(""));
    assert!(format!("{looper:?}").contains("closed: false"));
    let proxy = looper.proxy();
    looper.shutdown().unwrap();
    assert!(format!("{proxy:?}").contains("closed: true"));
}

#[test]
fn looper_does_not_sleep_while_it_has_claimed_orphans() {
    let log = alone!();
    let gone = fresh_to_the_end(|| PoolManager::global().current_thread().unwrap());
    for id in 0..100 {
        // The looper cannot release as many between two rounds of commands.
        gone.release(Ref::new(on_drop(move || {
            thread::sleep(Duration::from_micros(500));
            log.note(id);
        })));
    }
    let looper = looper();
    looper.post(|| ()).unwrap();
    // No more messages come, and no other thread can take these orphans.
    wait_until(|| log.count() == 100);
    looper.shutdown().unwrap();
}
