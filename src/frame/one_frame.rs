//! One frame: `Frame`, which a loop passes to the code that runs in it, its `FrameReport`, and the
//! messages that carry a closure which takes a frame.
//!
//! A loop that makes a frame runs such a message by [`run_in`], with that frame. Other code (the
//! end of a loop or thread, `run_inbox`) runs it like any message, and the closure gets a frame of
//! its own.

use super::config::FrameConfig;
use crate::macros::debug_fields;
use crate::memory::arena::stack_allocator::StackAllocator;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::named_scope;
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Drained;
use crate::sync::cell::{Cell, OnceCell};
use crate::sync::local;
use crate::thread::current::current;
use crate::thread::inbox::{Message, MessageKind};
use crate::thread::thread_handle::Carried;
use crate::unwind::FirstPanic;
use std::ptr;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) delta: Duration,
    pub(super) steps: u32,
    pub(super) step: Duration,
    pub(super) leftover: Duration,
}

/// One frame of a [`FrameLoop`](crate::FrameLoop).
///
/// # Example
/// ```
/// use releasepool::{FrameLoop, frame::FrameConfig};
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
    /// address space. If memory is exhausted, the process aborts.
    ///
    /// ```
    /// use releasepool::{FrameLoop, frame::FrameConfig};
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
    /// Zero in the first frame, if suspended, and just after [`resume`](crate::FrameLoop::resume).
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
    /// use releasepool::{FrameLoop, frame::FrameConfig};
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

debug_fields! {
    Frame<'_>: |this|
        index = this.index, delta = this.delta(), steps = this.steps(), pool = this.pool, ..
}

/// A guard. Its drop, also during a panic, resets the arena of a frame.
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
            times: Times::default(),
            last: None,
        });
    };
    run_to_an_end("frame", frame);
}

/// Runs `f` in a pool of its own, and then drains the pool, also if `f` panics. The drain ends even
/// if destructors feed the pool for ever, so that the loop can be shut down. It leaves most duties
/// of the thread to the loop's own drain.
pub(super) fn run_to_an_end(name: &'static str, f: impl FnOnce(&AutoreleasePool)) {
    this_thread::with(|pools| {
        let _round = pools.map(|pools| pools.round.begin());
        named_scope(name, |pool| {
            let mut panics = FirstPanic::default();
            panics.guard(|| f(pool));
            panics.guard(|| pool.drain_to_an_end());
            panics.resume();
        });
    });
}

