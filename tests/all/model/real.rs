//! The crate, as programs use it.

pub use releasepool::pool::{PoolToken, PopError};
pub use releasepool::{
    AutoreleasePool, PoolManager, PoolRef, Ref, ThreadHandle, Weak, autorelease, autoreleasepool,
    unsize,
};

#[path = "program/mod.rs"]
pub mod program;

use super::WATERMARK;
use releasepool::event::{Event, EventKind};
use releasepool::pool::RootPolicy;
use std::time::Duration;

/// Notes panics that were only reported. The process's event hook must call this.
pub fn on_event(event: &Event) {
    if event.kind == EventKind::Panic {
        program::world::reported(event.message.as_deref());
    }
}

pub fn managers() -> [PoolManager; 2] {
    let second = PoolManager::new();
    second.set_root_watermark(WATERMARK);
    second.set_root_policy(RootPolicy::Drain);
    [PoolManager::global().clone(), second]
}

/// Returns how many entries the calling thread's root pool has, and how many other pools are open.
pub fn root_and_open(manager: &PoolManager) -> [usize; 2] {
    let me = manager.current_thread().unwrap().key();
    let snapshot = manager.snapshot();
    let thread = snapshot.thread(me).unwrap();
    [thread.root_entries, thread.open_pools]
}

pub fn quiesce(manager: &PoolManager) -> bool {
    manager.quiesce(Duration::ZERO)
}

/// Returns the released entries, how many threads hold something, and the orphans.
pub fn shutdown(manager: &PoolManager) -> [usize; 3] {
    let (Ok(report) | Err(report)) = manager.shutdown(Duration::ZERO);
    [report.released, report.holders.len(), report.orphans]
}
