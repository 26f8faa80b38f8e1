//! One execution of a model, and its threads.

use crate::PoolManager;
use crate::object::header;
use crate::object::home::HOMELESS;
use crate::sync::thread::JoinHandle as PlatformJoinHandle;
use crate::thread::current::tally_destroyed;
use std::fmt;
use std::time::Duration;

/// Begins an execution of a model; call it first.
///
/// For code that calls loom itself; [`Builder`](super::Builder) calls it itself.
///
/// ```
/// # #[cfg(loom)] {
/// use releasepool::model;
///
/// loom::model(|| {
///     model::begin();
///     let thread = model::spawn(|| releasepool::Ref::new(5));
///     drop(thread.join());
///     model::end(); // all objects are destroyed
/// });
/// # }
/// ```
pub fn begin() {
    super::live::begin();
}

/// Ends an execution of a model; call it last, on the main thread, when all other threads have been
/// joined.
///
/// Ends the main thread's use of the crate, as [`thread_exit`] does. For code that calls loom
/// itself; [`Builder`](super::Builder) calls it itself.
///
/// # Panics
/// If a counted object is alive, or a posted closure has not run. The message names the types, how
/// many objects of each there are, and what may hold them.
pub fn end() {
    thread_exit();
    super::live::assert_none();
}

/// Releases the objects that slots have retired; call it after the joins, when no pool is open.
///
/// When a store replaces a slot's object, the release of the old object is deferred until no thread
/// can be reading it, so the old object stays alive until that release.
///
/// # Panics
/// If something delays the releases, such as an open pool that has loaded from a slot.
pub fn quiesce() {
    // Each call advances the epoch by one or two steps.
    let released = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(released, "a thread still reads from a slot: drop its pools");
}

/// Frees the values of [`HomeRef`](crate::HomeRef)s that outlived their home; returns how many.
///
/// Such values are kept for ever: [`end`] reports them as live objects, and loom reports a leak.
/// Call this at the end of a model that makes them on purpose. No destructor runs.
pub fn free_kept() -> usize {
    let free = |object| {
        tally_destroyed(1);
        // SAFETY: `HOMELESS` only holds objects without references, strong or weak, and `take` has
        // removed this object from the list.
        unsafe { header::free(object) };
    };
    HOMELESS.take().map(free).count()
}

// Threads of a model.

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
/// a model must call this at its end. [`spawn`] and [`end`] call it themselves.
pub fn thread_exit() {
    crate::thread::current::thread_exit();
}
