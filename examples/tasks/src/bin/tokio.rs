//! Tasks on a runtime of several threads: a pool for every poll.
//!
//! `cargo run --release -p releasepool-tasks --bin tokio`
//!
//! A task may go on on another thread after every `.await`, so no pool can stay open
//! across one; that does not compile. `pooled` opens a pool for each poll, and closes it
//! before the task is put aside. What must live longer is retained.

use releasepool::{PoolManager, Ref, Slot, autorelease, pooled};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::sleep;

const TASKS: u64 = 1_000;
const STEPS: u64 = 20;

/// What all tasks read, and one replaces now and then.
struct Settings {
    factor: u64,
}

/// As in code from Cocos2d-x: it returns an object that some pool releases.
fn describe(step: u64) -> Ref<String> {
    let text = Ref::new(format!("step {step}"));
    autorelease(text.clone());
    text
}

async fn job(id: u64, settings: Arc<Slot<Settings>>, results: mpsc::Sender<Ref<u64>>) {
    let sum = Ref::new(std::sync::atomic::AtomicU64::new(0));
    for step in 0..STEPS {
        let length = describe(step).len() as u64;
        let factor = settings.load_full().factor;
        sum.fetch_add(length * factor, std::sync::atomic::Ordering::Relaxed);
        if step == STEPS / 2 {
            sleep(Duration::from_millis(id % 3)).await;
        } else {
            yield_now().await;
        }
    }
    let sum = sum.load(std::sync::atomic::Ordering::Relaxed);
    // Nobody listens any more only if the program ends.
    let _ = results.send(Ref::new(sum)).await;
}

fn main() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .expect("the system has four threads for us");
    let total = runtime.block_on(async {
        let settings = Arc::new(Slot::new(Ref::new(Settings { factor: 1 })));
        let (results, mut finished) = mpsc::channel(64);
        for id in 0..TASKS {
            tokio::spawn(pooled(job(id, settings.clone(), results.clone())));
        }
        drop(results);
        let mut total = 0;
        let mut count = 0;
        while let Some(sum) = finished.recv().await {
            total += *sum;
            count += 1;
            if count % 100 == 0 {
                settings.store(Ref::new(Settings { factor: 1 }));
            }
        }
        assert_eq!(count, TASKS);
        total
    });
    // Waits for the runtime's threads, which release what is theirs.
    drop(runtime);
    let manager = PoolManager::global();
    assert!(manager.quiesce(Duration::from_secs(10)));
    let snapshot = manager.snapshot();
    assert_eq!(snapshot.live_objects(), 0);
    let polls = snapshot.departed.pools_pushed;
    let objects = snapshot.departed.created;
    println!("{TASKS} tasks, {polls} polls with a pool each, {objects} objects, sum {total}");
    println!("live objects: {}", snapshot.live_objects());
}
