//! Objects that workers make and the UI thread destroys.

use crate::handing::{
    Channel, Collected, Handing, Locked, Messages, Pages, PagesOfBlocks, Sender, Vectors,
};
use crate::pools::ours::{BLOCKS, GLOBAL};
use crate::scenario::{Checked, Contestant, Measured, Scenario};
use releasepool_benches::objects::Payload;
use releasepool_benches::results::Role;
use releasepool_benches::workload::{Workload, timed_half};
use std::sync::Arc;

/// Objects of a batch.
const BATCH: u64 = 1_000;

fn batches<P: Payload, H: Handing<P>>() -> Workload {
    let (ui, handing) = H::open();
    let all = Arc::new((handing, ui));
    Workload::new("", BATCH, move || {
        let all = all.clone();
        let ours = all.clone();
        let mut sender = all.0.here(&all.1);
        timed_half(
            move || ours.1.admit(BATCH),
            move |()| {
                for seed in 0..BATCH {
                    sender.hand(seed);
                }
                sender.flush();
            },
        )
    })
}

/// Measured and counted.
macro_rules! handing {
    ($name:expr, $role:expr, $kind:ident) => {
        Contestant::new(
            $name,
            $role,
            batches::<Measured, $kind<Measured>>,
            batches::<Checked, $kind<Checked>>,
        )
    };
}

pub fn scenario() -> Scenario {
    Scenario {
        id: "handoff",
        title: "From workers to the UI thread",
        what: "Workers make objects in batches of 1,000 and get rid of them; another thread, the UI \
               thread, destroys them. An operation is one object, as the worker sees it: made and \
               handed over. Workers wait while 16,000 objects are on their way; that is not timed. \
               The UI thread is one more than the threads that are named.",
        lesson: "Collect what has to die elsewhere in a HandoffPool of blocks: it costs the \
                 workers least nearly everywhere, and is steady, where all that uses malloc \
                 swings with who frees what and when. With the global allocator it is no better \
                 than a channel of vectors. A message for each object, ours too, costs more than \
                 one for a batch.",
        helpers: 1,
        countable: false,
        peak: false,
        contestants: vec![
            handing!(BLOCKS, Role::Ours, PagesOfBlocks)
                .note("HandoffPool, drained on the UI thread after each batch"),
            handing!(GLOBAL, Role::Ours, Pages)
                .note("HandoffPool, drained on the UI thread after each batch"),
            handing!("releasepool, release each", Role::Ours, Messages)
                .note("ThreadHandle::release, a message for each object"),
            handing!("Arc + channel", Role::Peer, Channel)
                .note("crossbeam's, unbounded; a message for each object"),
            handing!("Arc + channel of Vec", Role::Peer, Vectors)
                .note("crossbeam's, unbounded; a vector for each batch"),
            handing!("Arc + Vec behind a mutex", Role::Peer, Locked)
                .note("parking_lot's; locked for each object"),
            handing!("basedrop", Role::Peer, Collected)
                .note("Shared, dropped; the UI thread runs the collector"),
        ],
    }
}
