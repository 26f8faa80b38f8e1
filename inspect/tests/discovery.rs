//! What is found in a program with glibc's malloc.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod common;
mod sample;

use common::Target;
use releasepool_inspect::discovery::discover;
use releasepool_inspect::graph::Graph;
use releasepool_inspect::image::Image;
use releasepool_inspect::image::process::ProcessImage;

#[test]
fn role() {
    if common::role().is_some() {
        sample::play(|| common::serve(str::to_owned));
    }
}

fn look(image: &dyn Image) -> Graph {
    use releasepool_inspect::layout::{Layout, Names};
    let mut modules = image.modules().iter();
    let names = modules
        .find_map(|m| Names::read(image, m).unwrap())
        .unwrap();
    let layout = Layout::new(&names).unwrap();
    discover(image, &layout, &Default::default())
}

#[test]
fn objects_in_all_places() {
    let target = Target::start("sample");
    let image = ProcessImage::take(target.pid()).unwrap();
    let graph = look(&image);
    sample::check_order(&graph);
    sample::check_objects(&graph);
}
