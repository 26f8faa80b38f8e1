//! The findings in a program with glibc's malloc; and memory that is damaged where the library's
//! structures are: reading it ends, without a panic.

use crate::common::{self, Directory, Target};
use crate::sample;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::error::LayoutError;
use releasepool_inspect::image::{Image, Memory, Parts, ProgramImage};
use releasepool_inspect::layout::{NAME, TEXT};
use releasepool_inspect::library::Library;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Mutex;
use std::thread;

/// Sizes of all kinds: cached, in fast bins, small, large, mapped, aligned.
const SIZES: [usize; 12] = [
    1, 24, 25, 64, 100, 200, 300, 1032, 5_000, 65_536, 200_000, 1_000_000,
];

/// Allocates and frees in a pattern; returns a sign, an address and a size for each allocation: `+` for
/// what is in use, `-` for what is free.
fn churn(rounds: usize) -> String {
    let mut made = Vec::new();
    for round in 0..rounds {
        for size in SIZES.into_iter().filter(|size| *size < 10_000 || round < 6) {
            let align = match size {
                300 => 64,
                65_536 => size,
                _ => 8,
            };
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not 0.
            let memory = unsafe { alloc(layout) };
            // SAFETY: just allocated with this size. The bytes look like no chunk's size.
            unsafe { memory.write_bytes(0xff, size) };
            made.push((memory, layout));
        }
    }
    let mut items = String::with_capacity(made.len() * 40);
    for (i, (memory, layout)) in made.into_iter().enumerate() {
        let sign = if i % 3 == 0 || i % 7 == 0 { '-' } else { '+' };
        if sign == '-' {
            // SAFETY: allocated above with this layout, and not used any more.
            unsafe { dealloc(memory, layout) };
        }
        write!(items, "{sign}{}:{} ", memory.addr(), layout.size()).unwrap();
    }
    items
}

/// Plays the role: allocates on several threads, one of which lives on with its cache, and prints
/// the allocations.
pub fn churns() -> ! {
    let first = churn(200);
    let threads: Vec<_> = (0..3)
        .map(|i| thread::spawn(move || churn(100 + i)))
        .collect();
    let others: String = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    let lives = thread::spawn(move || {
        let all = first + &others + &churn(50);
        common::serve(|_| all.clone())
    });
    lives.join().unwrap()
}

#[test]
fn what_is_in_use_is_found_and_what_is_free_is_not() {
    let mut target = Target::start("churns");
    let told = target.ask("what");
    let known: Vec<(bool, u64, u64)> = told
        .split(' ')
        .map(|item| {
            let (at, size) = item[1..].split_once(':').unwrap();
            (
                item.starts_with('+'),
                at.parse().unwrap(),
                size.parse().unwrap(),
            )
        })
        .collect();
    assert!(known.len() > 4_000);
    let image = ProgramImage::take(target.pid()).unwrap();
    let graph = discover(&image, &Library::read(&image).unwrap());
    assert_eq!(graph.caveats, Vec::<String>::new());
    sample::check_order(&graph);
    let used = known.iter().filter(|known| known.0);
    let used: HashSet<u64> = used.map(|known| known.1).collect();
    let (mut free, mut reused) = (0, 0);
    for (is_used, start, size) in known {
        let found = graph
            .node_at(start)
            .map(|node| graph.nodes[node as usize].bytes);
        if is_used {
            let found = found.unwrap_or_else(|| panic!("{start:#x} of {size} is not found"));
            let unused = found.checked_sub(size).unwrap();
            // A mapping is whole pages, and longer for an alignment.
            let mapped = size > 50_000 && unused < if size == 65_536 { 70_000 } else { 4_200 };
            assert!(unused < 64 || mapped, "{size}: {unused} unused");
        } else if !used.contains(&start) {
            // Strings, or what std allocates for threads, may have taken the memory since.
            free += 1;
            reused += usize::from(found.is_some());
        }
    }
    assert!(free > 1_000);
    assert!(reused < 10, "{reused} of {free} free ones are found");
}

fn check(image: &dyn Image) {
    let graph = discover(image, &Library::read(image).unwrap());
    assert_eq!(graph.caveats, Vec::<String>::new());
    sample::check_order(&graph);
    sample::check_objects(&graph, true);
    sample::check_library(&graph);
    sample::check_handoff(&graph);
    sample::check_leaks(&graph);
}

#[test]
fn objects_in_all_places_of_a_process() {
    let target = Target::start("sample");
    check(&ProgramImage::take(target.pid()).unwrap());
}

#[test]
fn objects_in_all_places_of_a_core_file() {
    let target = Target::start("sample");
    let directory = Directory::new("objects");
    if let Some(core) = directory.core_of(target.pid()) {
        drop(target);
        check(&ProgramImage::open(&core, None).unwrap());
    }
}

