//! One execution of a model.

#[cfg(not(releasepool_shuttle))]
use super::mode::Mode;
use super::model_thread::thread_exit;
use crate::PoolManager;
use crate::object::header;
use crate::object::thread_bound::HOMELESS;
use crate::thread::current::tally_destroyed;
use std::time::Duration;

/// Sets how all threads of the process perform loads from now on.
///
/// For code that calls loom itself, with [`begin`] and [`end`]; [`Builder`](super::Builder) sets the mode
/// itself.
#[cfg(not(releasepool_shuttle))]
pub fn set_mode(mode: Mode) {
    crate::sync::settings::set_rmw_mode(mode == Mode::Rmw);
}

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
