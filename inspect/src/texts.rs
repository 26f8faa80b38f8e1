//! Texts that many things share, each kept once.

use std::collections::HashMap;

/// Texts by index.
#[derive(Default)]
pub(crate) struct Texts {
    /// Without duplicates.
    pub(crate) all: Vec<String>,
    indices: HashMap<String, u32>,
}

impl Texts {
    /// Returns the index of a text.
    pub(crate) fn add(&mut self, text: &str) -> u32 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}
