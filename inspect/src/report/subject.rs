//! Finds what an argument names: an address, or a type.

use crate::graph::{Graph, NodeId};

/// The subject of a command.
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
        "no object or allocation is at {address:#x}{}; `top` shows types, and `why TYPE` addresses",
        if *.is_decimal { ", as numbers without 0x are decimal" } else { "" }
    )]
    NoNode {
        /// The address.
        address: u64,
        /// True if the address was written in decimal digits.
        is_decimal: bool,
    },
    /// No type has the name.
    #[error(
        "there is no object whose type has \"{0}\" in its name; `top --limit 0` shows all types"
    )]
    NoType(String),
    /// Several types have the name.
    #[error("\"{name}\" may be one of {}; write more of it", first(.types))]
    Ambiguous {
        /// The name.
        name: String,
        /// The types that have it.
        types: Vec<String>,
    },
}

/// How many types a message names.
const NAMED: usize = 3;

/// Lists the first of some names.
fn first(names: &[String]) -> String {
    let more = if names.len() > NAMED { ", ..." } else { "" };
    names[..names.len().min(NAMED)].join(", ") + more
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

/// Returns whether `wanted` is the name or the end of its path, with or without generic arguments.
fn ends_with(name: &str, wanted: &str) -> bool {
    let without = name.split('<').next().unwrap_or(name);
    [name, without].iter().any(|name| {
        let rest = name.strip_suffix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    })
}

/// Finds what an argument names. A type may be named by the end of its path, or by any part of it
/// that no other type has; if none matches, upper and lower case count as equal.
///
/// # Errors
///
/// See [`FindError`].
pub fn find(graph: &Graph, argument: &str) -> Result<Subject, FindError> {
    if let Some(address) = address(argument) {
        let node = graph
            .node_at(address)
            .or_else(|| containing(graph, address));
        return node.map(Subject::Node).ok_or(FindError::NoNode {
            address,
            is_decimal: !argument.starts_with("0x"),
        });
    }
    let mut used = vec![false; graph.types.len()];
    for object in (0..graph.objects as NodeId).filter_map(|node| graph.object(node)) {
        used[object.type_id as usize] = true;
    }
    let types = || (0..graph.types.len()).filter(|at| used[*at]);
    let by = |matches: &dyn Fn(&str) -> bool| -> Vec<usize> {
        types().filter(|at| matches(&graph.types[*at])).collect()
    };
    let exact = by(&|name| name == argument);
    let end = by(&|name| ends_with(name, argument));
    let part = by(&|name| name.contains(argument));
    let small = argument.to_lowercase();
    let any_case_end = by(&|name| ends_with(&name.to_lowercase(), &small));
    let any_case = by(&|name| name.to_lowercase().contains(&small));
    let found = [exact, end, part, any_case_end, any_case]
        .into_iter()
        .find(|found| !found.is_empty());
    match found.as_deref() {
        None => Err(FindError::NoType(argument.to_owned())),
        Some([one]) => Ok(Subject::Type(*one as u32)),
        Some(several) => Err(FindError::Ambiguous {
            name: argument.to_owned(),
            types: several.iter().map(|at| graph.types[*at].clone()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{FindError, Subject, find};
    use crate::analysis::synthetic::graph;

    #[test]
    fn types_are_found_by_the_end_of_their_paths_or_by_a_part_in_any_case_if_none_is_written_so() {
        let graph = graph(
            "game::Player: 1, game::player::Hat: 1, game::Team: 1, game::List<game::Player>: 1, \
             game::Lists: 1",
        );
        for (name, wanted) in [
            ("Player", 0),
            ("List", 3),
            ("eam", 2),
            // In order: the exact spelling wins, then the end of a name, then a part of it.
            ("player", 1),
            ("PLAYER", 0),
            ("GAME::t", 2),
        ] {
            assert_eq!(find(&graph, name), Ok(Subject::Type(wanted)), "{name}");
        }
        let error = find(&graph, "Lis").expect_err("two types");
        assert!(matches!(error, FindError::Ambiguous { .. }), "{error}");
        let error = find(&graph, "Enemy").expect_err("no type");
        assert!(matches!(error, FindError::NoType(_)), "{error}");
    }

    #[test]
    fn nodes_are_found_by_any_address_in_them() {
        let graph = graph("Player: 1");
        let address = graph.nodes[0].address;
        for inside in [address, address + 31] {
            let found = find(&graph, &format!("{inside:#x}"));
            assert_eq!(found, Ok(Subject::Node(0)));
        }
        let address = address + 32;
        for is_decimal in [true, false] {
            let argument = match is_decimal {
                true => address.to_string(),
                false => format!("{address:#x}"),
            };
            let error = find(&graph, &argument).expect_err("nothing is there");
            assert_eq!(error.to_string().contains("are decimal"), is_decimal);
            let wanted = FindError::NoNode {
                address,
                is_decimal,
            };
            assert_eq!(error, wanted);
        }
    }

    #[test]
    fn messages_say_what_may_be_meant() {
        let graph = graph("a::Cat: 1, b::Cat: 1, c::Cat: 1, d::Cat: 1, e::Cat: 1");
        let cats = "\"Cat\" may be one of a::Cat, b::Cat, c::Cat, ...; write more of it";
        for (argument, wanted) in [
            ("Cat", cats),
            ("Submarine", "\"Submarine\" in its name; `top"),
        ] {
            let error = find(&graph, argument).expect_err("no type").to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
