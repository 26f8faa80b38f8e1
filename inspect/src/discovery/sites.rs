//! Where objects were created: read from the ledger, which a program has if it was built with the
//! library's feature `leak-detection`.
//!
//! ```text
//! descriptor   0 "RPLEDGER"    8 version: u32   12 size of a record: u32   16 records in a chunk: u32
//!             20 first record in a chunk: u32   24 newest chunk, or 0
//! chunk        0 the next older chunk, or 0     then the records
//! record       0 complement of the payload's address, or 0 if the record is free     8 type info
//!             24 the file's name   32 its length: u32   36 line: u32   40 column: u32
//!             48 creating thread: index of its key in the low half, generation in the high one;
//!                with the highest bit, the thread had no key
//! ```

use crate::graph::{Creation, Graph};
use crate::image::Memory;
use crate::layout::HeaderLayout;
use crate::library::Library;
use std::collections::{HashMap, HashSet};

const MAGIC: [u8; 8] = *b"RPLEDGER";

/// The version that is known.
const VERSION: u32 = 1;

/// The size of the part of a record that is known.
const RECORD: u32 = 64;

/// The most bytes that a chunk has.
const LARGEST_CHUNK: u64 = 1 << 26;

/// The most chunks that are read: at the library's chunk size, they have more records than objects
/// fit into the memory of most machines.
const MOST_CHUNKS: usize = 1 << 22;

/// The longest name of a file that is read, in bytes.
const LONGEST_NAME: u32 = 4_096;

/// The highest bit of a thread's number: the thread had no key.
const NO_KEY: u64 = 1 << 63;

/// Adds to a graph where its objects were created, if the program records it.
pub(super) fn add_sites(memory: &dyn Memory, library: &Library, graph: &mut Graph) {
    let Some(ledger) = library.ledger() else {
        return;
    };
    let header = library.layout.header;
    let mut caveats = Vec::new();
    let mut found = Sites::new(memory, header, graph);
    match Shape::read(memory, ledger) {
        Ok(shape) => found.walk(&shape, &mut caveats),
        Err(reason) => caveats.push(reason),
    }
    if found.unreadable > 0 {
        caveats.push(format!(
            "{} records of creation sites do not make sense, and were left out",
            found.unreadable
        ));
    }
    let Sites {
        creations, created, ..
    } = found;
    graph.creations = creations;
    graph.created = created;
    graph.caveats.append(&mut caveats);
}

/// The figures in the descriptor of a ledger.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    record: u64,
    in_chunk: u64,
    first: u64,
    newest: u64,
}

impl Shape {
    fn read(memory: &dyn Memory, address: u64) -> Result<Self, String> {
        let mut bytes = [0; 32];
        if memory.read(address, &mut bytes) < bytes.len() || bytes[..8] != MAGIC {
            return Err("the record of creation sites cannot be read".to_owned());
        }
        let version = half(&bytes, 8);
        if version != VERSION {
            return Err(format!(
                "creation sites are recorded in version {version} of their format, and this \
                 program reads version {VERSION}"
            ));
        }
        let [record, in_chunk, first] = [12, 16, 20].map(|at| half(&bytes, at));
        let shape = Self {
            record: record.into(),
            in_chunk: in_chunk.into(),
            first: first.into(),
            newest: word(&bytes, 24),
        };
        let fits = record >= RECORD && first >= 8 && shape.chunk_bytes() <= LARGEST_CHUNK;
        fits.then_some(shape)
            .ok_or_else(|| "the record of creation sites is damaged".to_owned())
    }

    fn chunk_bytes(&self) -> u64 {
        self.first
            .saturating_add(self.in_chunk.saturating_mul(self.record))
    }
}

/// Collects creations.
struct Sites<'a> {
    memory: &'a dyn Memory,
    header: HeaderLayout,
    graph: &'a Graph,
    creations: Vec<Creation>,
    created: Vec<u32>,
    /// Results of `creation` by the file name's address and length, line, column and thread.
    known: HashMap<(u64, u32, u32, u32, u64), u32>,
    /// Records that make no sense.
    unreadable: u64,
}

