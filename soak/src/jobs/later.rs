//! Values that a reclaimer destroys later.

use crate::payload::{Chain, Item, Thing, Tree};
use crate::worker::Worker;
use releasepool::{Full, Later, Looper, drop_later};

/// Leaves values to the reclaimer of the process.
pub fn process(worker: &mut Worker) {
    let items = (0..worker.rng.u64(1..20)).map(Item::new);
    drop_later(items.collect::<Vec<_>>());
    drop_later(Chain::new(worker.rng.u64(1..500)));
    let tree = Later::new(Tree::new(3, 2));
    tree.look();
}

/// Leaves values to a reclaimer of this worker, as long as it has room for them.
pub fn own(worker: &mut Worker) {
    // Rare, because threads cost more than other jobs.
    if !worker.once_in(20) {
        return;
    }
    // The system may have no threads left.
    let Ok(reclaimer) = Looper::reclaimer_bounded("reclaimer", 4) else {
        return;
    };
    for number in 0..worker.rng.u64(1..50) {
        if let Err(Full(item)) = reclaimer.try_drop_later(Item::new(number)) {
            item.look();
        }
    }
    // Waits until it has destroyed what it has accepted.
    drop(reclaimer);
}
