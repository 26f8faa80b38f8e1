//! The findings in a program with glibc's malloc; and memory that is damaged where the library's
//! structures are: reading it ends, without a panic.

use crate::common::{Directory, Target};
use crate::sample::expected;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::error::LayoutError;
use releasepool_inspect::image::{Image, Memory, Parts, ProgramImage};
use releasepool_inspect::layout::{NAME, TEXT};
use releasepool_inspect::library::Library;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

fn check(image: &dyn Image) {
    let graph = discover(image, &Library::read(image).unwrap());
    assert_eq!(graph.caveats, Vec::<String>::new());
    expected::check_order(&graph);
    expected::check_objects(&graph, true);
    expected::check_library(&graph);
    expected::check_handoff(&graph);
    expected::check_leaks(&graph);
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

/// An image some of whose bytes are others. Notes what is read.
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

/// Returns the numbers of the layout note: where the digits of each are.
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
    // More by the environment, to search for what is not known yet.
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
            // That takes longer.
            if round % 10 == 0 {
                discover(&damaged, &library);
            }
        }
    }
    assert!(caveats > 0);
}
