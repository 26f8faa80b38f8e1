//! The work of two threads: one allocates blocks, another frees them.

use crate::allocators::Shared;
use crate::works::{SMALL, fresh};
use crossbeam_queue::ArrayQueue;
use releasepool_benches::crew::{SpinBarrier, wait_for};
use releasepool_benches::workload::Workload;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Blocks in a batch. No allocator uses batches of this size itself.
const SENT: usize = 100;

/// Batches in the ring.
const RING: usize = 16;

struct Batch(Vec<NonNull<u8>>);

// SAFETY: the blocks come from `Shared` allocators, which free them on any thread.
unsafe impl Send for Batch {}

struct Pipe {
    full: ArrayQueue<Batch>,
    empty: ArrayQueue<Batch>,
    barrier: SpinBarrier,
}

impl Pipe {
    fn new() -> Self {
        let empty = ArrayQueue::new(RING);
        for _ in 0..RING {
            let batch = Batch(Vec::with_capacity(SENT));
            let pushed = empty.push(batch);
            assert!(pushed.is_ok(), "the ring has room for all batches");
        }
        Self {
            full: ArrayQueue::new(RING),
            empty,
            barrier: SpinBarrier::default(),
        }
    }

    fn pass(from: &ArrayQueue<Batch>, to: &ArrayQueue<Batch>, work: impl FnOnce(&mut Batch)) {
        let mut batch = wait_for(|| from.pop());
        work(&mut batch);
        assert!(to.push(batch).is_ok(), "the ring has room for all batches");
    }

    /// Waits for the other thread, runs the turns, and returns how long they took.
    fn together(&self, turns: u64, mut turn: impl FnMut()) -> Duration {
        self.barrier.wait(2);
        let start = Instant::now();
        for _ in 0..turns {
            turn();
        }
        start.elapsed()
    }
}

/// The thread that frees. It sleeps while other workloads are measured.
struct Freeing {
    turns: Option<Sender<u64>>,
    times: Receiver<Duration>,
    thread: Option<JoinHandle<()>>,
}

impl Freeing {
    fn spawn<M: Shared>(pipe: Arc<Pipe>) -> Self {
        let (turns, orders) = channel();
        let (done, times) = channel();
        let thread = thread::spawn(move || {
            let mut memory = M::here();
            for turns in orders {
                let time = pipe.together(turns, || {
                    Pipe::pass(&pipe.full, &pipe.empty, |batch| {
                        for block in batch.0.drain(..) {
                            // SAFETY: the other thread allocated the block with this layout from a
                            // `Shared` allocator, and gave it up.
                            unsafe { memory.dealloc(block, SMALL) };
                        }
                    });
                });
                if done.send(time).is_err() {
                    break;
                }
            }
        });
        Self {
            turns: Some(turns),
            times,
            thread: Some(thread),
        }
    }

    fn begin(&self, turns: u64) {
        let orders = self.turns.as_ref().expect("only `drop` takes it");
        orders.send(turns).expect("the other thread is running");
    }
}

impl Drop for Freeing {
    fn drop(&mut self) {
        self.turns = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the thread does not panic");
        }
    }
}

/// Returns the allocation of blocks on one thread and their release on another. The time is the
/// longer one of both threads.
pub fn cross<M: Shared>() -> Workload {
    Workload::new(M::NAME, SENT as u64, || {
        let pipe = Arc::new(Pipe::new());
        let freeing = Freeing::spawn::<M>(pipe.clone());
        let mut memory = M::here();
        Box::new(move |turns| {
            freeing.begin(turns);
            let time = pipe.together(turns, || {
                Pipe::pass(&pipe.empty, &pipe.full, |batch| {
                    for seed in 0..SENT as u64 {
                        batch.0.push(fresh(&mut memory, SMALL, seed));
                    }
                });
            });
            let other = freeing.times.recv();
            time.max(other.expect("the other thread is running"))
        })
    })
}
