//! The library's own structures: threads, pools, messages and blocks.
//!
//! A process may be stopped in the middle of an operation, and memory may be corrupt. So whatever
//! is read is checked before it is followed, every walk ends, and what does not fit is left out and
//! said in [`Library::caveats`].

mod blocks;
mod reader;
mod threads;

pub use reader::{Block, Chunk, Entry, Holder, LibPool, LibThread, PoolKind, Row, Target};

use crate::error::LayoutError;
use crate::graph::{ThreadState, Totals};
use crate::image::{Image, Memory};
use crate::layout::{Layout, Names};
use reader::Reader;

/// The library's structures in a process.
#[derive(Clone, Debug)]
pub struct Library {
    /// The path of the file that contains the library.
    pub module: String,
    /// The offsets of the fields in the library's structures.
    pub layout: Layout,
    /// Addresses of the library's statics by name, as the notes give them.
    pub names: Names,
    /// The threads that have used the library and have not ended.
    pub threads: Vec<LibThread>,
    /// Pools of threads that have ended while guards were open: forgotten ones, mostly.
    pub detached: Vec<LibThread>,
    /// The entries that are in no [row](Self::rows): single messages, dead objects, kept values.
    pub entries: Vec<Entry>,
    /// The rows of entries in pools, and in other pages. There may be millions of entries, so only
    /// their places are here; [`all_entries`](Self::all_entries) reads them.
    pub rows: Vec<Row>,
    /// Texts for people; [`Holder::label`] is an index into them.
    pub labels: Vec<String>,
    /// All blocks that were ever cut in chunks that exist, by address.
    pub blocks: Vec<Block>,
    /// The chunks, by address: no other memory has blocks.
    pub chunks: Vec<Chunk>,
    /// Memory of the library's own, by address: starts and lengths. Each range is within one
    /// allocation, and all of that allocation is the library's: it must not be searched for
    /// references, as [`all_entries`](Self::all_entries) has them. Of chunks only the headers are
    /// here; the blocks are in [`blocks`](Self::blocks).
    pub own_memory: Vec<(u64, u64)>,
    /// The figures of all threads together.
    pub totals: Totals,
    /// The parts that could not be read, in sentences for people.
    pub caveats: Vec<String>,
}

impl Library {
    /// Reads the library's structures.
    ///
    /// If several loaded files contain copies of the library, the result is about the copy that has
    /// created most objects, and a caveat says so.
    ///
    /// # Errors
    /// If there is no library, or no copy's layout is known.
    pub fn read(image: &dyn Image) -> Result<Self, LayoutError> {
        let mut found = Vec::new();
        let mut failed = None;
        for module in image.modules() {
            let read = Names::read(image, module).and_then(|names| {
                let names = match names {
                    Some(names) => names,
                    None => return Ok(None),
                };
                Self::of(image, names).map(Some)
            });
            match read {
                Ok(library) => found.extend(library),
                Err(error) => failed = Some(error),
            }
        }
        let copies = found.len();
        let most = found.into_iter().max_by_key(|found| found.totals.created);
        let Some(mut library) = most else {
            return Err(failed.unwrap_or(LayoutError::NoLibrary));
        };
        if copies > 1 {
            library.caveats.push(format!(
                "{copies} loaded files contain the library; this is about the copy in {}, which has \
                 created most objects",
                library.module
            ));
        }
        if let Some(error) = failed {
            library.caveats.push(error.to_string());
        }
        Ok(library)
    }

    /// Reads the structures of the copy that has the notes `names`.
    fn of(memory: &dyn Memory, names: Names) -> Result<Self, LayoutError> {
        let layout = Layout::new(&names)?;
        let mut reader = Reader::new(memory, &layout);
        let threads = threads::threads(&mut reader, names.address("registry")?);
        let detached = threads::detached(&mut reader, names.address("detached_pools")?);
        let departed = reader.tally(names.address("departed")?);
        threads::orphans(&mut reader, names.address("orphans")?);
        let (retired, epoch) = (names.address("retired")?, names.address("epoch")?);
        threads::retired(&mut reader, retired, epoch);
        let kept = threads::kept(&mut reader, names.address("kept")?);
        let (chunks, blocks) = blocks::blocks(&mut reader, names.address("heaps")?, &threads);
        let sum = |figure: fn(&ThreadState) -> u64| {
            let figures = threads.iter().map(|thread| figure(&thread.state));
            figures.fold(0, u64::wrapping_add)
        };
        let totals = Totals {
            created: sum(|thread| thread.created).wrapping_add(departed.0),
            destroyed: sum(|thread| thread.destroyed).wrapping_add(departed.1),
            kept,
        };
        let read = reader.finish();
        Ok(Self {
            module: names.module.clone(),
            layout,
            names,
            threads,
            detached,
            entries: read.entries,
            rows: read.rows,
            labels: read.labels,
            blocks,
            chunks,
            own_memory: read.own_memory,
            totals,
            caveats: read.caveats,
        })
    }

    /// Returns the address of the ledger of the feature `leak-detection`, if the program has it.
    pub fn ledger(&self) -> Option<u64> {
        self.names.address("ledger").ok()
    }

    /// Returns all entries. `memory` is the memory that the library was read from.
    pub fn all_entries<'a>(
        &'a self,
        memory: &'a dyn Memory,
    ) -> impl Iterator<Item = Entry> + use<'a> {
        let in_rows = self.rows.iter().flat_map(move |row| {
            let places = (row.address..).step_by(8).take(row.len as usize);
            places.filter_map(move |address| {
                Some(Entry {
                    target: Target::Object(memory.word(address)?),
                    holder: row.holder,
                    address,
                    counted: 1,
                })
            })
        });
        self.entries.iter().copied().chain(in_rows)
    }

    /// Returns the text of an entry's label.
    pub fn label(&self, entry: &Entry) -> &str {
        self.labels
            .get(entry.holder.label as usize)
            .map_or("", String::as_str)
    }

    /// Returns whether the address is in [memory of the library's own](Self::own_memory).
    pub fn owns(&self, address: u64) -> bool {
        let after = self
            .own_memory
            .partition_point(|&(start, _)| start <= address);
        let range = after.checked_sub(1).map(|at| self.own_memory[at]);
        range.is_some_and(|(start, len)| address - start < len)
    }
}
