//! Finds what an argument names: an address, or a type.

use crate::graph::{Graph, NodeId, NodeKind};

/// What a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The node at an address.
    Node(NodeId),
    /// All objects of a type.
    Type(u32),
}

/// Why an argument names nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FindError {
    /// Nothing is at the address.
    #[error(
        "no object or allocation is at {address:#x}; `top` shows types, and `why TYPE` addresses"
    )]
    NoNode {
        /// The address.
        address: u64,
    },
    /// No type has the name.
    #[error("no object's type has \"{name}\" in its name; `top` shows all types")]
    NoType {
        /// The name.
        name: String,
    },
    /// Several types have the name.
    #[error("\"{name}\" may be {first}, {second}{}; write more of it", .more.as_deref().unwrap_or(""))]
    Ambiguous {
        /// The name.
        name: String,
        /// A type that has it.
        first: String,
        /// Another one.
        second: String,
        /// How many more there are.
        more: Option<String>,
    },
}

/// Reads an address: hexadecimal with `0x`, or decimal.
fn address(argument: &str) -> Option<u64> {
    match argument.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => argument.parse().ok(),
    }
}

/// Finds the node that has the address in it.
fn containing(graph: &Graph, address: u64) -> Option<NodeId> {
    let (objects, plain) = graph.nodes.split_at(graph.objects);
    let last = |nodes: &[crate::graph::Node]| {
        let at = nodes.partition_point(|node| node.address <= address);
        let node = nodes.get(at.checked_sub(1)?)?;
        (address - node.address < node.bytes).then(|| at - 1)
    };
    let at = last(objects).or_else(|| Some(objects.len() + last(plain)?))?;
    Some(at as NodeId)
}

/// Returns whether `wanted` is the name, or its last words, without generic arguments.
fn ends_with(name: &str, wanted: &str) -> bool {
    let without = name.split('<').next().unwrap_or(name);
    [name, without].iter().any(|name| {
        let rest = name.strip_suffix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    })
}

/// Finds what an argument names. A type may be named by the end of its path, or by any part of it
/// that no other type has.
///
/// # Errors
///
/// See [`FindError`].
pub fn find(graph: &Graph, argument: &str) -> Result<Subject, FindError> {
    if let Some(address) = address(argument) {
        let node = graph
            .node_at(address)
            .or_else(|| containing(graph, address));
        return node.map(Subject::Node).ok_or(FindError::NoNode { address });
    }
    let mut used = vec![false; graph.types.len()];
    for node in &graph.nodes[..graph.objects] {
        if let NodeKind::Object(object) = &node.kind {
            if let Some(used) = used.get_mut(object.type_id as usize) {
                *used = true;
            }
        }
    }
    let types = || (0..graph.types.len()).filter(|at| used[*at]);
    let by = |matches: &dyn Fn(&str) -> bool| -> Vec<usize> {
        types().filter(|at| matches(&graph.types[*at])).collect()
    };
    let exact = by(&|name| name == argument);
    let end = by(&|name| ends_with(name, argument));
    let part = by(&|name| name.contains(argument));
    let found = [exact, end, part]
        .into_iter()
        .find(|found| !found.is_empty());
    match found.as_deref() {
        None => Err(FindError::NoType {
            name: argument.to_owned(),
        }),
        Some([one]) => Ok(Subject::Type(*one as u32)),
        Some(several) => Err(FindError::Ambiguous {
            name: argument.to_owned(),
            first: graph.types[several[0]].clone(),
            second: graph.types[several[1]].clone(),
            more: (several.len() > 2).then(|| format!(" or {} others", several.len() - 2)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{FindError, Subject, find};
    use crate::analysis::synthetic::Builder;

    #[test]
    fn types_are_found_by_the_end_of_their_paths_or_by_a_part() {
        let mut b = Builder::new();
        b.object("game::Player", 1, 0);
        b.object("game::PlayerList<game::Player>", 1, 0);
        b.object("game::Team", 1, 0);
        let graph = b.build();
        assert_eq!(find(&graph, "Player"), Ok(Subject::Type(0)));
        assert_eq!(find(&graph, "PlayerList"), Ok(Subject::Type(1)));
        assert_eq!(find(&graph, "eam"), Ok(Subject::Type(2)));
        let error = find(&graph, "Play").expect_err("two types");
        assert!(matches!(error, FindError::Ambiguous { .. }), "{error}");
        assert!(matches!(
            find(&graph, "Enemy"),
            Err(FindError::NoType { .. })
        ));
    }

    #[test]
    fn nodes_are_found_by_any_address_in_them() {
        let mut b = Builder::new();
        let player = b.object("Player", 1, 0);
        let graph = b.build();
        let address = graph.nodes[player as usize].address;
        for inside in [address, address + 31] {
            assert_eq!(
                find(&graph, &format!("{inside:#x}")),
                Ok(Subject::Node(player))
            );
        }
        let outside = address + 32;
        let error = find(&graph, &outside.to_string());
        assert_eq!(error, Err(FindError::NoNode { address: outside }));
    }
}
