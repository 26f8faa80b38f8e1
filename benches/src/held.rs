//! The memory that is held back by a reader which has loaded an object and stalls, while another
//! thread stores new objects. Each kind of reader runs in a process of its own.

use crate::{resident, terminal};
use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use hazarc::AtomicArc;
use kovan::Atom;
use releasepool::slot::SlotCache;
use releasepool::{AutoreleasePool, Ref, Slot, autoreleasepool};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Objects that are stored while the reader stalls.
const STORED: u64 = 100_000;

/// Stores between two drains of the writer.
const DRAINED_AFTER: u64 = 100;

/// Objects that are alive.
static ALIVE: AtomicU64 = AtomicU64::new(0);

/// A value of 1 KiB, which is counted while it is alive.
struct Kilobyte([u64; 128]);

impl Kilobyte {
    fn new(seed: u64) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self([seed; 128])
    }
}

impl Drop for Kilobyte {
    fn drop(&mut self) {
        black_box(self.0[1]);
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The stall of a reader that has loaded an object; afterwards the reader reads the object.
type Hold<'h> = &'h dyn Fn(&Kilobyte);

/// A kind of reader: its name, and the measurement of [`stall`].
type Reader = (&'static str, fn() -> [u64; 3]);

/// All kinds of readers.
const READERS: [Reader; 8] = [
    ("slot.load(&pool), the pool not drained", || {
        of_slot(|slot, hold| hold(&slot.load(&AutoreleasePool::new())))
    }),
    ("slot.with, the closure running", || {
        of_slot(|slot, hold| slot.with(hold))
    }),
    ("slot.load_full, the reference kept", || {
        of_slot(|slot, hold| hold(&slot.load_full()))
    }),
    ("SlotCache::load, the cache idle", || {
        of_slot(|slot, hold| hold(SlotCache::new(slot).load()))
    }),
    ("arc-swap, load, the guard kept", || {
        let load = |swap: &ArcSwap<Kilobyte>, hold: Hold| hold(&swap.load());
        let store = |swap: &ArcSwap<Kilobyte>, new| swap.store(Arc::new(new));
        stall(&ArcSwap::from_pointee(Kilobyte::new(0)), load, store, || ())
    }),
    ("hazarc, load, the borrow kept", || {
        let load = |place: &AtomicArc<Kilobyte>, hold: Hold| hold(&place.load());
        let store = |place: &AtomicArc<Kilobyte>, new| place.store(Arc::new(new));
        stall(&AtomicArc::from(Kilobyte::new(0)), load, store, || ())
    }),
    ("kovan, load, the guard kept", || {
        let load = |atom: &Atom<Kilobyte>, hold: Hold| hold(&atom.load());
        stall(
            &Atom::new(Kilobyte::new(0)),
            load,
            Atom::store,
            kovan::flush,
        )
    }),
    ("crossbeam-epoch, pinned", || {
        let place = epoch::Atomic::new(Kilobyte::new(0));
        stall(&place, load_pinned, store_pinned, || epoch::pin().flush())
    }),
];

fn of_slot(load: fn(&Slot<Kilobyte>, Hold)) -> [u64; 3] {
    let store = |slot: &Slot<Kilobyte>, new| slot.store(Ref::new(new));
    let slot = Slot::new(Ref::new(Kilobyte::new(0)));
    stall(&slot, load, store, || autoreleasepool(|_| ()))
}

fn load_pinned(place: &epoch::Atomic<Kilobyte>, hold: Hold) {
    let guard = epoch::pin();
    let loaded = place.load(Ordering::Acquire, &guard);
    // SAFETY: the pointer is not null, and the guard was there before the load.
    hold(unsafe { loaded.deref() });
}

fn store_pinned(place: &epoch::Atomic<Kilobyte>, new: Kilobyte) {
    let guard = epoch::pin();
    let old = place.swap(epoch::Owned::new(new), Ordering::AcqRel, &guard);
    // SAFETY: the old object is no longer reachable, and each object is replaced once.
    unsafe { guard.defer_destroy(old) };
}

/// Returns the number of objects that were replaced and live on: all but the one in the place.
fn replaced() -> u64 {
    ALIVE.load(Ordering::Relaxed) - 1
}

/// Replaces the object of a place while a reader of it stalls. `tidy` makes the releases that are due, as far
/// as they do not happen by themselves. Returns the replaced objects that were alive meanwhile; how much the
/// resident memory had grown, or 0 if that is not known; and those alive after the reader has gone on.
fn stall<P: Sync>(place: &P, load: fn(&P, Hold), store: fn(&P, Kilobyte), tidy: fn()) -> [u64; 3] {
    let store = |count| {
        for seed in 1..=count {
            store(place, Kilobyte::new(seed));
            if seed % DRAINED_AFTER == 0 {
                tidy();
            }
        }
    };
    let ((loaded, was_loaded), (go, may_go)) = (mpsc::channel(), mpsc::channel());
    let (objects, grown) = thread::scope(|scope| {
        scope.spawn(move || {
            load(place, &|object| {
                loaded.send(()).expect("the writer waits");
                may_go.recv().expect("the writer sends");
                black_box(object.0[0]);
            });
        });
        was_loaded.recv().expect("the reader loads");
        let before = resident::now();
        store(STORED);
        let grown = |(now, before): (u64, u64)| now.saturating_sub(before);
        let held = (replaced(), resident::now().zip(before).map_or(0, grown));
        go.send(()).expect("the reader waits");
        held
    });
    store(10 * DRAINED_AFTER);
    [objects, grown, replaced()]
}

/// Returns what the reader of this name holds back; called in a process for it alone.
pub fn apart(name: &str) -> Option<Vec<u64>> {
    let reader = READERS.iter().find(|reader| reader.0 == name)?;
    Some(reader.1().to_vec())
}

/// Measures and prints what all readers hold back.
pub fn print() {
    println!(
        "\nWhat a stalled reader holds back of {STORED} objects of 1 KiB that are replaced, in a process for each"
    );
    let mut table = terminal::figures([
        ("", 40),
        ("objects", 12),
        ("bytes of objects", 18),
        ("resident memory", 18),
        ("objects, afterwards", 0),
    ]);
    for (name, _) in READERS {
        let [objects, grown, afterwards] = resident::apart(name);
        let resident = match grown {
            0 => "-".to_owned(),
            bytes => format!("{:.1} MB", bytes as f64 / 1e6),
        };
        table.add_row([
            name.to_owned(),
            objects.to_string(),
            (objects * size_of::<Kilobyte>() as u64).to_string(),
            resident,
            afterwards.to_string(),
        ]);
    }
    println!("{}", table.trim_fmt());
}
