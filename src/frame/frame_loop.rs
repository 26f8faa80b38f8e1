//! `FrameLoop`: makes the frames of a UI thread, and computes their times.

use super::config::{FrameConfig, Pacing};
use super::loop_state::{FRAMES, LoopState, Task, run_in_pool};
use super::loops;
use super::one_frame::{Frame, FrameReport, ResetAtEnd, Times};
use super::proxy::LoopProxy;
use crate::event::span::FrameSpan;
use crate::macros::debug_fields;
use crate::memory::arena::stack_allocator::StackAllocator;
use crate::memory::block::thread_heaps;
use crate::object::destroy::settle_scope;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::named_scope;
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::Budget;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::OnceCell;
use crate::sync::elapsed;
use crate::thread::current;
use crate::thread::thread_handle::ThreadHandle;
use crate::thread::waker::{HookPlace, WakeHook};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Polls the host's event queue at the beginning of each frame.
type HostEvents = Box<dyn FnMut(&AutoreleasePool)>;

/// A loop that makes the frames of a UI thread, like `Director::mainLoop` in Cocos2d-x. Needs no
/// counted objects.
///
/// [`run`](Self::run) makes one frame after the other, and sleeps between them.
/// [`tick`](Self::tick) makes one frame and never waits, for hosts with an event loop of their own,
/// which [`set_wake_hook`](Self::set_wake_hook) tells when there is something to do. Each frame, with its pool as the current pool:
///
/// 1. calls the function given to [`set_events`](Self::set_events), if there is one;
/// 2. runs the closures in the inbox, and the delayed posts that are due;
/// 3. calls the function given to `run` or `tick`, which updates and draws;
/// 4. resets its [arena](Frame::arena), and drains its pool and the backlog, within the rest of the
///    [frame's time](FrameConfig::frame_time), at least [`min_drain`](FrameConfig::min_drain) and
///    at most [`max_drain`](FrameConfig::max_drain); later frames release what is left.
///
/// # When not to use it
/// For a thread that only serves other threads: use a [`Looper`](crate::Looper). If you have a loop
/// of your own and only want its pool cleared, drain an [`AutoreleasePool`] in it and call
/// [`run_inbox`](crate::PoolManager::run_inbox).
///
/// # Threads
/// The loop stays on the thread that made it; other threads use a [`LoopProxy`]. The loop serves
/// the thread's inbox, and so also closures that are sent by a [`ThreadHandle`]. Make only one loop
/// per thread, as two would take each other's posts; but a loop inside a frame, such as that of a
/// modal dialog, runs the posts that arrive meanwhile.
///
/// # The end
/// Dropping the loop closes it, in [this order](crate::frame#the-end-of-a-loop). If the loop was
/// forgotten or is kept elsewhere, its thread's end closes it, or a call of
/// [`finish`](crate::finish) on its thread. On other threads `finish` makes posts to the loop fail,
/// calls the wake hook, and makes [`run`](Self::run) return; a host that calls `tick` looks at
/// [`LoopProxy::is_closed`](crate::frame::LoopProxy::is_closed). A loop that is closed inside a
/// destructor or drain runs no posted closure: the next frame,
/// [`run_inbox`](crate::PoolManager::run_inbox), or the thread's end runs it.
///
/// ```
/// use releasepool::{FrameLoop, frame::FrameConfig};
/// use std::ops::ControlFlow;
///
/// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
/// let proxy = frames.proxy();
/// let worker = std::thread::spawn(move || proxy.call(|| "drawn").unwrap());
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
    began: Option<Duration>,
    index: u64,
    last: Option<FrameReport>,
    /// Made by the first frame that uses it.
    arena: OnceCell<StackAllocator>,
    hook: HookPlace,
    /// The loop is neither Send nor Sync.
    _thread: PhantomData<*mut ()>,
}

impl FrameLoop {
    /// Creates a loop for the calling thread.
    ///
    /// # Panics
    /// In destructors of thread-locals, once the thread has ended its use of this crate.
    #[must_use = "a loop makes no frames by itself"]
    pub fn new(config: FrameConfig) -> Self {
        let Some(record) = current::current() else {
            panic!("a FrameLoop cannot be created while its thread ends");
        };
        let state = Arc::new(LoopState::new(ThreadHandle(record), FRAMES));
        loops::register(&state);
        Self {
            state,
            config,
            events: None,
            clock: Clock::default(),
            began: None,
            index: 0,
            last: None,
            arena: OnceCell::new(),
            hook: HookPlace::default(),
            _thread: PhantomData,
        }
    }

