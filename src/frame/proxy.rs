//! `LoopProxy`: a handle that sends work to a loop.

use super::call::{Call, OneShot};
use super::loop_state::{DelayedPosts, FRAMES, LoopState, PostId, insert};
use super::one_frame::{Frame, Framed};
use crate::macros::debug_fields;
use crate::sync::with_room;
use crate::thread::current::current_key;
use crate::thread::inbox::MessageKind;
use crate::thread::thread_handle::{Closed, ThreadHandle};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// A handle by which any thread sends closures to a [`FrameLoop`](crate::FrameLoop) or a
/// [`Looper`](crate::Looper): like `performFunctionInCocosThread`, but [`call`](Self::call) also
/// returns a result.
///
/// Cheap to clone; a `Looper` derefs to its own proxy. A proxy may outlive its loop: posts are then
/// refused, and the closure is given back.
///
/// Posted closures must be `Send`, so they cannot borrow values that the loop's thread owns. A
/// [`HomeRef`](crate::HomeRef) can be sent with the closure, and opened on the loop's thread:
///
/// ```
/// use releasepool::{FrameLoop, HomeRef, frame::FrameConfig};
/// use std::{cell::RefCell, ops::ControlFlow, thread};
///
/// let scene = HomeRef::new(RefCell::new(Vec::new()));
/// let mut frames = FrameLoop::new(FrameConfig::new());
/// let (ui, there) = (frames.proxy(), scene.clone());
/// let worker = thread::spawn(move || {
///     ui.post(move || there.get().unwrap().borrow_mut().push("sprite")).unwrap();
/// });
/// frames.run(|_| match scene.get().unwrap().borrow().is_empty() {
///     true => ControlFlow::Continue(()),
///     false => ControlFlow::Break(()),
/// });
/// worker.join().unwrap();
/// ```
#[derive(Clone)]
pub struct LoopProxy(pub(super) Arc<LoopState>);

