//! A thread whose loop is a `LocalSet` of tokio, as the home of values that other threads drop and ask
//! for. (compio#512, leptos#3746: such values were dropped on other threads, and panicked.)

use releasepool::home::NotMade;
use releasepool::{HomeRef, PoolManager};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use tokio::sync::{Notify, mpsc};
use tokio::task::{LocalSet, spawn_local};

/// Neither `Send` nor `Sync`; tells where it was destroyed.
struct Widget {
    destroyed: mpsc::UnboundedSender<ThreadId>,
    _local: Rc<()>,
}

impl Drop for Widget {
    fn drop(&mut self) {
        _ = self.destroyed.send(thread::current().id());
    }
}

/// Runs the inbox each time that the hook says so.
async fn serve() {
    let (notify, here) = (Arc::new(Notify::new()), PoolManager::global());
    let there = notify.clone();
    let _hook = here.set_inbox_hook(move || there.notify_one());
    loop {
        notify.notified().await;
        here.run_inbox();
    }
}

/// Runs a test in a `LocalSet` of this thread.
fn in_local_set(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    LocalSet::new().block_on(&runtime.unwrap(), async {
        let serving = spawn_local(serve());
        // Lets `serve` set its hook.
        tokio::task::yield_now().await;
        test.await;
        serving.abort();
    });
}

#[test]
fn what_workers_drop_is_destroyed_in_the_local_set() {
    const EACH: usize = 1_000;
    in_local_set(async {
        let (destroyed, mut seen) = mpsc::unbounded_channel();
        let workers = [(); 3].map(|()| {
            let widget = |_| {
                let (destroyed, _local) = (destroyed.clone(), Rc::default());
                HomeRef::new(Widget { destroyed, _local })
            };
            let widgets: Vec<_> = (0..EACH).map(widget).collect();
            thread::spawn(move || drop(widgets))
        });
        // The thread sleeps in the runtime until the hook wakes it.
        for _ in 0..3 * EACH {
            assert_eq!(seen.recv().await, Some(thread::current().id()));
        }
        workers
            .into_iter()
            .for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn a_value_that_a_worker_asks_for_is_made_in_the_local_set() {
    in_local_set(async {
        let here = PoolManager::global().current_thread().unwrap();
        let (send, mut receive) = mpsc::unbounded_channel();
        let worker = thread::spawn(move || {
            let made = HomeRef::new_on(&here, || Rc::new(thread::current().id())).wait();
            let failed = HomeRef::<u8>::new_on(&here, || panic!("no widget")).wait();
            _ = send.send((made.unwrap(), failed.err()));
        });
        let (made, failed) = receive.recv().await.unwrap();
        assert_eq!(made.with(|id| **id), thread::current().id());
        assert_eq!(failed, Some(NotMade::Panicked(Some("no widget".into()))));
        worker.join().unwrap();
    });
}
