//! `new_cyclic`: values that are still being created while other threads have weak references.

use super::model::Model;
use super::probe::{Probe, died_on, me, spawn, take_deaths};
use releasepool::{Ref, Weak};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub const MODELS: &[Model] = &[
    Model::new(
        "cyclic_last",
        "an upgrade while new_cyclic creates the value, and its reference is then dropped",
        &[
            "upgraded, died on 0",
            "upgraded, died on 1",
            "not there, died on 0",
        ],
        cyclic_last,
    ),
    Model::new(
        "cyclic_panics",
        "the closure of new_cyclic panics while another thread has a weak reference",
        &["0 left first", "1 left first"],
        cyclic_panics,
    ),
];

fn cyclic_last() -> String {
    let mut upgrader = None;
    let r = Ref::new_cyclic(|weak: &Weak<Probe>| {
        let weak = weak.clone();
        upgrader = Some(spawn(move || {
            (weak.upgrade().map(|r| r.look()).is_some(), me())
        }));
        Probe::new()
    });
    drop(r);
    let (upgraded, one) = upgrader.unwrap().join().unwrap();
    let upgraded = if upgraded { "upgraded" } else { "not there" };
    format!("{upgraded}, {}", died_on(&[me(), one]))
}

fn cyclic_panics() -> String {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    let order = Arc::new(AtomicUsize::new(0));
    let theirs = order.clone();
    let mut upgrader = None;
    let panic = catch_unwind(AssertUnwindSafe(|| {
        Ref::new_cyclic(|weak: &Weak<Probe>| {
            let weak = weak.clone();
            upgrader = Some(spawn(move || {
                assert!(weak.upgrade().is_none(), "no value was made");
                let again = weak.clone();
                drop(weak);
                assert!(again.upgrade().is_none(), "no value was made");
                // Relaxed, so that it orders nothing.
                theirs.fetch_add(1, Ordering::Relaxed)
            }));
            let _value = Probe::new();
            // resume_unwind calls no panic hook, which would print a message in each execution.
            resume_unwind(Box::new("expected"))
        })
    }));
    let mine = order.fetch_add(1, Ordering::Relaxed);
    assert!(panic.is_err());
    upgrader.unwrap().join().unwrap();
    assert_eq!(
        take_deaths(),
        [me()],
        "the value that never became the object's is destroyed here"
    );
    format!("{mine} left first")
}
