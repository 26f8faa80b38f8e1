//! Tests the findings in a program with glibc's malloc.

use crate::common::{Directory, Target};
use crate::sample::expected;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::image::{Image, ProgramImage};
use releasepool_inspect::library::Library;

fn check(image: &dyn Image) {
    let graph = discover(image, &Library::read(image).unwrap());
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
    let directory = Directory::new("objects");
    if let Some(core) = directory.core_of(target.pid()) {
        drop(target);
        check(&ProgramImage::open(&core, None).unwrap());
    }
}