/// An image in which some bytes are replaced. Records what is read.
struct Damaged<'a> {
    image: &'a ProgramImage,
    bytes: HashMap<u64, u8>,
    /// The range of `bytes`.
    range: Range<u64>,
    read: Mutex<Vec<(u64, usize)>>,
}

impl<'a> Damaged<'a> {
    fn new(image: &'a ProgramImage, changes: &[(u64, Vec<u8>)]) -> Self {
        let bytes = changes.iter();
        let bytes = bytes.flat_map(|(at, bytes)| (*at..).zip(bytes.iter().copied()));
        let bytes: HashMap<u64, u8> = bytes.collect();
        let start = bytes.keys().min().copied().unwrap_or(0);
        let end = bytes.keys().max().map_or(0, |at| at + 1);
        Self {
            image,
            bytes,
            range: start..end,
            read: Mutex::default(),
        }
    }
}

impl Memory for Damaged<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let read = self.image.read(address, buffer);
        self.read.lock().unwrap().push((address, read));
        let from = address.max(self.range.start);
        let to = self.range.end.min(address.saturating_add(read as u64));
        for at in from..to {
            if let Some(byte) = self.bytes.get(&at) {
                buffer[(at - address) as usize] = *byte;
            }
        }
        read
    }
}

impl Image for Damaged<'_> {
    fn parts(&self) -> &Parts {
        self.image.parts()
    }

    fn present(&self) -> Vec<Range<u64>> {
        self.image.present()
    }
}

/// Returns where the digits of each number in the layout note are: the address and the length.
fn numbers(image: &ProgramImage) -> Vec<(u64, usize)> {
    let notes = image.modules().iter().flat_map(|module| &module.notes);
    let note = { notes }.find(|note| note.name == NAME && note.kind == TEXT);
    let note = note.unwrap();
    let text = image.bytes(note.address, note.len as usize).unwrap();
    let mut numbers = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        if let Some(equal) = line.iter().position(|&byte| byte == b'=') {
            let digits = line.len() - equal - 2;
            numbers.push((note.address + (at + equal + 1) as u64, digits));
        }
        at += line.len();
    }
    numbers
}

#[test]
fn damaged_notes_are_refused_or_read() {
    let target = Target::start("sample");
    let image = ProgramImage::take(target.pid()).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut refused, mut read) = (0, 0);
    for (at, digits) in numbers(&image) {
        let mut values = vec![b'0'; digits];
        for nth in 0..5 {
            match nth {
                0 => {}
                1 => values.fill(b'9'),
                2 => *values.last_mut().unwrap() = b'1',
                _ => values.fill_with(|| b"0123456789"[rng.usize(..10)]),
            }
            let damaged = Damaged::new(&image, &[(at, values.clone())]);
            match Library::read(&damaged) {
                Ok(library) => {
                    read += 1;
                    if nth == 4 {
                        discover(&damaged, &library);
                    }
                }
                Err(LayoutError::NoLibrary) => panic!("there is a note"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 0 && read > 0, "{refused} refused, {read} read");
}

#[test]
fn damaged_structures_are_read_as_far_as_they_make_sense() {
    // The environment can set more rounds and other seeds, for a longer search.
    let number = |name, usual| std::env::var(name).map_or(usual, |n| n.parse().unwrap());
    let (rounds, seed) = (number("ROUNDS", 300), number("SEED", 1));
    let target = Target::start("sample");
    let image = ProgramImage::take(target.pid()).unwrap();
    let whole = Damaged::new(&image, &[]);
    Library::read(&whole).unwrap();
    let places = whole.read.into_inner().unwrap();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut caveats = 0;
    for round in 0..rounds {
        let changes: Vec<_> = (0..rng.usize(1..4))
            .map(|_| {
                let (at, len) = places[rng.usize(..places.len())];
                let at = at + 8 * rng.u64(..(len as u64 / 8).max(1));
                let word = match rng.u8(..9) {
                    0 => 0,
                    1 => 1,
                    2 => u64::MAX,
                    3 => u64::MAX / 8,
                    4 => rng.u64(..),
                    5 => rng.u64(..1 << 16),
                    6 => image.word(at).unwrap_or(0).wrapping_add(8),
                    7 => at,
                    _ => places[rng.usize(..places.len())].0,
                };
                (at, word.to_ne_bytes()[..len.min(8)].to_vec())
            })
            .collect();
        let damaged = Damaged::new(&image, &changes);
        if let Ok(library) = Library::read(&damaged) {
            caveats += library.caveats.len();
            // `discover` takes longer, so it runs in one round of ten.
            if round % 10 == 0 {
                discover(&damaged, &library);
            }
        }
    }
    assert!(caveats > 0);
}
