//! Frame loops, loopers, and pools for tasks and callbacks.

mod drop_later;
mod framed_posts;
mod frames;
mod loopers;
mod loops_left;
mod pacing;
mod posts;
mod reclaimers;
mod rounds;
mod tasks;
mod wake_hooks;

use crate::support::{Log, listen};
use releasepool::{FrameConfig, FrameLoop, Looper};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Wake;
use std::thread;

/// A loop that never waits.
pub fn quick() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited())
}

pub fn on_demand() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited().on_demand())
}

/// Counts the calls of a wake hook.
#[derive(Default)]
pub struct Told(AtomicUsize);

impl Told {
    pub fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }

    pub fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        self.note();
    }
}

pub fn looper() -> Looper {
    listen();
    Looper::spawn("looper").unwrap()
}

pub fn id_of(looper: &Looper) -> thread::ThreadId {
    looper.call(|| thread::current().id()).unwrap()
}

/// Blocks the looper until this is dropped.
pub fn hold(looper: &Looper) -> mpsc::Sender<()> {
    let (go, wait) = mpsc::channel();
    let (began, begun) = mpsc::channel();
    let held = looper.post(move || {
        began.send(()).unwrap();
        let _ = wait.recv();
    });
    held.unwrap();
    begun.recv().unwrap();
    go
}

pub fn noting(log: &Log, id: u32) -> impl FnOnce() + Send + 'static {
    let log = log.clone();
    move || log.note(id)
}

pub fn enough(done: bool) -> ControlFlow<()> {
    if done { Break(()) } else { Continue(()) }
}
