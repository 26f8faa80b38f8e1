//! Texts that many things share, each kept once.

use std::collections::HashMap;

/// Texts by index.
#[derive(Default)]
pub(super) struct Names {
    /// Without duplicates.
    pub(super) all: Vec<String>,
    indices: HashMap<String, u32>,
}

impl Names {
    /// Returns the index of a text.
    pub(super) fn add(&mut self, name: String) -> u32 {
        let next = self.all.len() as u32;
        *self.indices.entry(name).or_insert_with_key(|name| {
            self.all.push(name.clone());
            next
        })
    }
}
