//! Textures that only the render thread may touch, although worker threads hold references to them.
//! A `HomeRef` goes to any thread; its value is used and destroyed on the thread that made it.
//!
//! `cargo run --example home` ends with a warning about a value that has outlived its thread.

use releasepool::{AutoreleasePool, HomeRef, PoolManager};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, ThreadId};

/// A graphics driver's context, which belongs to one thread and must be told when a texture ends.
struct Gpu {
    thread: ThreadId,
    textures: RefCell<Vec<usize>>,
}

/// Not `Send`, because of the `Rc`. Yet `HomeRef<Texture>` is `Send`.
struct Texture {
    gpu: Rc<Gpu>,
    number: usize,
}

impl Texture {
    fn load(gpu: &Rc<Gpu>, number: usize) -> Self {
        gpu.textures.borrow_mut().push(number);
        let gpu = gpu.clone();
        Self { gpu, number }
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        assert_eq!(
            thread::current().id(),
            self.gpu.thread,
            "a driver would crash"
        );
        let mut textures = self.gpu.textures.borrow_mut();
        textures.retain(|number| *number != self.number);
    }
}

const TEXTURES: usize = 1_000;

/// Holds each texture until the next one arrives, and often drops the last reference to it.
fn worker(textures: mpsc::Receiver<HomeRef<Texture>>) {
    let mut held = None;
    for texture in textures {
        assert!(
            texture.get().is_none(),
            "workers have no access to the value"
        );
        held = Some(texture);
    }
    assert!(held.is_some_and(|texture| texture.get().is_none()));
}

/// Shares textures with three workers; returns one texture, which outlives this thread.
fn render() -> HomeRef<Texture> {
    let gpu = Rc::new(Gpu {
        thread: thread::current().id(),
        textures: RefCell::default(),
    });
    let workers = [(); 3].map(|()| {
        let (send, receive) = mpsc::sync_channel(8);
        (send, thread::spawn(|| worker(receive)))
    });
    let mut frame = AutoreleasePool::named("frame");
    let mut most = 0;
    for number in 1..=TEXTURES {
        let texture = HomeRef::new(Texture::load(&gpu, number));
        assert_eq!(texture.get().expect("this is its thread").number, number);
        for (send, _) in &workers {
            send.send(texture.clone())
                .expect("workers receive until the end");
        }
        drop(texture);
        most = most.max(gpu.textures.borrow().len());
        frame.drain(); // destroys the textures whose last reference a worker has dropped
    }
    for (send, thread) in workers {
        drop(send);
        thread.join().expect("workers do not panic");
    }
    frame.drain();
    assert!(gpu.textures.borrow().is_empty());
    println!("{TEXTURES} textures, at most {most} at once, all destroyed on the render thread");
    HomeRef::new(Texture::load(&gpu, 0))
}

fn main() {
    let thread = thread::Builder::new().name("render".into()).spawn(render);
    let late = thread.expect("a thread can be started").join();
    // The render thread has ended, and no other may destroy the texture. So its memory is kept,
    // and an event reports it.
    drop(late.expect("the render thread does not panic"));
    assert_eq!(PoolManager::global().snapshot().kept, 1);
    println!("1 texture outlived the render thread, and is kept in memory");
}
