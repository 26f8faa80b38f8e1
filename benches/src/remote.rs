//! References to foreign objects that any thread gives up, and that their owner releases.
//!
//! Every thread is an owner, as in a Python without a lock, so the measured threads drain, too.

use crate::crew;
use crate::table::Row;
use crate::workload::{Workload, repeated, timed_half};
use releasepool::foreign::{Foreign, RemoteRelease};
use std::mem::{swap, take};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// References that a thread gives up in a turn.
const BATCH: u64 = 1_000;

/// References between two drains, where drains are timed.
const FEW: usize = 100;

/// A counted object of a foreign runtime.
struct Thing(AtomicUsize);

// SAFETY: `retain` and `release` change the count, which is all that an object has.
unsafe impl Foreign for Thing {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: the object is alive.
        let thing = unsafe { this.as_ref() };
        thing.0.fetch_add(1, Ordering::Relaxed);
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: the object is alive.
        let thing = unsafe { this.as_ref() };
        thing.0.fetch_sub(1, Ordering::Release);
    }
}

/// The objects of all threads, which live for ever: another thread may release the last references.
static THINGS: Mutex<Vec<&'static [Thing]>> = Mutex::new(Vec::new());

/// References that were released, by all queues.
static RELEASED: AtomicU64 = AtomicU64::new(0);

fn things() -> MutexGuard<'static, Vec<&'static [Thing]>> {
    THINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the objects of a thread.
fn new_things() -> &'static [Thing] {
    let new: Vec<_> = (0..BATCH).map(|_| Thing(AtomicUsize::new(1))).collect();
    let new = &*new.leak();
    things().push(new);
    new
}

/// The address of a reference that was given up.
struct GivenUp(NonNull<Thing>);

// SAFETY: any thread may release a reference to a thing.
unsafe impl Send for GivenUp {}

impl GivenUp {
    fn release(self) {
        // SAFETY: things live for ever, and this is the only use of the reference.
        unsafe { Thing::release(self.0) };
    }
}

/// A queue of references, of which there is one for all threads.
trait Queue: 'static {
    /// The name in the output.
    const NAME: &'static str;

    /// Takes over a reference.
    fn push(thing: NonNull<Thing>);

    /// Releases all references, and returns their number.
    fn drain() -> usize;
}

