//! `expect_gone`: objects that should die soon.

use super::leak_report::{PoolHolder, labelled};
use crate::event::words::counted;
use crate::event::{Event, EventKind};
use crate::ledger::balance::short_name;
use crate::ledger::index;
use crate::ledger::life::copied;
use crate::ledger::object_record::Holder;
use crate::ledger::threads::{at_end_of_drain, drained_last, number};
use crate::object::destroy::release_weak;
use crate::object::header::{Thin, header};
use crate::object::weak::Weak;
use crate::pool::drain::this_thread;
use crate::sync::with_room;
use crate::thread::current::{current_label, current_or_closed};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The number of outermost drains within which an object that a pool of the calling thread holds
/// must die.
const DRAINS_IN_POOL: u32 = 3;

/// An object that should die soon, and a weak reference to it.
struct Expectation {
    thin: Thin,
    name: String,
    /// The thread whose drains count.
    thread: u64,
    /// The number of outermost drains that the thread has made since the call.
    drains: u32,
}

// SAFETY: an expectation has only a weak reference and never accesses the value; any thread may
// free an object's memory.
unsafe impl Send for Expectation {}

/// The expectations of all threads, the oldest first. The lock is std's even in loom builds, as
/// nothing yields while it is held. No thread allocates under the lock: the global allocator may
/// drain a pool.
static EXPECTED: Mutex<VecDeque<Expectation>> = Mutex::new(VecDeque::new());

fn with_expected<R>(f: impl FnOnce(&mut VecDeque<Expectation>) -> R) -> R {
    f(&mut EXPECTED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn put(expectation: Expectation) {
    with_room(|f| with_expected(f), |all| all.push_back(expectation));
}

fn take_first_of(thread: u64) -> Option<Expectation> {
    with_expected(|all| {
        let first = all.iter().position(|expected| expected.thread == thread)?;
        all.remove(first)
    })
}

/// Reports an object that lives longer than it should: if its value is not destroyed when the
/// calling thread's next outermost drain ends, an [event](EventKind::StillAlive) says so, and gives
/// `name`. (A drain is *outermost* if it does not run inside a destructor; the end of an
/// [`AutoreleasePool`](crate::AutoreleasePool), or of a frame, drains its pool.)
///
/// Call it for objects whose end is known: the scene that was just closed, the document whose
/// window is gone. The event says how many strong references there are, which pools have some of
/// them, where the object was created, and how to find out what keeps the others.
///
/// If a pool of the calling thread still holds the object after that drain, the object is tested
/// again after the second and the third drain, because the drained pools may have been inside that
/// pool. If the thread ends earlier, its exit counts as a drain. A call after the exit, by the
/// destructor of a thread-local, tests the object at once.
///
/// One call causes one event at most. Events with the same type and name are counted together: the
/// 1st, 10th, 100th, ... object that lives too long is [reported](crate::event#events-that-repeat),
/// with the number so far.
///
/// The object's memory, but not its value, is kept until the last test.
///
/// ```
/// use releasepool::{Ref, autoreleasepool, event, leaks};
/// use std::sync::{Arc, Mutex};
///
/// let log = Arc::new(Mutex::new(Vec::new()));
/// let lines = log.clone();
/// event::set_hook(Some(Box::new(move |event| {
///     lines.lock().unwrap().push(event.to_string());
/// })));
/// let scene = Ref::new(String::from("level 1"));
/// let registry = vec![scene.clone()];
/// autoreleasepool(|pool| {
///     leaks::expect_gone(Ref::downgrade(&scene), "level 1");
///     pool.autorelease(scene);
/// });
/// let lines = log.lock().unwrap();
/// assert!(lines[0].contains("level 1 (alloc::string::String) is still alive"));
/// assert!(lines[0].contains("1 strong reference"));
/// # drop(registry);
/// ```
pub fn expect_gone<T: ?Sized>(weak: Weak<T>, name: &str) {
    if weak.strong_count() == 0 {
        return;
    }
    put(Expectation {
        thin: weak.into_payload().cast(),
        name: name.to_owned(),
        thread: number(current_or_closed().key()),
        drains: 0,
    });
    at_end_of_drain(check);
    // `with` makes the thread's pools: without pools, the thread would exit without a drain. A
    // thread that has exited gets none, so its object is tested now.
    if this_thread::with(|pools| pools.is_none()) {
        drained_last();
    }
}

/// Tests the objects that the calling thread expects to be gone, at the end of an outermost drain.
fn check() {
    let thread = number(current_or_closed().key());
    let is_own = |expectation: &&Expectation| expectation.thread == thread;
    let own = with_expected(|all| all.iter().filter(is_own).count());
    let mut waits = false;
    for mut expectation in std::iter::from_fn(|| take_first_of(thread)).take(own) {
        expectation.drains += 1;
        // SAFETY: the weak reference keeps the memory.
        let strong = unsafe { header(expectation.thin) }.count.strong();
        if strong != 0 {
            if expectation.drains < DRAINS_IN_POOL && is_in_own_pool(&expectation) {
                waits = true;
                put(expectation);
                continue;
            }
            report(&expectation, strong);
        }
        // SAFETY: gives up the weak reference of the expectation, which ends here.
        unsafe { release_weak(expectation.thin) };
    }
    if waits {
        at_end_of_drain(check);
    }
}

/// Returns whether a pool of the thread holds the object.
fn is_in_own_pool(expectation: &Expectation) -> bool {
    let holders = index::with_record(expectation.thin.addr().get(), |record| record.holders);
    // A free place has no thread.
    let own = |holder: &Holder| holder.thread == expectation.thread;
    holders.is_some_and(|holders| holders.iter().any(own))
}

fn report(expectation: &Expectation, strong: usize) {
    // SAFETY: the weak reference keeps the memory.
    let type_name = unsafe { header(expectation.thin) }.type_info.type_name();
    let known = copied(expectation.thin.addr().get());
    let mut event = Event::new(EventKind::StillAlive, current_label())
        .of_type(type_name)
        .count(strong)
        .name(&expectation.name);
    let counted = known.as_ref().is_some_and(|known| known.is_counted);
    event = event.next_step(next_step(type_name, expectation.thin, counted));
    if let Some(known) = known {
        let pools = labelled(known.holders.into_iter().flatten());
        if let Some(first) = pools.first() {
            event = event.pool(first.pool);
        }
        event = event
            .created_at(Some(known.site))
            .detail(held_by(strong, &pools));
    }
    event.emit();
}

fn next_step(type_name: &str, thin: Thin, counted: bool) -> String {
    let retains = if counted {
        "print leaks::report() to see the retains that have no release".to_owned()
    } else {
        let name = short_name(type_name);
        format!(
            "to see the retains that have no release, call leaks::count_references([{name:?}]) \
             before it is created, and print leaks::report() when it should be gone"
        )
    };
    let inspector = if cfg!(target_os = "linux") {
        let process = std::process::id();
        format!("; to see what refers to it, run releasepool-inspect why {thin:p} --pid {process}")
    } else {
        String::new()
    };
    retains + &inspector
}

/// Says which pools have references to the object, and how many others there are.
fn held_by(strong: usize, pools: &[PoolHolder]) -> String {
    let entries: usize = pools.iter().map(|pool| pool.entries).sum();
    let others = strong.saturating_sub(entries);
    if pools.is_empty() {
        return "no pool holds it".to_owned();
    }
    let pools: Vec<_> = pools.iter().map(ToString::to_string).collect();
    let mut said = format!("held by {}", pools.join(" and by "));
    if others != 0 {
        let others = counted(others, "other reference", "other references");
        said += &format!(", and by {others}");
    }
    said
}
