//! The UI thread: a frame loop that receives what programs send, and drains its pool in every frame,
//! as long as the process runs.

use crate::failures::{fail, same};
use crate::free::survive;
use releasepool::{AutoreleasePool, Budget, PoolManager, PoolRef};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const FRAME: Duration = Duration::from_millis(8);

/// How many frames pass from one call of `quiesce` to the next. It runs closures that were posted
/// to threads that have ended.
const QUIESCE: u64 = 8;

static FRAMES: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);
static PAUSE: Mutex<()> = Mutex::new(());

/// Returns how many frames there have been.
pub fn frames() -> u64 {
    FRAMES.load(Relaxed)
}

/// Calls `f` between two frames.
pub fn between_frames(f: impl FnOnce()) {
    let _pause = PAUSE.lock().unwrap_or_else(PoisonError::into_inner);
    f();
}

pub fn stop() {
    STOP.store(true, Relaxed);
}

/// Makes frames until the end of the run.
pub fn run() {
    let mut pool = AutoreleasePool::named("frame");
    while !STOP.load(Relaxed) {
        between_frames(|| frame(&mut pool));
        thread::sleep(FRAME);
    }
}

fn frame(pool: &mut AutoreleasePool) {
    let manager = PoolManager::global();
    survive(|| _ = manager.run_inbox());
    let marker = PoolRef::downgrade(pool.create(frames()));
    survive(|| _ = pool.drain());
    // Destructors drain pools with budgets.
    survive(|| _ = manager.drain_backlog(Budget::All));
    same("entries after a drain", pool.len(), 0);
    if marker.upgrade().is_some() {
        fail("a frame's object outlived the frame's drain");
    }
    if FRAMES.fetch_add(1, Relaxed) % QUIESCE == 0 {
        survive(|| _ = manager.quiesce(Duration::ZERO));
    }
}