    /// Returns a handle by which other threads send work to the loop.
    pub fn proxy(&self) -> LoopProxy {
        LoopProxy(self.state.clone())
    }

    /// Calls `events` at the beginning of each frame, to poll the host's event queue.
    pub fn set_events(&mut self, events: impl FnMut(&AutoreleasePool) + 'static) {
        self.events = Some(Box::new(events));
    }

    /// Calls `hook` when a loop that is driven by [`tick`](Self::tick) has something to do: a post,
    /// a release, a request for a frame, or a delayed post that is now the first to be due (see
    /// [`next_due`](Self::next_due)). The hook should wake the host's event loop: by winit's proxy,
    /// `SDL_PushEvent` or `PostMessage`; for an async task that drives the loop, by
    /// `move || waker.wake_by_ref()`. The host then calls `tick`.
    ///
    /// Between two frames the hook is called for the first post and for the first release. It is
    /// called at once if there is something to do when it is set, or at the end of a frame that had
    /// no time for all releases. Spurious calls are possible, missed wake-ups are not.
    ///
    /// The hook runs on the sending thread, under no lock. Its panics are reported as
    /// [events](crate::event).
    ///
    /// ```
    /// use releasepool::{FrameLoop, frame::FrameConfig};
    /// use std::{sync::mpsc, thread};
    /// let mut frames = FrameLoop::new(FrameConfig::new());
    /// let (wake, host) = mpsc::channel(); // the queue of the host's event loop
    /// frames.set_wake_hook(move || wake.send(()).unwrap());
    /// let ui = frames.proxy();
    /// let worker = thread::spawn(move || ui.post(|| println!("on the UI thread")).unwrap());
    /// host.recv().unwrap();
    /// assert_eq!(frames.tick(|_frame| { /* draw */ }).closures, 1);
    /// # worker.join().unwrap();
    /// ```
    pub fn set_wake_hook(&mut self, hook: impl Fn() + Send + Sync + 'static) {
        self.hook(Some(Arc::new(hook)));
    }

    /// Removes the wake hook.
    pub fn clear_wake_hook(&mut self) {
        self.hook(None);
    }

    fn hook(&mut self, hook: Option<WakeHook>) {
        let waker = &self.state.thread.0.waker;
        self.hook.set(waker, hook);
        // Arms the inboxes for the hook that is now the last one: this loop's, or an outer loop's.
        if waker.has_hook() {
            self.state.thread.0.disarm();
            self.state.arm();
        }
    }

    /// Returns how long it is until the first delayed post is due: zero if it is due already,
    /// `None` if there is no delayed post. For hosts that sleep on their own.
    pub fn next_due(&self) -> Option<Duration> {
        self.state.timers.lock().next_due()
    }

    /// Stops the loop's time, for an app in the background: [`Frame::delta`] is zero.
    ///
    /// Only time stops: [`run`](Self::run) goes on to make as many frames a second as before, 60 by default, and
    /// posts go on. To make none, break out of `run` and call it again later, or do not call [`tick`](Self::tick);
    /// a loop whose frames are made [on demand](FrameConfig::on_demand) sleeps anyway while nobody asks for one.
    pub fn suspend(&mut self) {
        self.clock.set_suspended(true);
    }

    /// Lets the loop's time go on from the next frame, which has a delta of zero.
    pub fn resume(&mut self) {
        self.clock.set_suspended(false);
    }

    /// Returns the report of the last frame, if there was one and it did not panic.
    pub fn last_report(&self) -> Option<&FrameReport> {
        self.last.as_ref()
    }

