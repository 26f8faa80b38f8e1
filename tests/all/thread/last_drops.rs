//! Values of one thread whose last references are dropped by others, where a foreign event loop runs on the
//! home: the cases that other projects have reported.

use crate::support::{LONG, Log, Probe, fresh, panic_of, sized};
use releasepool::{HomeRef, HomeWeak, InboxHook, PoolManager};
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

/// Calls `case` on a fresh home, with a value of it; `case` has the last reference dropped elsewhere. Asserts
/// that the home's next turn destroys the value, and nothing else does.
fn case(case: impl FnOnce(HomeRef<Native>) + Send) {
    fresh(|| {
        let home = ForeignLoop::new();
        let log = Log::new();
        case(HomeRef::new(Native(Rc::new(log.probe(1)))));
        assert_eq!(log.count(), 0, "not before the next turn");
        home.turn();
        assert_eq!(log.threads(), [thread::current().id()]);
    });
}

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
    fresh(|| {
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
    });
}

/// tray-icon#350 (1,109 crash reports in one app): handles of an icon were cloned for workers, and a command
/// on one of them, which removed the icon, dropped the last one there.
#[test]
fn tray_icon_350_a_command_on_a_worker_removes_the_icon() {
    case(|icon| {
        let icons = Mutex::new(HashMap::from([("tray", icon)]));
        thread::scope(|scope| {
            let remove = || {
                let icon = icons.lock().unwrap()["tray"].clone();
                icons.lock().unwrap().remove("tray");
                drop(icon);
            };
            scope.spawn(remove);
        });
    });
}

/// bevy#13208: the drop of a window on a worker waited for the main thread to destroy it, and the main
/// thread for the worker.
#[test]
fn bevy_13208_the_main_thread_waits_for_the_worker_that_drops_its_window() {
    case(|window| {
        let (done, wait) = mpsc::channel();
        let worker = thread::spawn(move || {
            drop(window);
            done.send(()).unwrap();
        });
        wait.recv_timeout(LONG).expect("a deadlock");
        worker.join().unwrap();
    });
}

/// gtk-rs-core#1766: a `ThreadGuard` that was dropped elsewhere panicked, and the unwinding then dropped the
/// value there all the same.
#[test]
fn gtk_rs_core_1766_a_drop_elsewhere_does_not_panic_even_while_unwinding() {
    case(|guarded| {
        fresh(move || {
            let held = guarded.clone();
            drop(guarded);
            let panics = || {
                let _held = held;
                panic!("bomb");
            };
            assert_eq!(panic_of(panics), "bomb");
        });
    });
}

/// leptos#3746: an arena of values of any type was dropped by whichever worker of the server came last; it
/// held a `SendWrapper`, which panicked.
#[test]
fn leptos_3746_a_worker_drops_an_arena_with_a_value_of_another_thread() {
    type Arena = Arc<RwLock<Vec<Box<dyn Any + Send + Sync>>>>;
    case(|element| {
        let arena: Arena = Arc::default();
        arena.write().unwrap().push(Box::new(element));
        let there = arena.clone();
        drop(arena);
        fresh(move || {
            let is_there = |value: &Box<dyn Any + Send + Sync>| value.is::<HomeRef<Native>>();
            assert!(there.read().unwrap().iter().all(is_there));
            drop(there);
        });
    });
}

/// compio#512: a waker on another thread upgraded its weak reference to the queue of the runtime, which let
/// go of the queue at that moment; so what the waker dropped was the last reference.
#[test]
fn compio_512_a_weak_reference_is_upgraded_elsewhere_while_the_home_lets_go() {
    case(|queue| {
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
    });
}

/// uniffi#2436: an object that only the main thread may use cannot be exported, as it is not `Send`, and a
/// foreign runtime may free its handle on any thread.
#[test]
fn uniffi_2436_a_foreign_runtime_frees_the_handle_on_another_thread() {
    case(|text| {
        let handle = Box::into_raw(Box::new(text));
        // SAFETY: the handle comes from `Box::into_raw`, and is used up here.
        let free = |handle| drop(unsafe { Box::from_raw(handle) });
        let handle = AtomicPtr::new(handle);
        fresh(move || free(handle.load(Ordering::Relaxed)));
    });
}
