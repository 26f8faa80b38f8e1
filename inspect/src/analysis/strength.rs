//! Which words are strong references, which weak, and which neither.
//!
//! A word does not tell whether it is a `Ref`, a `Weak` or a borrow. But a field is one thing in
//! all objects of a type. So edges form *groups*: by the type of the word's object, the word's
//! offset, and the type of its target; words in a plain allocation by the field that leads to it.
//! For each object, the groups of words that refer to it get strengths such that the sums fit its
//! counts. If one assignment fits best, its groups get votes; decided groups help to decide others.
//!
//! A move leaves a copy behind: a task has its argument both where it was passed in and where its
//! future uses it. So of the words of a group in one plain allocation that refer to one object, at
//! least one is a reference; the others may be *copies*.

use super::links::Links;
use crate::graph::{EdgeKind, Graph, NodeId, Object};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;

/// The strength of a word that refers to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Strength {
    /// Not decided.
    Unknown,
    /// A counted strong reference, or a pointer into a plain allocation.
    Strong,
    /// A counted weak reference.
    Weak,
    /// Not counted: a borrow, a raw pointer, or stale.
    Uncounted,
}

impl Strength {
    /// Returns whether the word may keep its target alive.
    pub fn holds(self) -> bool {
        matches!(self, Self::Unknown | Self::Strong)
    }
}

/// The most rounds; each decides groups with the help of those decided before.
const ROUNDS: usize = 3;
/// An object is not solved if the words that refer to it are in more undecided groups than this.
const MAX_GROUPS: usize = 4;

/// Mixes words into one that has entropy in all bits.
fn mix(words: [u64; 3]) -> u64 {
    words.iter().fold(0x9E37_79B9_7F4A_7C15, |hash, word| {
        let product = u128::from(hash ^ word) * 0xA5A3_5641_7C5D_1ECF;
        (product as u64).rotate_left(31) ^ ((product >> 64) as u64)
    })
}

/// The group of edges that are strong references for certain.
const COUNTED: u32 = u32::MAX;
/// The group of edges that say nothing: those to plain allocations, and those of destroyed values.
const IGNORED: u32 = u32::MAX - 1;
/// The mark of an edge that is not the first of its group from one plain allocation to one object.
const COPY: u32 = 1 << 31;

/// Decides the strength of each edge. Words in destroyed values, whose memory weak references keep,
/// are [`Strength::Uncounted`].
pub fn classify(graph: &Graph, links: &Links) -> Vec<Strength> {
    let counts: Vec<Counts> = (0..graph.objects as NodeId)
        .map(|node| graph.object(node).map_or(Counts::default(), Counts::new))
        .collect();
    let mut groups = Groups::new(graph, links, &counts);
    let reachable = OnceCell::new();
    let reachable = || &**reachable.get_or_init(|| reachable_from_roots(graph, links));
    let mut open: Vec<NodeId> = (0..counts.len() as NodeId).collect();
    for _ in 0..ROUNDS {
        let before = open.len();
        open.retain(|node| !groups.solve(graph, links, *node, counts[*node as usize], reachable));
        groups.decide();
        if open.is_empty() || open.len() == before {
            break;
        }
    }
    let mut strengths = Vec::with_capacity(graph.edges.len());
    for (edge, group) in graph.edges.iter().zip(&groups.of_edge) {
        let from = counts.get(edge.from as usize);
        let gone = from.is_some_and(|from| !from.alive);
        strengths.push(match (*group, counts.get(edge.to as usize)) {
            _ if gone => Strength::Uncounted,
            (COUNTED | IGNORED, _) | (_, None) => Strength::Strong,
            (group, Some(to)) => groups.strength(group & !COPY, *to),
        });
    }
    strengths
}

/// Returns for each node whether words lead to it from roots, whatever those words are.
pub fn reachable_from_roots(graph: &Graph, links: &Links) -> Vec<bool> {
    let mut reachable = vec![false; graph.nodes.len()];
    let mut queue: Vec<NodeId> = graph.roots.iter().map(|root| root.to).collect();
    while let Some(node) = queue.pop() {
        if !std::mem::replace(&mut reachable[node as usize], true) {
            queue.extend(links.out(node).map(|edge| graph.edges[edge].to));
        }
    }
    reachable
}

/// The facts about an object that this file needs, in little memory.
#[derive(Clone, Copy, Default)]
struct Counts {
    type_id: u32,
    strong: u32,
    weak: u32,
    /// True if the object's words are references: the value exists, or its destructor runs.
    alive: bool,
}

impl Counts {
    fn new(object: &Object) -> Self {
        Self {
            type_id: object.type_id,
            strong: object.strong,
            weak: object.weak,
            alive: object.alive || object.is_dying(),
        }
    }
}

