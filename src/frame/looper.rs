//! `Looper`: a worker that does what it is told, in order.

use super::call::OneShot;
use super::loop_state::{LoopState, Task, run_in_pool};
use super::proxy::LooperProxy;
use super::timers::PostId;
use crate::block::thread_heaps;
use crate::pool::budget::Budget;
use crate::pool::guard::named_scope;
use crate::pool::thread_pools::{self, ThreadPools};
use crate::sync::thread::{self, JoinHandle};
use crate::thread::exit::thread_exit;
use crate::thread::handle::{Closed, ThreadHandle};
use crate::thread::record::{current, current_key, enter_bounded};
use crate::unwind::report;
use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

/// Releases that may wait for a [reclaimer](Looper::reclaimer) unless set.
const DEFAULT_BOUND: usize = 100_000;

/// For how long to release before looking for commands again.
const RELEASE_BUDGET: Budget = Budget::Time(Duration::from_millis(1));

/// A thread that runs what it is sent, one command after the other, each in a pool of
/// its own, and sleeps in between: the looper of Android's `native_app_glue`, a serial
/// dispatch queue.
///
/// Its queue is its thread's inbox: sending takes one compare-and-swap, and the thread is
/// woken only if it sleeps. What is [released](ThreadHandle::release) there is released
/// when there is no command to run, and between rounds of commands for a millisecond at a
/// time: so it neither holds them up nor is held up by them for ever.
///
/// # When not to use it
/// For work in parallel, or that should be stolen by whoever is free, there are thread
/// pools; for a thread that draws there is [`FrameLoop`](crate::FrameLoop).
///
/// # Threads
/// Send and Sync; other threads may also have [proxies](Self::proxy). [`thread`](Self::thread) is the
/// thread that it runs; what is posted by that handle runs in order with the other
/// commands. But only those that are sent by the looper or a proxy are given back when it
/// is closed, or else sure to run.
///
/// # Panics
/// A panic of a command is reported as an [event](crate::event), and the next one goes on.
///
/// # The end
/// [`shutdown`](Self::shutdown) and dropping it close it and wait for its thread:
/// [the order](crate::frame#the-end-of-a-loop).
///
/// ```
/// use releasepool::Looper;
/// let loader = Looper::spawn("loader")?;
/// loader.post(|| { /* read a file */ }).unwrap();
/// assert_eq!(loader.call(|| 6 * 7).unwrap(), 42);
/// loader.shutdown().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Looper {
    state: Arc<LoopState>,
    /// `None` when it has been waited for, or is not to be.
    thread: Option<JoinHandle<()>>,
}

impl Looper {
    /// Starts a looper; its thread has this name.
    ///
    /// # Errors
    /// If the system has no thread for it.
    ///
    /// # Panics
    /// If the name has a null byte in it.
    pub fn spawn(name: &str) -> io::Result<Self> {
        Self::start(name, None)
    }

    /// Starts a looper that is to destroy what others send it, so that they need not: a
    /// free thread. They send single references by [`ThreadHandle::release`] and whole pools
    /// by [`HandoffPool::drain_on`](crate::HandoffPool::drain_on). 100,000 references may wait for it; then see
    /// [`reclaimer_bounded`](Self::reclaimer_bounded).
    ///
    /// ```
    /// use releasepool::{Looper, Ref};
    /// let reclaimer = Looper::reclaimer("reclaimer")?;
    /// let scene = Ref::new(vec![0; 1_000]);
    /// reclaimer.thread().release(scene); // destroyed there
    /// reclaimer.shutdown().unwrap();     // and by now it is
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    pub fn reclaimer(name: &str) -> io::Result<Self> {
        Self::reclaimer_bounded(name, DEFAULT_BOUND)
    }

