//! `Looper`: a thread that runs posted closures in order.

use super::call::OneShot;
use super::config::ReclaimerConfig;
use super::loop_state::{LoopState, PostId, Task, run_in_pool};
use super::one_frame::run_to_an_end;
use super::proxy::{LooperProxy, sends_closures};
use super::reclaim::{Reclaim, on_own_thread};
use crate::memory::block::thread_heaps;
use crate::pool::stack::budget::Budget;
use crate::sync::thread::{self, JoinHandle};
use crate::thread::current::{current, current_key, enter_bounded, thread_exit};
use crate::thread::thread_handle::{Closed, ThreadHandle};
use crate::unwind::report;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

/// How long a looper makes releases before it checks for commands again.
const RELEASE_BUDGET: Budget = Budget::Time(Duration::from_millis(1));

/// A thread that runs posted closures one after the other, each in a pool of its own: like a serial
/// dispatch queue, or the looper of Android's `native_app_glue`. Needs no counted objects.
///
/// It derefs to a [`LoopProxy`](super::LoopProxy), which posts, calls and cancels; clones of the
/// proxy are for other threads. References [released](ThreadHandle::release) on the thread are
/// released when no command waits, and between rounds of commands for a millisecond at a time.
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
    pub(super) proxy: LooperProxy,
    /// The thread to join; `None` once it has been joined, or if it must not be joined.
    thread: Option<JoinHandle<()>>,
}

sends_closures!(Looper by proxy.state);

impl Looper {
    /// Starts a looper, with a thread of this name.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn spawn(name: &str) -> io::Result<Self> {
        Self::start(name, ReclaimerConfig::new(), false)
    }

    /// Starts a looper that destroys objects for other threads.
    ///
    /// Other threads send it single references by [`ThreadHandle::release`], and whole pools by
    /// [`HandoffPool::drain_on`](crate::HandoffPool::drain_on). At most 100,000 references may wait
    /// for it: see [`reclaimer_bounded`](Self::reclaimer_bounded).
    ///
    /// ```
    /// use releasepool::{Looper, Ref};
    /// let reclaimer = Looper::reclaimer("reclaimer")?;
    /// let scene = Ref::new(vec![0; 1_000]);
    /// reclaimer.thread().release(scene); // destroyed on the reclaimer's thread
    /// reclaimer.shutdown().unwrap();     // waits until it has been
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn reclaimer(name: &str) -> io::Result<Self> {
        ReclaimerConfig::new().spawn(name)
    }

    /// Starts a [`reclaimer`](Self::reclaimer) for which at most `bound` references may wait.
    ///
    /// When the bound is reached, a sender releases its references itself, at once. So memory stays
    /// bounded if senders are faster than the reclaimer; they slow down instead. A pool that is
    /// [handed over](crate::HandoffPool::drain_on) is accepted as a whole if fewer references wait.
    /// [`ReclaimerConfig`] has more settings.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn reclaimer_bounded(name: &str, bound: usize) -> io::Result<Self> {
        ReclaimerConfig::new().values(bound).spawn(name)
    }

    /// Starts a looper. `bounds_releases` says whether the bound on values is one on references, too.
    pub(super) fn start(
        name: &str,
        config: ReclaimerConfig,
        bounds_releases: bool,
    ) -> io::Result<Self> {
        let ready = Arc::new(OneShot::new());
        let here = ready.clone();
        let thread = thread::spawn(name, move || {
            if bounds_releases {
                enter_bounded(config.values);
            }
            let record = current().expect("a thread that has just begun");
            let state = Arc::new(LoopState::new(ThreadHandle(record)));
            let reclaim = Arc::new(Reclaim::new(config));
            here.put((state.clone(), reclaim.clone()));
            drop(here);
            on_own_thread(&reclaim, || {
                serve(&state, &reclaim);
                drop(state);
                // The thread's end would call it, too, but models do not see a thread's end.
                thread_exit();
            });
        })?;
        let ready = ready.take_within(None);
        let (state, reclaim) = ready.expect("the thread has put it there");
        Ok(Self {
            proxy: LooperProxy { state, reclaim },
            thread: Some(thread),
        })
    }

    /// Returns how many references that were sent to a [reclaimer](Self::reclaimer) have not been
    /// released yet; 0 for other loopers. Senders can check it, so that they do not reach the
    /// bound, at which they would have to make releases themselves.
    pub fn waiting(&self) -> usize {
        self.thread().0.waiting_of_bound() as usize
    }

    /// Returns a handle that only sends to the looper, and may outlive it.
    pub fn proxy(&self) -> LooperProxy {
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
        self.proxy.state.ask_to_close();
        if current_key() == Some(self.thread().key()) {
            return Ok(());
        }
        thread.join()
    }
}

impl ReclaimerConfig {
    /// Starts a reclaimer with these settings, on a thread of this name.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn spawn(self, name: &str) -> io::Result<Looper> {
        Looper::start(name, self, true)
    }
}

/// Runs commands and makes releases until the looper is closed.
fn serve(state: &LoopState, reclaim: &Reclaim) {
    while state.wait_for_work() {
        reclaim.note_busy(true);
        run_in_pool("looper", RELEASE_BUDGET, || {
            state.run_waiting(run_command);
        });
        reclaim.made_room();
        reclaim.note_busy(state.thread.0.releases.waiting() != 0);
        thread_heaps::idle();
    }
    run_in_pool("looper", Budget::All, || state.close(run_command));
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
