//! `FrameLoop`: the UI thread's.

use super::clock::{Clock, Times};
use super::config::{FrameConfig, Pacing};
use super::exit;
use super::loop_state::{LoopState, Task, run_in_pool};
use super::proxy::FrameProxy;
use super::report::FrameReport;
use crate::arena::stack_allocator::StackAllocator;
use crate::block::thread_heaps;
use crate::object::destroy::settle_scope;
use crate::pool::budget::Budget;
use crate::pool::guard::{AutoreleasePool, named_scope};
use crate::pool::thread_pools::{self, ThreadPools};
use crate::sync::cell::OnceCell;
use crate::sync::elapsed;
use crate::thread::handle::ThreadHandle;
use crate::thread::record;
use crate::thread::waker::{OuterHook, WakeHook, let_go};
use std::fmt;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

type HostEvents = Box<dyn FnMut(&AutoreleasePool)>;

/// Makes the frames of a UI thread: each runs what other threads have posted, updates
/// and draws, and clears the frame's pool: `Director::mainLoop`.
///
/// A frame goes in this order: events, if [`set_events`](Self::set_events) says how to
/// get them; closures that were posted and delayed posts that are due, those that are
/// there when the frame begins; the function that draws; the reset of the frame's
/// [arena](Frame::arena); the drain of the frame's pool and of what other threads have sent to
/// be released. All of it has the frame's pool as its current one.
///
/// The drain has what is left of the [frame's time](FrameConfig::frame_time), and at
/// least [`min_drain`](FrameConfig::min_drain); what it leaves is for the drains of the
/// next frames, oldest first. So one frame that lets go of a hundred thousand objects does
/// not stall. See [`drain_within`](AutoreleasePool::drain_within).
///
/// There are two ways to drive it. [`run`](Self::run) makes one frame after the other, and
/// sleeps in between. [`tick`](Self::tick) makes one, for hosts with an event loop of
/// their own; it never waits, and [`set_wake_hook`](Self::set_wake_hook) or
/// [`set_waker`](Self::set_waker) has the host told when there is something to do.
///
/// # When not to use it
/// For a thread that only serves others: that is a [`Looper`](crate::Looper). If you have
/// a loop of your own and want nothing but its pool cleared, drain an
/// [`AutoreleasePool`] in it and call
/// [`run_inbox`](crate::PoolManager::run_inbox).
///
/// # Threads
/// It stays on the thread that made it, whose inbox it serves: what is sent by a
/// [`ThreadHandle`] runs here, too. Other threads have [`FrameProxy`]s. Have one loop on a
/// thread: two would take each other's posts. The exception is a loop that lives within a
/// frame of the other, for a modal dialog, say: it runs what comes meanwhile.
///
/// # InFlightPost destructors
/// A frame that is made inside a destructor or drain runs no posted closures; they wait
/// for the next one. If the loop is dropped there, those that are due stay with the thread: they
/// run in its next [`run_inbox`](crate::PoolManager::run_inbox) or loop, or at its end.
///
/// # The end
/// Dropping the loop closes it: [the order](crate::frame#the-end-of-a-loop). The end of its thread
/// closes a loop that is still open then: one that was forgotten, or is kept in a thread-local.
///
/// ```
/// use releasepool::{FrameConfig, FrameLoop};
/// use std::ops::ControlFlow;
/// use std::thread;
///
/// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
/// let proxy = frames.proxy();
/// let worker = thread::spawn(move || proxy.call(|| "drawn").unwrap());
/// frames.run(|frame| {
///     let _sprite = frame.pool().create("temporary");
///     if worker.is_finished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// });
/// assert_eq!(worker.join().unwrap(), "drawn");
/// ```
pub struct FrameLoop {
    state: Arc<LoopState>,
    config: FrameConfig,
    events: Option<HostEvents>,
    clock: Clock,
    /// When the last frame began.
    began: Option<Duration>,
    index: u64,
    last: Option<FrameReport>,
    /// Made by the first frame that uses it.
    arena: OnceCell<StackAllocator>,
    hook: Option<WakeHook>,
    /// That of a loop which this one is inside of: it is set again when ours is not any more.
    outer: Option<OuterHook>,
    /// It stays on its thread.
    _thread: PhantomData<*mut ()>,
}

impl FrameLoop {
    /// A loop for the calling thread.
    ///
    /// # Panics
    /// While the thread's thread-locals are torn down.
    #[must_use = "a loop makes no frames by itself"]
    pub fn new(config: FrameConfig) -> Self {
        let Some(record) = record::current() else {
            panic!("a FrameLoop cannot be made while its thread ends");
        };
        let state = Arc::new(LoopState::new(ThreadHandle(record)));
        exit::register(&state);
        Self {
            state,
            config,
            events: None,
            clock: Clock::default(),
            began: None,
            index: 0,
            last: None,
            arena: OnceCell::new(),
            hook: None,
            outer: None,
            _thread: PhantomData,
        }
    }

    /// The loop, for other threads.
    pub fn proxy(&self) -> FrameProxy {
        FrameProxy(self.state.clone())
    }

