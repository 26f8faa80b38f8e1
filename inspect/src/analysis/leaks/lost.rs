//! Finds leaks, before those that are alike are grouped: cycles, references without a holder, and what
//! only the library holds.

use crate::analysis::Analysis;
use crate::analysis::balance::Balance;
use crate::analysis::cycles::{self, Search, is_suspect};
use crate::analysis::cycles::{Components, unheld};
use crate::analysis::path::{Hop, canonical};
use crate::analysis::reach::Level;
use crate::analysis::verdict::Verdict;
use crate::graph::{NodeId, RootKind};
use std::collections::HashMap;

/// One leak.
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    /// An index into [`Graph::labels`](crate::graph::Graph::labels).
    pub(super) label: Option<u32>,
    pub(super) path: Vec<Hop>,
    /// The node that stands for all of the leak.
    pub(super) leader: NodeId,
    /// Objects and bytes of the leak itself, without what it retains.
    pub(super) objects: u64,
    pub(super) bytes: u64,
    /// References without a holder.
    pub(super) missing: u64,
}

impl Finding {
    /// Returns whether the leak is what waits for a drain.
    pub(super) fn is_waiting(&self) -> bool {
        use Verdict as V;
        matches!(self.verdict, V::Pool | V::Inbox | V::Backlog | V::Orphan)
    }
}

/// Finds what leaks although nothing of the library waits for it.
pub fn find(analysis: &Analysis<'_>) -> Vec<Finding> {
    let components = unheld(analysis);
    let mut finder = Finder {
        analysis,
        components: &components,
        search: Search::new(analysis.graph.nodes.len()),
        found: Vec::new(),
    };
    for component in 0..components.len() {
        if components.is_source(analysis, component) {
            finder.judge(component);
        }
    }
    finder.more_references();
    finder.found
}

struct Finder<'a, 'g> {
    analysis: &'a Analysis<'g>,
    components: &'a Components,
    search: Search,
    found: Vec<Finding>,
}

impl Finder<'_, '_> {
    fn judge(&mut self, component: usize) {
        let components = self.components;
        let members = components.members(component);
        if components.is_cycle(self.analysis, component) {
            self.judge_cycle(component, members);
        } else if !is_suspect(self.analysis, members) {
            self.judge_single(members[0]);
        }
    }

    fn judge_cycle(&mut self, component: usize, members: &[NodeId]) {
        let analysis = self.analysis;
        let Some((verdict, missing)) = cycles::judge(analysis, members) else {
            return;
        };
        // An object, if there is one, of the first type by name: the cycle through it is the same in
        // other graphs, whatever the addresses are.
        let leader = members
            .iter()
            .copied()
            .min_by_key(|node| {
                let name = analysis.type_name(*node);
                (name.is_none(), name, *node)
            })
            .expect("a component has members");
        let inside = |node: NodeId| self.components.of[node as usize] == component as u32;
        let Some(mut path) = self.search.cycle(analysis, leader, inside) else {
            return;
        };
        canonical(analysis, &mut path);
        if verdict == Verdict::AllocationCycle {
            let Some(mut end) = self.search.path_to_object(analysis, leader) else {
                return;
            };
            path.append(&mut end);
        }
        self.add(verdict, path, leader, members, missing);
    }

    fn judge_single(&mut self, node: NodeId) {
        let analysis = self.analysis;
        let Some(object) = analysis.object(node) else {
            if let Some(path) = self.search.path_to_object(analysis, node) {
                self.add(Verdict::Allocation, path, node, &[node], 0);
            }
            return;
        };
        let missing = Balance::new(analysis, node, object).without_word();
        if object.alive && object.strong > 0 && missing > 0 {
            let path = vec![Hop::end(node)];
            self.add(Verdict::NoHolder, path, node, &[node], missing as u64);
        }
    }

    /// Finds objects that are held, but have more references than words.
    fn more_references(&mut self) {
        let analysis = self.analysis;
        let mut reported = vec![false; analysis.graph.objects];
        for found in &self.found {
            let component = self.components.of[found.leader as usize] as usize;
            for member in self.components.members(component) {
                if let Some(reported) = reported.get_mut(*member as usize) {
                    *reported = true;
                }
            }
        }
        for node in 0..analysis.graph.objects as NodeId {
            let Some(object) = analysis.object(node).filter(|object| object.alive) else {
                continue;
            };
            if reported[node as usize] {
                continue;
            }
            let missing = Balance::new(analysis, node, object).without_word();
            if missing > 0 {
                let path = vec![Hop::end(node)];
                self.add(Verdict::MoreReferences, path, node, &[node], missing as u64);
            }
        }
    }

    fn add(
        &mut self,
        verdict: Verdict,
        path: Vec<Hop>,
        leader: NodeId,
        members: &[NodeId],
        missing: u64,
    ) {
        let graph = self.analysis.graph;
        let objects = members
            .iter()
            .filter(|node| (**node as usize) < graph.objects);
        let bytes = members.iter().map(|node| graph.nodes[*node as usize].bytes);
        self.found.push(Finding {
            verdict,
            label: None,
            path,
            leader,
            objects: objects.count() as u64,
            bytes: bytes.sum(),
            missing,
        });
    }
}

/// Finds what only the library holds, where `at_least` things wait, or where nothing will ever
/// release it. There may be millions, so they are not collected.
pub fn waiting(analysis: &Analysis<'_>, at_least: u64) -> impl Iterator<Item = Finding> {
    let graph = analysis.graph;
    let mut lengths: HashMap<(RootKind, u32), u64> = HashMap::new();
    for root in &graph.roots {
        if Verdict::of(root.kind).is_some() {
            *lengths.entry((root.kind, root.label)).or_default() += u64::from(root.counted.max(1));
        }
    }
    let mut seen = vec![false; graph.nodes.len()];
    graph.roots.iter().filter_map(move |root| {
        let verdict = Verdict::of(root.kind)?;
        let length = lengths[&(root.kind, root.label)];
        let certain = matches!(verdict, Verdict::ForgottenPool | Verdict::Kept);
        let held_elsewhere = analysis.reach.level(root.to) < Level::Pool
            || certain && analysis.reach.is_held(root.to);
        if held_elsewhere || !certain && length < at_least || seen[root.to as usize] {
            return None;
        }
        seen[root.to as usize] = true;
        let is_object = (root.to as usize) < graph.objects;
        Some(Finding {
            verdict,
            label: Some(root.label),
            path: vec![Hop::end(root.to)],
            leader: root.to,
            objects: u64::from(is_object),
            bytes: graph.nodes[root.to as usize].bytes,
            missing: 0,
        })
    })
}
