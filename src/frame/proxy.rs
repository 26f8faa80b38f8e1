//! `FrameProxy` and `LooperProxy`: handles that send work to a loop.

use super::loop_state::{Delayed, LoopState, PostId};
use super::one_frame::Frame;
use super::reclaim::Reclaim;
use crate::thread::thread_handle::{Closed, ThreadHandle};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Implements what all handles of a loop have: functions that send closures to the loop's thread, by the
/// [`LoopState`] in a field of the handle.
macro_rules! sends_closures {
    ($handle:ident by $($state:tt).+) => {
        impl $handle {
            /// Posts `f` to the loop, which runs it after everything that was posted before; a frame loop
            /// at the beginning of its next frame. Wakes the loop if it sleeps, and does not wait.
            ///
            /// An accepted closure runs on the loop's thread, at the latest when the loop is closed or
            /// that thread ends. Its panic is reported as an [event](crate::event), and does not disturb
            /// the loop. Takes one allocation and four read-modify-writes; lock-free, unless the loop
            /// sleeps.
            ///
            /// # Errors
            /// Returns [`Closed`] with the closure once the loop is closed; so closures that run while
            /// it is closed cannot post to it.
            pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
                self.$($state).+.post(f)
            }

            /// Runs `f` on the loop's thread, waits for it, and returns its result. On the loop's own
            /// thread, `f` runs at once.
            ///
            /// # Deadlocks
            /// Two loops that call each other at the same time wait for ever, and so do longer circles,
            /// of frame loops and loopers alike: let calls go one way only, and answer by
            /// [`post`](Self::post). A caller that holds a lock that `f`, or what the loop does before
            /// it, takes waits for ever, too.
            ///
            /// # Errors
            /// Returns [`Closed`] with the closure if the loop is closed, or its thread ends, before the
            /// closure has run. The closure never runs on another thread.
            ///
            /// # Panics
            /// With `f`'s panic, if it panics.
            pub fn call<F, R>(&self, f: F) -> Result<R, Closed<F>>
            where
                F: FnOnce() -> R + Send + 'static,
                R: Send + 'static,
            {
                self.$($state).+.call(f)
            }

            /// Posts `f` to the loop, which runs it after `delay`; a frame loop in the first frame that
            /// begins then.
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
                let delayed = |f: Box<F>| super::loop_state::Delayed::Plain(f);
                self.$($state).+.post_after(delay, f, delayed)
            }

            /// Cancels a delayed post of this loop; returns whether it was still waiting. If so, its
            /// closure is dropped here and never runs.
            pub fn cancel(&self, id: PostId) -> bool {
                self.$($state).+.cancel(id)
            }

            /// Returns the handle of the loop's thread, for example to release objects there.
            pub fn thread(&self) -> &ThreadHandle {
                &self.$($state).+.thread
            }
        }

        // A panic leaves no loop in an inconsistent state.
        impl UnwindSafe for $handle {}
        impl RefUnwindSafe for $handle {}

        impl fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($handle))
                    .field("thread", self.thread())
                    .field("closed", &self.$($state).+.is_closed())
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(super) use sends_closures;

sends_closures!(FrameProxy by 0);
sends_closures!(LooperProxy by state);

/// A handle to a [`FrameLoop`](crate::FrameLoop) for other threads: like
/// `performFunctionInCocosThread`, but [`call`](Self::call) also returns a result.
///
/// Cheap to clone. It may outlive its loop; posts are then refused, and the closure is given back.
///
/// Posted closures must be `Send`, so they cannot borrow values that the loop's thread owns. A
/// [`HomeRef`](crate::HomeRef) can be sent with the closure, and opened on the loop's thread:
///
/// ```
/// use releasepool::frame::FrameConfig;
/// use releasepool::{FrameLoop, HomeRef};
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
pub struct FrameProxy(pub(super) Arc<LoopState>);

impl FrameProxy {
    /// Posts `f` to the loop like [`post`](Self::post), and gives it the [`Frame`] in which it
    /// runs, with the frame's pool and arena.
    ///
    /// Posts of both kinds run in the order in which they were posted, before the function given to
    /// [`run`](crate::FrameLoop::run) or [`tick`](crate::FrameLoop::tick), which gets the same
    /// frame. So objects that `f` creates in the frame's pool live until the frame's end.
    ///
    /// When no loop makes a frame, `f` gets a frame of its own: when the loop is closed or its
    /// thread ends, and in a [`Looper`](crate::Looper) or
    /// [`run_inbox`](crate::PoolManager::run_inbox) that serves the thread meanwhile. That frame's
    /// pool is drained when `f` has returned. Its arena is empty at first, and freed at the same
    /// time; its [`delta`](Frame::delta) and [`steps`](Frame::steps) are zero; it has no
    /// [`last_report`](Frame::last_report); and its [`index`](Frame::index) is the number of frames
    /// that the thread has made. It has no report of its own.
    ///
    /// Panics and cost are those of [`post`](Self::post). A panic ends `f` alone: the frame goes
    /// on, and keeps the objects that `f` has created in its pool.
    ///
    /// ```
    /// use releasepool::frame::FrameConfig;
    /// use releasepool::FrameLoop;
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
        self.0.post_frame(f)
    }

    /// Posts `f` to the loop, which runs it in the first frame that begins after `delay`, as
    /// [`post_after`](Self::post_after) does, and gives it that frame, as
    /// [`post_frame`](Self::post_frame) does.
    ///
    /// # Errors
    /// Returns [`Closed`] with the closure once the loop is closed.
    pub fn post_frame_after<F>(&self, delay: Duration, f: F) -> Result<PostId, Closed<F>>
    where
        F: FnOnce(&mut Frame<'_>) + Send + 'static,
    {
        self.0.post_after(delay, f, |f| Delayed::Framed(f))
    }

    /// Requests a frame from a loop that makes them [on demand](crate::frame::FrameConfig::on_demand).
    /// Several requests before that frame count as one. Other loops ignore requests.
    pub fn request_frame(&self) {
        self.0.request_frame();
    }

    /// Returns whether the loop refuses posts.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// A handle that only sends to a [`Looper`](crate::Looper).
///
/// Cheap to clone. It may outlive its looper; posts are then refused, and the closure is given
/// back.
///
/// # Example
/// ```
/// use releasepool::thread::Closed;
/// use releasepool::Looper;
///
/// let looper = Looper::spawn("worker")?;
/// let proxy = looper.proxy();
/// assert_eq!(proxy.call(|| 2 + 2).ok(), Some(4));
/// looper.shutdown().unwrap();
/// let refused = proxy.post(|| ());
/// assert!(matches!(refused, Err(Closed(_))));
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct LooperProxy {
    pub(super) state: Arc<LoopState>,
    pub(super) reclaim: Arc<Reclaim>,
}

impl LooperProxy {
    /// Returns whether the looper refuses posts.
    pub fn is_closed(&self) -> bool {
        self.state.is_closed()
    }
}
