//! A drain's path without a read-modify-write, against everything that could make it unsound.

use super::count::{retain_and_look, upgrade_and_look, upgrade_outcome};
use super::scenario::*;
use releasepool::{AutoreleasePool, PoolRef, Ref, autorelease};

pub fn models() -> Vec<Model> {
    [
        model!(
            drain_load_only,
            "a drain during a use, a clone and a release on another thread",
            DIED,
        ),
        model!(
            drain_upgrade,
            "a drain during an upgrade",
            &["upgraded, died on 0", "upgraded, died on 1", "too late, died on 0"],
        ),
        model!(
            drain_downgrade,
            "a drain during a downgrade, and an upgrade of the result",
            &[
                "upgraded, died on 0",
                "upgraded, died on 1",
                "too late, died on 0",
                "too late, died on 1",
            ],
        ),
        model!(
            drain_duplicates,
            "a drain of an object that is in the pool three times, during a release on another thread",
            DIED,
        ),
        Model::new(
            "deep_drain",
            "a drain that must queue destructors, as the stack is deep, during a release on another thread",
            DIED,
            || during_release(|r| drop(Ref::new(deep(r)))),
        ),
        Model::new(
            "drain_feeds",
            "a pool is closed, and the destructor of its entry adds an object to it, during a release of that object on another thread",
            DIED,
            || during_release(feed),
        ),
        model!(
            two_drains,
            "one object in the pools of two threads",
            DIED,
        ),
    ]
    .into()
}

fn drain_load_only() -> usize {
    let mut pool = AutoreleasePool::new();
    let r = PoolRef::retain(pool.create(Probe::new()));
    let user = spawn(move || retain_and_look(r));
    go();
    pool.drain();
    drop(pool);
    died_on(&[me(), user.ended()])
}

fn drain_upgrade() -> String {
    let pool = AutoreleasePool::new();
    let weak = PoolRef::downgrade(pool.create(Probe::new()));
    drained_during(pool, move || upgrade_and_look(&weak))
}

fn drain_downgrade() -> String {
    let pool = AutoreleasePool::new();
    let r = PoolRef::retain(pool.create(Probe::new()));
    drained_during(pool, move || {
        r.look();
        let weak = Ref::downgrade(&r);
        drop(r);
        upgrade_and_look(&weak)
    })
}

/// Drains the pool while `upgrade` upgrades a weak reference to its entry on another thread.
fn drained_during(
    mut pool: AutoreleasePool,
    upgrade: impl FnOnce() -> bool + Send + 'static,
) -> String {
    let upgrader = spawn(upgrade);
    go();
    pool.drain();
    drop(pool);
    let (one, upgraded) = (upgrader.id, upgrader.join());
    upgrade_outcome(upgraded, died_on(&[me(), one]))
}

/// Runs `f` with a reference while another thread releases the only other one to the object.
fn during_release(f: impl FnOnce(Ref<Probe>)) -> usize {
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let user = spawn(move || last_look(other));
    go();
    f(r);
    died_on(&[me(), user.ended()])
}

fn drain_duplicates() -> usize {
    let mut pool = AutoreleasePool::new();
    let r = Ref::new(Probe::new());
    for _ in 0..3 {
        pool.autorelease(r.clone());
    }
    let user = spawn(move || last_look(r));
    go();
    assert_eq!(pool.drain(), 3);
    drop(pool);
    died_on(&[me(), user.ended()])
}

/// Returns an object whose destructor drops a pool that holds `r`, deep down on the stack.
fn deep(r: Ref<Probe>) -> OnDrop {
    OnDrop::new(|| {
        let pool = AutoreleasePool::new();
        pool.autorelease(r);
        far_down(16, pool);
    })
}

/// Drops `pool` below `times` x 256 bytes of stack; model builds queue objects beyond 2 KiB.
#[inline(never)]
fn far_down(times: u32, pool: AutoreleasePool) {
    let filler = std::hint::black_box([0u8; 256]);
    match times {
        0 => drop(pool),
        _ => far_down(times - 1, pool),
    }
    std::hint::black_box(&filler);
}

/// Closes a pool whose entry autoreleases `r` when it is destroyed.
fn feed(r: Ref<Probe>) {
    AutoreleasePool::new().create(OnDrop::new(|| autorelease(r)));
}

fn two_drains() -> usize {
    let autorelease_and_drain = |r: Ref<Probe>| {
        let pool = AutoreleasePool::new();
        pool.autorelease(r).look();
    };
    let r = Ref::new(Probe::new());
    let other = r.clone();
    let drainer = spawn(move || autorelease_and_drain(other));
    go();
    autorelease_and_drain(r);
    died_on(&[me(), drainer.ended()])
}
