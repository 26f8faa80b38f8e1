//! Mistakes with threads, with destructors, and with references that nobody gives up.

use super::{Texture, texture};
use releasepool::{AutoreleasePool, HomeRef, Ref, autoreleasepool, leaks};
use std::sync::Mutex;
use std::thread;

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the destructor of a Bomb has failed");
    }
}

pub fn panicking_destructor() {
    let explode = || {
        let pool = AutoreleasePool::named("bombs");
        pool.create(Bomb);
        panic!("the thread unwinds, and closes the pool");
    };
    let fuse = thread::Builder::new().name("fuse".into());
    assert!(fuse.spawn(explode).unwrap().join().is_err());
}

pub fn home_gone() {
    let render = thread::Builder::new().name("render".into());
    let sky = render.spawn(|| HomeRef::new(texture("sky"))).unwrap();
    drop(sky.join().unwrap());
}

static REGISTRY: Mutex<Vec<Ref<Texture>>> = Mutex::new(Vec::new());

pub fn still_alive() {
    let sky = Ref::new(texture("sky"));
    REGISTRY.lock().unwrap().push(sky.clone());
    autoreleasepool(|pool| {
        leaks::expect_gone(Ref::downgrade(&sky), "the sky");
        pool.autorelease(sky);
    });
}

/// Holds a reference to another node.
struct Node(Mutex<Option<Ref<Node>>>);

pub fn cycle() {
    let scope = leaks::scope();
    let parent = Ref::new(Node(Mutex::new(None)));
    let child = Ref::new(Node(Mutex::new(Some(parent.clone()))));
    *parent.0.lock().unwrap() = Some(child.clone());
    drop((parent, child));
    eprintln!("{}", scope.report());
}

pub fn retain_without_release() {
    leaks::count_references(["Texture"]);
    let scope = leaks::scope();
    let sky = Ref::new(texture("sky"));
    for _ in 0..60 {
        draw(&sky);
    }
    share_with_foreign_code(&sky);
    drop(sky);
    eprintln!("{}", scope.report());
}

fn draw(sky: &Ref<Texture>) {
    let drawn = sky.clone();
    println!("{}", drawn.name);
}

fn share_with_foreign_code(sky: &Ref<Texture>) {
    // SAFETY: `sky` keeps the object alive during the call.
    unsafe { Ref::increment_strong_count(Ref::as_ptr(sky)) };
}