/// How many objects vote for each [`Strength`] of a group; the first number counts the objects that
/// cannot tell in this round.
type Votes = [u32; 4];

struct Groups {
    /// The group of each edge, with the mark [`COPY`] if it may be a copy.
    of_edge: Vec<u32>,
    /// The groups in the order of [`Links::all_incoming`], so that they are read in sequence: most
    /// of the time goes into memory accesses.
    of_incoming: Vec<u32>,
    votes: Vec<Votes>,
    decided: Vec<Strength>,
}

/// Returns a holder's key: an object's type, or up to `depth` fields that lead to an allocation.
fn holder_key(graph: &Graph, links: &Links, node: NodeId, depth: usize) -> u64 {
    if let Some(object) = graph.object(node) {
        return u64::from(object.type_id);
    }
    let first = links.incoming(node).first();
    match first.map(|edge| graph.edges[*edge as usize]) {
        Some(edge) if depth > 0 => {
            let holder = holder_key(graph, links, edge.from, depth - 1);
            // The offset of an element in a buffer means nothing.
            let in_object = (edge.from as usize) < graph.objects;
            mix([holder, 1, if in_object { edge.offset.into() } else { 0 }])
        }
        _ => mix([graph.nodes[node as usize].bytes, 2, 0]),
    }
}

impl Groups {
    fn new(graph: &Graph, links: &Links, counts: &[Counts]) -> Self {
        let mut ids: FxHashMap<u64, u32> = FxHashMap::default();
        let mut of_edge = vec![IGNORED; graph.edges.len()];
        let mut holder = (NodeId::MAX, 0);
        // The last allocation with a word to each object, separately for the two halves of pairs.
        let mut last = vec![[NodeId::MAX; 2]; counts.len()];
        for (edge, group) in graph.edges.iter().zip(&mut of_edge) {
            let from = counts.get(edge.from as usize);
            let (Some(to), false) = (
                counts.get(edge.to as usize),
                from.is_some_and(|from| !from.alive),
            ) else {
                continue;
            };
            if edge.kind == EdgeKind::Counted {
                *group = COUNTED;
                continue;
            }
            if holder.0 != edge.from {
                holder = (edge.from, holder_key(graph, links, edge.from, 3));
            }
            // Elements of a buffer are one group, or two if they are pairs.
            let place = if from.is_some() {
                edge.offset
            } else {
                edge.offset & 8
            };
            let next = ids.len() as u32;
            let key = mix([holder.1, place.into(), to.type_id.into()]);
            *group = *ids.entry(key).or_insert(next);
            if from.is_none() {
                let last = &mut last[edge.to as usize][usize::from(place == 0)];
                if std::mem::replace(last, edge.from) == edge.from {
                    *group |= COPY;
                }
            }
        }
        let incoming = links.all_incoming().iter();
        Self {
            of_incoming: incoming.map(|edge| of_edge[*edge as usize]).collect(),
            of_edge,
            votes: vec![Votes::default(); ids.len()],
            decided: vec![Strength::Unknown; ids.len()],
        }
    }

    fn strength(&self, group: u32, to: Counts) -> Strength {
        match self.decided[group as usize] {
            Strength::Unknown if to.weak == 0 && to.strong > 0 => Strength::Strong,
            Strength::Weak if to.weak == 0 => Strength::Uncounted,
            decided => decided,
        }
    }

    /// Decides each group by a clear majority of its votes. A group becomes uncounted only if few
    /// of the objects that its words refer to cannot tell: because of stale words in memory that
    /// was never written, a few objects may seem to need no word of a group that holds the others.
    fn decide(&mut self) {
        for (votes, decided) in self.votes.iter_mut().zip(&mut self.decided) {
            let open = std::mem::take(&mut votes[Strength::Unknown as usize]);
            let [_, strong, weak, uncounted] = *votes;
            let sum = strong + weak + uncounted;
            let clear = |n: u32, of: u32| n > 0 && u64::from(n) * 20 >= u64::from(of) * 19;
            *decided = if clear(strong, sum) {
                Strength::Strong
            } else if clear(weak, sum) {
                Strength::Weak
            } else if clear(uncounted, sum + open) {
                Strength::Uncounted
            } else {
                Strength::Unknown
            };
        }
    }

