//! The memory that a reader holds back which has loaded an object and stalls, while another thread
//! stores new ones. Each kind of reader runs in a process of its own.

use crate::{resident, terminal};
use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use hazarc::AtomicArc;
use kovan::Atom;
use releasepool::{AutoreleasePool, Ref, Slot, SlotCache, autoreleasepool};
use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// The option with which the benchmark starts itself.
const OPTION: &str = "--held-by";

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

/// A place that holds an object, and a way to read it.
trait Place: Sync {
    /// Loads the object, and calls `stall` while the reader uses it.
    fn read(&self, stall: &dyn Fn());

    /// Replaces the object.
    fn store(&self, value: Kilobyte);

    /// Makes the releases that are due, as far as they do not happen by themselves.
    fn tidy(&self) {}
}

/// A slot, and a way to load from it.
struct OfSlot(Slot<Kilobyte>, fn(&Slot<Kilobyte>, &dyn Fn()));

impl OfSlot {
    fn read_by(read: fn(&Slot<Kilobyte>, &dyn Fn())) -> Box<dyn Place> {
        Box::new(Self(Slot::new(Ref::new(Kilobyte::new(0))), read))
    }
}

impl Place for OfSlot {
    fn read(&self, stall: &dyn Fn()) {
        (self.1)(&self.0, stall);
    }
    fn store(&self, value: Kilobyte) {
        self.0.store(Ref::new(value));
    }
    fn tidy(&self) {
        autoreleasepool(|_| ());
    }
}

fn by_load(slot: &Slot<Kilobyte>, stall: &dyn Fn()) {
    let pool = AutoreleasePool::new();
    let loaded = slot.load(&pool);
    stall();
    black_box(loaded.0[0]);
}

fn by_with(slot: &Slot<Kilobyte>, stall: &dyn Fn()) {
    slot.with(|loaded| {
        stall();
        black_box(loaded.0[0]);
    });
}

fn by_load_full(slot: &Slot<Kilobyte>, stall: &dyn Fn()) {
    let loaded = slot.load_full();
    stall();
    black_box(loaded.0[0]);
}

fn by_cache(slot: &Slot<Kilobyte>, stall: &dyn Fn()) {
    let mut cache = SlotCache::new(slot);
    let loaded = cache.load();
    stall();
    black_box(loaded.0[0]);
}

impl Place for ArcSwap<Kilobyte> {
    fn read(&self, stall: &dyn Fn()) {
        let loaded = self.load();
        stall();
        black_box(loaded.0[0]);
    }
    fn store(&self, value: Kilobyte) {
        self.store(Arc::new(value));
    }
}

impl Place for AtomicArc<Kilobyte> {
    fn read(&self, stall: &dyn Fn()) {
        let loaded = self.load();
        stall();
        black_box(loaded.0[0]);
    }
    fn store(&self, value: Kilobyte) {
        self.store(Arc::new(value));
    }
}

impl Place for Atom<Kilobyte> {
    fn read(&self, stall: &dyn Fn()) {
        let loaded = self.load();
        stall();
        black_box(loaded.0[0]);
    }
    fn store(&self, value: Kilobyte) {
        self.store(value);
    }
    fn tidy(&self) {
        kovan::flush();
    }
}

impl Place for epoch::Atomic<Kilobyte> {
    fn read(&self, stall: &dyn Fn()) {
        let guard = epoch::pin();
        let loaded = self.load(Ordering::Acquire, &guard);
        stall();
        // SAFETY: the pointer is not null, and the guard was there before the load.
        let loaded = unsafe { loaded.deref() };
        black_box(loaded.0[0]);
    }
    fn store(&self, value: Kilobyte) {
        let guard = epoch::pin();
        let old = self.swap(epoch::Owned::new(value), Ordering::AcqRel, &guard);
        // SAFETY: the object is no longer reachable, and each is replaced once.
        unsafe { guard.defer_destroy(old) };
    }
    fn tidy(&self) {
        epoch::pin().flush();
    }
}

/// A kind of reader.
struct Reader {
    name: &'static str,
    place: fn() -> Box<dyn Place>,
}

