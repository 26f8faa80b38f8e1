//! The note by which a reader outside of the process finds the crate's structures.
//!
//! The note is in the section `.note.releasepool` of each program or library that contains this
//! crate, and is loaded with it: linkers keep notes whatever else they leave out, and so does
//! `strip`. One entry has lines `name=value`, which say where fields are; for how files describe
//! their fields, see [`layout`](crate::layout). Each other entry has the name of a static of the
//! crate, and says where the static's address is stored.
//!
//! `releasepool-inspect` reads entries by name, so names may be added, and fields may move. If a
//! name changes its meaning or is removed, [`VERSION`] changes.

use crate::memory::block::heap::HEAPS;
use crate::epoch::EPOCH;
use crate::layout::{Entry, Value, entries};
#[cfg(feature = "leak-detection")]
use crate::ledger::object_record::LEDGER;
use crate::home::home_ref::HOMELESS;
use crate::pool::entries::retired::RETIRED;
use crate::pool::stack::thread_pools::DETACHED;
use crate::sync::{Link, Roll};
use crate::thread::orphans::ORPHANS;
use crate::thread::record::DEPARTED;
use crate::thread::registry::REGISTRY;

/// The version of the names and their meanings.
const VERSION: u64 = 1;

/// The name of the entries in the section, as a C string.
const NAME: [u8; 12] = *b"releasepool\0";

/// The type of the entry with lines.
const TEXT: u32 = 1;

/// The first lines, from which a reader learns whether it can read the rest.
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
    &[crate::epoch::NOTE, crate::home::home_ref::NOTE],
    crate::memory::block::NOTES,
    crate::object::NOTES,
    crate::pool::NOTES,
];

const LEN: usize = len(PARTS);

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
    text: text(PARTS),
};

/// A word that contains the address of a static once the program is loaded.
///
/// The note refers to this word instead of the static: a Rust `dylib` that contains this crate
/// exports statics that inlined functions use, and no linker accepts the distance to an exported
/// static as a constant.
#[repr(transparent)]
struct Address(*const ());

// SAFETY: the pointer is never dereferenced.
unsafe impl Sync for Address {}

/// Puts an entry for each static into the section: in 32 bits, the distance from this number to a
/// word with the static's address; and then the static's name for readers.
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

// A static that exists only with a feature has a call of `addresses!` of its own, with that `cfg`;
// readers test whether the entry exists.
addresses! {
    REGISTRY_AT: "registry" = REGISTRY,
    DEPARTED_AT: "departed" = DEPARTED,
    ORPHANS_AT: "orphans" = ORPHANS,
    RETIRED_AT: "retired" = RETIRED,
    EPOCH_AT: "epoch" = EPOCH,
    KEPT_AT: "kept" = HOMELESS,
    HEAPS_AT: "heaps" = HEAPS,
    DETACHED_AT: "detached_pools" = DETACHED,
}
#[cfg(feature = "leak-detection")]
addresses! {
    LEDGER_AT: "ledger" = LEDGER,
}

// Writes entries as text, in lines `name=value`, at compile time.

/// A text that is being written, or only measured.
struct Writer<const N: usize> {
    text: [u8; N],
    len: usize,
}

impl<const N: usize> Writer<N> {
    const fn byte(&mut self, byte: u8) {
        if self.len < N {
            self.text[self.len] = byte;
        }
        self.len += 1;
    }

    const fn str(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            self.byte(bytes[i]);
            i += 1;
        }
    }

    const fn number(&mut self, n: u64) {
        let mut power = 1;
        while n / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            self.byte(b'0' + (n / power % 10) as u8);
            power /= 10;
        }
    }

    const fn entry(&mut self, entry: &Entry) {
        self.str(entry.name);
        self.byte(b'=');
        match entry.value {
            Value::Number(n) => self.number(n),
            Value::Text(text) => self.str(text),
            Value::List(numbers) => {
                let mut i = 0;
                while i < numbers.len() {
                    if i > 0 {
                        self.byte(b',');
                    }
                    self.number(numbers[i] as u64);
                    i += 1;
                }
            }
        }
        self.byte(b'\n');
    }

    const fn lists(&mut self, lists: &[&[Entry]]) {
        let mut list = 0;
        while list < lists.len() {
            let mut i = 0;
            while i < lists[list].len() {
                self.entry(&lists[list][i]);
                i += 1;
            }
            list += 1;
        }
    }
}

const fn written<const N: usize>(parts: &[&[&[Entry]]]) -> Writer<N> {
    let mut writer = Writer {
        text: [b'\n'; N],
        len: 0,
    };
    let mut part = 0;
    while part < parts.len() {
        writer.lists(parts[part]);
        part += 1;
    }
    writer
}

/// Returns how many bytes the entries take as text: a multiple of four.
const fn len(parts: &[&[&[Entry]]]) -> usize {
    written::<0>(parts).len.next_multiple_of(4)
}

/// Returns the entries as text of `N` bytes, which ends in newlines.
///
/// # Panics
/// At compile time, if the text is longer.
const fn text<const N: usize>(parts: &[&[&[Entry]]]) -> [u8; N] {
    let writer = written::<N>(parts);
    assert!(writer.len <= N);
    writer.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_name_has_one_value_and_the_version_is_first() {
        let text = std::str::from_utf8(&LINES.text).unwrap();
        assert!(text.starts_with("version=1\n"));
        let lines = text.trim_end_matches('\n').lines();
        let pairs = || lines.clone().map(|line| line.split_once('=').unwrap());
        let values: BTreeMap<_, _> = pairs().collect();
        assert_eq!(values.len(), pairs().count());
        assert_eq!(values["header.size"], "16");
        assert_eq!(values["count.strong_shift"], "32");
        assert_eq!(values["message_kind.batch"], "6");
        assert!(values["block.sizes"].starts_with("16,32,48,"));
        let is_number = |value: &str| value.bytes().all(|b| b.is_ascii_digit() || b == b',');
        let others = values.iter().filter(|(_, value)| !is_number(value));
        assert_eq!(others.map(|(&name, _)| name).collect::<Vec<_>>(), ["library"]);
    }
}
