//! Textures that only the render thread may touch, in the hands of workers:
//! `cargo run --example home`.

use releasepool::{AutoreleasePool, HomeRef, PoolManager};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, ThreadId};

/// A graphics driver's context: one thread's, and it must hear of each texture's end.
struct Gpu {
    thread: ThreadId,
    textures: RefCell<Vec<*const u8>>,
}

/// Neither `Send` nor `Sync`, by the `Rc` and by the pointer.
struct Texture {
    gpu: Rc<Gpu>,
    name: *const u8,
}

impl Texture {
    fn load(gpu: &Rc<Gpu>, number: usize) -> Self {
        let name = std::ptr::without_provenance(number);
        gpu.textures.borrow_mut().push(name);
        let gpu = gpu.clone();
        Self { gpu, name }
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        assert_eq!(thread::current().id(), self.gpu.thread, "a driver crashes");
        let mut textures = self.gpu.textures.borrow_mut();
        textures.retain(|name| *name != self.name);
    }
}

const TEXTURES: usize = 1_000;

fn worker(textures: mpsc::Receiver<HomeRef<Texture>>) {
    let mut shown = None;
    for texture in textures {
        assert!(texture.get().is_none(), "workers see no texture");
        shown = Some(texture); // drops the one before, perhaps as the last who has it
    }
    assert!(shown.is_some_and(|texture| !texture.is_home()));
}

/// Gives one back that outlives it.
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
        assert_eq!(texture.get().expect("at home").name.addr(), number);
        for (send, _) in &workers {
            send.send(texture.clone()).expect("workers listen");
        }
        drop(texture);
        most = most.max(gpu.textures.borrow().len());
        frame.drain(); // what workers have dropped comes home here
    }
    for (send, thread) in workers {
        drop(send);
        thread.join().expect("workers do not panic");
    }
    frame.drain();
    assert!(gpu.textures.borrow().is_empty(), "all have been destroyed");
    println!("{TEXTURES} textures went to 3 workers, at most {most} at once; all died at home");
    HomeRef::new(Texture::load(&gpu, 0))
}

fn main() {
    let thread = thread::Builder::new().name("render".into()).spawn(render);
    let late = thread.expect("a thread starts").join();
    // It cannot die here, and its home is gone: it is kept, and an event says so.
    drop(late.expect("the render thread does not panic"));
    assert_eq!(PoolManager::global().snapshot().kept, 1);
    println!("1 outlived the render thread, and is kept");
}
