//! Finds objects, plain allocations, the references between them, and what holds them.
//!
//! The steps, each of which uses only those before it:
//!
//! * `regions`: the writable memory;
//! * `types`: type infos, whose names `decode` reads from code;
//! * `malloc`: allocations, if the allocator is known;
//! * `objects`: which of them are objects; `items`: these and the rest, and in memory of other
//!   allocators objects and the gaps between them;
//! * `targets`: which item a word refers to, by `ranks`;
//! * `edges`: words in items; `areas` and `roots`: words elsewhere;
//! * `assembly`: the graph.

mod areas;
mod assembly;
mod decode;
mod edges;
mod items;
mod malloc;
mod objects;
mod parallel;
mod ranks;
mod regions;
mod roots;
mod targets;
mod types;

use crate::graph::Graph;
use crate::image::Image;
use crate::layout::Layout;
use assembly::Assembly;
use edges::Scanner;
use items::Items;
use objects::Recognizer;
use regions::{Regions, WORD};
use roots::{Finder, thread_labels};
use std::ops::Range;
use targets::Targets;
use types::Types;

/// What the library's own structures say.
#[derive(Default)]
pub struct Parts {
    /// Its own allocations, by address.
    pub own: Vec<Range<u64>>,
    /// Blocks in use.
    pub blocks: Vec<Range<u64>>,
}

/// Finds what is alive in a program.
pub fn discover(image: &dyn Image, layout: &Layout, library: &Parts) -> Graph {
    let regions = Regions::read(image);
    let types = Types::find(image, &layout.type_info, &layout.kind);
    let recognizer = Recognizer::new(&types, &layout.count, &layout.header);
    let found = Items::find(image, &regions, &recognizer, library);
    let targets = Targets::new(&found.items);
    let scanner = Scanner {
        regions: &regions,
        targets: &targets,
        recognizer: &recognizer,
        front: layout.message.size + WORD,
    };
    let threads = thread_labels(image.threads(), image.pid());
    let finder = Finder {
        image,
        regions: &regions,
        targets: &targets,
        threads: &threads,
    };
    let assembly = Assembly {
        edges: scanner.scan_all(),
        roots: finder.find(&found.areas),
        items: &found,
        targets: &targets,
        scanner: &scanner,
        recognizer: &recognizer,
    };
    let mut graph = assembly.into_graph();
    graph.caveats = found.caveats;
    graph
}