impl<'a> Sites<'a> {
    fn new(memory: &'a dyn Memory, header: HeaderLayout, graph: &'a Graph) -> Self {
        Self {
            memory,
            header,
            graph,
            creations: Vec::new(),
            created: vec![0; graph.objects],
            known: HashMap::new(),
            unreadable: 0,
        }
    }

    /// Reads all chunks.
    fn walk(&mut self, shape: &Shape, caveats: &mut Vec<String>) {
        let mut buffer = vec![0; shape.chunk_bytes() as usize];
        let mut seen = HashSet::new();
        let mut at = shape.newest;
        while at != 0 {
            if !seen.insert(at) || seen.len() > MOST_CHUNKS {
                caveats.push("the list of creation sites leads to something twice".to_owned());
                return;
            }
            if self.memory.read(at, &mut buffer) < buffer.len() {
                caveats.push(format!(
                    "creation sites at {at:#x} are in memory that cannot be read"
                ));
                return;
            }
            let records = &buffer[shape.first as usize..];
            for record in records.chunks_exact(shape.record as usize) {
                self.add(record);
            }
            at = word(&buffer, 0);
        }
    }

    /// Adds what a record says to the graph.
    fn add(&mut self, record: &[u8]) {
        let hidden = word(record, 0);
        if hidden == 0 {
            return;
        }
        let payload = !hidden;
        // The object of a record may not have been found, while it is created or destroyed.
        let objects = &self.graph.nodes[..self.graph.objects];
        let Ok(node) = objects.binary_search_by_key(&payload, |node| node.address) else {
            return;
        };
        let info_at = payload - self.header.size + self.header.type_info;
        let creation = if self.memory.word(info_at) == Some(word(record, 8)) {
            self.creation(record)
        } else {
            None
        };
        match creation {
            Some(creation) => self.created[node] = creation,
            None => self.unreadable += 1,
        }
    }

