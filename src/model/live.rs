//! Resets the process's state at the beginning of an execution, and checks at its end that nothing
//! is alive.

use crate::hot;
use crate::manager::PoolManager;
use crate::object::header::Header;
use crate::object::home::{HOMELESS, HomelessObjects};
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
    // The tally does not include threads that have not exited.
    let groups = groups();
    if created == destroyed && groups.iter().all(|group| group.references == 0) && calls == 0 {
        assert!(
            ORPHANS.counts_are_zero(),
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
            0 => {
                "no strong references: the destructor is due, or weak references remain".to_owned()
            }
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
        // SAFETY: the header is valid: each object is entered into the ledger after its header was
        // written, and removed before its memory is freed.
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
        ORPHANS.deferred(),
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
