//! The work of two threads: one allocates blocks, another frees them.

use super::allocators::Shared;
use super::works::{SMALL, fresh};
use crossbeam_queue::ArrayQueue;
use releasepool_benches::crew::{SpinBarrier, wait_for};
use releasepool_benches::workload::Workload;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
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

/// Starts the thread that frees. For each number of turns that the thread gets, it sends how long
/// they took. The thread sleeps while other workloads are measured, and ends with the channel.
fn freeing<M: Shared>(pipe: Arc<Pipe>) -> (Sender<u64>, Receiver<Duration>) {
    let ((turns, orders), (done, times)) = (channel(), channel());
    thread::spawn(move || {
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
    (turns, times)
}

/// Returns a workload in which one thread allocates blocks and another one frees them. The time is
/// that of the thread which takes longer.
pub fn cross<M: Shared>() -> Workload {
    Workload::new(M::NAME, SENT as u64, || {
        let pipe = Arc::new(Pipe::new());
        let (orders, times) = freeing::<M>(pipe.clone());
        let mut memory = M::here();
        Box::new(move |turns| {
            orders.send(turns).expect("the other thread is running");
            let time = pipe.together(turns, || {
                Pipe::pass(&pipe.empty, &pipe.full, |batch| {
                    for seed in 0..SENT as u64 {
                        batch.0.push(fresh(&mut memory, SMALL, seed));
                    }
                });
            });
            let other = times.recv();
            time.max(other.expect("the other thread is running"))
        })
    })
}
