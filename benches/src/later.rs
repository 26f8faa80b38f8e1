//! Having another thread destroy values: the sender's part.
//!
//! The values exist before, and are destroyed before the next turn; neither is timed. `ways` has the
//! ways to send them, and [`values`] what is sent.

mod apart;
pub mod values;
mod ways;

use crate::objects::{Count, Counted, Payload};
use crate::workload::{Role, Workload};
use apart::{Apart, Gate};
use std::thread;
use std::time::{Duration, Instant};
use values::Make;
use ways::{
    Basedrop, ByOwner, ByPool, Collected, Deferred, Here, Mpsc, OfLooper, OfProcess, Rayon,
    Spawned, Way,
};

/// Values in a batch.
const BATCH: u64 = 1_000;

/// Threads that are started in a turn.
const THREADS: u64 = 16;

/// What the thread does that destroys the values, while they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receiver {
    /// It is in a destructor that takes long, so it need not be woken, and disturbs nobody.
    Busy,
    /// It destroys them as they come.
    AtWork,
    /// It sleeps, and must be woken.
    Asleep,
}

impl Receiver {
    /// Returns how many values to send in a turn: one, if the receiver sleeps.
    fn values(self, several: u64) -> u64 {
        if self == Self::Asleep { 1 } else { several }
    }
}

/// Measures one turn.
fn turn<W: Way<T>, T>(way: &mut W, receiver: Receiver, send: impl FnOnce(&mut W)) -> Duration {
    // A way without a receiver may start threads, which would inherit the processor.
    let apart = W::HAS_RECEIVER.then(Apart::new);
    let gate = Gate::new();
    if receiver != Receiver::Busy {
        gate.open();
    }
    if let Some(apart) = &apart {
        way.mark(gate.marker(apart.others));
        gate.wait_for_arrival();
    }
    if receiver == Receiver::Asleep {
        // Long enough for any thread to fall asleep.
        thread::sleep(Duration::from_millis(1));
    }
    let start = Instant::now();
    send(way);
    way.flush();
    let time = start.elapsed();
    gate.open();
    way.finish();
    time
}

/// Memory that stays in use behind that of the values, as in most programs. Without it, malloc returns
/// the end of its heap to the operating system whenever a turn's values have been destroyed, and the
/// next turn has page faults.
#[derive(Default)]
struct Behind(Vec<u8>);

impl Behind {
    /// Allocates the memory in the first turn, which is never part of a sample.
    fn allocate(&mut self) {
        if self.0.capacity() == 0 {
            self.0.reserve_exact(100_000);
        }
    }
}

/// Returns the sending of `count` values in a turn, which `send` does. It also gets the values that `prepare`
/// has made before, which is not timed.
fn sending<W: Way<T>, T: 'static>(
    receiver: Receiver,
    count: u64,
    prepare: impl Fn(&mut Vec<T>) + Copy + Send + Sync + 'static,
    send: impl Fn(&mut W, &mut Vec<T>) + Copy + Send + Sync + 'static,
) -> Workload {
    let workload = Workload::new(W::NAME, count, move || {
        let (mut way, mut behind) = (W::new(), Behind::default());
        let mut values = Vec::new();
        Box::new(move |turns| {
            let one = |_| {
                prepare(&mut values);
                turn(&mut way, receiver, |way| {
                    send(way, &mut values);
                    behind.allocate();
                })
            };
            (0..turns).map(one).sum()
        })
    });
    workload.role(W::ROLE)
}

/// Returns the sending of values that exist.
fn sent<W: Way<T>, T: 'static>(receiver: Receiver, count: u64, make: Make<T>) -> Workload {
    sending(
        receiver,
        count,
        move |values| values.extend((0..count).map(make)),
        |way: &mut W, values| values.drain(..).for_each(|value| way.send(value)),
    )
}

/// Returns the making of values, and the sending.
fn made_and_sent<W: Way<T>, T: 'static>(count: u64, make: Make<T>) -> Workload {
    let send = move |way: &mut W, _: &mut _| (0..count).for_each(|seed| way.send(make(seed)));
    sending(Receiver::AtWork, count, |_| (), send)
}