    /// Has `events` called at the beginning of each frame: to poll the queue of a host.
    pub fn set_events(&mut self, events: impl FnMut(&AutoreleasePool) + 'static) {
        self.events = Some(Box::new(events));
    }

    /// Has `hook` called when there is something to do for a loop that is driven by
    /// [`tick`](Self::tick): a post, a release, a request for a frame, or a delayed post
    /// that is to be the first one due (see [`next_due`](Self::next_due)). It wakes the
    /// event loop of the host: winit's proxy, `SDL_PushEvent`, `PostMessage`.
    ///
    /// Between two frames the first post calls it, and the first release. If there is something to do already when this
    /// is called, or at the end of a frame (releases that the frame had no time for are
    /// such), the hook is called at once. Spurious calls are possible, missed ones are not.
    ///
    /// It runs on the thread of the sender, under no lock. Its panics are reported as
    /// [events](crate::event).
    pub fn set_wake_hook(&mut self, hook: impl Fn() + Send + Sync + 'static) {
        self.hook(Some(Arc::new(hook)));
    }

    /// Wakes `waker` where [`set_wake_hook`](Self::set_wake_hook) calls its hook: for a task that
    /// drives the loop.
    pub fn set_waker(&mut self, waker: Waker) {
        self.hook(Some(Arc::new(move || waker.wake_by_ref())));
    }

    /// Removes the wake hook or waker.
    pub fn clear_wake_hook(&mut self) {
        self.hook(None);
    }

    fn hook(&mut self, hook: Option<WakeHook>) {
        let waker = &self.state.thread.0.waker;
        if self.hook.is_none() {
            self.outer = waker.hook().as_ref().map(Arc::downgrade);
        }
        let old = std::mem::replace(&mut self.hook, hook);
        // Not if a loop has set its own since, which outlives us.
        let set = waker.hook();
        let is_ours = set.is_none()
            || set
                .zip(old.as_ref())
                .is_some_and(|(a, b)| Arc::ptr_eq(&a, b));
        if self.hook.is_some() || is_ours {
            let outer = || self.outer.as_ref()?.upgrade();
            let before = waker.set_hook(self.hook.clone().or_else(outer));
            before.into_iter().for_each(let_go);
        }
        old.into_iter().for_each(let_go);
        if self.hook.is_some() {
            self.state.disarm();
            self.state.arm();
        }
    }

    /// How long until the first delayed post is due: zero if it is, `None` if there is
    /// none. For hosts that sleep by themselves.
    pub fn next_due(&self) -> Option<Duration> {
        self.state.next_due()
    }

    /// Makes time stand still, for an app in the background: the deltas of frames are
    /// zero. Posts go on.
    pub fn suspend(&mut self) {
        self.clock.suspend();
    }

    /// Lets time go on; it begins anew with the next frame, whose delta is zero.
    pub fn resume(&mut self) {
        self.clock.resume();
    }

    /// What the last frame came to, if there was one and it did not panic.
    pub fn last_report(&self) -> Option<&FrameReport> {
        self.last.as_ref()
    }

