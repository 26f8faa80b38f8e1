//! The library's structures as read, and the reader of numbers, lists and messages that collects what
//! these lead to.

use crate::graph::{PoolState, RootKind, ThreadState};
use crate::image::{Memory, words};
use crate::layout::Layout;
use std::collections::{BTreeMap, HashSet};

/// A thread, with where its structures are.
#[derive(Clone, Debug, Default)]
pub struct LibThread {
    /// The state of the thread. The key is the slot's index in the upper half and its generation in
    /// the lower.
    pub state: ThreadState,
    /// The address of the thread's record; 0 if it has none.
    pub record: u64,
    /// The address of the thread's pools; 0 if it has none.
    pub pools_at: u64,
    /// The thread's pools, in the order of those in `state`.
    pub pools: Vec<LibPool>,
}

/// A pool, with where it is.
#[derive(Clone, Debug)]
pub struct LibPool {
    /// The name and length of the pool.
    pub state: PoolState,
    /// The address of the pool. If a guard owns the pool, the guard has this address: if no word
    /// outside of [`own_memory`](super::Library::own_memory) has it, the guard was forgotten.
    pub address: u64,
    /// The kind of the pool.
    pub kind: PoolKind,
}

/// The kind of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// The pool that gets entries while no other is open.
    Root,
    /// A pool that an `AutoreleasePool` owns.
    Guard,
    /// A pool that a token names.
    Token,
}

/// The root to which an entry belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The kind of the root.
    pub kind: RootKind,
    /// An index into [`Library::labels`](super::Library::labels).
    pub label: u32,
    /// The address of the pool that has the entry; 0 if none has it.
    pub pool: u64,
}

/// Something in the library's structures that refers to an object or an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The target of the entry.
    pub target: Target,
    /// The root to which the entry belongs.
    pub holder: Holder,
    /// The address of the word that refers to the target.
    pub address: u64,
    /// How many strong references the entry stands for: 0 for a dead object or an allocation.
    pub counted: u32,
}

/// Entries in a row: words each of which has the address of an object's payload, and is one strong
/// reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address of the first word.
    pub address: u64,
    /// How many words there are.
    pub len: u32,
    /// The root to which the entries belong.
    pub holder: Holder,
}

/// The target of an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The payload of an object at this address.
    Object(u64),
    /// An allocation at this address, for example a posted closure with what it has captured.
    Allocation(u64),
}

impl Target {
    /// Returns the address.
    pub fn address(self) -> u64 {
        match self {
            Self::Object(address) | Self::Allocation(address) => address,
        }
    }
}

/// A block of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of the first byte.
    pub address: u64,
    /// The size in bytes.
    pub size: u32,
    /// True if it is in no list of free blocks.
    pub in_use: bool,
}

/// A piece of memory that is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The address of the first byte.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
    /// The size of its blocks in bytes.
    pub block_size: u32,
    /// The address of the chunk's heap.
    pub heap: u64,
}

/// The longest name that is read, in bytes.
const LONGEST_NAME: u64 = 4_096;

/// The longest list that is read, in items.
const LONGEST_LIST: u64 = 1 << 24;

/// The lowest address that memory may have: nothing is mapped in the first page.
const LOWEST: u64 = 4096;

/// After so many structures that do not fit, the rest is left out. A process that was stopped in
/// the middle of an operation has a handful of them for each thread.
const MOST_UNFIT: u64 = 10_000;

/// The most words that are read, and blocks that are counted: in damaged memory, all pools of all
/// threads may lead to the same long list. A program with a hundred million objects has less.
const MOST_WORK: u64 = 1 << 30;

/// The structures that were collected.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) entries: Vec<Entry>,
    pub(super) rows: Vec<Row>,
    pub(super) labels: Vec<String>,
    pub(super) own_memory: Vec<(u64, u64)>,
    pub(super) caveats: Vec<String>,
}

/// Reads the structures of a copy of the library.
pub(super) struct Reader<'m> {
    memory: &'m dyn Memory,
    pub(super) layout: &'m Layout,
    found: Collected,
    /// In which ways structures did not fit, and how often.
    unfit: BTreeMap<&'static str, u64>,
    unfit_in_all: u64,
    /// How much more work is allowed.
    left: u64,
    /// Addresses of messages, pages, chunks and other members of lists that were seen.
    seen: HashSet<u64>,
}

impl<'m> Reader<'m> {
    pub(super) fn new(memory: &'m dyn Memory, layout: &'m Layout) -> Self {
        Self {
            memory,
            layout,
            found: Collected::default(),
            unfit: BTreeMap::new(),
            unfit_in_all: 0,
            left: MOST_WORK,
            seen: HashSet::new(),
        }
    }

