//! Finds objects, plain allocations, the references between them, and what holds them.
//!
//! The steps, each of which uses only those before it:
//!
//! * `regions`: the writable memory;
//! * `types`: type infos, whose names `decode` reads from code;
//! * `malloc`: allocations, if the allocator is known;
//! * `objects`: which allocations are objects; `items`: all allocations, and in memory of unknown
//!   allocators objects and the gaps between them; all of these are called items;
//! * `targets`: which item a word refers to, by `ranks`;
//! * `edges`: words in items; `areas` and `roots`: words elsewhere;
//! * `counted`: what the library's own structures refer to; `handoff`: handoff pools;
//! * `assembly`: the graph; `sites`: where its objects were created.

mod areas;
mod assembly;
mod counted;
mod decode;
mod edges;
mod handoff;
mod items;
mod malloc;
mod objects;
mod ranks;
mod regions;
mod roots;
mod sites;
#[cfg(test)]
mod synthetic_image;
mod targets;
mod types;

use crate::graph::Graph;
use crate::image::Image;
use crate::library::Library;
use assembly::Assembly;
use edges::Scanner;
use items::Items;
use objects::Recognizer;
use regions::{Regions, WORD};
use roots::{Finder, thread_labels};
use targets::Targets;
use types::Types;

/// Finds what is alive in a program. `library` was read from the same image.
///
/// Costs about a quarter of a second of processor time for a million objects. Scans memory on the
/// threads of rayon's global pool.
pub fn discover(image: &dyn Image, library: &Library) -> Graph {
    let layout = &library.layout;
    let regions = Regions::read(image);
    let types = Types::find(image, &layout.type_info, &layout.kind);
    let recognizer = Recognizer::new(&types, &layout.count, &layout.header);
    let found = Items::find(image, &regions, &recognizer, library);
    let guarded = counted::guarded(library);
    let targets = Targets::new(&found.items, &guarded);
    let scanner = Scanner {
        regions: &regions,
        targets: &targets,
        recognizer: &recognizer,
        front: layout.message.size + WORD,
    };
    let threads = thread_labels(image, library);
    let finder = Finder {
        image,
        regions: &regions,
        targets: &targets,
        threads: &threads,
    };
    let mut assembly = Assembly {
        edges: scanner.scan_all(),
        roots: finder.find(&found.areas),
        items: &found,
        targets: &targets,
        scanner: &scanner,
        recognizer: &recognizer,
        counted: library
            .totals
            .created
            .wrapping_sub(library.totals.destroyed),
    };
    assembly.add_counted(image, library, &guarded);
    handoff::resolve(&mut assembly, layout);
    let mut graph = assembly.into_graph();
    let threads = library.threads.iter().chain(&library.detached);
    graph.threads = threads.map(|thread| thread.state.clone()).collect();
    graph.totals = library.totals;
    graph.caveats = [&library.caveats[..], &found.caveats].concat();
    graph.caveats.extend(compared(&graph, found.is_guessed()));
    sites::add_sites(image, library, &mut graph);
    graph
}

/// Returns a caveat if the library counts another number of objects than was found.
fn compared(graph: &Graph, is_guessed: bool) -> Option<String> {
    let found = graph.alive().count() as u64;
    let counted = graph.totals.created.wrapping_sub(graph.totals.destroyed);
    if found == counted {
        return None;
    }
    let why = if is_guessed && found > counted {
        "; in memory of an unknown allocator, destroyed objects can look alive"
    } else if found < counted {
        "; the compiler may have removed the memory of objects that are never used"
    } else {
        ""
    };
    Some(format!(
        "{found} objects were found, and the library counts {counted}{why}"
    ))
}
