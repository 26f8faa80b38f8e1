//! Handing pools over, dropping `HomeRef`s, posting and dropping later on real threads, for the
//! checkers.

use super::objects::scenario::*;
use super::rounds;
use crate::support::{LONG, wait_until};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, HomeRef, Looper, Reclaimer, Ref,
    frame::FrameConfig,
};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;

/// More entries than fit a page.
const MANY: usize = if cfg!(miri) { 6 } else { 300 };

/// Drains until as many have died.
fn drain_until_died(n: usize) {
    wait_until(|| {
        drain();
        deaths().len() == n
    });
}

#[test]
fn pool_handed_to_a_thread_that_drains_by_parts_and_leaves() {
    let mut round = 0;
    rounds(20, || {
        round += 1;
        let (to, receiver) = spawn_after(this, move || {
            let mut pool = AutoreleasePool::new();
            pool.drain_within(Budget::Count(2));
            if round % 2 == 1 {
                pool.drain_within(Budget::All);
            }
        });
        let sender = spawn(move || {
            let mut pool = HandoffPool::new();
            for _ in 0..MANY {
                pool.create(Probe::new()).look();
            }
            pool.drain_on(&to);
        });
        go();
        join_all([receiver, sender]);
        // If the receiver has exited, they are orphans.
        drain_until_died(MANY);
    });
}

#[test]
fn last_references_to_what_is_at_home_elsewhere_go_while_home_drains() {
    rounds(4, || {
        let [(to_one, one), (to_two, two)] = [mpsc::channel(), mpsc::channel()];
        let home = spawn(move || {
            // An `Rc`, which only this thread may access.
            let value = HomeRef::new((Rc::new(1), Probe::new()));
            value.get().unwrap().1.look();
            to_one.send(value.clone()).unwrap();
            to_two.send(value.clone()).unwrap();
            drop(value);
            drain_until_died(1);
        });
        let droppers = [one, two].map(|values| {
            spawn(move || {
                let value = values.recv().unwrap();
                assert!(value.get().is_none());
                drop(value.clone());
                drop(value);
            })
        });
        go();
        join_all(droppers);
        assert_eq!([home.ended()], deaths()[..]);
    });
}

#[test]
fn posts_to_a_loop_that_is_closed_meanwhile_run_or_come_back() {
    rounds(20, || {
        let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
        let posters = [true, false].map(|framed| {
            spawn_with(&frames.proxy(), move |proxy| {
                let probe = Ref::new(Probe::new());
                match framed {
                    true => proxy.post_frame(move |_| probe.look()).is_ok(),
                    false => proxy.post(move || probe.look()).is_ok(),
                }
            })
        });
        go();
        let closures = frames.tick(|_| ()).closures;
        drop(frames);
        let accepted = join_all(posters).into_iter().filter(|ok| *ok).count();
        assert!(closures <= accepted);
        assert_eq!(deaths().len(), 2, "run and dropped here, or returned");
    });
}

#[test]
fn releases_and_calls_to_a_looper_that_is_shut_down() {
    rounds(20, || {
        let looper = Looper::spawn("looper").unwrap();
        let caller = spawn_with(&looper.proxy(), |proxy| {
            proxy.thread().release(Ref::new(Probe::new()));
            let probe = Ref::new(Probe::new());
            let seen = probe.clone();
            proxy.call(move || last_look(seen)).is_ok()
        });
        go();
        looper.shutdown().unwrap();
        caller.join();
        drain_until_died(2);
    });
}

#[test]
fn values_to_drop_later_are_sent_while_their_reclaimer_is_shut_down() {
    rounds(20, || {
        let reclaimer = Reclaimer::builder().values(2).spawn("reclaimer");
        let reclaimer = Arc::new(reclaimer.unwrap());
        let senders = [(); 2].map(|()| {
            spawn_with(&reclaimer, |to| {
                // Waits if there is no room.
                to.drop_later(Probe::new());
                let refused = to.try_drop_later(Probe::new());
                refused.err().iter().for_each(|full| full.0.look());
                to.drop_later(Probe::new());
            })
        });
        go();
        assert!(reclaimer.finish(LONG));
        join_all(senders);
        assert_eq!(deaths().len(), 6, "there, or here after its end");
    });
}