    /// The same, with a bound: if already so many references wait to be released, a
    /// sender releases by itself, at once. So memory stays bounded when senders are faster, and
    /// senders become slower.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    pub fn reclaimer_bounded(name: &str, bound: usize) -> io::Result<Self> {
        Self::start(name, Some(bound as u64))
    }

    fn start(name: &str, bound: Option<u64>) -> io::Result<Self> {
        let ready = Arc::new(OneShot::new());
        let here = ready.clone();
        let thread = thread::spawn(name, move || {
            if let Some(bound) = bound {
                enter_bounded(bound);
            }
            let record = current().expect("a thread that has just begun");
            let state = Arc::new(LoopState::new(ThreadHandle(record)));
            here.put(state.clone());
            drop(here);
            serve(&state);
            drop(state);
            // The end of the thread would do it; but in models that is not seen.
            thread_exit();
        })?;
        Ok(Self {
            state: ready.take(),
            thread: Some(thread),
        })
    }

    /// The thread, as others see it.
    pub fn thread(&self) -> &ThreadHandle {
        &self.state.thread
    }

    /// How many references that were sent to a [reclaimer](Self::reclaimer) are still to be
    /// released; 0 for other loopers. For senders that look before they send more, so as
    /// not to reach the bound and have to release by themselves.
    pub fn waiting(&self) -> usize {
        self.state.thread.0.waiting_of_bound() as usize
    }

    /// The looper, for those who only send to it and may outlive it.
    pub fn proxy(&self) -> LooperProxy {
        LooperProxy(self.state.clone())
    }

    /// Has the looper run `f`, after what was posted before. Does not wait.
    ///
    /// What is accepted runs, at the latest when the looper is shut down. One allocation and
    /// four read-modify-writes; lock-free, unless the looper sleeps.
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the looper is closed: commands that run
    /// during its shutdown see that.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        self.state.post(f)
    }

    /// Has the looper run `f`, waits for it, and returns what it returns. On the looper's
    /// own thread it runs at once. See [`FrameProxy::call`](crate::FrameProxy::call).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, if the looper is closed before it has run.
    ///
    /// # Panics
    /// As `f`: the panic is carried over to the caller.
    pub fn call<F, R>(&self, f: F) -> Result<R, Closed<F>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.state.call(f)
    }

    /// Has the looper run `f` after `delay`. See
    /// [`FrameProxy::post_after`](crate::FrameProxy::post_after).
    ///
    /// # Errors
    /// [`Closed`], with the closure in it, once the looper is closed.
    pub fn post_after<F: FnOnce() + Send + 'static>(
        &self,
        delay: Duration,
        f: F,
    ) -> Result<PostId, Closed<F>> {
        self.state.post_after(delay, f)
    }

    /// Cancels a delayed post of this looper: whether it now never runs.
    pub fn cancel(&self, id: PostId) -> bool {
        self.state.cancel(id)
    }

    /// Closes the looper and waits for its thread: what was posted runs, delayed posts
    /// that are not due are dropped, everything that waits for the thread is released.
    /// On the looper's own thread it only closes, and does not wait.
    ///
    /// # Errors
    /// With what the thread panicked with. Panics of commands are not among that: they
    /// are reported, and caught.
    pub fn shutdown(mut self) -> thread::Result<()> {
        self.end()
    }

    fn end(&mut self) -> thread::Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.state.in_flight.close();
        self.state.wake();
        if current_key() == Some(self.state.thread.key()) {
            return Ok(());
        }
        thread.join()
    }
}

/// The life of a looper's thread.
fn serve(state: &LoopState) {
    while state.sleep() {
        run_in_pool("looper", RELEASE_BUDGET, || {
            state.round(run_command);
        });
        thread_heaps::idle();
    }
    run_in_pool("looper", Budget::All, || state.close(run_command));
}

fn run_command(task: Task) {
    thread_pools::with(|pools| {
        // The drains of a command leave remote releases to the looper's own drain.
        let _held = pools.map(ThreadPools::hold_remote_releases);
        named_scope("command", |_| task.run());
    });
}

/// As [`Looper::shutdown`].
impl Drop for Looper {
    fn drop(&mut self) {
        self.end().err().into_iter().for_each(report);
    }
}

// Whatever panics, loopers are left in order.
impl UnwindSafe for Looper {}
impl RefUnwindSafe for Looper {}

impl fmt::Debug for Looper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looper")
            .field("thread", &self.state.thread)
            .field("closed", &self.state.is_closed())
            .finish_non_exhaustive()
    }
}