/// Defines queues, each with its name in the output, how it takes over a reference, and how it releases all and
/// returns their number.
macro_rules! queues {
    ($($(#[$doc:meta])* $queue:ident, $name:literal: |$thing:ident| $push:expr, $drain:expr;)*) => {$(
        $(#[$doc])*
        struct $queue;

        impl Queue for $queue {
            const NAME: &'static str = $name;

            #[inline]
            fn push($thing: NonNull<Thing>) {
                $push;
            }

            #[inline]
            fn drain() -> usize {
                $drain
            }
        }
    )*};
}

static REMOTE: RemoteRelease<Thing> = RemoteRelease::new(|| true);
static LOCKED: Mutex<Vec<GivenUp>> = Mutex::new(Vec::new());
static SWAPPED: Mutex<Vec<GivenUp>> = Mutex::new(Vec::new());

thread_local! {
    static SPARE: std::cell::RefCell<Vec<GivenUp>> = const { std::cell::RefCell::new(Vec::new()) };
}

type Ends = (
    crossbeam_channel::Sender<GivenUp>,
    crossbeam_channel::Receiver<GivenUp>,
);

static CHANNEL: LazyLock<Ends> = LazyLock::new(crossbeam_channel::unbounded);

queues! {
    /// `RemoteRelease`.
    Remote, "RemoteRelease": |thing| {
        // SAFETY: the caller owns the reference, which any thread may release.
        let accepted = unsafe { REMOTE.push(thing) };
        assert!(accepted, "the queue is open");
    }, REMOTE.drain().expect("every thread is an owner");

    /// A vector behind a mutex, as PyO3 has it: the owner takes the vector, with its memory.
    Locked, "Mutex<Vec>, taken, as in PyO3": |thing| LOCKED.lock().expect("no panics").push(GivenUp(thing)), {
        let mut queue = LOCKED.lock().expect("no panics");
        if queue.is_empty() {
            return 0;
        }
        let taken = take(&mut *queue);
        drop(queue);
        let count = taken.len();
        taken.into_iter().for_each(GivenUp::release);
        count
    };

    /// A vector behind a mutex, which the owner swaps for an empty one with memory.
    Swapped, "Mutex<Vec>, swapped": |thing| SWAPPED.lock().expect("no panics").push(GivenUp(thing)),
    SPARE.with_borrow_mut(|spare| {
        let mut queue = SWAPPED.lock().expect("no panics");
        if queue.is_empty() {
            return 0;
        }
        swap(&mut *queue, spare);
        drop(queue);
        let count = spare.len();
        spare.drain(..).for_each(GivenUp::release);
        count
    });

    /// crossbeam's channel.
    Channel, "crossbeam channel": |thing| CHANNEL.0.send(GivenUp(thing)).expect("it has a receiver"),
    CHANNEL.1.try_iter().map(GivenUp::release).count();
}

/// Drains a queue, and counts what was released.
fn settle<Q: Queue>() {
    RELEASED.fetch_add(Q::drain() as u64, Ordering::Relaxed);
}

/// Adds a reference to each of a thread's objects.
fn retained(things: &'static [Thing]) -> &'static [Thing] {
    for thing in things {
        // SAFETY: things live for ever.
        unsafe { Thing::retain(NonNull::from(thing)) };
    }
    things
}

fn pushes<Q: Queue>() -> Workload {
    Workload::new(Q::NAME, BATCH, || {
        let things = new_things();
        let prepare = move || {
            settle::<Q>();
            retained(things)
        };
        timed_half(prepare, |things| {
            for thing in things {
                Q::push(NonNull::from(thing));
            }
        })
    })
}

fn cycles<Q: Queue>() -> Workload {
    Workload::new(Q::NAME, BATCH, || {
        let things = new_things();
        timed_half(
            move || retained(things),
            |things| {
                for few in things.chunks(FEW) {
                    for thing in few {
                        Q::push(NonNull::from(thing));
                    }
                    settle::<Q>();
                }
            },
        )
    })
}

fn empty<Q: Queue>() -> Workload {
    repeated(Q::NAME, 100, Q::drain, |_, _| settle::<Q>())
}

/// Calls a function for each kind of queue.
macro_rules! each_queue {
    ($function:ident) => {
        [
            $function::<Remote>(),
            $function::<Locked>(),
            $function::<Swapped>(),
            $function::<Channel>(),
        ]
    };
}

/// Returns all rows: pushes only; pushes with a drain after each hundred; and drains of empty
/// queues, which owners make each time they get a lock.
pub fn rows() -> Vec<Row> {
    let pushed = "references given up to their owner, the push only";
    let released = "references given up to their owner, and released after each 100";
    let none = "drains of no references to their owner";
    let (pushes, cycles) = (each_queue!(pushes), each_queue!(cycles));
    vec![
        Row::of(pushed, 1, &pushes),
        Row::of(pushed, 2, &pushes),
        Row::of(released, 1, &cycles),
        Row::of(released, 2, &cycles),
        Row::of(none, 1, &each_queue!(empty)),
    ]
}

/// Checks that all queues release each reference once, on one thread and on two.
///
/// # Panics
/// If one does not.
pub fn check() {
    fn check<Q: Queue>() {
        for workload in [pushes::<Q>(), cycles::<Q>()] {
            for threads in [1, 2] {
                let from = things().len();
                RELEASED.store(0, Ordering::Relaxed);
                assert!(crew::run(threads, &workload), "{}: a panic", Q::NAME);
                settle::<Q>();
                let released = RELEASED.load(Ordering::Relaxed);
                assert_eq!(
                    released,
                    3 * threads as u64 * BATCH,
                    "{}: released",
                    Q::NAME
                );
                let counts = things();
                let mut counts = counts[from..].iter().flat_map(|things| *things);
                let alive = counts.all(|thing| thing.0.load(Ordering::Acquire) == 1);
                assert!(alive, "{}: each reference is released once", Q::NAME);
            }
        }
    }
    each_queue!(check);
}