impl LoopProxy {
    /// Posts `f` to the loop, which runs it after everything that was posted before; a frame loop
    /// at the beginning of its next frame. Wakes the loop if it sleeps, and does not wait.
    ///
    /// An accepted closure runs on the loop's thread, at the latest when the loop is closed or
    /// that thread ends. Its panic is reported as an [event](crate::event), and does not disturb
    /// the loop. Takes one allocation and six read-modify-writes; lock-free, unless the loop
    /// sleeps.
    ///
    /// # Errors
    /// Returns [`Closed`] with the closure once the loop is closed; so closures that run while the
    /// loop closes cannot post to it.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        let push = |message| self.0.push(message);
        self.thread().post_by(MessageKind::LoopClosure, f, push)
    }

    /// Runs `f` on the loop's thread, waits for it, and returns its result. On the loop's own
    /// thread, `f` runs at once.
    ///
    /// # Deadlocks
    /// Two loops that call each other at the same time wait for ever, and so do longer circles, of
    /// frame loops and loopers alike: let calls go one way only, and answer by
    /// [`post`](Self::post). A caller that holds a lock also waits for ever if `f`, or something
    /// that the loop does before `f`, takes that lock.
    ///
    /// # Errors
    /// Returns [`Closed`] with the closure if the loop is closed, or its thread ends, before the
    /// closure has begun. The closure never runs on another thread.
    ///
    /// # Panics
    /// With `f`'s panic, if it panics.
    pub fn call<F, R>(&self, f: F) -> Result<R, Closed<F>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let target = self.thread().key();
        if current_key() == Some(target) {
            let is_closed = self.0.in_flight.is_closed();
            return if is_closed { Err(Closed(f)) } else { Ok(f()) };
        }
        let call = Arc::new(Call::new(f));
        let message = call.clone();
        // A loop that refuses the message is closed.
        _ = self.post(move || message.run(target));
        call.wait(|| self.is_closed())
    }

    /// Posts `f` to the loop, which runs it after `delay`; a frame loop in the first frame that
    /// begins after the delay.
    ///
    /// Delayed posts that are due run before closures [posted](Self::post) without a delay,
    /// ordered by the time when they are due, then by the order in which they were made. Posts
    /// that are not due when the loop is closed are dropped without running; the event
    /// [`PostsDropped`](crate::event::EventKind::PostsDropped) says how many.
    ///
    /// # Errors
    /// Returns [`Closed`] with the closure once the loop is closed.
    pub fn post_after<F: FnOnce() + Send + 'static>(
        &self,
        delay: Duration,
        f: F,
    ) -> Result<PostId, Closed<F>> {
        let f = Box::new(f);
        let insert = |posts: &mut DelayedPosts| {
            // This guard ends before the wake-up, as the wake hook is foreign code.
            let Some(_post_in_flight) = self.0.in_flight.begin_post() else {
                return Err(f);
            };
            Ok(insert(posts, delay, f))
        };
        let inserted = with_room(|f| self.0.change_delayed(f), insert);
        let (id, first) = inserted.map_err(|f| Closed(*f))?;
        if first {
            self.0.wake();
        }
        Ok(id)
    }

    /// Cancels a delayed post of this loop; returns whether it was still waiting. If so, its
    /// closure is dropped here and never runs.
    pub fn cancel(&self, id: PostId) -> bool {
        let cancelled = self.0.timers.lock().cancel(id);
        self.0.shrink_delayed();
        // Drops the closure after unlocking: its destructor is foreign code.
        cancelled.is_some()
    }

    /// Posts `f` to the loop like [`post`](Self::post), and gives it the [`Frame`] in which it
    /// runs, with the frame's pool and arena.
    ///
    /// Posts of both kinds run in the order in which they were posted, before the function given to
    /// [`run`](crate::FrameLoop::run) or [`tick`](crate::FrameLoop::tick), which gets the same
    /// frame. So objects that `f` creates in the frame's pool live until the frame's end.
    ///
    /// When no loop makes a frame, `f` gets a frame of its own: in a [`Looper`](crate::Looper),
    /// when a loop is closed or its thread ends, and when the thread calls
    /// [`run_inbox`](crate::PoolManager::run_inbox). That frame's pool is drained when `f` has
    /// returned. Its arena is empty at first, and freed at the same time; its
    /// [`delta`](Frame::delta) and [`steps`](Frame::steps) are zero; it has no
    /// [`last_report`](Frame::last_report); and its [`index`](Frame::index) is the number of frames
    /// that the thread has made. There is no report of such a frame.
    ///
    /// Panics and cost are those of [`post`](Self::post). A panic ends `f` alone: the frame goes
    /// on, and keeps the objects that `f` has created in its pool.
    ///
    /// ```
    /// use releasepool::{FrameLoop, frame::FrameConfig};
    ///
    /// let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
    /// let ui = frames.proxy();
    /// std::thread::spawn(move || {
    ///     ui.post_frame(|frame| {
    ///         frame.pool().create("lives until the frame's end");
    ///         let scratch = frame.arena().alloc_slice(100, |i| i);
    ///         assert_eq!(scratch.iter().sum::<usize>(), 4_950);
    ///     })
    ///     .unwrap();
    /// })
    /// .join()
    /// .unwrap();
    /// let report = frames.tick(|frame| assert_eq!(frame.pool().len(), 1));
    /// assert_eq!((report.closures, report.drained.released), (1, 1));
    /// ```
    ///
    /// # Errors
    /// Returns [`Closed`] with the closure once the loop is closed.
    pub fn post_frame<F>(&self, f: F) -> Result<(), Closed<F>>
    where
        F: FnOnce(&mut Frame<'_>) + Send + 'static,
    {
        let (thread, push) = (self.thread(), |message| self.0.push(message));
        let posted = thread.post_by(MessageKind::FrameClosure, Framed(f), push);
        posted.map_err(|Closed(Framed(f))| Closed(f))
    }

    /// Requests a frame from a loop that makes its frames [on
    /// demand](super::FrameConfig::on_demand) or, by the wake hook, from a host that calls `tick`.
    /// Several requests before that frame count as one. Other loops ignore requests.
    pub fn request_frame(&self) {
        if self.0.kind != FRAMES {
            return;
        }
        let before = mem::replace(&mut self.0.timers.lock().frame_requested, true);
        if !before {
            self.0.wake();
        }
    }

    /// Returns the handle of the loop's thread, for example to release objects there.
    pub fn thread(&self) -> &ThreadHandle {
        &self.0.thread
    }

    /// Returns whether the loop refuses posts.
    pub fn is_closed(&self) -> bool {
        self.0.in_flight.is_closed() || !self.thread().is_alive()
    }

    /// Posts `f` and waits until it has run, or `elapsed` reaches `until`; returns whether it ran.
    pub(crate) fn run_by(&self, until: Duration, f: impl FnOnce() + Send + 'static) -> bool {
        let done = Arc::new(OneShot::new());
        let there = done.clone();
        let posted = self.post(move || {
            f();
            there.put(());
        });
        posted.is_ok() && done.take_by(Some(until)).is_some()
    }

    /// Refuses posts from now on, and wakes the loop, which finds itself closed and ends.
    pub(crate) fn ask_to_close(&self) {
        self.0.ask_to_close();
    }
}

debug_fields! { LoopProxy: |this| thread = this.thread(), closed = this.is_closed(), .. }
