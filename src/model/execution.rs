//! One execution of a model, and its threads.

use crate::PoolManager;
use crate::home::home_ref::HOMELESS;
use crate::macros::debug_fields;
use crate::object::header;
use crate::sync::thread::JoinHandle as PlatformJoinHandle;
use crate::thread::current::tally_destroyed;
use std::time::Duration;

/// Begins an execution of a model; call it first.
///
/// For code that calls loom itself; [`Builder`](super::Builder) calls `begin` by itself.
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
    live::begin();
}

/// Ends an execution of a model; call it last, on the main thread, when all other threads have been
/// joined.
///
/// Ends the main thread's use of the crate, as [`thread_exit`] does. For code that calls loom
/// itself; [`Builder`](super::Builder) calls `end` by itself.
///
/// # Panics
/// If a counted object is alive, or a posted closure has not run. The message names the types, how
/// many objects of each there are, and what may hold them.
pub fn end() {
    thread_exit();
    live::assert_none();
}

/// Releases the objects that slots have retired; call it after the joins, when no pool is open.
///
/// When a store replaces a slot's object, the release of the old object is deferred until no thread
/// can be reading it, so the old object stays alive until that release.
///
/// # Panics
/// If something delays the releases, such as an open pool that has loaded from a slot.
pub fn quiesce() {
    // Destructors that run in one call may retire more references.
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
        // SAFETY: `HOMELESS` holds only dead objects, and `take` has removed this one from the
        // list; at a model's end, no weak reference to it is left.
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

debug_fields! { [R] JoinHandle<R>: |_this| .. }

/// Ends the calling thread's use of the crate, as the end of a thread of the operating system does.
///
/// Drains the thread's root and token pools, closes its inbox, and passes the remaining messages
/// on. loom runs the destructors of thread-locals only after `join` has returned, so each thread of
/// a model must call this at its end. [`spawn`] and [`end`] call it themselves.
pub fn thread_exit() {
    crate::thread::current::thread_exit();
}

/// Resets the process's state at the beginning of an execution, and checks at its end that nothing
/// is alive.
#[cfg(any(releasepool_shuttle, all(loom, feature = "loom")))]
mod live {
    use crate::epoch::{self, EPOCH, Epoch};
    use crate::home::home_ref::{HOMELESS, HomelessObjects};
    use crate::hot;
    use crate::object::header::Header;
    use crate::pool::entries::retired::{RETIRED, Retired};
    use crate::pool::manager::PoolManager;
    use crate::sync::{forget_objects, live_objects, settings};
    use crate::thread::orphans::{ORPHANS, Orphans};
    use crate::thread::record::DEPARTED;
    use std::collections::BTreeMap;
    use std::fmt::Write;

    pub(super) fn begin() {
        settings::begin_execution();
        // Makes statics here that are constants outside of models. loom would make them at their first
        // use, which would order the first user's earlier operations before those of all later users.
        let _orphans: &Orphans = &ORPHANS;
        let _retired: (&Epoch, &Retired) = (&EPOCH, &RETIRED);
        let _homeless: &HomelessObjects = &HOMELESS;
        hot::begin_execution();
        DEPARTED.created.take();
        DEPARTED.destroyed.take();
        DEPARTED.handed_over.take();
        forget_objects();
    }

    /// Fails the model if an object is alive or a closure has not run. Call it after the main thread's
    /// exit.
    pub(super) fn assert_none() {
        let (created, destroyed) = (DEPARTED.created.get(), DEPARTED.destroyed.get());
        let calls = ORPHANS.waiting_calls();
        // The tally lacks threads that have not exited, so the groups are tested, too.
        let groups = groups();
        if created == destroyed && groups.iter().all(|group| group.references == 0) && calls == 0 {
            assert!(
                ORPHANS.counts_are_zero() && RETIRED.counts_are_zero(),
                "nothing is left, but the orphans' counts say that something is"
            );
            return;
        }
        let mut message = String::new();
        if created == destroyed && groups.is_empty() {
            message += "closures were posted in the model and never run";
        } else if created < destroyed {
            message += "more objects were destroyed than created; still alive:";
        } else {
            message += "objects are still alive at the end of the model:";
        }
        for group in groups {
            let _ = write!(message, "\n  {} x {}, ", group.objects, group.name);
            message += &match group.references {
                0 => "no strong references: the destructor is due, or weak references remain"
                    .to_owned(),
                n => format!("strong references: {n}"),
            };
        }
        message += "\npossible reasons:";
        message += &holders(calls);
        panic!("{message}");
    }

    /// Objects of one type that are not freed: those with strong references, or those without.
    struct Group {
        name: &'static str,
        objects: usize,
        references: usize,
    }

    /// Returns the objects that are not freed, by type.
    fn groups() -> Vec<Group> {
        let mut groups = BTreeMap::new();
        for (header, name) in live_objects() {
            // SAFETY: the header is valid: each object is entered into the checker's table after
            // its header was written, and removed before its memory is freed.
            let strong = unsafe { header.cast::<Header>().as_ref() }.count.strong();
            let group = groups.entry((name, strong == 0)).or_insert(Group {
                name,
                objects: 0,
                references: 0,
            });
            group.objects += 1;
            group.references += strong;
        }
        groups.into_values().collect()
    }

    /// Describes what may hold the objects that are still alive.
    fn holders(calls: usize) -> String {
        let mut text = String::new();
        let mut line = |n: usize, what: &str| {
            if n != 0 {
                let _ = write!(text, "\n  {n} {what}");
            }
        };
        line(
            epoch::deferred(),
            "retired by slots and not released: call `model::quiesce` after the joins, when no pool is open",
        );
        line(
            ORPHANS.ready(),
            "releases sent to a thread that had ended: drain a pool after the joins, or call `model::quiesce`",
        );
        line(
            calls,
            "closures posted to a thread that ended without running them: call `PoolManager::run_inbox` on that thread after the joins, or `PoolManager::quiesce` elsewhere",
        );
        let snapshot = PoolManager::global().snapshot();
        line(
            usize::try_from(snapshot.kept).unwrap_or(usize::MAX),
            "values of `HomeRef`s that outlived their home: call `model::free_kept`",
        );
        for thread in &snapshot.threads {
            let label = thread.name.as_deref().unwrap_or("a thread");
            let at = format!("{label} ({})", thread.key);
            line(
                1,
                &format!(
                    "thread that has not exited, {at}: start it by `model::spawn`, or end it by `model::thread_exit`"
                ),
            );
            line(
                thread.root_entries,
                &format!(
                    "entries in the root pool of {at}: call `PoolManager::drain_root` there, or open a pool"
                ),
            );
            line(
                thread.backlog,
                &format!(
                    "releases left by drains within a budget on {at}: call `PoolManager::drain_backlog` there"
                ),
            );
            line(
                thread.inbox,
                &format!(
                    "messages in the inbox of {at}: drain a pool or call `PoolManager::run_inbox` there"
                ),
            );
            line(thread.open_pools, &format!("open pools on {at}: drop them"));
        }
        if text.is_empty() {
            text += "\n  no pool, inbox or slot of an ended thread holds them: a cycle of `Ref`s, a `Ref` that was forgotten or made raw, a pool that was forgotten, or a static";
        }
        text
    }
}
