//! The scenarios of the models on real threads.
//!
//! loom checks every interleaving of the operations that it knows. These tests are for the checkers
//! that see what it does not: Miri (aliasing, provenance, bounds, data races under weak memory, by
//! many seeds), ThreadSanitizer and AddressSanitizer. The assertions hold in every interleaving.
//!
//! This file has objects and drains; `exit` has threads that exit, inboxes and managers.

use crate::races::{Line, ROUNDS, Watched, me};
use crate::support::Log;
use releasepool::{AutoreleasePool, PoolRef, Ref, Weak};
use std::thread::{self, ThreadId};

fn upgrade_and_look(weak: &Weak<Watched>) -> bool {
    weak.upgrade().map(|r| r.look()).is_some()
}

/// Asserts that one object was destroyed exactly once, on one of these threads.
fn assert_died_on(deaths: &Log, threads: &[ThreadId]) {
    let deaths = deaths.threads();
    assert_eq!(deaths.len(), 1, "exactly one death");
    assert!(threads.contains(&deaths[0]), "on a thread that had it");
}

#[test]
fn retain_release_last() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(3), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        let user = |r: Ref<Watched>| {
            line.start(move || {
                let again = r.clone();
                drop(r);
                again.look();
                drop(again);
            })
        };
        let users = [user(r.clone()), user(r.clone())];
        line.wait();
        r.look();
        drop(r);
        let [one, two] = users.map(|user| user.join().unwrap().1);
        assert_died_on(&deaths, &[me(), one, two]);
    }
}

#[test]
fn weak_outlives_strong() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(3), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        let weak = Ref::downgrade(&r);
        let upgrader = line.start(move || upgrade_and_look(&weak));
        let other = r.clone();
        let downgrader = line.start(move || {
            let weak = Ref::downgrade(&other);
            drop(other);
            drop(weak);
        });
        line.wait();
        drop(r);
        let (upgraded, one) = upgrader.join().unwrap();
        let ((), two) = downgrader.join().unwrap();
        assert_died_on(&deaths, &[me(), one, two]);
        assert!(upgraded || deaths.threads()[0] != one);
    }
}

#[test]
fn no_upgrade_fails_while_there_is_a_handle() {
    for _ in 0..ROUNDS / 4 + 1 {
        let (line, deaths) = (Line::of(6), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        let upgraders = [(); 6].map(|()| {
            let weak = Ref::downgrade(&r);
            line.start(move || (0..4).all(|_| weak.upgrade().is_some()))
        });
        for upgrader in upgraders {
            let (all, _) = upgrader.join().unwrap();
            assert!(all, "an upgrade failed while there was a handle");
        }
        drop(r);
        assert_died_on(&deaths, &[me()]);
    }
}

#[test]
fn cyclic_upgrade() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let mut upgrader = None;
        let r = Ref::new_cyclic(|weak: &Weak<Watched>| {
            let weak = weak.clone();
            upgrader = Some(line.start(move || upgrade_and_look(&weak)));
            line.wait();
            Watched::new(0, &deaths)
        });
        drop(r);
        let (upgraded, one) = upgrader.unwrap().join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
        assert!(upgraded || deaths.threads()[0] == me());
    }
}

#[test]
fn take_value_race() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(3), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        let weak = Ref::downgrade(&r);
        let other = r.clone();
        let user = line.start(move || {
            other.look();
            drop(other);
        });
        let upgrader = line.start(move || upgrade_and_look(&weak));
        line.wait();
        match Ref::try_unwrap(r) {
            Ok(mut value) => value.change(),
            Err(r) => r.look(),
        }
        let ((), one) = user.join().unwrap();
        let (_, two) = upgrader.join().unwrap();
        assert_died_on(&deaths, &[me(), one, two]);
    }
}

#[test]
fn into_inner_race() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let into_inner = |r: Ref<Watched>| {
            r.look();
            Ref::into_inner(r).map(|mut value| value.change()).is_some()
        };
        let r = Ref::new(Watched::new(0, &deaths));
        let other = r.clone();
        let one = line.start(move || into_inner(other));
        line.wait();
        let zero = into_inner(r);
        let (one, thread) = one.join().unwrap();
        assert!(zero != one, "exactly one gets it");
        assert_died_on(&deaths, &[if zero { me() } else { thread }]);
    }
}

