//! Canaries: models that must fail, or must reach certain outcomes, to show that the checker works.

use super::model::Model;
use super::probe::{Probe, spawn};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering, fence};
use releasepool::model::parts::{Atomic, Cell};
use releasepool::{AutoreleasePool, PoolManager, Ref, Slot};

pub const MODELS: &[Model] = &[
    Model {
        // loom alone explores one of the two orders.
        plain_outcomes: Some(&["0"]),
        ..Model::new(
            "canary_load_store",
            "a thread's own load does not hide another thread's access (rmw mode)",
            &["0", "1"],
            load_store,
        )
    },
    Model::new(
        "canary_redundant_load",
        "a load whose value is not used hides no order of the stores around it",
        &["0 0", "0 1", "1 0", "1 1"],
        redundant_load,
    ),
    // "0 then 0" is impossible: loom alone explores it, too.
    Model::new(
        "canary_swap_store",
        "a store is before an exchange or after it (rmw mode)",
        &["0 then 1", "1 then 0"],
        swap_store,
    )
    .plain(&["0 then 0", "0 then 1", "1 then 0"]),
    Model::new(
        "canary_fence",
        "fences order stores before loads; sequentially consistent accesses, which loom takes for weaker ones, are not used",
        &["0 1", "1 0", "1 1"],
        fence_between,
    ),
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_free",
            "freeing memory is a checked write",
            &[],
            free,
        )
    },
    Model {
        must_fail: Some("1 x u32, strong references: 1"),
        ..Model::new(
            "canary_leak",
            "a leaked object is reported with its type",
            &[],
            leak,
        )
    },
    Model {
        must_fail: Some("2 retired by slots and not released"),
        ..Model::new(
            "canary_leak_retired",
            "objects that slots have retired are reported as such",
            &[],
            leak_retired,
        )
    },
    Model {
        must_fail: Some("1 entries in the root pool of a thread (#0.1)"),
        ..Model::new(
            "canary_leak_root",
            "a thread that has not exited is reported, and what is in its root pool",
            &[],
            leak_root,
        )
    },
    Model {
        must_fail: Some("1 closures posted to a thread that ended"),
        ..Model::new(
            "canary_leak_post",
            "a closure that never runs is reported",
            &[],
            leak_post,
        )
    },
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_probe",
            "a destructor that races with a use is detected",
            &[],
            probe,
        )
    },
    Model {
        must_fail: Some("Causality violation"),
        ..Model::new(
            "canary_late_write",
            "a cell that is written after the store that publishes it is detected",
            &[],
            late_write,
        )
    },
];

/// Runs `load; store | load`.
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

/// The program of loom's issue 166.
fn redundant_load() -> String {
    let shared = Arc::new([Atomic::default(), Atomic::default()]);
    let [key, value] = [0, 1];
    let writer = {
        let shared = shared.clone();
        spawn(move || {
            shared[key].store(1);
            shared[value].store(1);
            shared[value].store(0);
            shared[key].load();
            shared[key].store(0);
        })
    };
    let seen = [value, key].map(|place| shared[place].load().to_string());
    writer.join().unwrap();
    seen.join(" ")
}

/// The program of loom's issues 254 and 389.
fn swap_store() -> String {
    let a = Arc::new(Atomic::default());
    let b = a.clone();
    let swapper = spawn(move || b.swap(0));
    a.store(1);
    let seen = swapper.join().unwrap();
    format!("{seen} then {}", a.load())
}

/// The program of loom's issue 180, with fences.
fn fence_between() -> String {
    let shared = Arc::new([Atomic::default(), Atomic::default()]);
    let other = shared.clone();
    let one = |shared: &[Atomic; 2], mine: usize| {
        shared[mine].store(1);
        fence(Ordering::SeqCst);
        shared[1 - mine].load()
    };
    let there = spawn(move || one(&other, 1));
    let here = one(&shared, 0);
    format!("{here} {}", there.join().unwrap())
}

fn free() -> String {
    let a = Arc::new(Atomic::default());
    let b = a.clone();
    let user = spawn(move || {
        b.load();
    });
    // SAFETY: nothing is freed; the checker must detect the missing order.
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
    // Pinned for ever.
    let pool = AutoreleasePool::new();
    slot.load(&pool);
    std::mem::forget(pool);
    slot.store(Ref::new(2));
    drop(slot);
    String::new()
}

fn leak_root() -> String {
    // The thread does not exit.
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
        // SAFETY: the thread is joined before the probe is freed; the checker must detect the race.
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
            // loom does not switch threads in between, so the value is never missing.
            shared.0.set(1);
        })
    };
    if shared.1.load(Ordering::Acquire) {
        assert_eq!(shared.0.get(), 1);
    }
    writer.join().unwrap();
    String::new()
}
