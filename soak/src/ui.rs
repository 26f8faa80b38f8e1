//! The UI thread: a frame loop that displays what the workers send, and drains its pool in every
//! frame.

use crate::bomb;
use crate::ledger::{LEDGER, fail, same};
use crate::payload::{Stay, Thing};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref, ThreadHandle};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How many roots are on display.
const SCENE: usize = 50;

const FRAME: Duration = Duration::from_millis(8);

/// How many frames pass from one call of `quiesce` to the next. It runs closures that were posted
/// to threads that have ended.
const QUIESCE: u64 = 8;

/// A request to the UI thread.
pub enum Ask {
    /// Take in everything that has been sent, answer, then wait for the next request.
    Settle(Sender<Settled>),
    GoOn,
    /// Clear the scene, and end.
    End,
}

pub struct Settled {
    /// Objects on display.
    pub objects: u64,
}

thread_local! {
    /// A thread-local, so that closures that workers post have access to it.
    static SCENE_GRAPH: RefCell<VecDeque<Ref<dyn Thing>>> = const { RefCell::new(VecDeque::new()) };
}

/// Puts a root on display. Called by posted closures, in `run_inbox` on the UI thread; in a later
/// frame if a deliberate panic interrupted that call.
pub fn take(root: Ref<dyn Thing>) {
    LEDGER.roots_taken.add(1);
    SCENE_GRAPH.with_borrow_mut(|scene| scene.push_back(root));
}

pub fn run(asks: &Receiver<Ask>, ready: &Sender<ThreadHandle>) {
    let manager = PoolManager::global();
    let Some(me) = manager.current_thread() else {
        return fail("the UI thread has no key");
    };
    let _ = ready.send(me);
    let mut pool = AutoreleasePool::named("frame");
    let mut next = Instant::now();
    loop {
        next = (next + FRAME).max(Instant::now());
        frame(&mut pool, SCENE);
        let ask = loop {
            match asks.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Ask::Settle(answer)) => {
                    settle(&mut pool);
                    let _ = answer.send(Settled { objects: objects() });
                    match asks.recv() {
                        Ok(Ask::GoOn) => {}
                        other => break other.unwrap_or(Ask::End),
                    }
                }
                Ok(ask) => break ask,
                Err(RecvTimeoutError::Timeout) => break Ask::GoOn,
                Err(RecvTimeoutError::Disconnected) => break Ask::End,
            }
        };
        if matches!(ask, Ask::End) {
            settle(&mut pool);
            frame(&mut pool, 0);
            return;
        }
    }
}

/// Returns how many objects the scene keeps alive.
fn objects() -> u64 {
    SCENE_GRAPH.with_borrow(|scene| scene.iter().map(|root| root.objects()).sum())
}

/// Runs frames until a frame receives nothing. All senders have ended.
fn settle(pool: &mut AutoreleasePool) {
    loop {
        let before = (LEDGER.roots_taken.get(), LEDGER.posts_run.get());
        frame(pool, SCENE);
        if (LEDGER.roots_taken.get(), LEDGER.posts_run.get()) == before {
            return;
        }
    }
}

fn frame(pool: &mut AutoreleasePool, scene: usize) {
    let manager = PoolManager::global();
    // Some closures panic deliberately; the others run nevertheless.
    let _ = bomb::defuse(|| manager.run_inbox());
    let marker = pool.create(Stay::new());
    marker.mark.look();
    let marker = PoolRef::downgrade(marker);
    SCENE_GRAPH.with_borrow_mut(|roots| {
        while roots.len() > scene {
            // Autoreleased, because this frame may still draw it.
            if let Some(oldest) = roots.pop_front() {
                pool.autorelease(oldest).look();
            }
        }
        if let Some(newest) = roots.back() {
            newest.look();
        }
    });
    let _ = bomb::defuse(|| pool.drain());
    same("entries after a drain", pool.len(), 0);
    if marker.upgrade().is_some() {
        fail("a frame's object outlived the frame's drain");
    }
    bomb::fill_up();
    LEDGER.frames.add(1);
    if LEDGER.frames.get() % QUIESCE == 0 {
        let _ = bomb::defuse(|| manager.quiesce(Duration::ZERO));
    }
}
