//! `Looper`: a thread that runs posted closures in order.

use super::call::OneShot;
use super::loop_state::{LOOPS, LoopState, Task, run_in_pool};
use super::one_frame::run_to_an_end;
use super::proxy::LoopProxy;
use crate::memory::block::thread_heaps;
use crate::pool::stack::budget::Budget;
use crate::sync::thread::{self, JoinHandle};
use crate::thread::current::{current, enter_bounded, thread_exit};
use crate::thread::key::own_key;
use crate::thread::thread_handle::ThreadHandle;
use crate::unwind::report;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

/// How long a looper makes releases before it checks for commands again.
const RELEASE_BUDGET: Budget = Budget::Time(Duration::from_millis(1));

/// A thread that runs posted closures one after the other, each in a pool of its own: like a serial
/// dispatch queue, or the looper of Android's `native_app_glue`. Needs no counted objects.
///
/// It derefs to a [`LoopProxy`], which posts, calls and cancels; clones of the proxy are for other
/// threads. References that are [sent](ThreadHandle::release) to its thread are released when no
/// command waits, and between rounds of commands for a millisecond at a time.
///
/// # When not to use it
/// For parallel work or work stealing, use a thread pool; for a thread that draws,
/// [`FrameLoop`](crate::FrameLoop); to destroy values, [`drop_later`](crate::drop_later) or a
/// [`Reclaimer`](crate::Reclaimer).
///
/// # Threads, cost
/// Send and Sync. A post takes one allocation, and wakes the thread only if it sleeps. Closures
/// that are posted by the [`ThreadHandle`] run in order with the others, but only closures posted
/// by the looper or a proxy are sure to run or to be given back when the looper is closed.
///
/// # Panics and the end
/// A command's panic is reported as an [event](crate::event), and the looper goes on. A command
/// ends even if destructors feed its pool for ever: after 100,000 generations it leaves the rest to
/// the looper's drains. [`shutdown`](Self::shutdown), or dropping the looper, closes it and waits
/// for its thread, in [this order](crate::frame#the-end-of-a-loop).
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
    proxy: LoopProxy,
    /// The thread to join; `None` once `end` has been called.
    thread: Option<JoinHandle<()>>,
}

impl Looper {
    /// Starts a looper, with a thread of this name.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn spawn(name: &str) -> io::Result<Self> {
        Self::start(name, None, |looper| looper.serve(|_, round| round()))
    }

    /// Starts a looper. `bound`, if any, limits the references that may wait for its thread.
    /// That thread only calls `run`.
    pub(crate) fn start(
        name: &str,
        bound: Option<u64>,
        run: impl FnOnce(Served) + Send + 'static,
    ) -> io::Result<Self> {
        let kind = bound.map_or("looper", |_| "reclaimer");
        let ready = Arc::new(OneShot::new());
        let here = ready.clone();
        let thread = thread::spawn(name, move || {
            if let Some(bound) = bound {
                enter_bounded(bound);
            }
            let record = current().expect("a thread that has just begun");
            let state = Arc::new(LoopState::new(ThreadHandle(record), kind));
            here.put(state.clone());
            drop(here);
            run(Served(state));
        })?;
        let state = ready.take_by(None);
        let state = state.expect("the thread has put it there");
        LOOPS.add(&state);
        Ok(Self {
            proxy: LoopProxy(state),
            thread: Some(thread),
        })
    }

    /// Returns a handle that only sends to the looper, and may outlive it.
    pub fn proxy(&self) -> LoopProxy {
        self.proxy.clone()
    }

    /// Closes the looper and waits for its thread.
    ///
    /// Posted closures run, delayed posts that are not due are dropped, and all releases that wait
    /// for the thread are made. On the looper's own thread, `shutdown` only closes the looper, and
    /// does not wait.
    ///
    /// # Errors
    /// If the thread itself panicked, with its payload. Panics of commands are caught and reported,
    /// and are not errors here.
    pub fn shutdown(mut self) -> thread::Result<()> {
        self.end()
    }

    fn end(&mut self) -> thread::Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.ask_to_close();
        // `own_key` returns the thread's key even after its exit.
        if own_key() == Some(self.thread().key()) {
            return Ok(());
        }
        thread.join()
    }
}

/// A looper on its own thread.
pub(crate) struct Served(Arc<LoopState>);

impl Served {
    /// Runs commands and makes releases until the looper is closed, then runs the thread's exit.
    /// Passes each round to `around`, which must call it.
    pub(crate) fn serve(self, mut around: impl FnMut(&ThreadHandle, &mut dyn FnMut())) {
        let state = self.0;
        while state.wait_for_work() {
            around(&state.thread, &mut || {
                run_in_pool("looper", RELEASE_BUDGET, || {
                    state.run_waiting(run_command);
                });
            });
            thread_heaps::idle();
        }
        run_in_pool("looper", Budget::All, || state.close(run_command));
        drop(state);
        // The thread's end would call `thread_exit`, too, but not in models.
        thread_exit();
    }
}

/// Runs one command in a pool of its own.
fn run_command(task: Task) {
    run_to_an_end("command", |_| task.run());
}

/// Shuts the looper down and waits, as [`Looper::shutdown`] does; a panic of its thread is
/// reported.
impl Drop for Looper {
    fn drop(&mut self) {
        self.end().err().into_iter().for_each(report);
    }
}

impl Deref for Looper {
    type Target = LoopProxy;

    fn deref(&self) -> &LoopProxy {
        &self.proxy
    }
}

// A panic leaves no loop in an inconsistent state.
impl std::panic::UnwindSafe for Looper {}
impl std::panic::RefUnwindSafe for Looper {}

impl fmt::Debug for Looper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Looper").field(&self.proxy).finish()
    }
}
