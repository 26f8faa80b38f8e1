//! Records of live objects, in a form that another process can read while this one is stopped.
//!
//! # Layout
//! The static [`LEDGER`] begins with the eight bytes `RPLEDGER`; the entry `ledger` of the note
//! section says where it is. All numbers have the byte order and word size of the
//! process; offsets in bytes are for 64-bit processes.
//!
//! ```text
//! descriptor   0 magic "RPLEDGER"     8 version: u32 = 1     12 size of a record: u32
//!             16 records in a chunk: u32    20 offset of the first record in a chunk: u32
//!             24 address of the newest chunk, or 0
//! chunk        0 address of the next older chunk, or 0       then the records
//! record       0 complement (all bits inverted) of the address of the payload, so that the records
//!                are not taken for references; 0: the record is free, and nothing else in it is valid
//!              8 address of the type info (the word before the payload has the same)
//!             16 address of the function that returns the type's name
//!             24 address of the bytes of the source file's name, UTF-8
//!             32 length of that name: u32    36 line: u32    40 column: u32    44 flags: u32
//!             48 creating thread: its key, with the index in the low half and the generation in the
//!                high one; with the highest bit, a number of a thread that had no key
//!             56 how many objects that thread had created before
//!             64 size of the allocation in bytes
//!             72 two holders: 0 address of the pool's name {address: word, length: word}, or 0
//!                             8 thread that added the entry, as in 48
//!                            16 number of entries: u32       20 unused
//!            120 number of entries in further pools: u32
//! ```
//!
//! While a record is written, its address is 0; the address is written last, and cleared first when
//! the object dies. So a reader that stops the process sees complete records, of objects that live,
//! or that are being created or destroyed at that moment.

use super::told::{ObjectDescription, PoolLabel};
use crate::sync::{AddressHasher, Published};
use dashmap::DashMap;
use std::alloc::{GlobalAlloc, Layout, System};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of records in a chunk of some 64 KiB.
const IN_CHUNK: usize = 440;

/// Number of stripes, each with records of its own, so that threads rarely wait for each other.
const STRIPES: usize = 64;

/// The number of pools that a record names.
pub(crate) const HOLDERS: usize = 2;

/// The entries for one object that one thread has in pools of one name.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Holder {
    pub(crate) label: Option<PoolLabel>,
    pub(crate) thread: u64,
    pub(crate) entries: u32,
    unused: u32,
}

impl Holder {
    pub(crate) const NONE: Self = Self {
        label: None,
        thread: 0,
        entries: 0,
        unused: 0,
    };

    /// Takes away at most `n` entries, and returns how many.
    pub(super) fn take(&mut self, n: u32) -> u32 {
        let taken = n.min(self.entries);
        self.entries -= taken;
        if self.entries == 0 {
            *self = Self::NONE;
        }
        taken
    }
}

/// A flag: the object's retains and releases are counted; see [`balance`](super::balance).
pub(crate) const BALANCED: u32 = 1;

const FRAMES: u32 = 2;

/// The ledger's record of one live object.
#[repr(C)]
pub(crate) struct ObjectRecord {
    pub(crate) address: Hidden,
    pub(crate) type_info: *const (),
    pub(crate) type_name: fn() -> &'static str,
    file: *const u8,
    file_len: u32,
    line: u32,
    column: u32,
    pub(crate) flags: u32,
    pub(crate) thread: u64,
    pub(crate) serial: u64,
    pub(crate) bytes: usize,
    pub(crate) holders: [Holder; HOLDERS],
    /// The number of entries in pools for which `holders` had no room.
    pub(crate) more: u32,
    unused: u32,
    pub(crate) site: &'static Location<'static>,
    /// The call frames of the creation, if they were recorded.
    pub(crate) frames: Option<Box<[usize]>>,
    pub(super) moves: Moves,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::offset_of!(ObjectRecord, file) == 24);
    assert!(std::mem::offset_of!(ObjectRecord, thread) == 48);
    assert!(std::mem::offset_of!(ObjectRecord, holders) == 72);
    assert!(std::mem::offset_of!(ObjectRecord, more) == 120);
    assert!(std::mem::offset_of!(Chunk, records) == 8);
};

impl ObjectRecord {
    /// Returns whether a pool has an entry for the object.
    pub(super) fn is_held(&self) -> bool {
        // Free places come after those in use.
        self.more != 0 || self.holders[0].entries != 0
    }
}

