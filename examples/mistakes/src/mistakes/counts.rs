//! Mistakes with pointers, which only foreign and unsafe code can make.

use super::texture;
use releasepool::{AutoreleasePool, Ref};
use std::thread;

pub fn over_release() {
    let sky = Ref::into_raw(Ref::new(texture("sky")));
    // Another thread has the pointer, too, and believes that the reference is its own.
    let address = sky.expose_provenance();
    let other = thread::Builder::new().name("audio".into()).spawn(move || {
        let sky = std::ptr::with_exposed_provenance::<super::Texture>(address);
        // SAFETY: this takes over the only reference.
        unsafe { Ref::decrement_strong_count(sky) };
    });
    other.unwrap().join().unwrap();
    // SAFETY: none: this is the mistake.
    unsafe { Ref::decrement_strong_count(sky) };
}

pub fn use_after_death() {
    let sky = Ref::new(texture("sky"));
    let pointer = Ref::as_ptr(&sky);
    drop(sky);
    // SAFETY: none: this is the mistake.
    let sky = unsafe { Ref::from_raw(pointer) };
    println!("{}", sky.name);
}

pub fn double_autorelease() {
    let outer = AutoreleasePool::named("scene");
    let pointer = Ref::into_raw(Ref::new(texture("sky")));
    // SAFETY: the first call takes over the reference; the second one is the mistake.
    let (once, twice) = unsafe { (Ref::from_raw(pointer), Ref::from_raw(pointer)) };
    outer.autorelease(once);
    let inner = AutoreleasePool::named("loading");
    inner.autorelease(twice);
    drop(inner);
}

pub fn destroyed_in_pool() {
    let pool = AutoreleasePool::named("frame");
    let pointer = releasepool::PoolRef::as_ptr(pool.create(texture("sky")));
    // SAFETY: none: this is the mistake, as the reference is the pool's.
    unsafe { Ref::decrement_strong_count(pointer) };
}

pub fn header_overwritten() {
    let pool = AutoreleasePool::named("frame");
    let sky = releasepool::PoolRef::as_ptr(pool.create(texture("sky")));
    // SAFETY: none: this is the mistake. The two words before a value are its object's header.
    unsafe {
        sky.cast_mut()
            .cast::<usize>()
            .sub(2)
            .cast::<[usize; 2]>()
            .write([7, 7])
    };
    drop(pool);
}
