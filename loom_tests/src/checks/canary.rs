//! Models that show that the checker sees what it is trusted to see.

use super::model::Model;
use super::probe::{Probe, spawn};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use releasepool::Ref;
use releasepool::model::parts::{Atomic, Cell};

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
        must_fail: Some("still live"),
        ..Model::new(
            "canary_leak",
            "an object that is leaked is missed",
            &[],
            leak,
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
    std::mem::forget(Ref::new(()));
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