/// The part of a record that is known when its object is created.
pub(crate) struct NewRecord {
    pub(crate) address: usize,
    pub(crate) object: ObjectDescription,
    pub(crate) site: &'static Location<'static>,
    pub(crate) flags: u32,
    pub(crate) thread: u64,
    pub(crate) serial: u64,
    pub(crate) frames: Option<Box<[usize]>>,
}

/// Memory for records. Never freed.
#[repr(C)]
struct Chunk {
    next: *mut Chunk,
    records: [ObjectRecord; IN_CHUNK],
}

/// Leads readers outside the process to the ledger: [layout](self#layout).
#[repr(C, align(8))]
pub(crate) struct Descriptor {
    magic: [u8; 8],
    version: u32,
    record_size: u32,
    in_chunk: u32,
    first: u32,
    newest: Published<Chunk>,
}

pub(crate) static LEDGER: Descriptor = Descriptor {
    magic: *b"RPLEDGER",
    version: 1,
    record_size: size_of::<ObjectRecord>() as u32,
    in_chunk: IN_CHUNK as u32,
    first: std::mem::offset_of!(Chunk, records) as u32,
    newest: Published::new(),
};

/// The free records of a stripe: a linked list.
struct Free(*mut FreeRecord);

// SAFETY: the records in the list belong to the stripe (invariant 1 of `ledger`).
unsafe impl Send for Free {}

/// A record that is not in use: its address is 0.
#[repr(C)]
struct FreeRecord {
    address: usize,
    next: *mut FreeRecord,
}

// The locks are std's even in loom builds, as nothing yields while they are held.
static FREE: [Mutex<Free>; STRIPES] = [const { Mutex::new(Free(ptr::null_mut())) }; STRIPES];
static GROWING: Mutex<()> = Mutex::new(());

fn stripe(address: usize) -> &'static Mutex<Free> {
    // One thread uses most blocks of a block chunk, so each 64 KiB of addresses have one stripe.
    &FREE[(address >> 16) % STRIPES]
}

/// Writes a record for a new object; the caller owns the record.
pub(crate) fn write(new: NewRecord) -> NonNull<ObjectRecord> {
    let record: *mut ObjectRecord = free_record(new.address).cast();
    let (file, site) = (new.site.file(), new.site);
    let value = ObjectRecord {
        // Nothing yet: the address is written last, below, for readers outside the process.
        address: Hidden::NONE,
        type_info: new.object.type_info,
        type_name: new.object.type_name,
        file: file.as_ptr(),
        file_len: file.len() as u32,
        line: site.line(),
        column: site.column(),
        flags: new.flags | if new.frames.is_some() { FRAMES } else { 0 },
        thread: new.thread,
        serial: new.serial,
        bytes: new.object.bytes,
        holders: [Holder::NONE; HOLDERS],
        more: 0,
        unused: 0,
        site,
        frames: new.frames,
        moves: Moves::new(new.thread),
    };
    // SAFETY: the record was taken out of the free list, so it belongs to this thread (invariant 1
    // of `ledger`).
    unsafe {
        record.write(value);
        (&raw mut (*record).address).write_volatile(Hidden::new(new.address));
        NonNull::new_unchecked(record)
    }
}

/// Frees a record, and returns its flags.
///
/// # Safety
/// The caller owns the record (invariant 1 of `ledger`), and gives it up.
pub(crate) unsafe fn take_back(record: NonNull<ObjectRecord>) -> u32 {
    let free: *mut FreeRecord = record.as_ptr().cast();
    let record = record.as_ptr();
    // If the record has no frames, this reads only its first cache line.
    // SAFETY: by the contract, the caller owns the record. A record is larger than a `FreeRecord`,
    // and only its frames need a drop.
    unsafe {
        let (address, flags) = ((*record).address.get(), (*record).flags);
        (&raw mut (*record).address).write_volatile(Hidden::NONE);
        if flags & FRAMES != 0 {
            drop((*record).frames.take());
        }
        let stripe = stripe(address);
        let mut list = stripe.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!((*record).frames.is_none(), "they are lost in the list");
        (*free).next = list.0;
        list.0 = free;
        flags
    }
}

