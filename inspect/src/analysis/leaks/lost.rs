//! Cycles, references without a holder, and what they hold.

use super::finding::Finding;
use crate::analysis::Analysis;
use crate::analysis::balance::Balance;
use crate::analysis::components::{Components, unheld};
use crate::analysis::cycles::{self, Search, is_suspect};
use crate::analysis::signature::{Hop, canonical};
use crate::analysis::verdict::Verdict;
use crate::graph::NodeId;

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
