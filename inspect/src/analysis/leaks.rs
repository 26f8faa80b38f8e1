//! Finds leaks and their causes: cycles, references without a holder, and what only the library
//! holds. Groups leaks by the types along their paths.

#[cfg(test)]
mod tests;

use super::cycles::{self, Components, Search, is_suspect, unheld};
use super::path::{Hop, canonical, signature};
use super::reach::Level;
use super::retained::{Retained, retained};
use super::verdict::{Figures, Group, Verdict};
use super::{Analysis, Balance};
use crate::graph::{NodeId, RootKind};
use std::collections::{HashMap, HashSet};

/// An open pool, inbox, backlog or container is reported if it has at least this many entries;
/// fewer are likely intended.
const MANY: u64 = 10_000;

/// The most leaks of a group whose addresses are shown.
const SAMPLES: usize = 5;

/// The leaks that an earlier look at a process suspected: addresses, with the types there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suspects(HashSet<(u64, String)>);

impl Suspects {
    /// Returns whether nothing seemed to leak.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, analysis: &Analysis<'_>, found: &Finding) -> bool {
        self.0.contains(&suspect(analysis, found))
    }
}

fn suspect(analysis: &Analysis<'_>, found: &Finding) -> (u64, String) {
    let name = analysis.type_name(found.leader).unwrap_or_default();
    (
        analysis.graph.nodes[found.leader as usize].address,
        name.to_owned(),
    )
}

/// Returns what seems to leak now and is in `before`, the suspects of earlier looks. During one
/// look at a process an object may be in flight, such as a message that a thread has just taken out
/// of its inbox; leaks stay where they are.
pub fn suspects(analysis: &Analysis<'_>, before: Option<&Suspects>) -> Suspects {
    let found = find(analysis);
    let found = found
        .iter()
        .filter(|found| before.is_none_or(|before| before.has(analysis, found)));
    Suspects(found.map(|found| suspect(analysis, found)).collect())
}

/// Finds all leaks, or only those among the suspects of earlier looks; those that retain the most
/// bytes come first, hints last.
pub fn leaks(analysis: &Analysis<'_>, before: Option<&Suspects>) -> Vec<Group> {
    let mut findings = find(analysis);
    findings.retain(|found| before.is_none_or(|before| before.has(analysis, found)));
    let waits = || waiting(analysis);
    let is_entry = |found: &Finding| {
        let is_entry = !analysis.reach.is_held(found.leader) || found.is_waiting();
        is_entry.then_some(found.leader)
    };
    let mut entries: Vec<NodeId> = findings.iter().filter_map(is_entry).collect();
    entries.extend(waits().filter_map(|found| is_entry(&found)));
    entries.sort_unstable();
    entries.dedup();
    let sizes = (!entries.is_empty()).then(|| {
        let part = |node| analysis.reach.level(node) >= Level::Pool;
        retained(analysis, &entries, part)
    });
    let mut groups = group(
        analysis,
        findings.into_iter().chain(waits()),
        sizes.as_ref(),
    );
    groups.extend(super::containers::large(analysis, MANY));
    groups.sort_by_key(|group| {
        let size = group.figures.retained_bytes.max(group.figures.bytes);
        (
            group.verdict.is_hint(),
            std::cmp::Reverse(size),
            group.path.first().map(|hop| hop.node),
        )
    });
    groups
}

fn group(
    analysis: &Analysis<'_>,
    findings: impl Iterator<Item = Finding>,
    sizes: Option<&Retained>,
) -> Vec<Group> {
    let graph = analysis.graph;
    let mut places: HashMap<(u64, Option<&str>), usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for found in findings {
        let label = found
            .label
            .and_then(|label| graph.labels.get(label as usize));
        let label = label.map_or("", String::as_str);
        // Objects that different sites created leak for different reasons: they are not one group.
        let site = graph.creation(found.leader).map(|creation| &*creation.site);
        let path = signature(analysis, found.verdict as u8, label, &found.path);
        let place = *places.entry((path, site)).or_insert_with(|| {
            groups.push(Group {
                verdict: found.verdict,
                label: label.to_owned(),
                path: found.path.clone(),
                figures: Figures::default(),
                samples: Vec::new(),
            });
            groups.len() - 1
        });
        let group = &mut groups[place];
        let figures = &mut group.figures;
        let leader = found.leader as usize;
        figures.leaks += 1;
        figures.objects += found.objects;
        figures.bytes += found.bytes;
        figures.missing += found.missing;
        if let Some(sizes) = sizes {
            figures.retained_objects += sizes.objects[leader];
            figures.retained_bytes += sizes.bytes[leader];
        }
        if group.samples.len() < SAMPLES {
            group.samples.push(found.leader);
        }
    }
    for Group { figures, .. } in &mut groups {
        // Retained sizes leave out objects that something else holds, too; the leak itself counts
        // fully.
        figures.retained_objects = figures.retained_objects.max(figures.objects);
        figures.retained_bytes = figures.retained_bytes.max(figures.bytes);
    }
    groups
}

/// One leak.
struct Finding {
    verdict: Verdict,
    /// An index into [`Graph::labels`](crate::graph::Graph::labels).
    label: Option<u32>,
    path: Vec<Hop>,
    /// The node that stands for all of the leak.
    leader: NodeId,
    /// Objects and bytes of the leak itself, without what it retains.
    objects: u64,
    bytes: u64,
    /// References without a holder.
    missing: u64,
}

impl Finding {
    /// Returns whether the leak only waits for a drain.
    fn is_waiting(&self) -> bool {
        use Verdict as V;
        matches!(self.verdict, V::Pool | V::Inbox | V::Backlog | V::Orphan)
    }
}

/// Finds all leaks but those that [`waiting`] finds.
fn find(analysis: &Analysis<'_>) -> Vec<Finding> {
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
        // The leader is the object with the least type name, if the cycle has objects: so names
        // decide before addresses, which differ from graph to graph.
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

    /// Finds objects outside of the leaks found so far that have more references than words.
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

/// Finds the nodes that only a list of the library holds, if the list has at least [`MANY`] entries
/// or will never be released. There may be millions of such nodes, so they are not collected.
fn waiting(analysis: &Analysis<'_>) -> impl Iterator<Item = Finding> {
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
        if held_elsewhere || !certain && length < MANY || seen[root.to as usize] {
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