/// Takes a free record out of its stripe.
fn free_record(address: usize) -> *mut FreeRecord {
    let mut list = stripe(address)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if list.0.is_null() {
        list.0 = grow();
    }
    let free = list.0;
    // SAFETY: the record is in the list, which is locked (invariant 1 of `ledger`).
    list.0 = unsafe { (*free).next };
    free
}

/// Allocates a chunk from the system, as the global allocator may be foreign code; returns the list
/// of the chunk's records.
#[cold]
fn grow() -> *mut FreeRecord {
    let layout = Layout::new::<Chunk>();
    // SAFETY: the layout has a size.
    let Some(chunk) = NonNull::new(unsafe { System.alloc_zeroed(layout) }.cast::<Chunk>()) else {
        std::alloc::handle_alloc_error(layout);
    };
    let chunk = chunk.as_ptr();
    let mut first = ptr::null_mut();
    // SAFETY: the chunk was just allocated, and zeroed; the places of records are within it.
    unsafe {
        let records: *mut ObjectRecord = (&raw mut (*chunk).records).cast();
        for nth in (0..IN_CHUNK).rev() {
            let free: *mut FreeRecord = records.add(nth).cast();
            (*free).next = first;
            first = free;
        }
    }
    let _growing = GROWING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the chunk was just allocated, and nothing else uses its header.
    unsafe { (*chunk).next = LEDGER.newest.get() };
    LEDGER.newest.set(chunk);
    first
}

// Addresses of objects, and maps by them.

/// The address of an object, stored as its complement: a tool that searches the memory of the
/// process for references must not take the ledger's addresses for references.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Hidden(usize);

impl Hidden {
    /// Stands for no object.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn new(address: usize) -> Self {
        Self(!address)
    }

    pub(crate) fn get(self) -> usize {
        !self.0
    }
}

impl Hash for Hidden {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.get());
    }
}

pub(crate) type AddressMap<V> = DashMap<Hidden, V, BuildHasherDefault<AddressHasher>>;

pub(super) fn hash(address: usize) -> u64 {
    let mut hasher = AddressHasher::default();
    hasher.write_usize(address);
    hasher.finish() >> 32
}

// How often the retains of one object move from one thread to another: part of the object's record.

/// The number of moves within [`WITHIN`] for which an object is reported. A move is a sampled retain on
/// another thread than the sample before it.
const MOVES: u32 = 32;

const WITHIN: Duration = Duration::from_secs(1);

/// How often the retains of an object have moved from one thread to another.
pub(super) struct Moves {
    /// The thread of the last sampled retain; before the first one, the thread of the creation.
    thread: u64,
    moves: u32,
    /// When the count of moves began, in milliseconds.
    since: u32,
}

impl Moves {
    pub(super) const fn new(thread: u64) -> Self {
        Self {
            thread,
            moves: 0,
            since: 0,
        }
    }

