//! Makes reports from an analysis.

mod words;

use super::subject::Subject;
use super::wire::{self, Document, Report, VERSION};
use crate::analysis::Analysis;
use crate::analysis::Balance;
use crate::analysis::containers::by_type;
use crate::analysis::diff;
use crate::analysis::leaks::{Limits, Suspects, leaks};
use crate::analysis::path::{Origin, Path};
use crate::analysis::paths;
use crate::analysis::verdict::Group;
use crate::graph::{Graph, NodeId};

pub use words::{held, holders};

use words::{hex, hops, node, shorten};

/// Makes a document of a report.
pub fn document(graph: &Graph, report: Report) -> Document {
    Document {
        version: VERSION,
        caveats: graph.caveats.clone(),
        report,
    }
}

/// Returns objects that are alive, and their bytes.
pub fn sizes(graph: &Graph) -> (u64, u64) {
    let alive = graph.alive();
    alive.fold((0, 0), |(n, bytes), node| (n + 1, bytes + node.bytes))
}

/// Makes the report of `top`.
pub fn top(graph: &Graph, limit: Option<usize>) -> wire::Top {
    let mut counts = by_type(graph);
    counts.retain(|count| count.objects + count.dead > 0);
    counts.sort_by(|a, b| (b.bytes, &a.name).cmp(&(a.bytes, &b.name)));
    let all_types = shorten(&mut counts, limit);
    let (objects, bytes) = sizes(graph);
    wire::Top {
        objects,
        bytes,
        created: graph.totals.created,
        destroyed: graph.totals.destroyed,
        kept: graph.totals.kept,
        types: counts,
        all_types,
        threads: graph.threads.clone(),
    }
}

fn group(analysis: &Analysis<'_>, group: &Group) -> wire::Group {
    let samples = group.samples.iter();
    let address = |node: &NodeId| hex(analysis.graph.nodes[*node as usize].address);
    wire::Group {
        verdict: group.verdict,
        description: group.verdict.text().to_owned(),
        holder: Some(group.label.clone()).filter(|label| !label.is_empty()),
        figures: group.figures,
        path: hops(analysis, &group.path),
        samples: samples.map(address).collect(),
    }
}

/// Makes the report of `leaks`.
pub fn leak_report(
    analysis: &Analysis<'_>,
    limits: &Limits,
    before: Option<&Suspects>,
    limit: Option<usize>,
) -> wire::Leaks {
    let (hints, mut found): (Vec<_>, Vec<_>) = leaks(analysis, limits, before)
        .into_iter()
        .partition(|group| group.verdict.is_hint());
    let all_groups = shorten(&mut found, limit);
    let (objects, bytes) = sizes(analysis.graph);
    let show = |groups: Vec<Group>| groups.iter().map(|found| group(analysis, found)).collect();
    wire::Leaks {
        objects,
        bytes,
        groups: show(found),
        hints: show(hints),
        all_groups,
    }
}

fn origin_name(origin: &Origin) -> Option<&'static str> {
    match origin {
        Origin::Root(kind) => Some(kind.name()),
        Origin::Cycle(_) => Some("cycle"),
        Origin::Leak => Some("leak"),
        Origin::Nothing => None,
    }
}

fn path(analysis: &Analysis<'_>, path: &Path) -> wire::Path {
    wire::Path {
        root: origin_name(&path.origin).map(str::to_owned),
        label: path.label.clone(),
        confidence: path.confidence,
        cycle: match &path.origin {
            Origin::Cycle(cycle) => hops(analysis, cycle),
            _ => Vec::new(),
        },
        hops: hops(analysis, &path.hops),
        objects: 1,
        bytes: 0,
    }
}

/// Makes the report of `why`.
pub fn why(analysis: &Analysis<'_>, subject: &Subject, limit: Option<usize>) -> wire::Why {
    let mut paths: Vec<wire::Path> = match subject {
        Subject::Node(node) => {
            let bytes = analysis.graph.nodes[*node as usize].bytes;
            let found = paths::paths_to(analysis, *node, limit.unwrap_or(usize::MAX)).into_iter();
            let found = found.map(|found| wire::Path {
                bytes,
                ..path(analysis, &found)
            });
            found.collect()
        }
        Subject::Type(type_id) => {
            let ways = paths::ways(analysis, *type_id).into_iter();
            let ways = ways.map(|way| wire::Path {
                objects: way.objects,
                bytes: way.bytes,
                ..path(analysis, &way.path)
            });
            ways.collect()
        }
    };
    let all_paths = shorten(&mut paths, limit);
    let (node, references) = match subject {
        Subject::Node(at) => (Some(node(analysis, *at)), references(analysis, *at)),
        Subject::Type(_) => (None, None),
    };
    wire::Why {
        node,
        references,
        paths,
        all_paths,
    }
}

fn references(analysis: &Analysis<'_>, node: NodeId) -> Option<wire::References> {
    let object = analysis.object(node)?;
    let balance = Balance::new(analysis, node, object);
    Some(wire::References {
        without_word: balance.without_word(),
        balance,
    })
}

/// Makes the report of `diff`.
pub fn diff_report(
    before: &Analysis<'_>,
    after: &Analysis<'_>,
    limits: &Limits,
    limit: Option<usize>,
) -> wire::Diff {
    let found = diff::diff(before, after, limits);
    let mut types = found.types;
    let all_types = shorten(&mut types, limit);
    let grown = found.grown.into_iter().map(|grown| wire::Grown {
        type_name: grown.type_name,
        references: grown.references,
        path: paths::path_to(after, grown.node).map(|found| path(after, &found)),
    });
    let leaks = found.leaks.iter().map(|(found, more)| wire::MoreLeaks {
        more: *more,
        group: group(after, found),
    });
    let pid = |analysis: &Analysis<'_>| analysis.graph.process.as_ref().map(|of| of.pid);
    wire::Diff {
        pids: [pid(before), pid(after)],
        same_process: found.is_same_process,
        swapped: found.is_swapped,
        types,
        all_types,
        grown: grown.take(limit.unwrap_or(usize::MAX)).collect(),
        longer: found
            .longer
            .into_iter()
            .take(limit.unwrap_or(usize::MAX))
            .collect(),
        leaks: leaks.take(limit.unwrap_or(usize::MAX)).collect(),
    }
}
