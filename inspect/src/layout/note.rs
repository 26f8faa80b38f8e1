//! Reads the library's notes: numbers by name, and addresses of statics.

use crate::error::LayoutError;
use crate::image::{Memory, Module};
use std::collections::BTreeMap;

/// The name of the notes.
pub const NAME: &str = "releasepool";

/// The kind of the note with lines `name=value`.
pub const TEXT: u32 = 1;

/// The kind of the notes with the address of a static.
pub const ADDRESS: u32 = 2;

/// The version that this reader knows.
pub const VERSION: u64 = 1;

/// The longest description that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// The contents of a module's notes: numbers by name, and addresses of statics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The path of the file that has the note.
    pub module: String,
    /// Numbers by name; most names have one.
    pub numbers: BTreeMap<String, Vec<u64>>,
    /// Addresses in memory by the name of the static.
    pub statics: BTreeMap<String, u64>,
}

impl Names {
    /// Reads the notes of a module; `None` if it does not have the library.
    ///
    /// # Errors
    /// If the notes cannot be read, or are of another version.
    pub fn read(memory: &dyn Memory, module: &Module) -> Result<Option<Self>, LayoutError> {
        let mut names = Self {
            module: module.path.clone(),
            ..Self::default()
        };
        let mut found = false;
        for note in module.notes.iter().filter(|note| note.name == NAME) {
            let unreadable = || LayoutError::Unreadable {
                module: module.path.clone(),
                address: note.address,
            };
            let len = usize::try_from(note.len).ok().filter(|len| *len <= LONGEST);
            let bytes = len.and_then(|len| memory.bytes(note.address, len));
            let bytes = bytes.ok_or_else(unreadable)?;
            match note.kind {
                TEXT => {
                    found = true;
                    let text = std::str::from_utf8(&bytes).map_err(|_| unreadable())?;
                    names.parse(text)?;
                }
                ADDRESS => {
                    let (name, word) = static_in(&bytes, note.address).ok_or_else(unreadable)?;
                    let address = memory.word(word).ok_or_else(unreadable)?;
                    names.statics.insert(name, address);
                }
                // A later version of the library may add kinds of notes.
                _ => {}
            }
        }
        Ok(found.then_some(names))
    }

    /// Adds the numbers of a text.
    fn parse(&mut self, text: &str) -> Result<(), LayoutError> {
        let pairs = || text.lines().filter_map(|line| line.split_once('='));
        let version = pairs().next().filter(|(name, _)| *name == "version");
        let version = version.map_or("unknown", |(_, version)| version);
        if version.parse() != Ok(VERSION) {
            return Err(LayoutError::Version {
                module: self.module.clone(),
                found: version.chars().take(32).collect(),
                known: VERSION,
            });
        }
        for (name, value) in pairs() {
            let numbers: Result<Vec<_>, _> = value.split(',').map(str::parse).collect();
            if let Ok(numbers) = numbers {
                self.numbers.insert(name.to_owned(), numbers);
            }
        }
        Ok(())
    }

    /// Returns the number of this name.
    ///
    /// # Errors
    /// If the note does not have it.
    pub fn number(&self, name: &str) -> Result<u64, LayoutError> {
        Ok(self.list(name)?[0])
    }

    /// Returns the numbers of this name: at least one.
    ///
    /// # Errors
    /// If the note does not have it.
    pub fn list(&self, name: &str) -> Result<&[u64], LayoutError> {
        self.find(&self.numbers, name).map(Vec::as_slice)
    }

    /// Returns the address of the static of this name.
    ///
    /// # Errors
    /// If no note has it.
    pub fn address(&self, name: &str) -> Result<u64, LayoutError> {
        self.find(&self.statics, name).copied()
    }

    fn find<'n, V>(&self, map: &'n BTreeMap<String, V>, name: &str) -> Result<&'n V, LayoutError> {
        map.get(name).ok_or_else(|| LayoutError::Missing {
            module: self.module.clone(),
            name: name.to_owned(),
        })
    }
}

/// Returns the name of the static in `bytes`, a note's description at `address`, and the address of
/// the word that has the static's address.
fn static_in(bytes: &[u8], address: u64) -> Option<(String, u64)> {
    let (distance, name) = bytes.split_first_chunk()?;
    let distance = i32::from_ne_bytes(*distance);
    let end = name.iter().position(|&byte| byte == 0)?;
    let name = std::str::from_utf8(&name[..end]).ok()?;
    Some((
        name.to_owned(),
        address.wrapping_add_signed(distance.into()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Names, LayoutError> {
        let mut names = Names {
            module: "game".to_owned(),
            ..Names::default()
        };
        names.parse(text).map(|()| names)
    }

    #[test]
    fn numbers_are_found_by_name_and_what_is_unknown_is_ignored() {
        let names =
            names("version=1\nlibrary=0.1.0\npage.prev=8\nnew.thing=3,4\nnothing\n").unwrap();
        assert_eq!(names.list("new.thing"), Ok(&[3, 4][..]));
        assert_eq!(names.number("page.prev"), Ok(8));
        let missing = names.number("page.below").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "the layout note of game does not say `page.below`"
        );
    }

    #[test]
    fn another_version_is_refused_with_both_numbers() {
        let error = names("version=2\npage.prev=8\n").unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("version 2") && text.contains("version 1"),
            "{text}"
        );
        for text in ["", "page.prev=8\nversion=1\n", "version=\n"] {
            assert!(matches!(names(text), Err(LayoutError::Version { .. })));
        }
    }

    #[test]
    fn statics_are_relative_to_their_note() {
        let mut bytes = (-16i32).to_ne_bytes().to_vec();
        bytes.extend(b"registry\0\0\0\0");
        assert_eq!(
            static_in(&bytes, 0x1000),
            Some(("registry".to_owned(), 0xff0))
        );
        assert_eq!(static_in(&bytes[..3], 0), None);
        assert_eq!(static_in(b"1234name without end", 0), None);
    }
}
