//! The inspector reads this process, in which words of the library's structures are others: that ends,
//! without a panic.
#![no_main]

#[path = "../../inspect/tests/library/own_process.rs"]
mod own_process;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use own_process::OwnProcess;
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, HandoffPool, HomeRef, Ref, Slot, autorelease};
use releasepool_inspect::discovery::discover;
use releasepool_inspect::image::{Image, Memory, Parts};
use releasepool_inspect::library::Library;
use std::sync::{LazyLock, Mutex};

/// A word that is another, and where.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Change {
    /// One of the places that the inspector reads in undamaged memory.
    place: u16,
    /// The word of a larger place.
    word: u8,
    to: To,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum To {
    Small(u8),
    Any(u64),
    Large(u8),
    /// Another such place.
    Place(u16),
    Itself,
    Next,
}

/// What the inspector reads in undamaged memory.
static PLACES: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let whole = Damaged {
        own: OwnProcess::new(),
        words: Vec::new(),
        read: Mutex::default(),
    };
    Library::read(&whole).expect("the library is there");
    whole.read.into_inner().expect("no panic in here")
});

/// This process, with other words in some places. Notes what is read.
struct Damaged {
    own: OwnProcess,
    words: Vec<(u64, [u8; 8])>,
    read: Mutex<Vec<u64>>,
}

impl Damaged {
    fn new(changes: &[Change]) -> Self {
        let own = OwnProcess::new();
        let place = |n: u16| PLACES[usize::from(n) % PLACES.len()];
        let word = |change: &Change| {
            let at = place(change.place) + 8 * u64::from(change.word % 64);
            let to = match change.to {
                To::Small(n) => n.into(),
                To::Any(n) => n,
                To::Large(n) => u64::MAX >> (n % 64),
                To::Place(n) => place(n),
                To::Itself => at,
                To::Next => own.word(at).unwrap_or(0).wrapping_add(8),
            };
            (at, to.to_ne_bytes())
        };
        let words = changes.iter().map(word).collect();
        Self {
            own,
            words,
            read: Mutex::default(),
        }
    }
}

impl Memory for Damaged {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let read = self.own.read(address, buffer);
        if self.words.is_empty() {
            self.read.lock().expect("no panic in here").push(address);
        }
        for (at, bytes) in &self.words {
            for (at, byte) in (*at..).zip(bytes) {
                let index = at.wrapping_sub(address);
                if index < read as u64 {
                    buffer[index as usize] = *byte;
                }
            }
        }
        read
    }
}

impl Image for Damaged {
    fn parts(&self) -> &Parts {
        self.own.parts()
    }
}

/// Makes one of everything that the inspector knows, to stay.
fn fill() {
    static OBJECTS: Mutex<Vec<Ref<u64>>> = Mutex::new(Vec::new());
    let r = Ref::new(1);
    OBJECTS
        .lock()
        .expect("no panic in here")
        .extend([r.clone(), r.clone()]);
    let pool = AutoreleasePool::named("outer");
    for _ in 0..600 {
        pool.autorelease(r.clone());
    }
    pool.create([2u8; 40]);
    pool.create_str("text");
    let inner = AutoreleasePool::named(format!("inner {}", 1));
    autorelease(Ref::new("of the inner pool".to_owned()));
    let handoff = HandoffPool::new();
    handoff.autorelease(r.clone());
    let blocks = BlockAllocator::new();
    let block = Ref::new_in(3u32, &blocks);
    let waiting = std::thread::spawn(move || {
        let _pool = AutoreleasePool::named("of a thread");
        autorelease(r);
        std::thread::park();
    });
    std::mem::forget((
        (inner, pool, handoff, block, blocks, waiting),
        (Slot::new(Ref::new(4)), HomeRef::new(6)),
    ));
}

fuzz_target!(
    init: fill(),
    |changes: Vec<Change>| {
        let damaged = Damaged::new(&changes);
        if let Ok(library) = Library::read(&damaged) {
            discover(&damaged, &library);
        }
    }
);
