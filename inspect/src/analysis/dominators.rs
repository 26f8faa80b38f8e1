//! Dominators: the last node that each path from a root must pass.
//!
//! The algorithm is Semi-NCA (Georgiadis): semidominators as Lengauer and Tarjan compute them, with
//! path compression, then the nearest common ancestor of each node's parent and semidominator.

use std::ops::Range;

const NONE: u32 = u32::MAX;

/// The dominator tree of what can be reached from some entries.
pub struct Dominators {
    /// The nodes in the order in which a depth-first search has seen them.
    order: Vec<u32>,
    /// The position of each node in `order`; `NONE` if it was not reached.
    position: Vec<u32>,
    /// For each position that of the dominator; the virtual root has position 0.
    dominator: Vec<u32>,
}

/// The results of a depth-first search, by position. Position 0 is a virtual root.
struct Search {
    order: Vec<u32>,
    position: Vec<u32>,
    parent: Vec<u32>,
}

/// Searches from each entry. The successors of a node are those between `next` and `None`.
fn search<I>(nodes: usize, entries: &[u32], successors: &impl Fn(u32) -> I) -> Search
where
    I: Iterator<Item = u32>,
{
    let mut found = Search {
        order: vec![NONE],
        position: vec![NONE; nodes],
        parent: vec![0],
    };
    let mut visits: Vec<(u32, I)> = Vec::new();
    for entry in entries {
        let mut enter = Some((*entry, 0));
        loop {
            if let Some((node, parent)) = enter.take() {
                if found.position[node as usize] == NONE {
                    let position = found.order.len() as u32;
                    found.position[node as usize] = position;
                    found.order.push(node);
                    found.parent.push(parent);
                    visits.push((position, successors(node)));
                }
            }
            let Some((position, rest)) = visits.last_mut() else {
                break;
            };
            match rest.find(|to| found.position[*to as usize] == NONE) {
                Some(to) => enter = Some((to, *position)),
                None => drop(visits.pop()),
            }
        }
    }
    found
}

/// The forest of positions by which semidominators are computed, from the last position to the
/// first.
struct Forest {
    /// Initially the parent; path compression replaces it with positions further up.
    ancestor: Vec<u32>,
    /// The position with the least semidominator between here and the ancestor.
    label: Vec<u32>,
    semi: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// Returns the position with the least semidominator among `v` and its ancestors from `linked`
    /// on, and shortens the path to them.
    fn evaluate(&mut self, v: u32, linked: u32) -> u32 {
        let mut at = v as usize;
        while self.ancestor[at] >= linked {
            self.path.push(at as u32);
            at = self.ancestor[at] as usize;
        }
        let top = self.ancestor[at];
        let mut best = self.label[at];
        while let Some(below) = self.path.pop() {
            let below = below as usize;
            self.ancestor[below] = top;
            if self.semi[best as usize] < self.semi[self.label[below] as usize] {
                self.label[below] = best;
            }
            best = self.label[below];
        }
        best
    }
}

/// Finds the dominators of all nodes that can be reached from the entries.
pub fn dominators<S, P, I, J>(
    nodes: usize,
    entries: &[u32],
    successors: S,
    predecessors: P,
) -> Dominators
where
    S: Fn(u32) -> I,
    P: Fn(u32) -> J,
    I: Iterator<Item = u32>,
    J: Iterator<Item = u32>,
{
    let Search {
        order,
        position,
        parent,
    } = search(nodes, entries, &successors);
    let n = order.len() as u32;
    let mut is_entry = vec![false; n as usize];
    for entry in entries {
        is_entry[position[*entry as usize] as usize] = true;
    }
    let mut forest = Forest {
        ancestor: parent.clone(),
        label: (0..n).collect(),
        semi: (0..n).collect(),
        path: Vec::new(),
    };
    for v in (1..n).rev() {
        let mut least = if is_entry[v as usize] {
            0
        } else {
            parent[v as usize]
        };
        for from in predecessors(order[v as usize]) {
            let from = position[from as usize];
            if from != NONE {
                let best = forest.evaluate(from, v + 1);
                least = least.min(forest.semi[best as usize]);
            }
        }
        forest.semi[v as usize] = least;
    }
    let semi = forest.semi;
    // The dominator of a position is an ancestor, so those are known already.
    let mut dominator = parent;
    for v in 1..n as usize {
        let mut at = dominator[v];
        while at > semi[v] {
            at = dominator[at as usize];
        }
        dominator[v] = at;
    }
    Dominators {
        order,
        position,
        dominator,
    }
}

impl Dominators {
    /// Returns for each node the sum of `weight` over all nodes that it dominates, itself included;
    /// zero for nodes that were not reached.
    pub fn sums(&self, weight: impl Fn(u32) -> u64) -> Vec<u64> {
        let mut by_position: Vec<u64> = self
            .order
            .iter()
            .map(|node| match *node {
                NONE => 0,
                node => weight(node),
            })
            .collect();
        for v in (1..by_position.len()).rev() {
            by_position[self.dominator[v] as usize] += by_position[v];
        }
        let sums = self.position.iter().map(|position| match *position {
            NONE => 0,
            position => by_position[position as usize],
        });
        sums.collect()
    }

    /// Returns for each node where its subtree is, when the tree is laid out so that each subtree is
    /// in one piece: nodes whose ranges overlap dominate each other, the longer range the shorter.
    /// Empty for nodes that were not reached.
    pub fn subtrees(&self) -> Vec<Range<u32>> {
        let mut sizes = vec![1_u32; self.order.len()];
        for v in (1..sizes.len()).rev() {
            sizes[self.dominator[v] as usize] += sizes[v];
        }
        // Where the next subtree below each position begins. Dominators come first.
        let mut next = vec![1_u32; self.order.len()];
        let mut starts = vec![0; self.order.len()];
        for v in 1..sizes.len() {
            let free = &mut next[self.dominator[v] as usize];
            starts[v] = *free;
            *free += sizes[v];
            next[v] = starts[v] + 1;
        }
        let subtrees = self.position.iter().map(|position| match *position {
            NONE => 0..0,
            position => {
                let (start, size) = (starts[position as usize], sizes[position as usize]);
                start..start + size
            }
        });
        subtrees.collect()
    }
}
