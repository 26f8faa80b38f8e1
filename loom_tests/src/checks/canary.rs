//! Models that show that the checker sees what it is trusted to see.

use super::model::Model;
use super::probe::{Probe, spawn};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use releasepool::model::parts::{Atomic, Cell};
use releasepool::{PoolManager, Ref, Slot};

pub const MODELS: &[Model] = &[
    Model {
        // loom alone runs one of the two orders.
        plain_outcomes: Some(&["0"]),
        ..Model::new(
            "canary_load_store",
            "a thread's own load does not hide another's (rmw mode)",
            &["0", "1"],
            load_store,
        )
    },
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_free",
            "giving memory back is a checked write",
            &[],
            free,
        )
    },
    Model {
        must_fail: Some("1 x u32, strong references: 1"),
        ..Model::new(
            "canary_leak",
            "an object that is leaked is missed, by its type",
            &[],
            leak,
        )
    },
    Model {
        must_fail: Some("2 retired by slots and not released"),
        ..Model::new(
            "canary_leak_retired",
            "what slots have given up is named as such",
            &[],
            leak_retired,
        )
    },
    Model {
        must_fail: Some("1 entries in the root pool of a thread (#0.1)"),
        ..Model::new(
            "canary_leak_root",
            "a thread that has not exited is named, and what is in its root pool",
            &[],
            leak_root,
        )
    },
    Model {
        must_fail: Some("1 closures posted to a thread that ended"),
        ..Model::new(
            "canary_leak_post",
            "a closure that nobody runs is missed",
            &[],
            leak_post,
        )
    },
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_probe",
            "a destructor that races a use is seen",
            &[],
            probe,
        )
    },
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_late_write",
            "a cell that is written after the store that publishes it is seen",
            &[],
            late_write,
        )
    },
];

/// `load; store | load`.
fn load_store() -> String {
    let a = Arc::new(Atomic::default());
    let b = a.clone();
    let writer = spawn(move || {
        b.load();
        b.store(1);
    });
    let seen = a.load();
    writer.join().unwrap();
    seen.to_string()
}

fn free() -> String {
    let a = Arc::new(Atomic::default());
    let b = a.clone();
    let user = spawn(move || {
        b.load();
    });
    // SAFETY: the lie is the point.
    unsafe { a.lie_freed() };
    user.join().unwrap();
    String::new()
}

fn leak() -> String {
    std::mem::forget(Ref::new(7_u32));
    String::new()
}

fn leak_retired() -> String {
    let slot = Slot::new(Ref::new(1));
    slot.store(Ref::new(2));
    drop(slot);
    String::new()
}

fn leak_root() -> String {
    // Does not exit.
    let thread = loom::thread::spawn(|| releasepool::autorelease(Ref::new(7_u32)));
    thread.join().unwrap();
    String::new()
}

fn leak_post() -> String {
    let me = PoolManager::global().current_thread().unwrap();
    assert!(me.post(|| ()).is_ok());
    String::new()
}

fn probe() -> String {
    let mut probe = Probe::new();
    let shared = (&raw const probe).expose_provenance();
    let user = spawn(move || {
        // SAFETY: joined before the probe ends; the race is the point.
        unsafe { &*std::ptr::with_exposed_provenance::<Probe>(shared) }.look();
    });
    probe.change();
    user.join().unwrap();
    String::new()
}

fn late_write() -> String {
    let shared = Arc::new((Cell::default(), AtomicBool::new(false)));
    let writer = {
        let shared = shared.clone();
        spawn(move || {
            shared.1.store(true, Ordering::Release);
            // No thread switch is possible in between, so the value is never missing.
            shared.0.set(1);
        })
    };
    if shared.1.load(Ordering::Acquire) {
        assert_eq!(shared.0.get(), 1);
    }
    writer.join().unwrap();
    String::new()
}
