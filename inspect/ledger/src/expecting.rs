//! Expects an object to be gone that a registry still holds, prints its process id and waits.

use releasepool::{Ref, leaks};
use std::io::{self, Read};
use std::sync::Mutex;

struct Scene {
    _level: u32,
}

static REGISTRY: Mutex<Vec<Ref<Scene>>> = Mutex::new(Vec::new());

fn main() {
    let scene = Ref::new(Scene { _level: 1 });
    leaks::expect_gone(Ref::downgrade(&scene), "level 1");
    REGISTRY.lock().expect("no panic").push(scene);
    println!("pid {}", std::process::id());
    let _ = io::stdin().read(&mut [0]);
}