    pub(super) fn finish(mut self) -> Collected {
        if self.gives_up() {
            self.unfit("so much does not fit that the rest was left out");
        }
        let caveat = |(what, n): (&str, u64)| format!("{n} × {what}");
        Collected {
            own_memory: without_overlaps(self.found.own_memory),
            caveats: self.unfit.into_iter().map(caveat).collect(),
            ..self.found
        }
    }

    /// Counts a structure that does not fit; `what` says how.
    pub(super) fn unfit(&mut self, what: &'static str) {
        *self.unfit.entry(what).or_default() += 1;
        self.unfit_in_all += 1;
    }

    /// Returns whether so much did not fit that what is left is not worth the time.
    pub(super) fn gives_up(&self) -> bool {
        self.unfit_in_all >= MOST_UNFIT
    }

    /// Returns whether this much more work is allowed; if not, gives up.
    pub(super) fn has_time(&mut self, work: u64) -> bool {
        match self.left.checked_sub(work) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left = 0;
                self.unfit_in_all = self.unfit_in_all.max(MOST_UNFIT);
                false
            }
        }
    }

    /// Notes that this memory is the library's.
    pub(super) fn own(&mut self, start: u64, len: u64) {
        if start != 0 && start != u64::MAX && len != 0 {
            // A damaged address can be so high that the end overflows.
            self.found
                .own_memory
                .push((start, len.min(u64::MAX - start)));
        }
    }

    /// Adds a label; returns its number.
    pub(super) fn label(&mut self, text: String) -> u32 {
        self.found.labels.push(text);
        (self.found.labels.len() - 1) as u32
    }

    /// Reads a word; 0 if there is no memory, or no time.
    pub(super) fn word(&mut self, address: u64) -> u64 {
        u64::from_ne_bytes(self.array(address))
    }

    /// Reads the word of a field, at an offset from an address that may be damaged.
    pub(super) fn field(&mut self, address: u64, offset: u64) -> u64 {
        self.word(address.wrapping_add(offset))
    }

    /// Reads the bytes at `address` as far as there are any; 0 for the others.
    pub(super) fn bytes(&mut self, address: u64, bytes: &mut [u8]) {
        if !self.has_time(1) {
            return bytes.fill(0);
        }
        let len = self.memory.read(address, bytes);
        if len < bytes.len() {
            bytes[len..].fill(0);
            self.unfit("a structure of the library is in memory that cannot be read");
        }
    }

    fn array<const N: usize>(&mut self, address: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.bytes(address, &mut bytes);
        bytes
    }

    pub(super) fn half(&mut self, address: u64) -> u64 {
        u32::from_ne_bytes(self.array(address)).into()
    }

    pub(super) fn byte(&mut self, address: u64) -> u64 {
        u8::from_ne_bytes(self.array(address)).into()
    }

    /// Reads `n` words in one go.
    pub(super) fn words(&mut self, address: u64, n: u64) -> Vec<u64> {
        if n > LONGEST_LIST {
            self.unfit("a list is too long to be one");
            return Vec::new();
        }
        if !self.has_time(n) {
            return Vec::new();
        }
        let mut bytes = vec![0; n as usize * 8];
        let len = self.memory.read(address, &mut bytes);
        if len < bytes.len() {
            self.unfit("a structure of the library is in memory that cannot be read");
            bytes.truncate(len);
        }
        words(&bytes).collect()
    }

    /// Reads a name: its address and length are at `address`.
    pub(super) fn name(&mut self, address: u64) -> Option<String> {
        let at = self.word(address);
        if at == 0 {
            return None;
        }
        let len = self.field(address, 8) & (u64::MAX >> 1);
        if len > LONGEST_NAME {
            self.unfit("a name is too long to be one");
            return None;
        }
        let mut bytes = vec![0; len as usize];
        self.bytes(at, &mut bytes);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the address and the number of a list's items; `size` is the size of an item.
    pub(super) fn list(&mut self, address: u64, size: u64) -> (u64, u64) {
        let layout = self.layout.list;
        let items = self.field(address, layout.items);
        let len = self.field(address, layout.len);
        if len > LONGEST_LIST {
            self.unfit("a list is too long to be one");
            return (0, 0);
        }
        // A list without memory has a dangling pointer, which is as small as its alignment. An
        // empty list may have memory, with stale words: so at least one word is the library's own.
        if items >= LOWEST {
            self.own(items, (len * size).max(8));
        }
        (items, len)
    }

    /// Returns the address of the items in a list of words, and these words.
    pub(super) fn list_of_words(&mut self, address: u64) -> (u64, Vec<u64>) {
        let (items, len) = self.list(address, 8);
        (items, self.words(items, len))
    }

    /// Reads a thread's figures: objects created and destroyed.
    pub(super) fn tally(&mut self, address: u64) -> (u64, u64) {
        let layout = self.layout.tally;
        let created = self.field(address, layout.created);
        (created, self.field(address, layout.destroyed))
    }

    /// Adds an entry.
    pub(super) fn entry(&mut self, holder: Holder, target: Target, address: u64, counted: u32) {
        self.found.entries.push(Entry {
            target,
            holder,
            address,
            counted,
        });
    }

    /// Returns whether this member of a list was not seen before; counts a misfit if it was.
    pub(super) fn is_new(&mut self, address: u64) -> bool {
        let new = self.seen.insert(address);
        if !new {
            self.unfit("a list of the library leads to something twice");
        }
        new
    }

    /// Reads entries; returns how many there are.
    pub(super) fn entries(&mut self, address: u64, holder: Holder) -> u64 {
        let of = self.layout.entries;
        let (page, top) = (self.field(address, of.page), self.field(address, of.top));
        self.pages(page, top, holder)
    }

    /// Reads the references that a thread has retired, in a page and in those below it.
    pub(super) fn queue(&mut self, page: u64, kind: RootKind, label: u32) {
        // The address is 1 while the thread adds an entry.
        if page > 1 {
            let of = self.layout.page;
            let all = self.half(page.wrapping_add(of.below));
            let filled = all.wrapping_sub(1) % of.capacity.max(1) + 1;
            let top = page.wrapping_add(of.entries).wrapping_add(filled * 8);
            let pool = 0;
            self.pages(page, top, Holder { kind, label, pool });
        }
    }

    /// Reads the entries of a page up to `top`, and of the pages below it.
    fn pages(&mut self, mut page: u64, mut top: u64, holder: Holder) -> u64 {
        let layout = self.layout;
        let (of_page, word) = (layout.page, 8);
        let mut n = 0;
        while page != 0 && !self.gives_up() {
            let first = page.wrapping_add(of_page.entries);
            let tag = self.half(page.wrapping_add(of_page.tag));
            let filled = top.wrapping_sub(first) / word;
            if tag != of_page.tag_value || filled > of_page.capacity {
                self.unfit("a pool has a page that is none");
                break;
            }
            if !self.is_new(page) {
                break;
            }
            self.own(page, of_page.size);
            let readable = self.words(first, filled).len();
            self.found.rows.push(Row {
                address: first,
                len: readable as u32,
                holder,
            });
            n += filled;
            page = self.field(page, of_page.prev);
            // Pages below the topmost are full.
            top = page
                .wrapping_add(of_page.entries)
                .wrapping_add(of_page.capacity * word);
        }
        n
    }

    /// Reads the messages of the list whose head is the field at `offset`.
    pub(super) fn messages(&mut self, address: u64, offset: u64, kind: RootKind, label: u32) {
        let head = self.field(address, offset);
        let pool = 0;
        let holder = Holder { kind, label, pool };
        let layout = self.layout;
        let (message, kinds) = (layout.message, layout.message_kind);
        // Batches contain chains of messages.
        let mut heads = vec![head];
        while let Some(mut at) = heads.pop() {
            while at >= message.first && !self.gives_up() {
                if !self.is_new(at) {
                    break;
                }
                let kind = self.byte(at.wrapping_add(message.kind));
                let mut is_own = true;
                if kind == kinds.release {
                    let place = at.wrapping_add(message.object);
                    let thin = self.word(place);
                    self.entry(holder, Target::Object(thin), place, 1);
                } else if kind == kinds.release_many {
                    self.entries(at.wrapping_add(message.entries), holder);
                } else if kind == kinds.destroy_anywhere || kind == kinds.destroy_at_home {
                    // The message is the payload of an object, which is not the library's memory.
                    is_own = false;
                    self.entry(holder, Target::Object(at), at, 0);
                } else if [kinds.closure, kinds.loop_closure, kinds.frame_closure].contains(&kind) {
                    // The closure's captures are in the same allocation, and must be searched.
                    is_own = false;
                    self.entry(holder, Target::Allocation(at), at, 0);
                } else if kind == kinds.batch {
                    let (_, chains) = self.list_of_words(at.wrapping_add(message.chains));
                    heads.extend(chains);
                } else {
                    self.unfit("a message is of no known kind");
                    break;
                }
                if is_own {
                    self.own(at, message.size);
                }
                at = self.field(at, message.next);
            }
        }
    }
}

/// Sorts ranges by address, and joins those that overlap.
fn without_overlaps(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, len) in ranges {
        match joined.last_mut() {
            Some((first, bytes)) if start - *first < *bytes => {
                *bytes = (*bytes).max((start - *first).saturating_add(len));
            }
            _ => joined.push((start, len)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_are_joined_and_neighbours_are_not() {
        let ranges = vec![
            (200, 8),
            (100, 50),
            (110, 10),
            (140, 20),
            (100, 50),
            (160, 5),
        ];
        assert_eq!(without_overlaps(ranges), [(100, 60), (160, 5), (200, 8)]);
        let most = u64::MAX;
        assert_eq!(
            without_overlaps(vec![(most, most), (0, 1)]),
            [(0, 1), (most, most)]
        );
    }
}
