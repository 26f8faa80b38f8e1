//! Canaries: models that must fail, or must reach certain outcomes, to show that the checker works.

use super::steps::*;
use loom::sync::atomic::{AtomicBool, Ordering, fence};
use releasepool::model::parts::{Atomic, Cell};
use releasepool::{AutoreleasePool, Ref, Slot};

pub fn models() -> Vec<Model> {
    [
        model!(
            canary_load_store,
            "a thread's own load does not hide another thread's access (rmw mode)",
            &["0", "1"],
        )
        // Without the rmw mode, loom explores only one of the two orders.
        .plain(&["0"]),
        model!(
            canary_redundant_load,
            "a load whose value is not used hides no order of the stores around it",
            &["0 0", "0 1", "1 0", "1 1"],
        ),
        // "0 then 0" is impossible, but loom explores it in the plain mode.
        model!(
            canary_swap_store,
            "a store is before an exchange or after it (rmw mode)",
            &["0 then 1", "1 then 0"],
        )
        .plain(&["0 then 0", "0 then 1", "1 then 0"]),
        model!(
            canary_fence,
            "fences order stores before loads; sequentially consistent accesses, which loom takes for weaker ones, are not used",
            &["0 1", "1 0", "1 1"],
        ),
        Model::canary(
            "canary_free",
            "freeing memory is a checked write",
            "Causality violation",
            free,
        ),
        Model::canary(
            "canary_leak",
            "a leaked object is reported with its type",
            "1 x u32, strong references: 1",
            || std::mem::forget(Ref::new(7_u32)),
        ),
        Model::canary(
            "canary_leak_retired",
            "objects that slots have retired are reported as such",
            "2 retired by slots and not released",
            leak_retired,
        ),
        Model::canary(
            "canary_leak_root",
            "a thread that has not exited is reported, and what is in its root pool",
            "1 entries in the root pool of a thread (#0.1)",
            || spawn_without_exit(|| releasepool::autorelease(Ref::new(7_u32))).join(),
        ),
        Model::canary(
            "canary_leak_post",
            "a closure that never runs is reported",
            "1 closures posted to a thread that ended",
            || assert!(this().post(|| ()).is_ok()),
        ),
        Model::canary(
            "canary_probe",
            "a destructor that races with a use is detected",
            "Causality violation",
            probe,
        ),
        Model::canary(
            "canary_late_write",
            "a cell that is written after the store that publishes it is detected",
            "Causality violation",
            late_write,
        ),
    ]
    .into()
}

/// Runs `load; store | load`.
fn canary_load_store() -> String {
    let a = Arc::new(Atomic::default());
    let writer = spawn_with(&a, |a| {
        a.load();
        a.store(1);
    });
    let seen = a.load();
    writer.join();
    seen.to_string()
}

/// Runs the program of loom's issue 166.
fn canary_redundant_load() -> String {
    let shared = Arc::new([Atomic::default(), Atomic::default()]);
    let [key, value] = [0, 1];
    let writer = spawn_with(&shared, move |shared| {
        shared[key].store(1);
        shared[value].store(1);
        shared[value].store(0);
        shared[key].load();
        shared[key].store(0);
    });
    let seen = [value, key].map(|place| shared[place].load().to_string());
    writer.join();
    seen.join(" ")
}

/// Runs the program of loom's issues 254 and 389.
fn canary_swap_store() -> String {
    let a = Arc::new(Atomic::default());
    let swapper = spawn_with(&a, |a| a.swap(0));
    a.store(1);
    let seen = swapper.join();
    format!("{seen} then {}", a.load())
}

/// Runs the program of loom's issue 180, with fences.
fn canary_fence() -> String {
    let shared = Arc::new([Atomic::default(), Atomic::default()]);
    let one = |shared: &[Atomic; 2], mine: usize| {
        shared[mine].store(1);
        fence(Ordering::SeqCst);
        shared[1 - mine].load()
    };
    let there = spawn_with(&shared, move |shared| one(&shared, 1));
    let here = one(&shared, 0);
    format!("{here} {}", there.join())
}

fn free() {
    let a = Arc::new(Atomic::default());
    let user = spawn_with(&a, |a| _ = a.load());
    // SAFETY: nothing is freed; the checker must detect the missing order.
    unsafe { a.lie_freed() };
    user.join();
}

fn leak_retired() {
    let slot = Slot::new(Ref::new(1));
    // A pool that stays pinned for ever, as it is forgotten.
    let pool = AutoreleasePool::new();
    slot.load(&pool);
    std::mem::forget(pool);
    slot.store(Ref::new(2));
    drop(slot);
}

fn probe() {
    let mut probe = Probe::new();
    let shared = (&raw const probe).expose_provenance();
    let user = spawn(move || {
        // SAFETY: the thread is joined before the probe is freed; the checker must detect the race.
        unsafe { &*std::ptr::with_exposed_provenance::<Probe>(shared) }.look();
    });
    probe.change();
    user.join();
}

fn late_write() {
    let shared = Arc::new((Cell::default(), AtomicBool::new(false)));
    let writer = spawn_with(&shared, |shared| {
        shared.1.store(true, Ordering::Release);
        // loom does not switch threads between these lines, so the reader finds the value.
        shared.0.set(1);
    });
    if shared.1.load(Ordering::Acquire) {
        assert_eq!(shared.0.get(), 1);
    }
    writer.join();
}