#[test]
fn get_mut_race() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let mut r = Ref::new(Watched::new(0, &deaths));
        let other = r.clone();
        let user = line.start(move || {
            other.look();
            drop(other);
        });
        line.wait();
        if let Some(value) = Ref::get_mut(&mut r) {
            value.change();
        }
        drop(r);
        let ((), one) = user.join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
    }
}

#[test]
fn make_mut_race() {
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(3), Log::new());
        let mut r = Ref::new(Watched::new(0, &deaths));
        let weak = Ref::downgrade(&r);
        let other = r.clone();
        let user = line.start(move || {
            other.look();
            drop(other);
        });
        let upgrader = line.start(move || upgrade_and_look(&weak));
        line.wait();
        let value = Ref::make_mut(&mut r);
        value.change();
        let cloned = value.id == 1;
        user.join().unwrap();
        upgrader.join().unwrap();
        drop(r);
        let mut died = deaths.ids();
        died.sort_unstable();
        assert_eq!(died, if cloned { vec![0, 1] } else { vec![0] });
    }
}

#[test]
fn drain_against_clone() {
    let mut pool = AutoreleasePool::new();
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let r = PoolRef::retain(pool.create(Watched::new(0, &deaths)));
        let user = line.start(move || {
            let again = r.clone();
            drop(r);
            again.look();
            drop(again);
        });
        line.wait();
        assert_eq!(pool.drain(), 1);
        let ((), one) = user.join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
    }
}

#[test]
fn drain_against_upgrade() {
    let mut pool = AutoreleasePool::new();
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let weak = PoolRef::downgrade(pool.create(Watched::new(0, &deaths)));
        let upgrader = line.start(move || upgrade_and_look(&weak));
        line.wait();
        assert_eq!(pool.drain(), 1);
        let (upgraded, one) = upgrader.join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
        assert!(upgraded || deaths.threads()[0] == me());
    }
}

#[test]
fn drain_against_downgrade() {
    let mut pool = AutoreleasePool::new();
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let r = PoolRef::retain(pool.create(Watched::new(0, &deaths)));
        let downgrader = line.start(move || {
            r.look();
            let weak = Ref::downgrade(&r);
            drop(r);
            upgrade_and_look(&weak)
        });
        line.wait();
        assert_eq!(pool.drain(), 1);
        let (_, one) = downgrader.join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
    }
}

#[test]
fn drain_duplicates() {
    let mut pool = AutoreleasePool::new();
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        (0..3).for_each(|_| _ = pool.autorelease(r.clone()));
        let user = line.start(move || {
            r.look();
            drop(r);
        });
        line.wait();
        assert_eq!(pool.drain(), 3);
        let ((), one) = user.join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
    }
}

#[test]
fn two_drains() {
    fn autorelease_and_drain(r: Ref<Watched>) {
        let pool = AutoreleasePool::new();
        pool.autorelease(r).look();
    }
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(2), Log::new());
        let r = Ref::new(Watched::new(0, &deaths));
        let other = r.clone();
        let one = line.start(move || autorelease_and_drain(other));
        line.wait();
        autorelease_and_drain(r);
        let ((), one) = one.join().unwrap();
        assert_died_on(&deaths, &[me(), one]);
    }
}

#[test]
fn what_a_pool_lends_is_shared_until_the_drain() {
    let mut pool = AutoreleasePool::new();
    for _ in 0..ROUNDS {
        let (line, deaths) = (Line::of(3), Log::new());
        let lent = pool.create(Watched::new(0, &deaths));
        let threads = thread::scope(|scope| {
            let users = [(); 2].map(|()| {
                scope.spawn(|| {
                    line.wait();
                    let kept = PoolRef::retain(lent);
                    lent.look();
                    let weak = Ref::downgrade(&kept);
                    drop(kept);
                    assert!(upgrade_and_look(&weak), "the pool has it");
                })
            });
            line.wait();
            lent.look();
            users.map(|user| user.join().unwrap())
        });
        assert_eq!(threads.len(), 2);
        assert_eq!(deaths.count(), 0);
        assert_eq!(pool.drain(), 1);
        assert_died_on(&deaths, &[me()]);
    }
}
