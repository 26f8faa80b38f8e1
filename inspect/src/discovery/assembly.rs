//! Makes the graph of what was found: decides which items are objects after all, and numbers nodes.

use super::counted;
use super::edges::{Edges, Scanner};
use super::items::Items;
use super::objects::{Counts, Item, Recognizer};
use super::regions::WORD;
use super::roots::Roots;
use super::targets::Targets;
use crate::graph::{Edge, Graph, Node, NodeKind, Object, Root, RootKind, Storage};
use crate::image::Memory;
use crate::library::Library;

/// The findings, with indices of items as nodes.
pub(super) struct Assembly<'a> {
    pub(super) items: &'a Items,
    pub(super) targets: &'a Targets<'a>,
    pub(super) scanner: &'a Scanner<'a>,
    pub(super) recognizer: &'a Recognizer<'a>,
    pub(super) edges: Edges,
    pub(super) roots: Roots,
    /// How many objects with a value there are, as the library counts.
    pub(super) counted: u64,
}

impl Assembly<'_> {
    /// Adds what the library's structures refer to. `guarded` are the pools of guards: if no word
    /// outside of the structures has a pool's address, its guard was forgotten.
    pub(super) fn add_counted(&mut self, memory: &dyn Memory, library: &Library, guarded: &[u64]) {
        let mut is_guarded = vec![false; guarded.len()];
        for index in self.edges.watched.iter().chain(&self.roots.watched) {
            is_guarded[*index as usize] = true;
        }
        let pools = guarded.iter().zip(is_guarded);
        let forgotten: Vec<u64> = pools.filter(|pool| !pool.1).map(|pool| *pool.0).collect();
        counted::add_roots(memory, library, self.targets, &forgotten, &mut self.roots);
        let (regions, structures) = (self.scanner.regions, &self.items.structures);
        counted::add_unknown(regions, structures, self.targets, &mut self.roots);
    }

    /// Returns the graph's nodes, types, edges and roots.
    pub(super) fn into_graph(mut self) -> Graph {
        let stale = self.stale();
        if !stale.is_empty() {
            self.make_plain(&stale);
        }
        let items = self.targets.items;
        let is_object =
            |index: u32| items[index as usize].is_object() && stale.binary_search(&index).is_err();
        let mut order: Vec<u32> = self.targets.objects.clone();
        order.retain(|index| is_object(*index));
        let objects = order.len();
        order.extend((0..items.len() as u32).filter(|index| !is_object(*index)));
        let mut numbers = vec![0; items.len()];
        for (number, index) in (0..).zip(&order) {
            numbers[*index as usize] = number;
        }
        let mut graph = Graph {
            objects,
            types: self.recognizer.types.names.clone(),
            ..Graph::default()
        };
        let nodes = order.iter().enumerate();
        graph.nodes = nodes
            .map(|(number, index)| self.node(&items[*index as usize], number < objects))
            .collect();
        let plain = order[objects..].iter().map(|index| &items[*index as usize]);
        graph.first_words = plain.map(|item| self.first_words(item)).collect();
        graph.edges = self.edges.edges;
        for edge in &mut graph.edges {
            edge.from = numbers[edge.from as usize];
            edge.to = numbers[edge.to as usize];
        }
        if !graph.edges.is_sorted_by_key(|edge| edge.from) {
            graph.edges.sort_by_key(|edge| (edge.from, edge.offset));
        }
        graph.labels = self.roots.labels.all;
        graph.roots = self.roots.roots;
        let roots = &mut graph.roots;
        roots.sort_unstable_by_key(|root| (root.kind, root.address, root.to));
        for root in roots {
            root.to = numbers[root.to as usize];
        }
        graph
    }

    /// Returns the node of an item.
    fn node(&self, item: &Item, is_object: bool) -> Node {
        let (address, kind) = match is_object {
            true => (item.address(), NodeKind::Object(self.object(item))),
            false => (item.start, NodeKind::Plain),
        };
        Node {
            address,
            bytes: item.len,
            kind,
        }
    }

    /// Returns the first two words of plain memory.
    fn first_words(&self, item: &Item) -> [u64; 2] {
        let word = |offset| {
            let word = self.scanner.regions.word(item.start + offset);
            word.filter(|_| offset + WORD <= item.len).unwrap_or(0)
        };
        [word(0), word(WORD)]
    }

    /// Returns the counts of an object.
    fn counts(&self, item: &Item) -> Option<Counts> {
        let region = self.scanner.regions.find(item.start)?;
        self.recognizer.counts_before(region, item.address())
    }

    fn object(&self, item: &Item) -> Object {
        let info = self.recognizer.types.get(item.info);
        let counts = self.counts(item).expect("it was looked at before");
        Object {
            type_id: info.name,
            strong: counts.strong,
            weak: counts.weak,
            alive: counts.held,
            storage: match info.kind {
                kind if kind.is_block() => Storage::Block,
                _ => Storage::Global,
            },
        }
    }

    /// Returns the indices of items that look like objects but are none, at most as many as exceed
    /// the library's count. The memory of such an item once had an object: now it is in a list of
    /// the allocator, or was allocated again and is not yet overwritten. Words refer to its
    /// beginning, and none to the payload. Where bounds are guessed, any words may look like an
    /// object; nothing refers to such an item.
    fn stale(&self) -> Vec<u32> {
        let items = self.targets.items;
        let excess = self.alive().saturating_sub(self.counted) as usize;
        if excess == 0 {
            return Vec::new();
        }
        let begins = |word, to: u32| items[to as usize].start == word;
        let edges = self.edges.inside.iter().filter(|edge| {
            let from = &items[edge.from as usize];
            let word = self.scanner.word_in(from, edge.offset);
            word.is_some_and(|word| begins(word, edge.to))
        });
        let roots = self.roots.inside.iter().filter(|inside| {
            // A word on a stack may be left over from the allocation, and proves nothing.
            inside.root.kind <= RootKind::Anonymous && begins(inside.word, inside.root.to)
        });
        // Candidates to which words in items refer come before those that only roots refer to.
        let mut candidates: Vec<(bool, u32)> = edges.map(|edge| (false, edge.to)).collect();
        candidates.extend(roots.map(|inside| (true, inside.root.to)));
        candidates.sort_unstable_by_key(|(by_root, index)| (*index, *by_root));
        candidates.dedup_by_key(|(_, index)| *index);
        let mut is_held = vec![false; items.len()];
        let edges = self.edges.edges.iter().map(|edge| edge.to);
        for to in edges.chain(self.roots.roots.iter().map(|root| root.to)) {
            is_held[to as usize] = true;
        }
        candidates.retain(|(_, index)| !is_held[*index as usize]);
        candidates.sort_unstable();
        candidates.truncate(excess);
        for (_, index) in &candidates {
            // The guesses below must not take this candidate again.
            is_held[*index as usize] = true;
        }
        // In memory of unknown allocators, words that look like a header may be anything. If more
        // such items lack references than the excess leaves, it is not known which are no objects.
        let guessed = self.targets.objects.iter().filter(|index| {
            !is_held[**index as usize] && !self.items.is_exact(&items[**index as usize])
        });
        let room = excess - candidates.len();
        let guessed: Vec<_> = guessed.take(room + 1).map(|index| (true, *index)).collect();
        if guessed.len() <= room {
            candidates.extend(guessed);
        }
        let mut stale: Vec<u32> = candidates.into_iter().map(|(_, index)| index).collect();
        stale.sort_unstable();
        stale
    }

    /// Returns how many objects seem to have a value.
    fn alive(&self) -> u64 {
        let objects = self.targets.items.iter().filter(|item| item.is_object());
        let alive = objects.filter(|item| self.counts(item).is_some_and(|counts| counts.held));
        alive.count() as u64
    }

    /// Treats objects, given by their indices in order, as plain memory.
    fn make_plain(&mut self, stale: &[u32]) {
        let is_stale = |index: u32| stale.binary_search(&index).is_ok();
        self.edges.edges.retain(|edge| !is_stale(edge.from));
        let inside = self.edges.inside.iter();
        let into = inside.filter(|edge| is_stale(edge.to) && !is_stale(edge.from));
        let into: Vec<Edge> = into.copied().collect();
        self.edges.edges.extend(into);
        let inside = self.roots.inside.iter();
        let into = inside.filter(|inside| is_stale(inside.root.to));
        let into: Vec<Root> = into.map(|inside| inside.root).collect();
        self.roots.roots.extend(into);
        let roots = &mut self.roots.roots;
        roots.sort_by_key(|root| (root.kind, root.address));
        let found = self.scanner.scan_as_plain(stale);
        let into = found.inside.iter().filter(|edge| is_stale(edge.to));
        self.edges.edges.extend(into);
        self.edges.edges.extend(found.edges);
    }
}
