//! Values to be destroyed, from a box to a graph.

use crate::objects::{Dropping, Payload};
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;

/// Makes a value, which depends on the seed.
pub type Make<T> = fn(u64) -> T;

/// Modules of a [`Graph`].
const MODULES: u64 = 20_000;

/// Makes an object of 48 bytes in a box.
pub fn object(seed: u64) -> Box<Dropping> {
    Box::new(Dropping::new(seed))
}

/// Makes a box of 64 bytes.
pub fn small_box(seed: u64) -> Box<[u64; 8]> {
    Box::new([seed; 8])
}

/// 4 KiB that are moved with the value; the destructor reads some of it.
pub struct Inline([u64; 512]);

impl Drop for Inline {
    fn drop(&mut self) {
        black_box(self.0[0]);
    }
}

/// Makes a value of 4 KiB that owns nothing else.
pub fn inline(seed: u64) -> Inline {
    Inline([seed; 512])
}

/// Makes a vector of 4 KiB.
pub fn small_vector(seed: u64) -> Vec<u8> {
    vec![seed as u8 | 1; 4_096]
}

/// Makes a vector of 1 MiB. Each page has been written to.
pub fn large_vector(seed: u64) -> Vec<u8> {
    vec![seed as u8 | 1; 1 << 20]
}

fn text(seed: u64) -> String {
    format!("text number {seed}, longer than a word")
}

/// Makes a vector of 100 texts.
pub fn texts(seed: u64) -> Vec<String> {
    (0..100).map(|n| text(seed + n)).collect()
}

/// Makes a hash map of 1,000 texts.
pub fn hash_map(seed: u64) -> HashMap<u64, String> {
    (0..1_000).map(|n| (n, text(seed + n))).collect()
}

/// Makes an ordered map of 10,000 texts.
pub fn ordered_map(seed: u64) -> BTreeMap<u64, String> {
    (0..10_000).map(|n| (n, text(seed + n))).collect()
}

/// A node of a tree.
pub struct Node {
    _name: String,
    _children: Vec<Node>,
}

/// Makes a tree of 1,111 nodes: ten to each, three levels below the root.
pub fn tree(seed: u64) -> Node {
    fn node(seed: u64, levels: u32) -> Node {
        let children = if levels == 0 { 0 } else { 10 };
        Node {
            _name: text(seed),
            _children: (0..children).map(|n| node(seed + n, levels - 1)).collect(),
        }
    }
    node(seed, 3)
}

/// A module of a bundler's graph.
struct Module {
    _path: String,
    _source: String,
    _imports: Vec<String>,
    _exports: HashMap<String, u32>,
    _dependencies: Vec<u32>,
}

/// What a bundler knows of a program: its modules, and the module of each path.
pub struct Graph {
    _modules: Vec<Module>,
    _by_path: HashMap<String, u32>,
}

/// Makes a graph of 20,000 modules.
pub fn graph(seed: u64) -> Graph {
    let path = |n: u64| format!("/project/node_modules/package-{n}/index.js");
    let module = |n: u64| Module {
        _path: path(n),
        _source: "export default 1; ".repeat(10 + ((n + seed) % 10) as usize),
        _imports: (0..4).map(|other| path((n + other) % MODULES)).collect(),
        _exports: (0..2).map(|n| (text(n as u64), n)).collect(),
        _dependencies: (0..8).collect(),
    };
    Graph {
        _modules: (0..MODULES).map(module).collect(),
        _by_path: (0..MODULES).map(|n| (path(n), n as u32)).collect(),
    }
}