    /// Notes a sampled retain; returns whether the object is to be reported.
    pub(super) fn retained(&mut self, thread: u64, now: Duration) -> bool {
        if std::mem::replace(&mut self.thread, thread) == thread {
            return false;
        }
        // Wraps around after 49 days; a difference is right all the same.
        let now = now.as_millis() as u32;
        if self.moves == 0 || u128::from(now.wrapping_sub(self.since)) > WITHIN.as_millis() {
            (self.moves, self.since) = (0, now);
        }
        self.moves += 1;
        let is_contended = self.moves == MOVES;
        if is_contended {
            self.moves = 0;
        }
        is_contended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::thread;
    use std::collections::HashSet;
    use std::hash::BuildHasher;
    use std::sync::Barrier;

    #[test]
    fn flags_have_bits_of_their_own() {
        assert_eq!(BALANCED & FRAMES, 0);
    }

    #[test]
    fn chunks_that_two_threads_add_at_once_are_both_found() {
        let growing = GROWING.lock().unwrap();
        let before = LEDGER.newest.get();
        static FIRST: Mutex<usize> = Mutex::new(0);
        static BEGUN: Barrier = Barrier::new(2);
        let other = || {
            BEGUN.wait();
            *FIRST.lock().unwrap() = grow().addr();
        };
        let other = thread::spawn("other", other).unwrap();
        BEGUN.wait();
        // Gives the other thread time to reach the lock. If that takes longer, the test still
        // passes.
        (0..5_000).for_each(|_| thread::yield_now());
        assert_eq!(
            LEDGER.newest.get(),
            before,
            "a chunk was added without the lock"
        );
        // SAFETY: the layout has a size.
        let mine: *mut Chunk = unsafe { System.alloc_zeroed(Layout::new::<Chunk>()) }.cast();
        assert!(!mine.is_null());
        // SAFETY: the chunk was just allocated; its records, of zeros, are free and in no list.
        unsafe { (*mine).next = before };
        LEDGER.newest.set(mine);
        drop(growing);
        other.join().unwrap();
        let mut chunks = Vec::new();
        let mut chunk = LEDGER.newest.get();
        while !chunk.is_null() {
            chunks.push(chunk.addr());
            // SAFETY: chunks are never freed.
            chunk = unsafe { (*chunk).next };
        }
        let others = *FIRST.lock().unwrap() - std::mem::offset_of!(Chunk, records);
        assert!(chunks.contains(&mine.addr()) && chunks.contains(&others));
    }

    /// Returns how many of `n` retains, which two threads make by turns, report the object.
    fn reports(moves: &mut Moves, n: u32, step: Duration) -> usize {
        let mut now = Duration::ZERO;
        let mut retain = |i| {
            now += step;
            moves.retained(1 + u64::from(i % 2), now)
        };
        (0..n).filter(|&i| retain(i)).count()
    }

    #[test]
    fn threads_that_take_turns_are_reported_and_one_thread_is_not() {
        let step = Duration::from_millis(1);
        assert_eq!(reports(&mut Moves::new(1), 10 * MOVES + 1, step), 10);
        let mut moves = Moves::new(1);
        assert!((0..10 * MOVES).all(|_| !moves.retained(1, step)));
        // Another thread takes over once.
        assert!((0..10 * MOVES).all(|_| !moves.retained(2, step)));
    }

    #[test]
    fn turns_that_take_long_are_not_reported() {
        let step = WITHIN / (MOVES - 2);
        assert_eq!(reports(&mut Moves::new(1), 10 * MOVES, step), 0);
    }

    #[test]
    fn moves_count_from_the_first_one_to_the_end_of_the_time() {
        let first = WITHIN / 2;
        for (last, is_reported) in [(WITHIN, true), (WITHIN + Duration::from_millis(1), false)] {
            let mut moves = Moves::new(1);
            assert!((1..MOVES).all(|nth| !moves.retained(1 + u64::from(nth % 2), first)));
            assert_eq!(moves.retained(1, first + last), is_reported);
        }
    }

    #[test]
    fn addresses_are_spread_over_locks() {
        let hasher = BuildHasherDefault::<AddressHasher>::new();
        let in_map = |address| hasher.hash_one(Hidden::new(address));
        assert_ne!(in_map(0x10), in_map(0x20));
        assert!(!ptr::eq(stripe(0), stripe(1 << 16)));
        // For the 16 rings of `life`; neighboring pages may share one.
        let in_rings: HashSet<_> = (0..256).map(|page| hash(page << 12) % 16).collect();
        assert_eq!(in_rings.len(), 16);
    }

    /// Returns the number of records in a list, none of which may have an address.
    ///
    /// # Safety
    /// The list belongs to the caller.
    unsafe fn free_in(mut list: *mut FreeRecord) -> usize {
        let mut records = 0;
        while !list.is_null() {
            // SAFETY: by the contract.
            let free = unsafe { &*list };
            assert_eq!(free.address, 0);
            (records, list) = (records + 1, free.next);
        }
        records
    }

    #[test]
    fn a_chunk_has_many_records_and_a_record_is_used_again() {
        // SAFETY: the new list belongs to this test.
        assert_eq!(unsafe { free_in(grow()) }, IN_CHUNK);
        let used = || {
            let record = write(NewRecord {
                address: 0x10,
                object: ObjectDescription {
                    type_info: ptr::null(),
                    type_name: || "T",
                    bytes: 0,
                },
                site: Location::caller(),
                flags: 0,
                thread: 1,
                serial: 0,
                frames: None,
            });
            // SAFETY: `write` has just returned the record.
            _ = unsafe { take_back(record) };
            record
        };
        // Another thread may take the record first, but not each time.
        assert!((0..1_000).any(|_| used() == used()));
        for list in &FREE {
            let list = list.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the list is locked.
            unsafe { free_in(list.0) };
        }
    }
}