    /// Makes a frame, now.
    ///
    /// # Panics
    /// As `f` and the function given to [`set_events`](Self::set_events), and with the
    /// first panic of a destructor in the frame's drain. Even then the frame's pool has
    /// been drained, its arena is empty, and the loop goes on with the next frame.
    pub fn tick(&mut self, f: impl FnOnce(&mut Frame<'_>)) -> FrameReport {
        let _armed = self.disarm_until_end();
        self.frame(Duration::ZERO, f)
    }

    /// Makes frames until `f` breaks, and waits between them as the
    /// [settings](FrameConfig) say. The loop stays open; dropping it closes it.
    ///
    /// [On demand](FrameConfig::on_demand), the first frame is made at once. What only is to
    /// be released, sent by others or left by a frame, is released without making a frame.
    ///
    /// # Panics
    /// As [`tick`](Self::tick).
    pub fn run(&mut self, mut f: impl FnMut(&mut Frame<'_>) -> ControlFlow<()>) {
        let _armed = self.disarm_until_end();
        loop {
            let start = elapsed();
            self.wait();
            let waited = elapsed().saturating_sub(start);
            let mut flow = ControlFlow::Continue(());
            self.frame(waited, |frame| flow = f(frame));
            if flow.is_break() {
                return;
            }
        }
    }

    /// The host need not be told of anything until the end of this.
    fn disarm_until_end(&self) -> Option<ArmAtEnd> {
        self.state.disarm();
        // The hook may be that of a loop which this one is inside of.
        let has_hook = self.state.thread.0.waker.has_hook();
        has_hook.then(|| ArmAtEnd(self.state.clone()))
    }

    /// Waits until a frame is to be made.
    fn wait(&self) {
        let Some(began) = self.began else { return };
        if self.config.pacing == Pacing::OnDemand {
            self.state.sleep();
            while !self.state.needs_frame() {
                run_in_pool("idle", Budget::Time(self.config.min_drain), || ());
                self.state.sleep();
            }
        }
        if let Some(frame_time) = self.config.frame_time {
            // Not armed: what comes now is for the frame anyway.
            let left = || {
                let left = frame_time.saturating_sub(elapsed().saturating_sub(began));
                (!left.is_zero()).then_some(left)
            };
            while let Some(left) = left() {
                self.state.thread.0.waker.sleep(Some(left));
            }
        }
    }

    fn frame(&mut self, waited: Duration, f: impl FnOnce(&mut Frame<'_>)) -> FrameReport {
        let began = elapsed();
        self.began = Some(began);
        let index = self.index;
        self.index += 1;
        let times = self.clock.frame(began, &self.config);
        self.state.clear_request();
        let (state, events, last) = (&*self.state, &mut self.events, self.last.as_ref());
        let (config, arena) = (&self.config, &mut self.arena);
        let frame = |local: Option<&ThreadPools>| {
            named_scope("frame", |pool| {
                // Pools that are closed in a frame leave to its end what others have sent.
                let held = local.map(ThreadPools::hold_remote_releases);
                if let Some(events) = events {
                    events(pool);
                }
                let round = state.round(Task::run);
                let arena = ResetAtEnd(arena);
                let mut frame = Frame {
                    pool,
                    arena: arena.0,
                    arena_capacity: config.arena_capacity,
                    index,
                    times,
                    last,
                };
                f(&mut frame);
                let high_water = arena.0.get().map_or(0, StackAllocator::peak);
                drop(arena);
                drop(held);
                let spent = elapsed().saturating_sub(began);
                let drained = pool.drain_within(config.drain_budget(spent));
                (round, high_water, drained)
            })
        };
        // A host may run its event loop inside a destructor.
        let (round, arena_high_water, drained) = settle_scope(|| thread_pools::with(frame));
        thread_heaps::idle();
        let report = FrameReport {
            index,
            closures: round.closures,
            panics: round.panics,
            delta: times.delta,
            steps: times.steps,
            waited,
            arena_high_water,
            busy: elapsed().saturating_sub(began),
            drained,
        };
        self.last = Some(report.clone());
        report
    }
}

/// Has the host told of what comes after this, however that ends.
struct ArmAtEnd(Arc<LoopState>);

impl Drop for ArmAtEnd {
    fn drop(&mut self) {
        self.0.arm();
    }
}

/// Empties the arena of a frame, however that ends.
struct ResetAtEnd<'a>(&'a mut OnceCell<StackAllocator>);

impl Drop for ResetAtEnd<'_> {
    fn drop(&mut self) {
        if let Some(arena) = self.0.get_mut() {
            arena.reset();
        }
    }
}

/// Closes the loop: [the order](crate::frame#the-end-of-a-loop).
impl Drop for FrameLoop {
    fn drop(&mut self) {
        self.hook(None);
        let _armed = self.disarm_until_end();
        run_in_pool("last frame", Budget::All, || self.state.close(Task::run));
    }
}

impl fmt::Debug for FrameLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameLoop")
            .field("thread", &self.state.thread)
            .field("config", &self.config)
            .field("frames", &self.index)
            .finish_non_exhaustive()
    }
}

/// One frame of a [`FrameLoop`].
pub struct Frame<'f> {
    pool: &'f AutoreleasePool,
    arena: &'f OnceCell<StackAllocator>,
    arena_capacity: usize,
    index: u64,
    times: Times,
    last: Option<&'f FrameReport>,
}

impl Frame<'_> {
    /// The frame's pool, which is drained at its end. It is also the current one.
    pub fn pool(&self) -> &AutoreleasePool {
        self.pool
    }

    /// Memory for what the frame makes and does not keep: lists of what is visible, text,
    /// contacts.
    ///
    /// It is reset when the function that draws is done, or has panicked, before the frame's
    /// pool is drained. Nothing refers to it any more then; what is in the pool is `'static`,
    /// and never has. If the frame needed more than fits, the arena has one and a half of that
    /// in the next one.
    ///
    /// # Panics
    /// If the [capacity](FrameConfig::arena_capacity) that was set is more than the address
    /// space holds. Aborts if memory is exhausted. Both in the first frame that uses it.
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

    /// The time since the last frame began, at most
    /// [`max_delta`](FrameConfig::max_delta). Zero in the first frame, and in the first
    /// one after [`resume`](FrameLoop::resume).
    pub fn delta(&self) -> Duration {
        self.times.delta
    }

    /// The frame's number, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// How many updates are due: 1, or with a [fixed step](FrameConfig::fixed_step) as
    /// many as have become due since the last frame, which may be none.
    pub fn steps(&self) -> u32 {
        self.times.steps
    }

    /// By how much time to advance the world in each update: the fixed step, or
    /// [`delta`](Self::delta).
    pub fn step(&self) -> Duration {
        self.times.step
    }

    /// With a fixed step, the time that no update has made up for yet: less than a step,
    /// to draw what is in between. Otherwise zero.
    pub fn leftover(&self) -> Duration {
        self.times.leftover
    }

    /// What the last frame came to, if there was one and it did not panic.
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
