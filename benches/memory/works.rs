//! What is done with memory.

use crate::contestants::{Memory, Shared};
use crate::random::Random;
use crossbeam_queue::ArrayQueue;
use releasepool_benches::crew::{Meeting, wait_for};
use releasepool_benches::workload::{Workload, timed};
use std::alloc::Layout;
use std::hint::black_box;
use std::ops::RangeInclusive;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    Pairs,
    Lifo,
    Fifo,
    Mixed,
    Cross,
}

pub const SMALL: Layout = layout(64);

/// Sizes of the mixed blocks: all that are blocks of ours and of Box2D's.
pub const SIZES: RangeInclusive<usize> = 16..=640;

/// Blocks that are allocated before they are freed, and that live at once.
const BATCH: u64 = 1_000;

/// Pairs in a turn.
const LOOP: u64 = 1_000;

/// Aligned as most objects are.
pub const fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size, 8) {
        Ok(layout) => layout,
        Err(_) => panic!("a small size"),
    }
}

/// New memory, written to: else some of its cost would come later.
#[inline]
fn fresh<M: Memory>(memory: &mut M, layout: Layout, seed: u64) -> NonNull<u8> {
    let block = memory.alloc(layout);
    // SAFETY: all layouts here have room for it, and are aligned for it.
    unsafe { block.cast::<u64>().write(seed) };
    black_box(block)
}

/// One block, allocated and freed.
pub fn pairs<M: Memory>() -> Workload {
    Workload::new(M::NAME, LOOP, || {
        let mut memory = M::here();
        timed(move || {
            for seed in 0..LOOP {
                let block = fresh(&mut memory, SMALL, seed);
                // SAFETY: this block, whose only user is here.
                unsafe { memory.dealloc(block, SMALL) };
            }
        })
    })
}

fn batches<M: Memory>(free: fn(&mut Vec<NonNull<u8>>, &mut M)) -> Workload {
    Workload::new(M::NAME, BATCH, move || {
        let mut memory = M::here();
        let mut blocks = Vec::with_capacity(BATCH as usize);
        timed(move || {
            for seed in 0..BATCH {
                blocks.push(fresh(&mut memory, SMALL, seed));
            }
            free(black_box(&mut blocks), &mut memory);
            memory.reset();
        })
    })
}

/// Many, freed in the opposite order.
pub fn lifo<M: Memory>() -> Workload {
    batches::<M>(|blocks, memory| {
        while let Some(block) = blocks.pop() {
            // SAFETY: this block, whose only user is here.
            unsafe { memory.dealloc(block, SMALL) };
        }
    })
}

/// Many, freed in the order in which they were allocated.
pub fn fifo<M: Memory>() -> Workload {
    batches::<M>(|blocks, memory| {
        for block in blocks.drain(..) {
            // SAFETY: this block, whose only user is here.
            unsafe { memory.dealloc(block, SMALL) };
        }
    })
}

/// Blocks of many sizes, of which one is replaced at a time.
pub struct Live<M: Memory> {
    memory: M,
    random: Random,
    sizes: RangeInclusive<usize>,
    blocks: Vec<(NonNull<u8>, Layout)>,
}

impl<M: Memory> Live<M> {
    /// None so far; their places are memory already.
    pub fn none(count: usize, sizes: RangeInclusive<usize>) -> Self {
        let mut blocks = vec![(NonNull::dangling(), SMALL); count];
        black_box(&mut blocks).clear();
        Self {
            memory: M::here(),
            random: Random::new(),
            sizes,
            blocks,
        }
    }

    // Inlined, for all: by memory a result costs more than some of them do.
    #[inline(always)]
    fn one_more(&mut self, seed: u64) -> (NonNull<u8>, Layout) {
        let (least, most) = (*self.sizes.start(), *self.sizes.end());
        let layout = layout(least + self.random.below(most - least + 1));
        (fresh(&mut self.memory, layout, seed), layout)
    }

    pub fn fill(&mut self) {
        while self.blocks.len() < self.blocks.capacity() {
            let block = self.one_more(0);
            self.blocks.push(block);
        }
    }

    #[inline(always)]
    pub fn replace_one(&mut self, seed: u64) {
        let at = self.random.below(self.blocks.len());
        let (block, layout) = self.blocks[at];
        // SAFETY: this block, in whose place there will be another.
        unsafe { self.memory.dealloc(block, layout) };
        self.blocks[at] = self.one_more(seed);
    }

    /// What was asked for.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|(_, layout)| layout.size()).sum()
    }
}

impl<M: Memory> Drop for Live<M> {
    fn drop(&mut self) {
        for (block, layout) in self.blocks.drain(..) {
            // SAFETY: these blocks, whose only user was here.
            unsafe { self.memory.dealloc(block, layout) };
        }
        self.memory.reset();
    }
}

/// As a program does whose objects come and go.
pub fn mixed<M: Memory>() -> Workload {
    Workload::new(M::NAME, LOOP, || {
        let mut live = Live::<M>::none(BATCH as usize, SIZES);
        live.fill();
        timed(move || {
            for seed in 0..LOOP {
                live.replace_one(seed);
            }
        })
    })
}

// --- from thread to thread -----------------------------------------------------

/// Blocks that are sent at a time: not what anybody's own batches are.
const SENT: usize = 100;

/// Batches on their way, or on their way back empty.
const RING: usize = 16;

struct Batch(Vec<NonNull<u8>>);

// SAFETY: blocks of those that are `Shared`.
unsafe impl Send for Batch {}

struct Pipe {
    full: ArrayQueue<Batch>,
    empty: ArrayQueue<Batch>,
    meeting: Meeting,
}

impl Pipe {
    fn new() -> Self {
        let empty = ArrayQueue::new(RING);
        for _ in 0..RING {
            let batch = Batch(Vec::with_capacity(SENT));
            assert!(empty.push(batch).is_ok(), "there is room for all");
        }
        Self {
            full: ArrayQueue::new(RING),
            empty,
            meeting: Meeting::default(),
        }
    }

    fn pass(from: &ArrayQueue<Batch>, to: &ArrayQueue<Batch>, work: impl FnOnce(&mut Batch)) {
        let mut batch = wait_for(|| from.pop());
        work(&mut batch);
        assert!(to.push(batch).is_ok(), "there is room for all");
    }

    /// Both begin together; what this one took, by its own clock.
    fn together(&self, turns: u64, mut turn: impl FnMut()) -> Duration {
        self.meeting.meet(2);
        let start = Instant::now();
        for _ in 0..turns {
            turn();
        }
        start.elapsed()
    }
}

/// The thread that frees. It sleeps while others are measured.
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
                            // SAFETY: this block, whose only user is here.
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
        let orders = self.turns.as_ref().expect("there until the end");
        orders.send(turns).expect("the other thread is there");
    }
}

impl Drop for Freeing {
    fn drop(&mut self) {
        self.turns = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

/// One thread allocates, another frees; the longer of their times.
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
            time.max(freeing.times.recv().expect("the other thread is there"))
        })
    })
}
