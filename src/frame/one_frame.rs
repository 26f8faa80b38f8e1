//! `Frame`, which a loop passes to the code that runs in one of its frames.

use super::clock::Times;
use super::config::FrameConfig;
use super::frame_report::FrameReport;
use crate::arena::stack_allocator::StackAllocator;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::named_scope;
use crate::pool::drain::this_thread;
use crate::sync::cell::OnceCell;
use crate::thread::current::current;
use crate::unwind::{FirstPanic, resume_or_report};
use std::fmt;
use std::time::Duration;

/// One frame of a [`FrameLoop`](crate::FrameLoop).
///
/// # Example
/// ```
/// use releasepool::{FrameConfig, FrameLoop};
///
/// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
/// let report = frames.tick(|frame| {
///     frame.pool().create(5); // released at the frame's end
///     let five = frame.arena().alloc(5); // its memory is used again by the next frame
///     assert_eq!((*five, frame.index()), (5, 0));
/// });
/// assert_eq!(report.drained.released, 1);
/// ```
pub struct Frame<'f> {
    pub(super) pool: &'f AutoreleasePool,
    pub(super) arena: &'f OnceCell<StackAllocator>,
    pub(super) arena_capacity: usize,
    pub(super) index: u64,
    pub(super) times: Times,
    pub(super) last: Option<&'f FrameReport>,
}

impl Frame<'_> {
    /// Returns the frame's pool, which is drained at the frame's end. It is also the current pool.
    pub fn pool(&self) -> &AutoreleasePool {
        self.pool
    }

    /// Returns the frame's arena: memory for values that do not outlive the frame, such as lists of
    /// visible nodes, text, or contacts.
    ///
    /// The arena is reset when the function that draws has returned or panicked, before the frame's
    /// pool is drained. Nothing can then refer to the arena, as pools only own `'static` values. If
    /// a frame needed more than the arena's capacity, the next frame gets one and a half times the
    /// size that it needed.
    ///
    /// # Panics
    /// In the first frame that uses it, if the [capacity](FrameConfig::arena_capacity) exceeds the
    /// address space. If memory is exhausted, it aborts.
    ///
    /// ```
    /// use releasepool::{FrameConfig, FrameLoop};
    /// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
    /// let report = frames.tick(|frame| {
    ///     let visible = frame.arena().alloc_slice(1_000, |i| i * 2);
    ///     assert_eq!(visible[999], 1_998);
    /// });
    /// assert!(report.arena_high_water >= 1_000 * size_of::<usize>());
    /// ```
    pub fn arena(&self) -> &StackAllocator {
        let capacity = self.arena_capacity;
        self.arena
            .get_or_init(|| StackAllocator::with_capacity(capacity))
    }

    /// Returns the time since the last frame began, at most [`max_delta`](FrameConfig::max_delta).
    /// Zero in the first frame, and in the first one after [`resume`](crate::FrameLoop::resume).
    pub fn delta(&self) -> Duration {
        self.times.delta
    }

    /// Returns the frame's number, counted from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns how many updates are due: 1, or with a [fixed step](FrameConfig::fixed_step) as many
    /// updates as have become due since the last frame, possibly 0.
    ///
    /// ```
    /// use releasepool::{FrameConfig, FrameLoop};
    /// use std::time::Duration;
    /// let step = Duration::from_millis(10);
    /// let mut frames = FrameLoop::new(FrameConfig::new().unlimited().fixed_step(step));
    /// let (mut position, speed) = (0.0, 3.0);
    /// frames.tick(|frame| {
    ///     for _ in 0..frame.steps() {
    ///         position += speed * frame.step().as_secs_f64();
    ///     }
    ///     let drawn_at = position + speed * frame.leftover().as_secs_f64();
    ///     assert!(drawn_at < 1.0);
    /// });
    /// ```
    pub fn steps(&self) -> u32 {
        self.times.steps
    }

    /// Returns the time by which each update should advance the world: the fixed step, or
    /// [`delta`](Self::delta).
    pub fn step(&self) -> Duration {
        self.times.step
    }

    /// Returns, with a fixed step, the time that no update has covered yet: less than a step, for
    /// interpolation when drawing. Otherwise zero.
    pub fn leftover(&self) -> Duration {
        self.times.leftover
    }

    /// Returns the report of the last frame, if there was one and it did not panic.
    pub fn last_report(&self) -> Option<&FrameReport> {
        self.last
    }
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("index", &self.index)
            .field("delta", &self.delta())
            .field("steps", &self.steps())
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

/// A guard. Dropping it resets the arena of a frame, also by a panic.
pub(super) struct ResetAtEnd<'a>(pub(super) &'a mut OnceCell<StackAllocator>);

impl Drop for ResetAtEnd<'_> {
    fn drop(&mut self) {
        if let Some(arena) = self.0.get_mut() {
            arena.reset();
        }
    }
}

/// Runs `f` in a frame of its own, for closures that run when no loop makes a frame. When `f` has
/// returned or panicked, that frame's pool is drained, and its arena freed.
pub(super) fn in_own_frame(f: impl FnOnce(&mut Frame<'_>)) {
    let made = current().map_or(0, |record| record.outside.frames.get());
    let frame = |pool: &AutoreleasePool| {
        f(&mut Frame {
            pool,
            arena: &OnceCell::new(),
            arena_capacity: FrameConfig::default().arena_capacity,
            index: made,
            times: Times::NONE,
            last: None,
        });
    };
    run_to_an_end("frame", frame);
}

/// Runs `f` in a pool of its own, which is drained, whether `f` returns or panics. The drain ends even
/// if destructors feed the pool for ever, so that the loop can be shut down. It leaves most duties of
/// the thread to the loop's own drain.
pub(super) fn run_to_an_end(name: &'static str, f: impl FnOnce(&AutoreleasePool)) {
    this_thread::with(|pools| {
        let _round = pools.map(|pools| pools.round.begin());
        named_scope(name, |pool| {
            let mut panics = FirstPanic::default();
            panics.guard(|| f(pool));
            panics.guard(|| pool.drain_to_an_end());
            panics.into_first().into_iter().for_each(resume_or_report);
        });
    });
}
