//! Objects that workers create and the UI thread destroys.

use crate::handing::{Handing, Here, Sender, channel, locked, messages, pool, vectors};
use crate::pools::{BLOCKS, GLOBAL};
use crate::scenario::{Scenario, contestants};
use crate::ui::Handed;
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::{Workload, timed_half};
use std::sync::Arc;

/// Objects in a batch.
const BATCH: u64 = 1_000;

fn batches<P: Payload, S: Sender<Handed<P>>>((ui, here): Handing<impl Here<S>>) -> Workload {
    // `ui`, whose drop ends the UI thread, is dropped last: after the workers' ends in `here`.
    let all = Arc::new((here, ui));
    Workload::new("", BATCH, move || {
        let all = all.clone();
        let mut sender = (all.0)();
        let gauge = all.1.gauge();
        timed_half(
            move || all.1.admit(BATCH),
            move |()| {
                for seed in 0..BATCH {
                    sender.hand(Handed::new(seed, gauge));
                }
                sender.flush();
            },
        )
    })
}

pub fn scenario() -> Scenario {
    Scenario {
        id: "handoff",
        title: "From workers to the UI thread",
        what: "Workers create objects in batches of 1,000 and hand them to another thread, the UI \
               thread, which destroys them. An operation is one object, as the worker sees it: \
               creating it and handing it over. Workers wait while 16,000 objects are pending, \
               which is not timed. The UI thread is an additional thread.",
        helpers: 1,
        contestants: contestants! {
            Ours BLOCKS, "HandoffPool, drained on the UI thread after each batch" =>
                batches::<P, _>(pool::<true>());
            Ours GLOBAL, "HandoffPool, drained on the UI thread after each batch" =>
                batches::<P, _>(pool::<false>());
            Ours "releasepool, release each", "ThreadHandle::release, a message for each object" =>
                batches::<P, _>(messages::<Handed<P>>());
            Peer "Arc + channel", "crossbeam's, unbounded; a message for each object" =>
                batches::<P, _>(channel::<Handed<P>>());
            Peer "Arc + channel of Vec", "crossbeam's, unbounded; a vector for each batch" =>
                batches::<P, _>(vectors::<Handed<P>>());
            Peer "Arc + Vec behind a mutex", "parking_lot's; locked for each object" =>
                batches::<P, _>(locked::<Handed<P>>());
        },
    }
}