/// Returns all kinds of readers.
fn readers() -> [Reader; 8] {
    let reader = |name, place| Reader { name, place };
    [
        reader("slot.load(&pool), the pool not drained", || {
            OfSlot::read_by(by_load)
        }),
        reader("slot.with, the closure running", || {
            OfSlot::read_by(by_with)
        }),
        reader("slot.load_full, the reference kept", || {
            OfSlot::read_by(by_load_full)
        }),
        reader("SlotCache::load, the cache idle", || {
            OfSlot::read_by(by_cache)
        }),
        reader("arc-swap, load, the guard kept", || {
            Box::new(ArcSwap::from_pointee(Kilobyte::new(0)))
        }),
        reader("hazarc, load, the borrow kept", || {
            Box::new(AtomicArc::from(Kilobyte::new(0)))
        }),
        reader("kovan, load, the guard kept", || {
            Box::new(Atom::new(Kilobyte::new(0)))
        }),
        reader("crossbeam-epoch, pinned", || {
            Box::new(epoch::Atomic::new(Kilobyte::new(0)))
        }),
    ]
}

/// What a stalled reader has held back.
struct Held {
    /// Replaced objects that were alive while the reader stalled.
    objects: u64,
    /// How much the resident memory has grown, in bytes; 0 if it is not known.
    resident: u64,
    /// Replaced objects that are alive after the reader has gone on.
    afterwards: u64,
}

/// Returns the number of objects that are alive without being in a place.
fn replaced() -> u64 {
    ALIVE.load(Ordering::Relaxed) - 1
}

fn stall(place: &dyn Place) -> Held {
    let store = |count| {
        for seed in 1..=count {
            place.store(Kilobyte::new(seed));
            if seed % DRAINED_AFTER == 0 {
                place.tidy();
            }
        }
    };
    let ((loaded, was_loaded), (go, may_go)) = (mpsc::channel(), mpsc::channel());
    let mut held = thread::scope(|scope| {
        scope.spawn(move || {
            place.read(&|| {
                loaded.send(()).expect("the writer waits");
                may_go.recv().expect("the writer sends");
            });
        });
        was_loaded.recv().expect("the reader loads");
        let before = resident::now();
        store(STORED);
        let grown = |(now, before): (u64, u64)| now.saturating_sub(before);
        let held = Held {
            objects: replaced(),
            resident: resident::now().zip(before).map_or(0, grown),
            afterwards: 0,
        };
        go.send(()).expect("the reader waits");
        held
    });
    store(10 * DRAINED_AFTER);
    held.afterwards = replaced();
    held
}

/// Does the work if this is a process for it, and returns true then.
pub fn run_if_asked(arguments: &[String]) -> bool {
    let [option, name, ..] = arguments else {
        return false;
    };
    if option != OPTION {
        return false;
    }
    let reader = readers().into_iter().find(|reader| reader.name == name);
    let place = reader.expect("the reader exists").place;
    // On a spawned thread, like all measurements.
    let held = thread::spawn(move || stall(&*place())).join();
    let held = held.expect("the work does not panic");
    println!("{} {} {}", held.objects, held.resident, held.afterwards);
    true
}

/// Measures a reader in another process.
fn of(reader: &Reader) -> Held {
    let this = std::env::current_exe().expect("this program has a path");
    let output = Command::new(this).args([OPTION, reader.name]).output();
    let output = output.expect("a process starts");
    assert!(output.status.success(), "{}: {output:?}", reader.name);
    let text = String::from_utf8(output.stdout).expect("the output is text");
    let mut numbers = text
        .split_whitespace()
        .map(|n| n.parse().expect("a number"));
    let mut next = || numbers.next().expect("there are three numbers");
    Held {
        objects: next(),
        resident: next(),
        afterwards: next(),
    }
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
    for reader in readers() {
        let held = of(&reader);
        let resident = match held.resident {
            0 => "-".to_owned(),
            bytes => format!("{:.1} MB", bytes as f64 / 1e6),
        };
        table.add_row([
            reader.name.to_owned(),
            held.objects.to_string(),
            (held.objects * size_of::<Kilobyte>() as u64).to_string(),
            resident,
            held.afterwards.to_string(),
        ]);
    }
    println!("{}", table.trim_fmt());
}
