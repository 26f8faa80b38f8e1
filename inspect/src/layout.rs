//! The library's description of itself: the offsets of the fields in its structures.
//!
//! A program with the library has notes named `releasepool` in the section `.note.releasepool`. One
//! of the kind [`TEXT`] has lines `name=value`, the first of which is `version=1`. The names are
//! those of the fields of [`Layout`]: `page.prev` is where the field `prev` of a page is, in bytes,
//! and so on; `size` is the size of the structure. One note of the kind [`ADDRESS`] for each static
//! has a 32-bit distance, from the beginning of the note's description to a word with the address of
//! the static, and the name of the static.
//!
//! The reader goes by names: fields may move and names may be added without a new version. The
//! version changes if a name gets another meaning, or if one that this reader needs is removed.
//!
//! All numbers have limits: a damaged note must not make the reader compute nonsense, or read without
//! end.

mod note;

pub use note::{ADDRESS, NAME, Names, TEXT, VERSION};

use crate::error::LayoutError;

/// Declares [`Layout`]: a structure for each part, whose fields have the names that notes have.
macro_rules! layout {
    ($($(#[$about:meta])* $part:ident: $type:ident {
        $($(#[$doc:meta])* $field:ident,)*
    })*) => {
        /// The offsets of the fields in the library's structures, in bytes, unless a comment says
        /// "a number", which is then the value itself. `size` is always the size of the structure.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Layout {
            /// The sizes of blocks in bytes, by class.
            pub block_sizes: Vec<u64>,
            $($(#[$about])* pub $part: $type,)*
        }

        impl Layout {
            /// Takes the fields out of a note.
            ///
            /// # Errors
            /// If the note lacks a field, or a field makes no sense.
            pub fn new(names: &Names) -> Result<Self, LayoutError> {
                let number = |name| checked(names, name);
                let layout = Self {
                    block_sizes: names.list("block.sizes")?.to_vec(),
                    $($part: $type {
                        $($field: number(concat!(stringify!($part), ".", stringify!($field)))?,)*
                    },)*
                };
                check_blocks(names, layout.chunk.header, layout.chunk.size, &layout.block_sizes)?;
                Ok(layout)
            }

            /// The names that a note must have, apart from `version` and `block.sizes`.
            pub const NAMES: &[&str] = &[
                $($(concat!(stringify!($part), ".", stringify!($field)),)*)*
            ];
        }

        $($(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type {
            $($(#[$doc])* pub $field: u64,)*
        })*
    };
}

layout! {
    /// The header of an object, which is right before the payload: at the payload's address less
    /// the header's size.
    header: HeaderLayout {
        /// The size of the structure.
        size,
        /// The count word.
        count,
        /// The address of the type info.
        type_info,
        /// The distance from the payload back to the word that has a slice's length, or a boxed
        /// value's size and alignment.
        length_before,
    }

    /// The count word: shifts in bits, and numbers.
    count: CountLayout {
        /// The first of 32 bits that have the number of strong references, less
        /// [`strong_bias`](Self::strong_bias) and modulo 2^32.
        strong_shift,
        /// The number to add to those 32 bits, modulo 2^32.
        strong_bias,
        /// Weak references begin at this bit.
        weak_shift,
        /// Mask of the weak references, once they are shifted.
        weak_mask,
        /// The bit that is set until the value's destruction begins. Without it, one weak reference
        /// stands for the memory.
        held_mask,
        /// The most strong references.
        max_strong,
        /// The most weak references.
        max_weak,
    }

    /// Type infos, which are in read-only memory, all at multiples of 8.
    type_info: TypeInfoLayout {
        /// The size of the structure.
        size,
        /// A word that says that this is a type info.
        magic,
        /// The value of that word. A number.
        magic_value,
        /// The address of the function that returns the name of the type.
        type_name,
        /// The size of the value, of one element for slices; a word.
        bytes,
        /// The alignment of the value; 32 bits.
        align,
        /// The kind of object, one of [`KindLayout`]; a byte.
        kind,
        /// The offset of the payload in an object's memory, in bytes; a word.
        payload_offset,
    }

    /// The values of a type info's `kind`.
    kind: KindLayout {
        /// One value from the global allocator.
        sized,
        /// Values of one type from the global allocator, whose number is before the header.
        slice,
        /// The value of a `HomeRef`, after a message and the address of its home's record.
        thread_bound,
        /// One value in a block.
        block,
        /// Values of one type in a block, whose number is before the header.
        block_slice,
        /// One value from the global allocator, of any type. Its size and alignment are before the
        /// header, where slices have their length: twice the size, plus the alignment.
        boxed,
    }

    /// The table of threads: the static `registry`.
    registry: RegistryLayout {
        /// Addresses of arrays of slots: the first has [`first`](Self::first) slots, and each other
        /// one twice as many as the one before; null if not made yet.
        buckets,
        /// How many such addresses there are. A number.
        bucket_count,
        /// The number of slots of the first bucket. A number.
        first,
        /// How many slots were ever handed out to threads, from the first on: a word.
        len,
    }

    /// A slot of the registry.
    slot: SlotLayout {
        /// The size of the structure.
        size,
        /// The state: a word, whose upper half is the slot's generation.
        state,
        /// Mask of the phase in the state. A number.
        phase_mask,
        /// The phase of a slot whose thread has not left. A number.
        live,
        /// The address of the thread's record; null before the first thread. The record stays when
        /// the thread leaves.
        record,
    }

    /// The part of a thread's state that other threads may use. It is within an allocation of its
    /// own.
    record: RecordLayout {
        /// The size of the structure.
        size,
        /// The index of the slot: 32 bits.
        key_index,
        /// The generation of the slot: 32 bits.
        key_generation,
        /// The address of the name, or null if there is none; after it, a word whose low 63 bits
        /// are the length of the name.
        name,
        /// The kernel's thread id, a word; 0 if unknown.
        tid,
        /// The address of the thread's pools; null if it has none.
        pools,
        /// The address of the structure with the thread's [batches](BatchesLayout); null if none.
        heaps,
        /// The head of the inbox for releases.
        releases,
        /// How many releases were sent: a word.
        releases_sent,
        /// How many of these were not accepted: a word.
        releases_refused,
        /// How many of these have been made: a word.
        releases_done,
        /// The head of the inbox for closures.
        calls,
        /// How many closures were sent.
        calls_sent,
        /// How many of these were not accepted.
        calls_refused,
        /// How many of these have run.
        calls_done,
        /// The figures of the thread.
        tally,
        /// How many frames the thread's loops have made: a word.
        frames,
        /// How long the last frame took, in nanoseconds: a word.
        last_frame,
    }

    /// Figures of a thread. The static `departed` has those of all threads that have ended.
    tally: TallyLayout {
        /// Objects created: a word.
        created,
        /// Objects destroyed: a word.
        destroyed,
    }

    /// The beginning of a message, in an allocation of its own, or in a dead object's payload. The
    /// head of an inbox is the address of a message if it is at least `first`.
    message: MessageLayout {
        /// The size of the structure.
        size,
        /// The address of the next one, or null.
        next,
        /// The kind of message, one of [`MessageKindLayout`]: a byte.
        kind,
        /// The lowest address of a message. A number.
        first,
        /// The payload, in a message of the kind `release`: an address.
        object,
        /// The entries, in a message of the kind `release_many`: see [`EntriesLayout`].
        entries,
        /// The chains, in a message of the kind `batch`: a [list](ListLayout) of the addresses of
        /// their first messages.
        chains,
    }

    /// The values of a message's `kind`.
    message_kind: MessageKindLayout {
        /// One strong reference.
        release,
        /// Many strong references.
        release_many,
        /// The message is a dead object's payload, and any thread may destroy it.
        destroy_anywhere,
        /// The message is a dead object's payload, and only its target may destroy it.
        destroy_at_home,
        /// A closure; what it captures is in the same allocation.
        closure,
        /// A closure that a loop has accepted.
        loop_closure,
        /// A closure that takes a frame.
        frame_closure,
        /// Many messages as one.
        batch,
    }

    /// Messages whose thread has ended: the static `orphans`.
    orphans: OrphansLayout {
        /// The head of the inbox for releases.
        releases,
        /// The head of the inbox for closures.
        calls,
    }

    /// Places for references that slots have retired, until pins end: the static `retired`.
    retired: RetiredLayout {
        /// The size of a place.
        size,
        /// How many places there are. A number.
        count,
        /// In a place, the address of the first message of a batch; 0 if none.
        batch,
    }

    /// The epoch: the static `epoch`.
    epoch: EpochLayout {
        /// The address of the newest participant.
        first,
    }

    /// A thread's part in the epoch, in an allocation of its own.
    participant: ParticipantLayout {
        /// The size of the structure.
        size,
        /// The address of the next participant.
        next,
        /// The address of the newest page of references that slots have retired; 0 or 1 if none.
        /// The `below` of such a page counts the page's own entries, too.
        queue,
        /// The address of the newest of the thread's pins.
        pins,
    }

    /// The pin of a pool, in an allocation of its own.
    pin: PinLayout {
        /// The size of the structure.
        size,
        /// The address of the next pin.
        next,
    }

    /// Values whose home has ended: the static `kept`.
    kept: KeptLayout {
        /// The head of an inbox with messages of the kind `destroy_at_home`.
        objects,
        /// How many values there are: a word.
        count,
    }

    /// A list of items in one allocation.
    list: ListLayout {
        /// The size of the structure.
        size,
        /// The address of the first item.
        items,
        /// How many items there are: a word.
        len,
    }

    /// All pools of one thread, in an allocation of its own.
    pools: PoolsLayout {
        /// The size of the structure.
        size,
        /// A [stack](StackLayout).
        first,
        /// A [list](ListLayout) of addresses of stacks, each in an allocation of its own.
        others,
        /// A [list](ListLayout) of addresses of arrays of pools.
        chunks,
        /// How many pools are in such an array. A number.
        chunk_len,
        /// The address of the first spare page; the others follow by `prev`.
        spare_pages,
        /// The address of the thread's record; null if the thread had ended when it made the pools.
        record,
        /// The [link](LinkLayout) of the pools, once the thread has ended while guards were open.
        link,
        /// The first of the releases taken out of the inbox, newest first: an address.
        newest_first,
        /// The first of the releases taken out and then reversed, oldest first: an address.
        oldest_first,
        /// The first of the closures taken out of the inbox, oldest first: an address.
        posted,
    }

    /// The pools of one manager on one thread.
    stack: StackLayout {
        /// The size of the structure.
        size,
        /// The root pool.
        root,
        /// The releases that budgeted drains have left: two [lists](ListLayout) of
        /// [items](ItemLayout), one right after the other.
        backlog,
    }

    /// Releases that a budgeted drain has left.
    item: ItemLayout {
        /// The size of the structure.
        size,
        /// The kind of item, one of [`ItemKindLayout`]: a word.
        kind,
        /// If the item has entries: the [entries](EntriesLayout).
        entries,
        /// If the item has dead objects: a [list](ListLayout) of the addresses of their payloads.
        dead,
    }

    /// The values of an item's `kind`.
    item_kind: ItemKindLayout {
        /// Entries of a pool.
        entries,
        /// Objects without a strong reference, whose destructors have not run.
        dead,
    }

    /// One pool.
    pool: PoolLayout {
        /// The size of the structure.
        size,
        /// The [entries](EntriesLayout) of the pool.
        entries,
        /// The address of the pool's stack.
        stack,
        /// The kind of pool, one of [`PoolKindLayout`]: a byte.
        kind,
        /// The address of the name, or null if there is none; after it, a word whose low 63 bits
        /// are the length of the name.
        name,
    }

    /// The values of a pool's `kind`.
    pool_kind: PoolKindLayout {
        /// Not open.
        free,
        /// Open, owned by an `AutoreleasePool`.
        guard,
        /// Open, named by a token.
        token,
        /// A root pool.
        root,
    }

    /// Entries: strong references in a chain of pages.
    entries: EntriesLayout {
        /// The size of the structure.
        size,
        /// The address in the topmost page to which the next entry goes.
        top,
        /// The address of the topmost page; null if there is none.
        page,
    }

    /// A page, in an allocation of its own.
    page: PageLayout {
        /// The size of the structure.
        size,
        /// The address of the page below, which is full; null in the first page.
        prev,
        /// How many entries the pages below have: 32 bits.
        below,
        /// 32 bits that say that this is a page.
        tag,
        /// The value of those 32 bits. A number.
        tag_value,
        /// The first entry: each is the address of a payload.
        entries,
        /// How many entries there is room for. A number.
        capacity,
    }

    /// A list of structures that nothing else leads to, one after the other: the statics `heaps` and
    /// `detached_pools`.
    roll: RollLayout {
        /// The address of the first structure's [link](LinkLayout); null if there is none.
        first,
    }

    /// The link from a structure to the next one in a [roll](RollLayout).
    link: LinkLayout {
        /// The address of the next link, or null.
        next,
    }

    /// A heap, in an allocation of its own.
    heap: HeapLayout {
        /// The size of the structure.
        size,
        /// The [link](LinkLayout) of the heap.
        link,
        /// An array of [bins](BinLayout), one for each class.
        bins,
        /// The address of the first chunk.
        chunks,
        /// The address of the first block in a list of free blocks.
        pending_block,
        /// The address of the first block of a batch, which other batches follow.
        pending_batch,
        /// The address of the first block of a batch, which other batches follow; the low two bits
        /// are marks.
        remote_frees,
    }

    /// A list of free blocks to hand out next.
    bin: BinLayout {
        /// The size of the structure.
        size,
        /// The address of the first block in a list of free blocks.
        free,
    }

    /// A chunk, at a multiple of its size, which is cut into blocks.
    chunk: ChunkLayout {
        /// The size of the structure.
        size,
        /// The size of the chunk's header, after which the first block begins.
        header,
        /// The address of the chunk's heap.
        heap,
        /// The size class of the chunk's blocks: a word.
        class,
        /// The address of the first block in a list of free blocks.
        free,
        /// How many blocks were cut, from the first on: a word.
        cut,
        /// The address of the heap's next chunk, in the list of all.
        next,
    }

    /// A free block.
    block: BlockLayout {
        /// The address of the next free block.
        next,
        /// In the first block of a batch, the address of the next batch.
        next_batch,
    }

    /// The batches of free blocks that a thread gathers for other threads' heaps.
    batches: BatchesLayout {
        /// The first batch, in the structure to which a record's `heaps` leads.
        first,
        /// How many batches there are. A number.
        count,
        /// The distance from one batch to the next.
        size,
        /// In each batch, the address of the first block.
        block,
    }
}

/// The largest size or offset.
const LARGEST: u64 = 1 << 20;

/// The most places for retired references, batches, and pools in one array.
const MOST: u64 = 1 << 12;

/// The most different sizes of blocks.
const MOST_SIZES: usize = 1 << 10;

/// Returns the number of this name, or an error if it is outside of its limits.
fn checked(names: &Names, name: &str) -> Result<u64, LayoutError> {
    let (least, most) = limits(name);
    let number = names.number(name)?;
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(senseless(names, name))
    }
}

/// Returns the least and the greatest number that this name may have.
fn limits(name: &str) -> (u64, u64) {
    match name {
        "type_info.magic_value" | "page.tag_value" | "slot.phase_mask" | "slot.live" => {
            (0, u64::MAX)
        }
        "count.strong_shift" | "count.weak_shift" => (0, 63),
        _ if name.starts_with("count.") => (0, u64::MAX),
        "registry.bucket_count" => (0, 64),
        "retired.count" | "pools.chunk_len" | "batches.count" => (0, MOST),
        "chunk.size" | "pool.size" => (1, LARGEST),
        _ => (0, LARGEST),
    }
}

/// Checks the numbers that are about blocks: the bytes of a chunk and of its header, and the sizes of
/// blocks.
fn check_blocks(names: &Names, header: u64, chunk: u64, sizes: &[u64]) -> Result<(), LayoutError> {
    let fits = |&size: &u64| size > 0 && size <= chunk;
    if header >= chunk {
        return Err(senseless(names, "chunk.header"));
    }
    if sizes.len() > MOST_SIZES || !sizes.iter().all(fits) {
        return Err(senseless(names, "block.sizes"));
    }
    Ok(())
}

fn senseless(names: &Names, name: &str) -> LayoutError {
    LayoutError::Senseless {
        module: names.module.clone(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns names with numbers that make sense, but for `name`, which has these numbers.
    fn names(name: &str, numbers: &[u64]) -> Names {
        let mut names = Names::default();
        let all = Layout::NAMES.iter().chain(&["block.sizes"]);
        names.numbers = all.map(|name| (String::from(*name), vec![8])).collect();
        names.numbers.insert("chunk.size".to_owned(), vec![1 << 16]);
        names.numbers.insert(name.to_owned(), numbers.to_vec());
        names
    }

    #[test]
    fn senseless_numbers_are_refused_and_masks_may_be_any() {
        assert!(Layout::new(&names("block.sizes", &[16, 32])).is_ok());
        for &name in Layout::NAMES {
            let layout = Layout::new(&names(name, &[u64::MAX]));
            let any = matches!(
                name,
                "type_info.magic_value" | "page.tag_value" | "slot.live"
            );
            if any
                || name.ends_with("_mask")
                || name.contains(".max_")
                || name == "count.strong_bias"
            {
                assert!(layout.is_ok(), "{name}");
            } else {
                let error = layout.unwrap_err().to_string();
                assert!(
                    error.contains(&format!("`{name}` makes no sense")),
                    "{error}"
                );
            }
        }
        for (name, numbers) in [
            ("chunk.size", &[0][..]),
            ("pool.size", &[0]),
            ("chunk.header", &[1 << 16]),
            ("block.sizes", &[16, 0]),
            ("block.sizes", &[1 << 17]),
            ("block.sizes", &[8; MOST_SIZES + 1]),
        ] {
            let layout = Layout::new(&names(name, numbers));
            assert!(
                matches!(layout, Err(LayoutError::Senseless { .. })),
                "{name}"
            );
        }
    }
}
