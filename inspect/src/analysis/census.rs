//! Objects and bytes by type.

use crate::graph::{Graph, NodeKind};
use serde::{Deserialize, Serialize};

/// The objects of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCount {
    /// The name of the type.
    pub name: String,
    /// How many objects are alive.
    pub objects: u64,
    /// Their bytes, with headers, without what they hold.
    pub bytes: u64,
    /// Destroyed values whose memory weak references keep.
    pub dead: u64,
}

/// Counts the objects of each type, in the order of the graph's types.
pub fn by_type(graph: &Graph) -> Vec<TypeCount> {
    let names = graph.types.iter();
    let mut counts: Vec<TypeCount> = names
        .map(|name| TypeCount {
            name: name.clone(),
            ..TypeCount::default()
        })
        .collect();
    for node in &graph.nodes[..graph.objects] {
        let NodeKind::Object(object) = &node.kind else {
            continue;
        };
        let Some(count) = counts.get_mut(object.type_id as usize) else {
            continue;
        };
        count.bytes += node.bytes;
        if object.alive {
            count.objects += 1;
        } else {
            count.dead += 1;
        }
    }
    counts
}
