//! The words in items that refer to items.

use super::objects::{Item, Recognizer};
use super::regions::{Region, Regions};
use super::targets::{Target, Targets};
use super::types::Kind;
use crate::graph::{Edge, EdgeKind};
use rayon::prelude::*;
use std::ops::Range;

/// The number of parts of the work: enough for threads to get about equal shares.
const PARTS: usize = 64;

/// References between items: nodes are indices of items.
#[derive(Default)]
pub(super) struct Edges {
    /// References to payloads, and into plain memory.
    pub(super) edges: Vec<Edge>,
    /// Words that refer to memory of an object other than the beginning of its payload: no
    /// references, unless the object turns out to be plain memory.
    pub(super) inside: Vec<Edge>,
    /// The indices of watched addresses (of guards' pools) that words refer to, some repeatedly.
    pub(super) watched: Vec<u32>,
}

/// How many edges are in a piece.
const PIECE: usize = 1 << 14;

/// The findings of one part of the work. There may be tens of millions of edges, so they are in
/// pieces, which are freed one by one when all parts are joined: no memory is needed twice.
#[derive(Default)]
struct Part {
    edges: Vec<Vec<Edge>>,
    inside: Vec<Edge>,
    watched: Vec<u32>,
}

impl Part {
    #[inline(always)]
    fn add(&mut self, from: u32, offset: u64, target: Target) {
        let (to, kind) = match target {
            Target::Payload(to) => (to, EdgeKind::Exact),
            Target::Plain(to) | Target::Inside(to) => (to, EdgeKind::Into),
            Target::Watched(index) => {
                self.watched.push(index);
                return;
            }
        };
        let edge = Edge {
            from,
            to,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
            kind,
        };
        if matches!(target, Target::Inside(_)) {
            self.inside.push(edge);
            return;
        }
        match self.edges.last_mut() {
            Some(piece) if piece.len() < PIECE => piece.push(edge),
            _ => {
                let mut piece = Vec::with_capacity(if self.edges.is_empty() { 0 } else { PIECE });
                piece.push(edge);
                self.edges.push(piece);
            }
        }
    }
}

/// Finds the references in items.
pub(super) struct Scanner<'a> {
    pub(super) regions: &'a Regions<'a>,
    pub(super) targets: &'a Targets<'a>,
    pub(super) recognizer: &'a Recognizer<'a>,
    /// Bytes at the beginning of a `HomeRef`'s payload that are the library's.
    pub(super) front: u64,
}

impl Scanner<'_> {
    /// Returns all references in all items: those in objects come first.
    pub(super) fn scan_all(&self) -> Edges {
        let mut order = self.targets.objects.clone();
        let items = (0..).zip(self.targets.items);
        order.extend(
            items
                .filter(|(_, item)| !item.is_object())
                .map(|(index, _)| index),
        );
        self.scan(&order, |region, item| self.words_of(region, item))
    }

    /// Returns all references in these items, reading their whole memory, as if they were no objects.
    pub(super) fn scan_as_plain(&self, indices: &[u32]) -> Edges {
        self.scan(indices, |_, item| item.start..item.end())
    }

    /// Returns all references in the items with these indices, in this order.
    fn scan(
        &self,
        indices: &[u32],
        range: impl Fn(&Region<'_>, &Item) -> Range<u64> + Sync,
    ) -> Edges {
        let bytes = |index: &u32| self.targets.items[*index as usize].len + 64;
        let total: u64 = indices.iter().map(bytes).sum();
        let mut parts = Vec::new();
        let (mut from, mut sum) = (0, 0);
        for (i, index) in indices.iter().enumerate() {
            sum += bytes(index);
            if sum > total / PARTS as u64 {
                parts.push(from..i + 1);
                (from, sum) = (i + 1, 0);
            }
        }
        parts.push(from..indices.len());
        let parts = parts.into_par_iter();
        let found = parts.map(|part| self.scan_part(&indices[part], &range));
        let found: Vec<Part> = found.collect();
        let mut all = Edges::default();
        let edges = found.iter().flat_map(|part| &part.edges);
        all.edges.reserve_exact(edges.map(Vec::len).sum());
        for mut part in found {
            for mut edges in part.edges.drain(..) {
                all.edges.append(&mut edges);
            }
            all.inside.append(&mut part.inside);
            all.watched.append(&mut part.watched);
        }
        all
    }

    fn scan_part(
        &self,
        indices: &[u32],
        range: &impl Fn(&Region<'_>, &Item) -> Range<u64>,
    ) -> Part {
        let mut edges = Part::default();
        let mut region: Option<&Region<'_>> = None;
        for &index in indices {
            let item = &self.targets.items[index as usize];
            if !region.is_some_and(|region| region.contains(item.start)) {
                region = self.regions.find(item.start);
            }
            if let Some(region) = region {
                let range = range(region, item);
                // Offsets in an object's value count from the beginning of its payload.
                let base = range.start.min(item.address());
                region.for_words(range, |address, word| {
                    if let Some(target) = self.targets.find(word) {
                        edges.add(index, address - base, target);
                    }
                });
            }
        }
        edges
    }

    /// Returns the word at an offset in an item.
    pub(super) fn word_in(&self, item: &Item, offset: u32) -> Option<u64> {
        self.regions.word(item.address() + u64::from(offset))
    }

    /// Returns where an item may have references: all plain memory, but only the values of objects,
    /// as the rest of their memory may have what was there before.
    fn words_of(&self, region: &Region<'_>, item: &Item) -> Range<u64> {
        if !item.is_object() {
            return item.start..item.end();
        }
        let start = item.address();
        // What is left of a destroyed value refers to nothing.
        let counts = self.recognizer.counts_before(region, start);
        if counts.is_none_or(|counts| !counts.held) {
            return start..start;
        }
        let info = self.recognizer.types.get(item.info);
        let bytes = self.recognizer.value_bytes(region, info, start);
        let front = match info.kind {
            Kind::ThreadBound => self.front,
            _ => 0,
        };
        let end = start + bytes.unwrap_or(0);
        start + front.min(end - start)..end
    }
}