/// Returns all ways to send values one by one, that of the process's reclaimer first.
pub fn one_by_one<T: Send + 'static>(receiver: Receiver, make: Make<T>) -> Vec<Workload> {
    let (many, few) = (receiver.values(BATCH), receiver.values(THREADS));
    vec![
        sent::<OfProcess, T>(receiver, many, make),
        sent::<ByOwner, T>(receiver, many, make),
        sent::<OfLooper, T>(receiver, many, make),
        sent::<Mpsc<T>, T>(receiver, many, make),
        sent::<Rayon, T>(receiver, many, make),
        sent::<Deferred, T>(receiver, many, make),
        sent::<Basedrop, T>(receiver, many, make),
        sent::<Spawned, T>(receiver, few, make),
        sent::<Here, T>(receiver, many, make),
    ]
}

/// Returns all ways to send a thousand values together, that of a pool first. The values come one by
/// one.
pub fn together<T: Send + 'static>(make: Make<T>) -> Vec<Workload> {
    fn collected<W: Way<Vec<T>>, T: 'static>(make: Make<T>) -> Workload {
        let workload = sent::<Collected<W, T>, T>(Receiver::Busy, BATCH, make);
        workload.named(format!("Vec, {}", W::NAME))
    }
    vec![
        sent::<ByPool, T>(Receiver::Busy, BATCH, make),
        collected::<OfProcess, T>(make).role(Role::Ours),
        collected::<Mpsc<Vec<T>>, T>(make),
        collected::<Rayon, T>(make),
        collected::<Deferred, T>(make),
        collected::<Basedrop, T>(make),
        collected::<Spawned, T>(make),
        sent::<Here, T>(Receiver::Busy, BATCH, make),
    ]
}

/// Returns ways to send one large value to a receiver that sleeps, that of the process's reclaimer first.
pub fn one_large<T: Send + 'static>(make: Make<T>) -> Vec<Workload> {
    let receiver = Receiver::Asleep;
    vec![
        sent::<OfProcess, T>(receiver, 1, make),
        sent::<Mpsc<T>, T>(receiver, 1, make),
        sent::<Rayon, T>(receiver, 1, make),
        sent::<Deferred, T>(receiver, 1, make),
        sent::<Basedrop, T>(receiver, 1, make),
        sent::<Spawned, T>(receiver, 1, make),
        sent::<Here, T>(receiver, 1, make),
    ]
}

/// Returns the sending of values to the process's reclaimer, and their destruction here.
pub fn later_or_here<T: Send + 'static>(count: u64, make: Make<T>) -> [Workload; 2] {
    [
        sent::<OfProcess, T>(Receiver::Busy, count, make),
        sent::<Here, T>(Receiver::Busy, count, make).role(Role::Peer),
    ]
}

/// Returns the making and sending of values to the process's reclaimer, and their making and destruction
/// here. What is freed elsewhere, or here, then makes the next one slower, or faster.
pub fn made_and_dropped<T: Send + 'static>(count: u64, make: Make<T>) -> [Workload; 2] {
    [
        made_and_sent::<OfProcess, T>(count, make),
        made_and_sent::<Here, T>(count, make).role(Role::Peer),
    ]
}

/// Checks that all ways destroy each value once.
///
/// # Panics
/// If one does not.
pub fn check() {
    const TURNS: u64 = 3;
    let make = |seed| Box::new(Counted::new(seed));
    let receivers = [Receiver::Busy, Receiver::AtWork, Receiver::Asleep];
    let alone = receivers.map(|receiver| one_by_one(receiver, make));
    let cycles = made_and_dropped(BATCH, make);
    let all = alone.into_iter().flatten();
    for way in all.chain(together(make)).chain(cycles) {
        Count::reset();
        way.job()(TURNS);
        let count = Count::now();
        let expected = TURNS * way.operations;
        assert_eq!(count.made, expected, "{}: created", way.name);
        assert_eq!(count.destroyed, expected, "{}: destroyed", way.name);
    }
}
