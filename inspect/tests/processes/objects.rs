//! Tests the findings in a program with glibc's malloc.

use crate::common::Target;
use crate::sample::expected;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::graph::Graph;
use releasepool_inspect::image::write_core::write_core;
use releasepool_inspect::image::{Image, ProgramImage};
use releasepool_inspect::library::Library;

use std::fs::File;
use std::path::Path;

fn look(image: &dyn Image) -> Graph {
    discover(image, &Library::read(image).unwrap())
}

fn check(image: &dyn Image) {
    let graph = look(image);
    assert_eq!(graph.caveats, Vec::<String>::new());
    expected::check_order(&graph);
    expected::check_objects(&graph, true);
    expected::check_library(&graph);
    expected::check_handoff(&graph);
    expected::check_leaks(&graph);
}

#[test]
fn objects_in_all_places_of_a_process() {
    let target = Target::start("sample");
    check(&ProgramImage::take(target.pid()).unwrap());
}

#[test]
fn objects_in_all_places_of_a_core_file() {
    let target = Target::start("sample");
    let image = ProgramImage::take(target.pid()).unwrap();
    drop(target);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("discovery-core");
    write_core(&image, &mut File::create(&path).unwrap()).unwrap();
    let core = ProgramImage::open(&path, None);
    std::fs::remove_file(&path).unwrap();
    let core = core.unwrap();
    check(&core);
}