    /// Votes for the groups of the words that refer to `node`, if the counts decide their
    /// strengths. Returns `false` if the next round must try `node` again.
    ///
    /// Copies may be left in other allocations, too: in a buffer, a table, or a future that was
    /// moved into another. So if references lack words, a group that would be uncounted gets a
    /// strong vote if roots lead to one of its words: that word may be the reference.
    fn solve<'r>(
        &mut self,
        graph: &Graph,
        links: &Links,
        node: NodeId,
        to: Counts,
        reachable: impl Fn() -> &'r [bool],
    ) -> bool {
        let roots = links.roots(node).iter();
        let roots = roots.map(|root| graph.roots[*root as usize].counted);
        let mut left = Left {
            strong: Unexplained::new(to.strong),
            weak: Unexplained::new(to.weak),
        };
        left.strong.references -= roots.clone().map(i64::from).sum::<i64>();
        let mut open = [Words::default(); MAX_GROUPS];
        let mut n = 0;
        for mark in &self.of_incoming[links.incoming_range(node)] {
            if *mark >= IGNORED {
                left.strong.references -= i64::from(*mark == COUNTED);
                continue;
            }
            let group = *mark & !COPY;
            let word = Words {
                group,
                words: 1,
                copies: i64::from(*mark != group),
            };
            match self.decided[group as usize] {
                Strength::Strong => left.strong.explain(word),
                Strength::Weak => left.weak.explain(word),
                Strength::Uncounted => {}
                Strength::Unknown => match open[..n].iter_mut().find(|open| open.group == group) {
                    Some(open) => open.add(word),
                    None if n == MAX_GROUPS => return self.cannot_tell(&open),
                    None => {
                        open[n] = word;
                        n += 1;
                    }
                },
            }
        }
        let open = &open[..n];
        if open.is_empty() {
            return true;
        }
        let Some((found, missing)) = left.only_assignment(open) else {
            return self.cannot_tell(open);
        };
        let outside = roots.filter(|counted| *counted == 0).count();
        let missing = missing > outside as i64;
        let is_reachable = |group: u32| {
            let marks = &self.of_incoming[links.incoming_range(node)];
            let incoming = links.incoming(node).iter().zip(marks);
            let mut of_group = incoming.filter(|(_, mark)| **mark & !COPY == group);
            of_group.any(|(edge, _)| reachable()[graph.edges[*edge as usize].from as usize])
        };
        for (Words { group, .. }, strength) in open.iter().zip(found) {
            let is_copied = missing && strength == Strength::Uncounted && is_reachable(*group);
            let strength = if is_copied {
                Strength::Strong
            } else {
                strength
            };
            self.votes[*group as usize][strength as usize] += 1;
        }
        true
    }

    /// Notes for each of these groups that an object cannot tell its strength. Returns `false`.
    fn cannot_tell(&mut self, groups: &[Words]) -> bool {
        for words in groups {
            self.votes[words.group as usize][Strength::Unknown as usize] += 1;
        }
        false
    }
}

/// The words of a group that refer to one object.
#[derive(Clone, Copy, Default)]
struct Words {
    group: u32,
    words: i64,
    /// How many of `words` may be copies.
    copies: i64,
}

impl Words {
    fn add(&mut self, other: Self) {
        self.words += other.words;
        self.copies += other.copies;
    }
}

/// References of one kind to an object that no words explain yet.
#[derive(Clone, Copy)]
struct Unexplained {
    references: i64,
    /// Words that explain one further reference each, unless they are copies.
    copies: i64,
}

impl Unexplained {
    fn new(references: u32) -> Self {
        Self {
            references: references.into(),
            copies: 0,
        }
    }

    fn explain(&mut self, words: Words) {
        self.references -= words.words - words.copies;
        self.copies += words.copies;
    }
}

/// The references of an object that are not assigned to words yet.
#[derive(Clone, Copy)]
struct Left {
    strong: Unexplained,
    weak: Unexplained,
}

impl Left {
    /// Returns the strength of each group, if one assignment fits better than all others: its
    /// number of references without a word and of words without a reference is the least. Also
    /// returns how many strong references have no word.
    fn only_assignment(self, groups: &[Words]) -> Option<([Strength; MAX_GROUPS], i64)> {
        let (mut least, mut found) = (i64::MAX, None);
        for number in 0..3_usize.pow(groups.len() as u32) {
            let mut digits = number;
            let mut assignment = [Strength::Unknown; MAX_GROUPS];
            let (mut strong, mut weak, mut uncounted) = (self.strong, self.weak, 0);
            for (at, words) in groups.iter().enumerate() {
                assignment[at] =
                    [Strength::Strong, Strength::Weak, Strength::Uncounted][digits % 3];
                match assignment[at] {
                    Strength::Strong => strong.explain(*words),
                    Strength::Weak => weak.explain(*words),
                    _ => uncounted += words.words,
                }
                digits /= 3;
            }
            if strong.references < 0 || weak.references < 0 {
                continue;
            }
            let [strong, weak] = [strong, weak].map(|left| left.references - left.copies);
            let cost = strong.abs() + weak.abs() + uncounted;
            if cost < least {
                (least, found) = (cost, Some((assignment, strong)));
            } else if cost == least {
                found = None;
            }
        }
        found
    }
}
