//! Finds objects that only the library holds: forgotten pools, kept values, and objects that wait
//! for a drain that does not come.

use super::finding::Finding;
use crate::analysis::Analysis;
use crate::analysis::reach::Level;
use crate::analysis::signature::Hop;
use crate::analysis::verdict::Verdict;
use crate::graph::RootKind;
use std::collections::HashMap;

/// Finds what only the library holds, where `at_least` things wait, or where nothing will ever
/// release it. There may be millions, so they are not collected.
pub fn find(analysis: &Analysis<'_>, at_least: u64) -> impl Iterator<Item = Finding> {
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
