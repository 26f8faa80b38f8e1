//! Threads of a model.

use crate::sync::thread::JoinHandle as PlatformJoinHandle;
use std::fmt;

/// Starts a thread of a model.
///
/// The thread ends with [`thread_exit`], so the entries of its root pool and the releases in its
/// inbox are released before [`JoinHandle::join`] returns, as for a thread of the operating system.
/// loom allows five threads in a model, including the main thread.
///
/// # Panics
/// Outside a model.
#[track_caller]
pub fn spawn<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    JoinHandle(crate::sync::thread::spawn_in_model(move || {
        let result = f();
        thread_exit();
        result
    }))
}

/// Joins a thread that [`spawn`] started.
///
/// ```
/// # #[cfg(loom)]
/// releasepool::model::check(&["5"], || {
///     let thread = releasepool::model::spawn(|| 2 + 3);
///     thread.join().to_string()
/// });
/// ```
pub struct JoinHandle<R>(PlatformJoinHandle<R>);

impl<R> JoinHandle<R> {
    /// Waits until the thread has ended, and returns its result.
    ///
    /// A panic in any thread fails the model, so there is no error to return.
    #[track_caller]
    pub fn join(self) -> R {
        match self.0.join() {
            Ok(result) => result,
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
}

impl<R> fmt::Debug for JoinHandle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Ends the calling thread's use of the crate, as the end of a thread of the operating system does.
///
/// Drains the thread's root and token pools, closes its inbox, and passes the remaining messages
/// on. loom runs the destructors of thread-locals only after `join` has returned, so each thread of
/// a model must call this at its end. [`spawn`] and [`end`](super::end) call it themselves.
pub fn thread_exit() {
    crate::thread::current::thread_exit();
}

/// Marks a place at which a [seed](super::Builder::seeds) may switch threads.
///
/// Every operation of this crate's atomics, and of the atomics in [`atomic`](super::atomic), is
/// such a place. Without seeds it does nothing.
#[cfg(not(releasepool_shuttle))]
#[track_caller]
pub fn point() {
    crate::sync::settings::user_point(std::panic::Location::caller());
}
