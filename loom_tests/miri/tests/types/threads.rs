use crate::LONG;
use releasepool::event::{self, Event, EventKind, Hook};
use releasepool::home::{HomeWeak, NotMade, PendingHome};
use releasepool::pool::InboxHook;
use releasepool::report::{EpochHolder, ShutdownReport, Snapshot, ThreadSnapshot, Totals};
use releasepool::thread::{Closed, ThreadKey};
use releasepool::{HomeRef, PoolManager, Ref, ThreadHandle, autorelease};
use scenes::{Log, Node};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;

#[test]
fn releases_and_closures_are_sent_to_a_thread() {
    let log = Log::default();
    let manager = PoolManager::global();
    let here: ThreadHandle = manager.current_thread().unwrap();
    let woken = Arc::new(AtomicU32::new(0));
    let wakes = woken.clone();
    let hook: InboxHook = manager.set_inbox_hook(move || _ = wakes.fetch_add(1, Ordering::Relaxed));
    let (there, object) = (here.clone(), Ref::new(log.node("sent", vec![])));
    let (send, receive) = mpsc::channel();
    let sender = thread::spawn(move || {
        there.release(object);
        there
            .post(move || send.send(thread::current().id()).unwrap())
            .unwrap();
        PoolManager::global().current_thread().unwrap()
    });
    let ended: ThreadHandle = sender.join().unwrap();
    manager.run_inbox();
    manager.drain_root();
    assert_eq!(
        (receive.recv(), log.take()),
        (Ok(thread::current().id()), vec!["sent".to_owned()])
    );
    assert!(woken.load(Ordering::Relaxed) > 0);
    drop(hook);
    let refused: Result<(), Closed<fn()>> = ended.post(|| ());
    assert!(refused.is_err() && !ended.is_alive());
    let key: ThreadKey = ended.key();
    assert!(manager.thread(key).is_none() && key != here.key());
}

#[test]
fn values_stay_at_home() {
    let log = Log::default();
    let texture = HomeRef::new(RefCell::new(log.node("texture", vec![])));
    let weak: HomeWeak<RefCell<Node>> = HomeRef::downgrade(&texture);
    let there = texture.clone();
    let other = thread::spawn(move || {
        assert!(there.get().is_none(), "this is not its home");
        drop(there);
    });
    texture
        .get()
        .unwrap()
        .borrow_mut()
        .name
        .push_str(" of the scene");
    drop(texture);
    other.join().unwrap();
    PoolManager::global().drain_root();
    assert!(weak.upgrade().is_none());
    assert_eq!(log.take(), ["texture of the scene"]);
}

#[test]
fn a_value_is_made_at_another_home() {
    let (send, receive) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let home = thread::spawn(move || {
        // Gives the thread its pools.
        drop(PoolManager::global().pool());
        send.send(PoolManager::global().current_thread().unwrap())
            .unwrap();
        while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {
            PoolManager::global().run_inbox();
            PoolManager::global().drain_root();
            thread::yield_now();
        }
    });
    let there = receive.recv().unwrap();
    let pending: PendingHome<RefCell<u32>> = HomeRef::new_on(&there, || RefCell::new(5));
    let made = pending.wait_within(LONG).unwrap().unwrap();
    assert_eq!(made.home(), there.key());
    drop((made, pending));
    end.send(()).unwrap();
    home.join().unwrap();
    let late: Result<HomeRef<u32>, NotMade> = HomeRef::new_on(&there, || 5).wait();
    assert_eq!(late.err(), Some(NotMade::HomeEnded));
}

#[test]
fn a_manager_is_looked_at_and_shut_down() {
    let log = Log::default();
    let manager = PoolManager::new();
    let there = (manager.clone(), log.clone());
    let worker = thread::spawn(move || {
        let (manager, log) = there;
        let pool = manager.pool();
        pool.create(log.node("of a worker", vec![]));
    });
    worker.join().unwrap();
    let pool = manager.pool();
    pool.create(log.node("of this thread", vec![]));
    let snapshot: Snapshot = manager.snapshot();
    let here = manager.current_thread().unwrap().key();
    let thread: &ThreadSnapshot = snapshot.thread(here).unwrap();
    let totals: Totals = thread.totals;
    assert_eq!((thread.open_pools, totals.pools_pushed), (1, 1));
    drop(pool);
    assert!(manager.quiesce(LONG));
    let report: ShutdownReport = manager.shutdown(LONG).unwrap();
    let holders: Vec<EpochHolder> = report.epoch_holders;
    assert!(holders.is_empty() && report.holders.is_empty());
    assert_eq!(log.take(), ["of a worker", "of this thread"]);
}

#[test]
fn events_go_to_a_hook() {
    let (send, receive) = mpsc::channel();
    let hook: Hook = Box::new(move |event: &Event| {
        if event.kind == EventKind::NoPool {
            send.send(event.to_string()).unwrap();
        }
    });
    let before: Option<Hook> = event::set_hook(Some(hook));
    struct Stray;
    thread::spawn(|| autorelease(Ref::new(Stray)))
        .join()
        .unwrap();
    drop(event::set_hook(before));
    assert!(receive.iter().any(|text| text.contains("Stray")));
}
