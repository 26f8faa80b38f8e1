//! Values of one thread whose last references are dropped by others, where a foreign event loop runs on the
//! home: the cases that other projects have reported.

use crate::support::{LONG, Probe, fresh, here, panic_of, sized, with_log};
use releasepool::home::HomeWeak;
use releasepool::pool::InboxHook;
use releasepool::{HomeRef, PoolManager};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, RwLock, mpsc};
use std::thread::{self, ThreadId};

/// The event loop of a home: it knows nothing of pools, but can be woken.
struct ForeignLoop {
    woken: mpsc::Receiver<()>,
    _hook: InboxHook,
}

impl ForeignLoop {
    fn new() -> Self {
        let (wake, woken) = mpsc::channel();
        let hook = move || _ = wake.send(());
        let _hook = PoolManager::global().set_inbox_hook(hook);
        Self { woken, _hook }
    }

    /// Sleeps until the hook has woken the loop, and then looks at the inbox, once.
    fn turn(&self) {
        self.woken.recv_timeout(LONG).expect("a missed wake-up");
        PoolManager::global().run_inbox();
    }
}

/// A value that is neither `Send` nor `Sync`, and logs the thread that drops it.
struct Native(#[expect(dead_code, reason = "is only dropped")] Rc<Probe>);

/// Four workers give up the last references while the home waits for them. No worker waits for the home,
/// none of the values is lost or destroyed elsewhere, and one turn of the loop destroys them all.
#[test]
fn a_million_last_drops_while_the_home_waits_are_destroyed_in_its_next_turn() {
    const EACH: usize = sized(20, 50_000, 250_000);
    struct Counted {
        home: ThreadId,
        destroyed: Rc<Cell<usize>>,
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.home);
            self.destroyed.set(self.destroyed.get() + 1);
        }
    }
    let event_loop = ForeignLoop::new();
    let destroyed = Rc::new(Cell::new(0));
    let home = thread::current().id();
    let make = |_| {
        let destroyed = destroyed.clone();
        HomeRef::new(Counted { home, destroyed })
    };
    let (done, all_done) = mpsc::channel();
    let workers = [(); 4].map(|()| {
        let values: Vec<_> = (0..EACH).map(&make).collect();
        let done = done.clone();
        thread::spawn(move || {
            values.into_iter().for_each(drop);
            done.send(()).unwrap();
        })
    });
    for _ in &workers {
        all_done.recv_timeout(LONG).expect("a worker waits");
    }
    assert_eq!(destroyed.get(), 0);
    event_loop.turn();
    assert_eq!(destroyed.get(), 4 * EACH);
    for worker in workers {
        worker.join().unwrap();
    }
}

/// How another thread drops the last reference.
type Case = (&'static str, fn(HomeRef<Native>));

#[test]
fn the_homes_next_turn_destroys_what_was_dropped_elsewhere_and_nothing_else_does() {
    const CASES: [Case; 6] = [
        // 1,109 crash reports in one app: handles of an icon were cloned for workers, and a command on one
        // of them, which removed the icon, dropped the last one there.
        (
            "tray-icon#350: a command on a worker removes the icon",
            |icon| {
                let icons = Mutex::new(HashMap::from([("tray", icon)]));
                fresh(|| {
                    let icon = icons.lock().unwrap()["tray"].clone();
                    icons.lock().unwrap().remove("tray");
                    drop(icon);
                });
            },
        ),
        // The drop of a window on a worker waited for the main thread to destroy it, and the main thread
        // for the worker.
        (
            "bevy#13208: the main thread waits for the worker",
            |window| {
                let (done, wait) = mpsc::channel();
                let worker = thread::spawn(move || {
                    drop(window);
                    done.send(()).unwrap();
                });
                wait.recv_timeout(LONG).expect("a deadlock");
                worker.join().unwrap();
            },
        ),
        // A `ThreadGuard` that was dropped elsewhere panicked, and the unwinding then dropped the value there
        // all the same.
        ("gtk-rs-core#1766: a drop while unwinding", |guarded| {
            fresh(move || {
                let held = guarded.clone();
                drop(guarded);
                let panics = || {
                    let _held = held;
                    panic!("bomb");
                };
                assert_eq!(panic_of(panics), "bomb");
            });
        }),
        // An arena of values of any type was dropped by whichever worker of the server came last; it held
        // a `SendWrapper`, which panicked.
        ("leptos#3746: a worker drops an arena", |element| {
            type Arena = Arc<RwLock<Vec<Box<dyn Any + Send + Sync>>>>;
            let arena: Arena = Arc::default();
            arena.write().unwrap().push(Box::new(element));
            fresh(move || {
                let is_there = |value: &Box<dyn Any + Send + Sync>| value.is::<HomeRef<Native>>();
                assert!(arena.read().unwrap().iter().all(is_there));
                drop(arena);
            });
        }),
        // A waker on another thread upgraded its weak reference to the queue of the runtime, which let go of
        // the queue at that moment; so what the waker dropped was the last reference.
        (
            "compio#512: a weak reference is upgraded elsewhere",
            |queue| {
                let waker: HomeWeak<_> = HomeRef::downgrade(&queue);
                let (upgraded, is_upgraded) = mpsc::channel();
                let (let_go, has_let_go) = mpsc::channel::<()>();
                let waking = thread::spawn(move || {
                    let queue = waker.upgrade().unwrap();
                    upgraded.send(()).unwrap();
                    has_let_go.recv().unwrap();
                    drop(queue);
                });
                is_upgraded.recv_timeout(LONG).unwrap();
                drop(queue);
                let_go.send(()).unwrap();
                waking.join().unwrap();
            },
        ),
        // An object that only the main thread may use cannot be exported, as it is not `Send`, and a foreign
        // runtime may free its handle on any thread.
        ("uniffi#2436: a foreign runtime frees the handle", |text| {
            let handle = AtomicPtr::new(Box::into_raw(Box::new(text)));
            // SAFETY: the handle comes from `Box::into_raw`, and is used up here.
            fresh(move || drop(unsafe { Box::from_raw(handle.load(Ordering::Relaxed)) }));
        }),
    ];
    for (what, drop_elsewhere) in CASES {
        with_log(|log| {
            let home = ForeignLoop::new();
            drop_elsewhere(HomeRef::new(Native(Rc::new(log.probe(1)))));
            assert_eq!(log.count(), 0, "{what}: not before the next turn");
            home.turn();
            assert_eq!(log.threads(), [here()], "{what}");
        });
    }
}
