//! Finds leaks and their causes, grouped by the types along the path.

mod lost;
#[cfg(test)]
mod moved_tests;
#[cfg(test)]
mod verdict_tests;

use super::Analysis;
use super::path::signature;
use super::retained::{Retained, retained};
use super::verdict::{Figures, Group};
use crate::graph::NodeId;
use lost::Finding;
use std::collections::{HashMap, HashSet};

/// From which size on something is reported that may be intended.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Limits {
    /// Report pools, inboxes and backlogs with this many objects that nothing else holds
    #[arg(long, value_name = "N", default_value_t = Limits::default().waiting)]
    pub waiting: u64,
    /// Mention containers with this many references to objects of one type
    #[arg(long, value_name = "N", default_value_t = Limits::default().container)]
    pub container: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            waiting: 10_000,
            container: 10_000,
        }
    }
}

/// How many addresses a group has.
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

/// Returns what seems to leak, of what seemed so `before`. In a look at a process something may be in
/// flight, such as a message that a thread has just taken out of its inbox; leaks stay where they
/// are.
pub fn suspects(analysis: &Analysis<'_>, before: Option<&Suspects>) -> Suspects {
    let found = lost::find(analysis);
    let found = found
        .iter()
        .filter(|found| before.is_none_or(|before| before.has(analysis, found)));
    Suspects(found.map(|found| suspect(analysis, found)).collect())
}

/// Finds all leaks, of those that were suspected before if that is known; those that retain the most
/// bytes come first, hints last.
pub fn leaks(analysis: &Analysis<'_>, limits: &Limits, before: Option<&Suspects>) -> Vec<Group> {
    let mut findings = lost::find(analysis);
    findings.retain(|found| before.is_none_or(|before| before.has(analysis, found)));
    let waiting = || lost::waiting(analysis, limits.waiting);
    let is_entry = |found: &Finding| {
        let is_entry = !analysis.reach.is_held(found.leader) || found.is_waiting();
        is_entry.then_some(found.leader)
    };
    let mut entries: Vec<NodeId> = findings.iter().filter_map(is_entry).collect();
    entries.extend(waiting().filter_map(|found| is_entry(&found)));
    entries.sort_unstable();
    entries.dedup();
    let sizes = (!entries.is_empty()).then(|| {
        let part = |node| analysis.reach.level(node) >= super::reach::Level::Pool;
        retained(analysis, &entries, part)
    });
    let mut groups = group(
        analysis,
        findings.into_iter().chain(waiting()),
        sizes.as_ref(),
    );
    groups.extend(super::containers::large(analysis, limits.container));
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
        // Those that are created at different places are mended at different places.
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
        // Objects that something else holds, too, would stay.
        figures.retained_objects = figures.retained_objects.max(figures.objects);
        figures.retained_bytes = figures.retained_bytes.max(figures.bytes);
    }
    groups
}