/// The figures of a frame: how much it has done, and how long that took.
/// [`FrameLoop::tick`](crate::FrameLoop::tick) returns its frame's report, and
/// [`Frame::last_report`](crate::frame::Frame::last_report) the report of the frame before.
///
/// # How to read it
/// A frame is on time if [`busy`](Self::busy) is less than the
/// [frame's time](crate::frame::FrameConfig::frame_time). One report says little: look at the largest
/// values of the last few seconds, and at whether a value grows.
///
/// | what you see | what it means | what to do |
/// |---|---|---|
/// | `busy` above the frame's time, `drained.elapsed` small | updating and drawing, or posted closures, take too long | move work to a [`Looper`](crate::Looper); post less per frame |
/// | `busy` above the frame's time, `drained.elapsed` far above [`min_drain`](crate::frame::FrameConfig::min_drain) | a destructor takes too long: the budget is only checked between two of them | `drained.slowest` names its type: destroy such objects on a [`Reclaimer`](crate::Reclaimer), by [`Later`](crate::reclaim::Later) or a [`HandoffPool`](crate::HandoffPool) |
/// | `drained.remaining` is above zero now and then, and goes back | a burst, which is spread over some frames as it should be | nothing |
/// | `drained.remaining` grows from frame to frame | more is released than the drains get to; memory grows | a larger `min_drain`, a reclaimer, or fewer temporaries |
/// | `waited` is near zero in [`run`](crate::FrameLoop::run), frame after frame | the loop has no time to spare, or its pacing is [`unlimited`](crate::frame::FrameConfig::unlimited) | see `busy` |
/// | `closures` grows | threads post more, or a frame was late | let posters wait for an answer ([`LoopProxy::call`](crate::frame::LoopProxy::call)), or post less often |
/// | `panics` above zero | a posted closure has a bug; the frame went on | the [event](crate::event) has its message |
/// | `steps` is 0 now and then | the step is longer than a frame: nothing is due | draw with [`leftover`](crate::frame::Frame::leftover) |
/// | `steps` is [`max_steps`](crate::frame::FrameConfig::max_steps), frame after frame | updates take longer than the time they cover, and the world slows down | cheaper updates or a longer step |
/// | `arena_high_water` above [`arena_capacity`](crate::frame::FrameConfig::arena_capacity) | what did not fit was on the heap; the next frames' arena is larger | set the capacity to the most that you see |
///
/// The first frame has a `delta` of zero, and may be late, as it allocates memory that later frames
/// reuse. The feature `metrics` records reports for dashboards, `serde` serializes them, and
/// `tracing` shows frames as spans.
///
/// # Example
/// ```
/// use releasepool::{FrameLoop, frame::FrameConfig};
///
/// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
/// let report = frames.tick(|frame| _ = frame.pool().create(5));
/// assert_eq!((report.index, report.drained.released, report.drained.remaining), (0, 1, 0));
/// println!("busy for {:?}", report.busy);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FrameReport {
    /// The frame's number, counted from 0.
    pub index: u64,
    /// How many posted closures have run, including delayed ones.
    pub closures: usize,
    /// How many of these closures panicked; each panic is an [event](crate::event).
    pub panics: usize,
    /// The frame's [`delta`](crate::frame::Frame::delta): the time since the last frame began, at most
    /// [`max_delta`](crate::frame::FrameConfig::max_delta). If it equals `max_delta`, time may have been
    /// dropped.
    pub delta: Duration,
    /// How many updates were due: 1, or with a [fixed step](crate::frame::FrameConfig::fixed_step) from 0
    /// to [`max_steps`](crate::frame::FrameConfig::max_steps).
    pub steps: u32,
    /// How long [`run`](crate::FrameLoop::run) waited before the frame; zero for `tick`.
    pub waited: Duration,
    /// The most bytes of the frame's [arena](crate::frame::Frame::arena) in use at once: a guide for
    /// [`arena_capacity`](crate::frame::FrameConfig::arena_capacity).
    pub arena_high_water: usize,
    /// The time from the frame's beginning to its end, including the drain, without `waited`.
    pub busy: Duration,
    /// The result of the drain at the frame's end: releases made, and releases left to the next
    /// frames.
    pub drained: Drained,
}

/// A closure that takes the frame in which it runs. Messages of the kind
/// [`MessageKind::FrameClosure`] carry it.
pub(super) struct Framed<F>(pub(super) F);

local! {
    /// The frame for the closure that [`run_in`] is about to call; otherwise null.
    static FRAME: Cell<*mut ()> = Cell::new(ptr::null_mut());
}

impl<F: FnOnce(&mut Frame<'_>) + Send + 'static> Carried for Framed<F> {
    fn run(self) {
        let frame = FRAME.with(|frame| frame.replace(ptr::null_mut()));
        // SAFETY: null, or set by `run_in`, which lends the frame until this call has returned.
        // Taking the pointer leaves null, so nothing else has it.
        match unsafe { frame.cast::<Frame<'_>>().as_mut() } {
            Some(frame) => (self.0)(frame),
            None => in_own_frame(self.0),
        }
    }
}

/// Runs a message; if its closure takes a frame, passes it `frame`.
pub(super) fn run_in(message: Message, frame: &mut Frame<'_>) {
    if message.kind() == MessageKind::FrameClosure {
        FRAME.with(|place| place.set(ptr::from_mut(frame).cast()));
    }
    message.run();
}
