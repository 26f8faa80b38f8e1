//! Finds the holder of a plain allocation: the first object or root on the way up through other
//! allocations. A `Vec` in an object, for example, has its buffer as an allocation of its own.

use super::Analysis;
use crate::graph::{NodeId, RootKind};
use std::collections::HashMap;

/// The holder of a plain allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// An object, by the word at this offset.
    Object {
        /// The object's type.
        type_id: u32,
        /// The offset of the word in the object.
        offset: u32,
    },
    /// A root.
    Root {
        /// The kind of the root.
        kind: RootKind,
        /// An index into [`Graph::labels`](crate::graph::Graph::labels).
        label: u32,
    },
    /// Nothing refers to the allocation, or only allocations that nothing else holds.
    Nothing,
}

/// Finds owners and remembers them, so that each allocation is searched once.
#[derive(Default)]
pub struct Owners {
    known: HashMap<NodeId, Owner>,
}

impl Owners {
    /// Returns what holds a plain allocation. Variables and lists of the library come before
    /// objects, and objects before words that may be stale. All calls together take linear time.
    pub fn of(&mut self, analysis: &Analysis<'_>, allocation: NodeId) -> Owner {
        let mut passed = Vec::new();
        let mut doubtful = None;
        let mut at = Some(allocation);
        let mut owner = Owner::Nothing;
        while let Some(node) = at.take() {
            if let Some(known) = self.known.get(&node) {
                owner = *known;
                break;
            }
            // This entry stands while the search runs: a search that comes back to `node` has found
            // no holder.
            self.known.insert(node, Owner::Nothing);
            passed.push(node);
            if let Some(root) = best_root(analysis, node) {
                if root.0 < RootKind::Anonymous {
                    owner = owner_of(root);
                    break;
                }
                doubtful = doubtful.or(Some(root));
            }
            let mut holders = analysis.held_by(node);
            let object = holders.find_map(|edge| {
                let edge = analysis.graph.edges[edge];
                let object = analysis.object(edge.from)?;
                Some(Owner::Object {
                    type_id: object.type_id,
                    offset: edge.offset,
                })
            });
            if let Some(object) = object {
                owner = object;
                break;
            }
            let mut holders = analysis.held_by(node);
            let holder = holders.next();
            at = holder.map(|edge| analysis.graph.edges[edge].from);
        }
        if owner == Owner::Nothing {
            owner = doubtful.map_or(owner, owner_of);
        }
        self.known
            .extend(passed.into_iter().map(|node| (node, owner)));
        owner
    }
}

fn owner_of((kind, label): (RootKind, u32)) -> Owner {
    Owner::Root { kind, label }
}

/// Returns kind and label of the most certain root that refers to a node.
fn best_root(analysis: &Analysis<'_>, node: NodeId) -> Option<(RootKind, u32)> {
    let roots = analysis.links.roots(node).iter();
    let roots = roots.map(|root| &analysis.graph.roots[*root as usize]);
    roots.map(|root| (root.kind, root.label)).min()
}

#[cfg(test)]
mod tests {
    use super::{Owner, Owners};
    use crate::analysis::Analysis;
    use crate::analysis::synthetic::graph;
    use crate::graph::RootKind;

    #[test]
    fn owner_is_the_first_object_or_root_above_allocations() {
        // A variable comes before an object, as it is more certain.
        let graph = graph(
            "Game: 1, Player: 4, list: plain 64, buffer: plain 64, global: plain 64, \
             stale: plain 64, lost: plain 64, ring: plain 64, buffer +0 Player, global +0 Player, \
             stale +0 Player, lost +0 Player, Game +24 list, list +8 buffer, ring +0 ring, \
             ring +8 lost, Game +0 global, static global, stack stale, stack list",
        );
        let analysis = Analysis::new(&graph);
        let object = Owner::Object {
            type_id: 0,
            offset: 24,
        };
        let root = |kind, label| Owner::Root { kind, label };
        let [list, buffer, global, stale, lost, ring] = [2, 3, 4, 5, 6, 7];
        let expected = [
            (buffer, object),
            (list, object),
            (global, root(RootKind::Static, 0)),
            (stale, root(RootKind::Stack, 1)),
            (lost, Owner::Nothing),
            (ring, Owner::Nothing),
        ];
        let mut owners = Owners::default();
        for (plain, owner) in expected {
            assert_eq!(owners.of(&analysis, plain), owner, "{plain}");
            assert_eq!(Owners::default().of(&analysis, plain), owner, "{plain}");
        }
    }
}
