use loom::thread::{self, JoinHandle};
use mailbox::Mailbox;
use releasepool::model::{self, Mode};
use releasepool::{AutoreleasePool, PoolManager, PoolRef, Ref};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Modes are for the whole process, and tests run side by side.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The outcomes of the model that is being checked.
static REACHED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Checks a model in both modes, and that these are all its outcomes: a model that
/// stops interleaving fails by that. Each mode may reach some that the other does not.
fn check(outcomes: &[&str], model: fn() -> &'static str) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for mode in [Mode::Plain, Mode::Rmw] {
        model::set_mode(mode);
        loom::model(move || {
            model::begin();
            let outcome = model();
            model::end();
            REACHED.lock().unwrap().insert(outcome);
        });
    }
    let reached = std::mem::take(&mut *REACHED.lock().unwrap());
    assert!(reached.iter().eq(outcomes), "reached: {reached:?}");
}

/// Starts a thread that leaves as threads do: loom would run the destructors of its
/// thread-locals only after a `join` has returned.
fn spawn(f: impl FnOnce() + 'static) -> JoinHandle<()> {
    thread::spawn(move || {
        f();
        model::thread_exit();
    })
}

type Put = fn(&Mailbox<u32>, Ref<u32>) -> Option<Ref<u32>>;

fn hand_over(put: Put) -> &'static str {
    let mailbox = Ref::new(Mailbox::new());
    let sender = mailbox.clone();
    let worker = spawn(move || {
        let pool = AutoreleasePool::new();
        let letter = pool.create(7);
        put(&sender, PoolRef::retain(letter));
    });
    let pool = AutoreleasePool::new();
    let letter = mailbox.take().map(|letter| pool.autorelease(letter));
    let outcome = if letter.is_some() { "taken" } else { "not yet" };
    // Used and released before the `join`, which would set everything in order.
    assert!(letter.is_none_or(|letter| *letter == 7));
    drop(pool);
    worker.join().unwrap();
    outcome
}

#[test]
fn a_letter_is_handed_over() {
    check(&["not yet", "taken"], || hand_over(Mailbox::put));
}

#[test]
fn the_newest_of_two_letters_stays() {
    check(&["1 stays", "2 stays"], || {
        let mailbox = Ref::new(Mailbox::new());
        let sender = mailbox.clone();
        let worker = spawn(move || {
            let pool = AutoreleasePool::new();
            if let Some(replaced) = sender.put(Ref::new(1)) {
                assert_eq!(*pool.autorelease(replaced), 2);
            }
        });
        if let Some(replaced) = mailbox.put(Ref::new(2)) {
            assert_eq!(*replaced, 1);
        }
        worker.join().unwrap();
        match mailbox.take().as_deref() {
            Some(1) => "1 stays",
            Some(2) => "2 stays",
            _ => panic!("both letters are lost"),
        }
    });
}

#[test]
fn who_is_told_of_a_letter_finds_it() {
    check(&["not told yet", "told, taken"], || {
        let ui = PoolManager::global().current_thread().unwrap();
        let mailbox = Ref::new(Mailbox::new());
        let sender = mailbox.clone();
        let worker = spawn(move || {
            sender.put(Ref::new(7));
            ui.post(|| ()).expect("the UI thread outlives its workers");
        });
        let told = PoolManager::global().run_inbox() == 1;
        if told {
            mailbox.take().expect("told of nothing");
        }
        worker.join().unwrap();
        // loom takes a closure that nobody runs for a leak, which it is.
        PoolManager::global().run_inbox();
        if told { "told, taken" } else { "not told yet" }
    });
}

/// A mistake that loom must find. It cannot clean up after a failure, so the model runs
/// in a process of its own.
#[test]
fn a_careless_mailbox_is_caught() {
    const CARELESS: &str = "RUN_THE_CARELESS_MODEL";
    if std::env::var_os(CARELESS).is_some() {
        return check(&["not yet", "taken"], || hand_over(Mailbox::put_carelessly));
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "models::a_careless_mailbox_is_caught",
            "--nocapture",
        ])
        .env(CARELESS, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success(), "the checker sees nothing");
    assert!(told.contains("Causality violation"), "{told}");
}
