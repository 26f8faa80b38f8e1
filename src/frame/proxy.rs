//! Sending work to a loop.

use super::loop_state::LoopState;
use super::timers::PostId;
use crate::thread::handle::{Closed, ThreadHandle};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// A [`FrameLoop`](crate::FrameLoop), as other threads see it:
/// `performFunctionInCocosThread`, with an answer if wanted.
///
/// Cheap to clone; may outlive its loop, which then refuses what is posted and gives
/// the closure back.
///
/// What is posted must be `Send`, so it cannot borrow what the loop's thread has. A
/// [`HomeRef`](crate::HomeRef) names it from everywhere, and opens there:
///
/// ```
/// use releasepool::{FrameConfig, FrameLoop, HomeRef};
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
    /// Has `f` run by the loop at the beginning of its next frame, after what was posted
    /// before, and wakes the loop if it sleeps. Its panic is reported as an
    /// [event](crate::event), and does not disturb the frame.
    ///
    /// What is accepted runs on the loop's thread, at the latest when the loop is closed or that
    /// thread ends. One allocation and four read-modify-writes; lock-free, unless the loop sleeps.
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the loop is closed.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        self.0.post(f)
    }

    /// Runs `f` in the loop, waits for it, and returns what it returns. On the loop's own
    /// thread it runs at once.
    ///
    /// A loop that waits for another one which calls it never ends: as with any
    /// rendezvous, calls must go one way.
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, if the loop is closed, or its thread ends,
    /// before it has run. It never runs on another thread.
    ///
    /// # Panics
    /// As `f`: the panic is carried over to the caller.
    pub fn call<F, R>(&self, f: F) -> Result<R, Closed<F>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.0.call(f)
    }

    /// Has `f` run by the loop in the first frame that begins after `delay`. Delayed
    /// posts run by the time they are due, then in the order they were made, before
    /// what was [posted](Self::post) without a delay.
    ///
    /// If it is not due when the loop is closed, it is dropped and never runs; an
    /// [event](crate::event::EventKind::PostsDropped) says how many were.
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the loop is closed.
    pub fn post_after<F: FnOnce() + Send + 'static>(
        &self,
        delay: Duration,
        f: F,
    ) -> Result<PostId, Closed<F>> {
        self.0.post_after(delay, f)
    }

    /// Cancels a delayed post of this loop: whether it now never runs. Its closure is
    /// dropped here.
    pub fn cancel(&self, id: PostId) -> bool {
        self.0.cancel(id)
    }

    /// Has a loop that makes frames [on demand](crate::FrameConfig::on_demand) make
    /// one; requests that come before it are one. Other loops make it anyway.
    pub fn request_frame(&self) {
        self.0.request_frame();
    }

    /// Whether the loop takes posts no more.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The thread of the loop, to have things released there, say.
    pub fn thread(&self) -> &ThreadHandle {
        &self.0.thread
    }
}

// Whatever panics, loops are left in order.
impl UnwindSafe for FrameProxy {}
impl RefUnwindSafe for FrameProxy {}

impl fmt::Debug for FrameProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameProxy")
            .field("thread", &self.0.thread)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// A [`Looper`](crate::Looper), for those who only send to it.
///
/// Cheap to clone; may outlive its looper, which then refuses what is posted and gives
/// the closure back.
#[derive(Clone)]
pub struct LooperProxy(pub(super) Arc<LoopState>);

impl LooperProxy {
    /// As [`Looper::post`](crate::Looper::post).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the looper is closed.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        self.0.post(f)
    }

    /// As [`Looper::call`](crate::Looper::call).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, if the looper is closed before it has run.
    ///
    /// # Panics
    /// As `f`.
    pub fn call<F, R>(&self, f: F) -> Result<R, Closed<F>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.0.call(f)
    }

    /// As [`Looper::post_after`](crate::Looper::post_after).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the looper is closed.
    pub fn post_after<F: FnOnce() + Send + 'static>(
        &self,
        delay: Duration,
        f: F,
    ) -> Result<PostId, Closed<F>> {
        self.0.post_after(delay, f)
    }

    /// As [`Looper::cancel`](crate::Looper::cancel).
    pub fn cancel(&self, id: PostId) -> bool {
        self.0.cancel(id)
    }

    /// Whether the looper takes posts no more.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// The looper's thread.
    pub fn thread(&self) -> &ThreadHandle {
        &self.0.thread
    }
}

// As above.
impl UnwindSafe for LooperProxy {}
impl RefUnwindSafe for LooperProxy {}

impl fmt::Debug for LooperProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LooperProxy")
            .field("thread", &self.0.thread)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
