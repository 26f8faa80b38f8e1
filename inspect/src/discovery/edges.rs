//! The words in items that refer to items.

use super::objects::{Item, Recognizer};
use super::regions::{Region, Regions};
use super::targets::{Target, Targets};
use super::types::Kind;
use crate::graph::{Edge, EdgeKind};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many parts the work is cut into, so that threads get equally much.
const PARTS: usize = 64;

/// The most threads that are used.
const MOST_THREADS: usize = 8;

/// References between items: nodes are indices of items.
#[derive(Default)]
pub(super) struct Edges {
    /// To payloads, and into plain memory.
    pub(super) edges: Vec<Edge>,
    /// To other memory of objects, which are no references unless the object turns out to be plain
    /// memory.
    pub(super) inside: Vec<Edge>,
}

impl Edges {
    #[inline(always)]
    fn add(&mut self, from: u32, offset: u64, target: Target) {
        let (edges, to, kind) = match target {
            Target::Payload(to) => (&mut self.edges, to, EdgeKind::Exact),
            Target::Plain(to) => (&mut self.edges, to, EdgeKind::Into),
            Target::Inside(to) => (&mut self.inside, to, EdgeKind::Into),
        };
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        edges.push(Edge {
            from,
            to,
            offset,
            kind,
        });
    }
}

/// Reads items.
pub(super) struct Scanner<'a> {
    pub(super) regions: &'a Regions<'a>,
    pub(super) targets: &'a Targets<'a>,
    pub(super) recognizer: &'a Recognizer<'a>,
    /// Bytes at the beginning of a `HomeRef`'s payload that are the library's.
    pub(super) front: u64,
}

impl Scanner<'_> {
    /// Returns all references in the items with these indices, in this order.
    pub(super) fn scan(&self, indices: &[u32]) -> Edges {
        let bytes = |index: &u32| self.targets.items()[*index as usize].len + 64;
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
        in_parallel(parts, |part| self.scan_part(&indices[part]))
            .into_iter()
            .reduce(|mut all, part| {
                all.edges.extend(part.edges);
                all.inside.extend(part.inside);
                all
            })
            .unwrap_or_default()
    }

    fn scan_part(&self, indices: &[u32]) -> Edges {
        let mut edges = Edges::default();
        let mut region: Option<&Region<'_>> = None;
        for &index in indices {
            let item = &self.targets.items()[index as usize];
            if !region.is_some_and(|region| region.contains(item.start)) {
                region = self.regions.find(item.start);
            }
            if let Some(region) = region {
                self.scan_item(region, index, item, &mut edges);
            }
        }
        edges
    }

    fn scan_item(&self, region: &Region<'_>, index: u32, item: &Item, edges: &mut Edges) {
        let base = item.address();
        region.for_words(self.words_of(region, item), |address, word| {
            if let Some(target) = self.targets.find(word) {
                edges.add(index, address - base, target);
            }
        });
    }

    /// Returns where an item may have references: all plain memory, but only the values of objects,
    /// as the rest of their memory may have what was there before.
    fn words_of(&self, region: &Region<'_>, item: &Item) -> Range<u64> {
        if !item.is_object() {
            return item.start..item.end();
        }
        let start = item.address();
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

/// Returns what `f` makes of each part, in order, on as many threads as are useful.
fn in_parallel<P: Clone + Sync, R: Send>(parts: Vec<P>, f: impl Fn(P) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(MOST_THREADS));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(parts.len()));
    let work = || {
        loop {
            // Relaxed: only a number for each part; the mutex publishes the results.
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(i) else {
                return;
            };
            let result = f(part.clone());
            done.lock()
                .expect("no thread panics with the lock")
                .push((i, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(parts.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().expect("no thread panics with the lock");
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
