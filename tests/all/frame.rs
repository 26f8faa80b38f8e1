//! Frame loops, loopers, and pools for tasks and callbacks.

mod framed_posts;
mod frames;
mod loopers;
mod loops_left;
mod pacing;
mod posts;
mod rounds;
mod tasks;
mod wake_hooks;

use crate::support::{Log, events, listen};
use releasepool::event::EventKind;
use releasepool::{FrameLoop, Looper, ThreadHandle, frame::FrameConfig};
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Wake;
use std::thread;
use std::time::Duration;

pub const HOUR: Duration = Duration::from_secs(3_600);

/// A loop that never waits.
pub fn quick() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited())
}

pub fn on_demand() -> FrameLoop {
    FrameLoop::new(FrameConfig::new().unlimited().on_demand())
}

/// Returns a log, and a loop that never waits. Events are kept.
pub fn log_and_loop() -> (Log, FrameLoop) {
    listen();
    (Log::new(), quick())
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

/// Sets a wake hook, and returns the counter of its calls.
pub fn told_by(frames: &mut FrameLoop) -> Arc<Told> {
    let told = Arc::new(Told::default());
    let hook = told.clone();
    frames.set_wake_hook(move || hook.note());
    told
}

/// Returns the messages of the panics that were reported on this thread.
pub fn panics() -> Vec<String> {
    let panics = events(EventKind::Panic).into_iter();
    panics.map(|event| event.message.unwrap()).collect()
}

/// Waits until the clock of delayed posts has advanced.
pub fn let_delays_pass() {
    thread::sleep(Duration::from_millis(1));
}

pub fn looper() -> Looper {
    listen();
    Looper::spawn("looper").unwrap()
}

pub fn id_of(thread: &ThreadHandle) -> thread::ThreadId {
    let (tell, told) = mpsc::channel();
    let id = move || tell.send(thread::current().id()).unwrap();
    thread.post(id).unwrap();
    told.recv().unwrap()
}

/// Blocks the thread of a looper or reclaimer until this is dropped.
pub fn hold(thread: &ThreadHandle) -> mpsc::Sender<()> {
    let (go, wait) = mpsc::channel();
    let (began, begun) = mpsc::channel();
    let held = thread.post(move || {
        began.send(()).unwrap();
        let _ = wait.recv();
    });
    held.unwrap();
    begun.recv().unwrap();
    go
}

/// Returns how many objects were destroyed on a thread.
pub fn died_on(log: &Log, thread: thread::ThreadId) -> usize {
    log.threads().iter().filter(|on| **on == thread).count()
}

pub fn noting(log: &Log, id: u32) -> impl FnOnce() + Send + 'static {
    let log = *log;
    move || log.note(id)
}

pub fn enough(done: bool) -> ControlFlow<()> {
    if done { Break(()) } else { Continue(()) }
}
