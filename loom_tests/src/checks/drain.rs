//! A drain's path without a read-modify-write, against everything that could make it unsound.

use super::exit::Feeds;
use super::model::Model;
use super::probe::{Probe, died_on, me, spawn};
use releasepool::{AutoreleasePool, PoolRef, Ref};

pub const MODELS: &[Model] = &[
    Model::new(
        "drain_load_only",
        "a drain during a use, a clone and a release on another thread",
        &["died on 0", "died on 1"],
        drain_against_clone,
    ),
    Model::new(
        "drain_upgrade",
        "a drain during an upgrade",
        &[
            "upgraded, died on 0",
            "upgraded, died on 1",
            "too late, died on 0",
        ],
        drain_against_upgrade,
    ),
    Model::new(
        "drain_downgrade",
        "a drain during a downgrade, and an upgrade of the result",
        &[
            "upgraded, died on 0",
            "upgraded, died on 1",
            "too late, died on 0",
            "too late, died on 1",
        ],
        drain_against_downgrade,
    ),
    Model::new(
        "drain_duplicates",
        "a drain of an object that is in the pool three times, during a release on another thread",
        &["died on 0", "died on 1"],
        drain_duplicates,
    ),
    Model::new(
        "deep_drain",
        "a drain that must queue destructors, as the stack is deep, during a release on another thread",
        &["died on 0", "died on 1"],
        deep_drain,
    ),
    Model::new(
        "drain_feeds",
        "a pool is closed, and the destructor of its entry adds an object to it, during a release of that object on another thread",
        &["died on 0", "died on 1"],
        drain_feeds,
    ),
    Model::new(
        "two_drains",
        "one object in the pools of two threads",
        &["died on 0", "died on 1"],
        two_drains,
    ),
];

fn drain_against_clone() -> String {
    let mut pool = AutoreleasePool::new();
    let r = PoolRef::retain(pool.create(Probe::new()));
    let user = spawn(move || {
        let again = r.clone();
        drop(r);
        again.look();
        drop(again);
        me()
    });
    pool.drain();
    drop(pool);
    let one = user.join().unwrap();
    died_on(&[me(), one])
}

fn drain_against_upgrade() -> String {
    let mut pool = AutoreleasePool::new();
    let weak = PoolRef::downgrade(pool.create(Probe::new()));
    let upgrader = spawn(move || (weak.upgrade().map(|r| r.look()).is_some(), me()));
    pool.drain();
    drop(pool);
    let (upgraded, one) = upgrader.join().unwrap();
    let upgraded = if upgraded { "upgraded" } else { "too late" };
    format!("{upgraded}, {}", died_on(&[me(), one]))
}

fn drain_against_downgrade() -> String {
    let mut pool = AutoreleasePool::new();
    let r = PoolRef::retain(pool.create(Probe::new()));
    let downgrader = spawn(move || {
        r.look();
        let weak = Ref::downgrade(&r);
        drop(r);
        (weak.upgrade().map(|r| r.look()).is_some(), me())
    });
    pool.drain();
    drop(pool);
    let (upgraded, one) = downgrader.join().unwrap();
    let died = died_on(&[me(), one]);
    format!("{}, {died}", if upgraded { "upgraded" } else { "too late" })
}

fn drain_duplicates() -> String {
    let mut pool = AutoreleasePool::new();
    let r = Ref::new(Probe::new());
    for _ in 0..3 {
        pool.autorelease(r.clone());
    }
    let user = spawn(move || {
        r.look();
        drop(r);
        me()
    });
    assert_eq!(pool.drain(), 3);
    drop(pool);
    let one = user.join().unwrap();
    died_on(&[me(), one])
}

/// When dropped, drains a pool with the reference that it holds, deep down on the stack.
struct Deep(Option<Ref<Probe>>);

impl Drop for Deep {
    fn drop(&mut self) {
        let pool = AutoreleasePool::new();
        pool.autorelease(self.0.take().unwrap());
        far_down(16, pool);
    }
}

/// Drops `pool` below 16 x 256 bytes of stack; the limit in model builds is 2 KiB.
#[inline(never)]
fn far_down(times: u32, pool: AutoreleasePool) {
    let filler = std::hint::black_box([0u8; 256]);
    match times {
        0 => drop(pool),
        _ => far_down(times - 1, pool),
    }
    std::hint::black_box(&filler);
}

fn deep_drain() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let user = spawn(move || {
        other.look();
        drop(other);
        me()
    });
    drop(Ref::new(Deep(Some(r))));
    let one = user.join().unwrap();
    died_on(&[me(), one])
}

fn drain_feeds() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let user = spawn(move || {
        other.look();
        drop(other);
        me()
    });
    let pool = AutoreleasePool::new();
    pool.create(Feeds(Some(r)));
    drop(pool);
    died_on(&[me(), user.join().unwrap()])
}

fn two_drains() -> String {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let drainer = spawn(move || {
        let pool = AutoreleasePool::new();
        pool.autorelease(other).look();
        drop(pool);
        me()
    });
    let pool = AutoreleasePool::new();
    pool.autorelease(r).look();
    drop(pool);
    let one = drainer.join().unwrap();
    died_on(&[me(), one])
}