    /// Returns one more than the index of a record's creation; `None` if the record makes no sense.
    fn creation(&mut self, record: &[u8]) -> Option<u32> {
        let (file, thread) = (word(record, 24), word(record, 48));
        let [len, line, column] = [32, 36, 40].map(|at| half(record, at));
        let key = (file, len, line, column, thread);
        if let Some(creation) = self.known.get(&key) {
            return Some(*creation);
        }
        if len > LONGEST_NAME {
            return None;
        }
        let name = String::from_utf8(self.memory.bytes(file, len as usize)?).ok()?;
        let site = format!("{name}:{line}:{column}");
        // In the graph the index of a key is in the upper half.
        let creator = (thread != 0 && thread & NO_KEY == 0).then(|| thread.rotate_left(32));
        self.creations.push(Creation { site, creator });
        let creation = self.creations.len() as u32;
        self.known.insert(key, creation);
        Some(creation)
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::graph;
    use crate::discovery::synthetic_image::memory;

    /// A ledger at address 0, with two chunks of two records; objects have headers of 16 bytes, and
    /// their type infos are at the second word.
    struct Ledger(Vec<u8>);

    const SIZE: usize = 72;
    const CHUNKS: [usize; 2] = [64, 256];
    const NAME: usize = 448;
    const INFO: u64 = 0xABCD;

    const HEADER: HeaderLayout = HeaderLayout {
        size: 16,
        count: 0,
        type_info: 8,
        length_before: 24,
    };

    impl Ledger {
        fn new(objects: [u64; 3]) -> Self {
            let mut ledger = Self(vec![0; NAME + 16]);
            ledger.0[..8].copy_from_slice(&MAGIC);
            for (at, value) in [(8, VERSION), (12, SIZE as u32), (16, 2), (20, 8)] {
                ledger.put_half(at, value);
            }
            ledger.put_word(24, CHUNKS[0] as u64);
            ledger.put_word(CHUNKS[0], CHUNKS[1] as u64);
            ledger.0[NAME..NAME + 6].copy_from_slice(b"src/a\n");
            let places = [CHUNKS[0] + 8, CHUNKS[0] + 8 + SIZE, CHUNKS[1] + 8 + SIZE];
            for (n, (at, object)) in (1..).zip(places.into_iter().zip(objects)) {
                ledger.put_word(at, !object);
                ledger.put_word(at + 8, INFO);
                ledger.put_word(at + 24, NAME as u64);
                ledger.put_half(at + 32, 5);
                ledger.put_half(at + 36, n);
                ledger.put_half(at + 40, 5);
                ledger.put_word(at + 48, 7 << 32 | 3);
            }
            ledger
        }

        fn put_word(&mut self, at: usize, value: u64) {
            self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }

        fn put_half(&mut self, at: usize, value: u32) {
            self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
    }

    /// Returns the sites of three objects, the number of unreadable records, and the caveats.
    fn sites(change: impl FnOnce(&mut Ledger)) -> (Vec<String>, u64, Vec<String>) {
        let graph = graph("Game: 1, Game: 1, Game: 1");
        let mut ledger = Ledger::new([0, 1, 2].map(|at| graph.nodes[at].address));
        change(&mut ledger);
        // In the memory of the objects, each word is the address of a type info.
        let memory = memory(&[(0, &ledger.0), (0xF00, &INFO.to_ne_bytes().repeat(64))]);
        let mut found = Sites::new(&memory, HEADER, &graph);
        let mut caveats = Vec::new();
        match Shape::read(&memory, 0) {
            Ok(shape) => found.walk(&shape, &mut caveats),
            Err(caveat) => caveats.push(caveat),
        }
        let site = |created: &u32| match created.checked_sub(1) {
            Some(index) => {
                let Creation { site, creator } = &found.creations[index as usize];
                format!("{site} by {:x}", creator.unwrap_or(0))
            }
            None => String::new(),
        };
        let sites = found.created.iter().map(site).collect();
        (sites, found.unreadable, caveats)
    }

    #[test]
    fn sites_are_read_from_all_chunks() {
        let (found, unreadable, caveats) = sites(|_| ());
        let expected = [1, 2, 3].map(|line| format!("src/a:{line}:5 by 300000007"));
        assert_eq!(found, expected);
        assert_eq!((unreadable, caveats.len()), (0, 0), "{caveats:?}");
    }

    #[test]
    fn a_damaged_ledger_gives_a_caveat() {
        let one = |change: fn(&mut Ledger)| sites(change).2.join("; ");
        assert!(one(|ledger| ledger.0[0] = 0).contains("cannot be read"));
        assert!(one(|ledger| ledger.put_half(8, 2)).contains("version 2"));
        assert!(one(|ledger| ledger.put_half(12, 8)).contains("damaged"));
        assert!(one(|ledger| ledger.put_half(16, u32::MAX)).contains("damaged"));
        assert!(one(|ledger| ledger.put_word(CHUNKS[1], CHUNKS[0] as u64)).contains("twice"));
        assert!(one(|ledger| ledger.put_word(CHUNKS[0], 0x900)).contains("0x900"));
        assert!(one(|ledger| ledger.put_word(24, 0)).is_empty());
    }

    #[test]
    fn damaged_records_are_left_out() {
        let first = CHUNKS[0] + 8;
        // A name that is not UTF-8, and one that is too long.
        let (text, long) = (u64::from_ne_bytes([0xff; 8]), (9 << 32) | 0xffff_ffff);
        for (at, word, unreadable) in [
            (first, !0x42, 0),
            (first, 0, 0),
            (first + 8, INFO + 8, 1),
            (first + 24, 0x900, 1),
            (first + 32, long, 1),
            (NAME, text, 3),
        ] {
            let (found, found_unreadable, caveats) = sites(|ledger| ledger.put_word(at, word));
            assert_eq!(found[0], "");
            assert_eq!(found_unreadable, unreadable);
            assert!(caveats.is_empty(), "{caveats:?}");
        }
    }
}
