//! Having another thread destroy values: the sender's part.
//!
//! The values exist before, and are destroyed before the next turn; neither is timed. `ways` has the
//! ways to send them, and [`values`] what is sent.

mod apart;
mod values;
mod ways;

use crate::objects::{self, Counted, Payload};
use crate::table::Row;
use crate::workload::{Role, Workload};
use apart::{Apart, Gate};
use std::thread;
use std::time::{Duration, Instant};
use values::Make;
use ways::{
    Basedrop, ByOwner, Collected, Deferred, Here, Mpsc, OfOwn, OfProcess, Rayon, Spawned, Way,
};

/// Values in a batch.
const BATCH: u64 = 1_000;

/// Threads that are started in a turn.
const THREADS: u64 = 16;

/// Nanoseconds that the sender of a value may need, if it need not wake the receiver.
const ALONE: f64 = 60.0;

/// Nanoseconds that the sender of many values may need for each.
const TOGETHER: f64 = 15.0;

/// Nanoseconds that the sender of a large graph may be stalled.
const STALL: f64 = 100_000.0;

/// What the thread that destroys the values does while they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Receiver {
    /// It is in a destructor that takes long, so it need not be woken, and does not disturb.
    Busy,
    /// It destroys them as they come.
    AtWork,
    /// It sleeps, and must be woken.
    Asleep,
}

/// Measures one turn.
fn turn<W: Way<T>, T>(way: &mut W, receiver: Receiver, send: impl FnOnce(&mut W)) -> Duration {
    // A way without a receiver may start threads, which would inherit the processor.
    let apart = W::HAS_RECEIVER.then(Apart::new);
    let gate = apart.as_ref().map(|apart| {
        let (mut gate, marker) = Gate::new(apart.others);
        if receiver != Receiver::Busy {
            gate.open();
        }
        way.mark(marker);
        gate.wait_for_arrival();
        gate
    });
    if receiver == Receiver::Asleep {
        // Long enough for any thread to fall asleep.
        thread::sleep(Duration::from_millis(1));
    }
    let start = Instant::now();
    send(way);
    way.flush();
    let time = start.elapsed();
    drop(gate);
    way.finish();
    time
}

/// Returns a workload whose turn sends `count` values by `send`. `send` also gets the values that
/// `prepare` has made before, untimed.
fn sending<W: Way<T>, T: 'static>(
    receiver: Receiver,
    count: u64,
    prepare: impl Fn(&mut Vec<T>) + Copy + Send + Sync + 'static,
    send: impl Fn(&mut W, &mut Vec<T>) + Copy + Send + Sync + 'static,
) -> Workload {
    let workload = Workload::new(W::NAME, count, move || {
        let (mut way, mut values) = (W::new(), Vec::new());
        // Memory behind that of the values that stays in use, as in most programs. The first turn
        // (never sampled) allocates it. Without it, malloc returns the end of its heap to the
        // system when a turn's values are destroyed, and the next turn has page faults.
        let mut behind = Vec::<u8>::new();
        Box::new(move |turns| {
            let one = |_| {
                prepare(&mut values);
                turn(&mut way, receiver, |way| {
                    send(way, &mut values);
                    if behind.capacity() == 0 {
                        behind.reserve_exact(100_000);
                    }
                })
            };
            (0..turns).map(one).sum()
        })
    });
    workload.role(W::ROLE)
}

/// Returns a workload that sends values which exist already.
fn sent<W: Way<T>, T: 'static>(receiver: Receiver, count: u64, make: Make<T>) -> Workload {
    sending(
        receiver,
        count,
        move |values| values.extend((0..count).map(make)),
        |way: &mut W, values| values.drain(..).for_each(|value| way.send(value)),
    )
}

/// Returns a workload that makes and sends values.
fn made_and_sent<W: Way<T>, T: 'static>(count: u64, make: Make<T>) -> Workload {
    let send = move |way: &mut W, _: &mut _| (0..count).for_each(|seed| way.send(make(seed)));
    sending(Receiver::AtWork, count, |_| (), send)
}

/// Returns all ways to send values one by one, that of the process's reclaimer first.
fn one_by_one<T: Send + 'static>(receiver: Receiver, make: Make<T>) -> Vec<Workload> {
    let (many, few) = match receiver {
        Receiver::Asleep => (1, 1),
        _ => (BATCH, THREADS),
    };
    vec![
        sent::<OfProcess, T>(receiver, many, make),
        sent::<ByOwner, T>(receiver, many, make),
        sent::<OfOwn, T>(receiver, many, make),
        sent::<Mpsc<T>, T>(receiver, many, make),
        sent::<Rayon, T>(receiver, many, make),
        sent::<Deferred, T>(receiver, many, make),
        sent::<Basedrop, T>(receiver, many, make),
        sent::<Spawned, T>(receiver, few, make),
        sent::<Here, T>(receiver, many, make),
    ]
}