    /// Makes one frame, at once; `f` updates and draws.
    ///
    /// # Panics
    /// If `f` or the function given to [`set_events`](Self::set_events) panics, and with the first
    /// panic of a destructor in the frame's drain. Even then the frame's pool has been drained, its
    /// arena is empty, and the loop can go on with the next frame.
    pub fn tick(&mut self, f: impl FnOnce(&mut Frame<'_>)) -> FrameReport {
        let _armed = self.disarm_until_end();
        self.frame(Duration::ZERO, f)
    }

    /// Makes frames until `f` breaks, and waits between them as the [settings](FrameConfig) say.
    /// The loop stays open afterwards; dropping it closes it. Also returns, without a frame, once
    /// [`finish`](crate::finish) has asked the loop to end.
    ///
    /// A loop that makes frames [on demand](FrameConfig::on_demand) makes the first one at once.
    /// Releases alone, whether sent by other threads or left by an earlier frame, are made without
    /// a frame.
    ///
    /// # Panics
    /// Under the same conditions as [`tick`](Self::tick).
    pub fn run(&mut self, mut f: impl FnMut(&mut Frame<'_>) -> ControlFlow<()>) {
        let _armed = self.disarm_until_end();
        loop {
            let start = elapsed();
            self.wait();
            if self.is_asked_to_end() {
                return;
            }
            let waited = elapsed().saturating_sub(start);
            let mut flow = ControlFlow::Continue(());
            self.frame(waited, |frame| flow = f(frame));
            if flow.is_break() {
                return;
            }
        }
    }

    fn is_asked_to_end(&self) -> bool {
        self.state.in_flight.is_closed()
    }

    /// Keeps messages from calling the wake hook until the returned guard is dropped.
    fn disarm_until_end(&self) -> Option<ArmAtEnd> {
        self.state.thread.0.disarm();
        // The hook may belong to an enclosing loop.
        let has_hook = self.state.thread.0.waker.has_hook();
        has_hook.then(|| ArmAtEnd(self.state.clone()))
    }

    /// Waits until it is time for the next frame.
    fn wait(&self) {
        let Some(began) = self.began else { return };
        if self.config.pacing == Pacing::OnDemand {
            self.state.sleep();
            while !self.state.needs_frame() && !self.is_asked_to_end() {
                run_in_pool("idle", Budget::Time(self.config.min_drain), || ());
                self.state.sleep();
            }
        }
        if let Some(frame_time) = self.config.frame_time {
            // A message may end a sleep early: the next frame runs it, but does not come sooner.
            let left = || {
                let left = frame_time.saturating_sub(elapsed().saturating_sub(began));
                (!left.is_zero()).then_some(left)
            };
            while let Some(left) = left().filter(|_| !self.is_asked_to_end()) {
                self.state.thread.0.waker.sleep(Some(left));
            }
        }
    }

    fn frame(&mut self, waited: Duration, f: impl FnOnce(&mut Frame<'_>)) -> FrameReport {
        let span = FrameSpan::begin(self.index);
        let began = *self.began.insert(elapsed());
        let index = self.index;
        self.index += 1;
        let times = self.clock.frame(began, &self.config);
        self.state.timers.lock().frame_requested = false;
        let (state, events, last) = (&*self.state, &mut self.events, self.last.take());
        let (config, arena) = (&self.config, &mut self.arena);
        let frame = |pools: Option<&ThreadPools>| {
            named_scope("frame", |pool| {
                // During a round, pools that close inside the frame leave most duties of the thread
                // to the frame's end.
                let round = pools.map(|pools| pools.round.begin());
                if let Some(events) = events {
                    events(pool);
                }
                let arena = ResetAtEnd(arena);
                let mut frame = Frame {
                    pool,
                    arena: arena.0,
                    arena_capacity: config.arena_capacity,
                    index,
                    times,
                    last: last.as_ref(),
                };
                let closures = state.run_waiting(|task| task.run_in(&mut frame));
                f(&mut frame);
                let high_water = arena.0.get().map_or(0, StackAllocator::peak);
                drop(arena);
                drop(round);
                let spent = elapsed().saturating_sub(began);
                let drained = pool.drain_within(config.drain_budget(spent));
                (closures, high_water, drained)
            })
        };
        // A host may run frames in a destructor: `settle_scope` makes their releases outermost.
        let (ran, arena_high_water, drained) = settle_scope(|| this_thread::with(frame));
        thread_heaps::idle();
        let busy = elapsed().saturating_sub(began);
        let outside = &self.state.thread.0.outside;
        outside.frames.add(1);
        outside.last_frame.set(busy.as_nanos() as u64);
        let report = FrameReport {
            index,
            closures: ran.closures,
            panics: ran.panics,
            delta: times.delta,
            steps: times.steps,
            waited,
            arena_high_water,
            busy,
            drained,
        };
        self.last = Some(report.clone());
        span.end(ran.closures, (drained.released, Some(drained.remaining)));
        report
    }
}

/// A guard. Its drop, also during a panic, lets messages call the wake hook again.
struct ArmAtEnd(Arc<LoopState>);

impl Drop for ArmAtEnd {
    fn drop(&mut self) {
        self.0.arm();
    }
}

/// Closes the loop, in [this order](crate::frame#the-end-of-a-loop).
impl Drop for FrameLoop {
    fn drop(&mut self) {
        self.hook(None);
        let _armed = self.disarm_until_end();
        run_in_pool("last frame", Budget::All, || self.state.close(Task::run));
    }
}

debug_fields! {
    FrameLoop: |this|
        thread = this.state.thread, config = this.config, frames = this.index, ..
}

/// Computes the times of each frame.
#[derive(Debug, Default)]
struct Clock {
    /// When the last frame began; `None` if time starts with the next frame.
    last: Option<Duration>,
    /// The time that no step has covered yet.
    leftover: Duration,
    suspended: bool,
}

impl Clock {
    /// Begins a frame at `now`; returns its times.
    fn frame(&mut self, now: Duration, config: &FrameConfig) -> Times {
        let passed = self
            .last
            .map_or(Duration::ZERO, |last| now.saturating_sub(last));
        if !self.suspended {
            self.last = Some(now);
        }
        let delta = passed.min(config.max_delta);
        let Pacing::Fixed { step } = config.pacing else {
            return Times {
                delta,
                steps: 1,
                step: delta,
                leftover: Duration::ZERO,
            };
        };
        let time = self.leftover + delta;
        let due = time.as_nanos() / step.as_nanos();
        let steps = u32::try_from(due).unwrap_or(u32::MAX).min(config.max_steps);
        // Whole steps beyond the limit are dropped; only a part of a step is kept.
        let rest = time.as_nanos() % step.as_nanos();
        self.leftover = Duration::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX));
        Times {
            delta,
            steps,
            step,
            leftover: self.leftover,
        }
    }

    /// Stops time, or lets it go on from the next frame.
    fn set_suspended(&mut self, suspended: bool) {
        self.suspended = suspended;
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Asserts deltas, steps and leftovers of frames that begin at these times; all in milliseconds.
    fn assert_times(
        config: &FrameConfig,
        at: [u64; 4],
        deltas: [u64; 4],
        steps: [u32; 4],
        leftovers: [u64; 4],
    ) {
        let mut clock = Clock::default();
        let times = at.map(|now| clock.frame(ms(now), config));
        assert_eq!(times.map(|times| times.delta), deltas.map(ms));
        assert_eq!(times.map(|times| times.steps), steps);
        assert_eq!(times.map(|times| times.leftover), leftovers.map(ms));
    }

    #[test]
    fn a_frame_covers_the_time_since_the_last_one_in_steps() {
        let variable = FrameConfig::new();
        let at = [1_000, 1_016, 1_016, 1_050];
        assert_times(&variable, at, [0, 16, 0, 34], [1; 4], [0; 4]);
        let at = [5_000, 9_000, 8_000, 8_050];
        let limited = variable.clone().max_delta(ms(100));
        assert_times(&limited, at, [0, 100, 0, 50], [1; 4], [0; 4]);
        let fixed = variable.fixed_step(ms(10));
        let at = [0, 9, 18, 40];
        assert_times(&fixed, at, [0, 9, 9, 22], [0, 0, 1, 3], [0, 9, 8, 0]);
        let at = [0, 95, 100, 110];
        let capped = fixed.max_steps(3);
        assert_times(&capped, at, [0, 95, 5, 10], [0, 3, 1, 1], [0, 5, 0, 0]);
    }

    #[test]
    fn time_stops_while_suspended_and_starts_again_on_resume() {
        let config = FrameConfig::new();
        let mut clock = Clock::default();
        clock.frame(ms(0), &config);
        clock.set_suspended(true);
        assert_eq!(clock.frame(ms(10), &config).delta, ms(0));
        assert_eq!(clock.frame(ms(20), &config).delta, ms(0));
        clock.set_suspended(false);
        assert_eq!(clock.frame(ms(30), &config).delta, ms(0));
        assert_eq!(clock.frame(ms(47), &config).delta, ms(17));
    }

    #[test]
    fn extreme_settings_do_not_overflow() {
        let config = FrameConfig::new()
            .fixed_step(Duration::ZERO)
            .max_steps(u32::MAX)
            .max_delta(Duration::MAX);
        let mut clock = Clock::default();
        clock.frame(Duration::ZERO, &config);
        assert_eq!(clock.frame(Duration::MAX, &config).steps, u32::MAX);
        let config = FrameConfig::new()
            .fixed_step(Duration::MAX)
            .max_delta(Duration::MAX);
        let mut clock = Clock::default();
        for now in [Duration::ZERO, Duration::MAX / 2, Duration::MAX] {
            clock.frame(now, &config);
        }
    }
}
