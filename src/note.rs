//! The note by which a reader outside of the process finds the crate's structures.
//!
//! It is in the section `.note.releasepool` of each program or library that contains this crate,
//! and loaded with it: linkers keep notes whatever else they leave out, and `strip` does too. One
//! entry has lines `name=value`, which say where fields are; [`layout`](crate::layout) is about how
//! they are made. Each other entry says where the address of a static of the crate is, and has the
//! name of the static.
//!
//! `releasepool-inspect` reads by name, so names may be added, and fields may move. If a name gets
//! another meaning or goes, [`VERSION`] changes.

use crate::block::heap::HEAPS;
use crate::layout::{Entry, Value, entries, text};
use crate::object::thread_bound::HOMELESS;
use crate::pool::thread_pools::DETACHED;
use crate::sync::{Link, Roll};
use crate::thread::orphans::ORPHANS;
use crate::thread::record::DEPARTED;
use crate::thread::registry::REGISTRY;

/// The version of the names and of what they mean.
const VERSION: u64 = 1;

/// The name of the entries in the section, as a C string.
const NAME: [u8; 12] = *b"releasepool\0";

/// The type of the entry with lines.
const TEXT: u32 = 1;

/// First, so that readers need nothing else to know whether they can read the rest.
const HEAD: &[Entry] = &[
    Entry {
        name: "version",
        value: Value::Number(VERSION),
    },
    Entry {
        name: "library",
        value: Value::Text(env!("CARGO_PKG_VERSION")),
    },
];

const NOTE: &[Entry] = entries! {
    build {
        pointer = size_of::<usize>(),
        checks = cfg!(any(debug_assertions, feature = "checks")),
    }
    roll {
        first = Roll::FIRST,
    }
    link {
        next = Link::NEXT,
    }
};

const PARTS: &[&[&[Entry]]] = &[
    &[HEAD, NOTE],
    crate::thread::NOTES,
    crate::block::NOTES,
    crate::object::NOTES,
    crate::pool::NOTES,
];

const LEN: usize = text::len(PARTS);

/// An entry of a note section.
#[repr(C, align(4))]
struct Note {
    name_len: u32,
    text_len: u32,
    kind: u32,
    name: [u8; NAME.len()],
    text: [u8; LEN],
}

#[used]
#[unsafe(link_section = ".note.releasepool")]
static LINES: Note = Note {
    name_len: NAME.len() as u32,
    text_len: LEN as u32,
    kind: TEXT,
    name: NAME,
    text: text::text(PARTS),
};

/// A word that has the address of a static, once the program is loaded.
///
/// Its own address goes into the note, and not that of the static: if a Rust `dylib` contains this
/// crate, it exports those statics that inlined functions use, and then no linker accepts their
/// distance as a constant.
#[repr(transparent)]
struct Address(*const ());

// SAFETY: the pointer is never dereferenced.
unsafe impl Sync for Address {}

/// Puts entries with the addresses of statics into the section: the distance from its place to a
/// word with the static's address, in 32 bits, and the name.
macro_rules! addresses {
    ($($word:ident: $name:literal = $static:path,)*) => {
        $(
            static $word: Address = Address((&raw const $static).cast());
            std::arch::global_asm!(
                ".pushsection .note.releasepool, \"a\", %note",
                ".balign 4",
                ".long 12",
                ".long 881f - 880f",
                ".long 2",
                ".asciz \"releasepool\"",
                "880:",
                ".long {address} - 880b",
                concat!(".asciz \"", $name, "\""),
                ".balign 4",
                "881:",
                ".popsection",
                address = sym $word,
            );
        )*
    };
}

addresses! {
    REGISTRY_AT: "registry" = REGISTRY,
    DEPARTED_AT: "departed" = DEPARTED,
    ORPHANS_AT: "orphans" = ORPHANS,
    KEPT_AT: "kept" = HOMELESS,
    HEAPS_AT: "heaps" = HEAPS,
    DETACHED_AT: "detached_pools" = DETACHED,
}
