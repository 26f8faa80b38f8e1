//! Handing pools over, dropping `HomeRef`s, posting and dropping later on real threads, for the
//! checkers: see [`crate::races`].

use crate::races::{Line, ROUNDS, Watched};
use crate::support::{Log, wait_until};
use releasepool::{
    AutoreleasePool, Budget, FrameConfig, FrameLoop, HandoffPool, HomeRef, Looper, PoolManager,
    Ref, ThreadHandle, autoreleasepool,
};
use std::rc::Rc;
use std::sync::mpsc;

fn my_handle() -> ThreadHandle {
    PoolManager::global().current_thread().unwrap()
}

/// More entries than fit a page.
const MANY: u32 = if cfg!(miri) { 6 } else { 300 };

#[test]
fn pool_handed_to_a_thread_that_drains_by_parts_and_leaves() {
    for round in 0..ROUNDS / 20 + 1 {
        let log = Log::new();
        let line = Line::of(2);
        let (to, handle) = mpsc::channel();
        let receiver = line.start(move || {
            to.send(my_handle()).unwrap();
            let mut pool = AutoreleasePool::new();
            pool.drain_within(Budget::Count(2));
            if round % 2 == 0 {
                pool.drain_within(Budget::All);
            }
        });
        let deaths = log.clone();
        let sender = line.start(move || {
            let to = handle.recv().unwrap();
            let mut pool = HandoffPool::new();
            for id in 0..MANY {
                pool.create(Watched::new(id, &deaths)).look();
            }
            pool.drain_on(&to);
        });
        receiver.join().unwrap();
        sender.join().unwrap();
        // If the receiver has exited, they are orphans.
        wait_until(|| {
            autoreleasepool(|_| ());
            log.count() == MANY as usize
        });
    }
}

#[test]
fn last_references_to_what_is_at_home_elsewhere_go_while_home_drains() {
    for _ in 0..ROUNDS / 4 + 1 {
        let log = Log::new();
        let line = Line::of(3);
        let deaths = log.clone();
        let (to, values) = mpsc::channel();
        let home = line.start(move || {
            // An `Rc`, which only this thread may access.
            let value = HomeRef::new((Rc::new(1), Watched::new(1, &deaths)));
            value.get().unwrap().1.look();
            to.send(value.clone()).unwrap();
            to.send(value.clone()).unwrap();
            drop(value);
            wait_until(|| {
                drop(AutoreleasePool::new());
                deaths.count() == 1
            });
        });
        let values = std::sync::Arc::new(std::sync::Mutex::new(values));
        let droppers = [(); 2].map(|()| {
            let values = values.clone();
            line.start(move || {
                let value = values.lock().unwrap().recv().unwrap();
                assert!(value.get().is_none());
                drop(value.clone());
                drop(value);
            })
        });
        for dropper in droppers {
            dropper.join().unwrap();
        }
        let ((), home) = home.join().unwrap();
        assert_eq!(log.threads(), [home]);
    }
}

#[test]
fn posts_to_a_loop_that_is_closed_meanwhile_run_or_come_back() {
    for _ in 0..ROUNDS / 20 + 1 {
        let log = Log::new();
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let line = Line::of(3);
        let posters = [1, 2].map(|id| {
            let (proxy, deaths) = (frames.proxy(), log.clone());
            line.start(move || {
                let watched = Ref::new(Watched::new(id, &deaths));
                let posted = proxy.post(move || watched.look());
                posted.is_ok()
            })
        });
        line.wait();
        let closures = frames.tick(|_| ()).closures;
        drop(frames);
        let accepted = posters.map(|poster| poster.join().unwrap().0);
        assert!(closures <= accepted.iter().filter(|ok| **ok).count());
        assert_eq!(log.count(), 2, "run and dropped here, or returned");
    }
}

#[test]
fn releases_and_calls_to_a_looper_that_is_shut_down() {
    for _ in 0..ROUNDS / 20 + 1 {
        let log = Log::new();
        let looper = Looper::spawn("looper").unwrap();
        let line = Line::of(2);
        let (proxy, deaths) = (looper.proxy(), log.clone());
        let to = looper.thread().clone();
        let caller = line.start(move || {
            to.release(Ref::new(Watched::new(1, &deaths)));
            let watched = Ref::new(Watched::new(2, &deaths));
            let seen = watched.clone();
            proxy.call(move || seen.look()).is_ok()
        });
        line.wait();
        looper.shutdown().unwrap();
        caller.join().unwrap();
        wait_until(|| {
            autoreleasepool(|_| ());
            log.count() == 2
        });
    }
}

#[test]
fn values_to_drop_later_are_sent_while_their_reclaimer_is_shut_down() {
    for _ in 0..ROUNDS / 20 + 1 {
        let log = Log::new();
        let reclaimer = Looper::reclaimer_bounded("reclaimer", 2).unwrap();
        let line = Line::of(3);
        let senders = [0, 3].map(|first| {
            let (proxy, deaths) = (reclaimer.proxy(), log.clone());
            line.start(move || {
                // Waits if there is no room.
                proxy.drop_later(Watched::new(first, &deaths));
                let refused = proxy.try_drop_later(Watched::new(first + 1, &deaths));
                refused.err().iter().for_each(|full| full.0.look());
                proxy.drop_later(Watched::new(first + 2, &deaths));
            })
        });
        line.wait();
        reclaimer.shutdown().unwrap();
        for sender in senders {
            sender.join().unwrap();
        }
        let mut ids = log.ids();
        ids.sort_unstable();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5], "there, or here after its end");
    }
}