/// Returns all ways to send a thousand values together, that of the process's reclaimer first. The values
/// come one by one.
fn together<T: Send + 'static>(make: Make<T>) -> Vec<Workload> {
    fn collected<W: Way<Vec<T>>, T: 'static>(make: Make<T>) -> Workload {
        let workload = sent::<Collected<W, T>, T>(Receiver::Busy, BATCH, make);
        workload.named(format!("Vec, {}", W::NAME))
    }
    vec![
        collected::<OfProcess, T>(make),
        collected::<Mpsc<Vec<T>>, T>(make),
        collected::<Rayon, T>(make),
        collected::<Deferred, T>(make),
        collected::<Basedrop, T>(make),
        collected::<Spawned, T>(make),
        sent::<Here, T>(Receiver::Busy, BATCH, make),
    ]
}

/// Compares ways to send one large value to a receiver that sleeps.
fn one_large<T: Send + 'static>(what: &str, make: Make<T>) -> Row {
    let mut all = one_by_one(Receiver::Asleep, make);
    // The library's other ways do at least as much work.
    all.retain(|way| way.role != Role::Ours);
    Row::of(what, 1, &all)
}

/// Compares sending values of a kind to the process's reclaimer with dropping them.
fn break_even<T: Send + 'static>(kind: &str, count: u64, make: Make<T>) -> Row {
    let later = sent::<OfProcess, T>(Receiver::Busy, count, make);
    let here = sent::<Here, T>(Receiver::Busy, count, make).role(Role::Peer);
    Row::of(format!("sent or dropped: {kind}"), 1, &[later, here])
}

/// Returns two workloads that make values: one sends them to the process's reclaimer, one drops
/// them here. So freeing elsewhere makes the next value slower, and freeing here makes it faster.
fn made_and_dropped<T: Send + 'static>(count: u64, make: Make<T>) -> [Workload; 2] {
    let here = made_and_sent::<Here, T>(count, make).role(Role::Peer);
    [made_and_sent::<OfProcess, T>(count, make), here]
}

/// Returns all rows.
pub fn rows() -> Vec<Row> {
    let one = |how, receiver| {
        let what = format!("a value dropped later, the sender's part; the receiver {how}");
        Row::of(what, 1, &one_by_one(receiver, values::object))
    };
    fn cycle<T: Send + 'static>(kind: &str, count: u64, make: Make<T>) -> Row {
        let what = format!("made, and sent or dropped: {kind}");
        Row::of(what, 1, &made_and_dropped(count, make))
    }
    let many = "1,000 values dropped later together, the sender's part";
    let graph = "a graph of 20,000 modules dropped later, the sender's stall";
    vec![
        one("busy", Receiver::Busy).within(ALONE),
        one("destroying meanwhile", Receiver::AtWork),
        one("asleep", Receiver::Asleep),
        Row::of(many, 1, &together(values::object)).within(TOGETHER),
        break_even("4 KiB inside the value", 16, values::inline),
        break_even("a box of 64 bytes", 1_000, values::small_box),
        break_even("a vector of 4 KiB", 100, values::small_vector),
        break_even("a vector of 1 MiB", 16, values::large_vector),
        break_even("a vector of 100 texts", 100, values::texts),
        break_even("a HashMap of 1,000 texts", 16, values::hash_map),
        break_even("a tree of 1,111 nodes", 16, values::tree),
        break_even("a BTreeMap of 10,000 texts", 8, values::ordered_map),
        cycle("a box of 64 bytes", 1_000, values::small_box),
        cycle("a vector of 100 texts", 100, values::texts),
        cycle("a tree of 1,111 nodes", 16, values::tree),
        one_large(graph, values::graph).within(STALL),
    ]
}

/// Checks that all ways destroy each value once.
///
/// # Panics
/// If one does not.
pub fn check() {
    let make = |seed| Box::new(Counted::new(seed));
    let receivers = [Receiver::Busy, Receiver::AtWork, Receiver::Asleep];
    let alone = receivers.map(|receiver| one_by_one(receiver, make));
    let all = alone.into_iter().flatten().chain(together(make));
    for way in all.chain(made_and_dropped(BATCH, make)) {
        objects::check(&way, 0);
    }
}
