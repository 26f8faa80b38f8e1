//! Tasks on a tokio runtime with several threads: a pool for every poll.
//!
//! `cargo run --release -p releasepool-tasks --bin tokio`
//!
//! After an `.await`, a task may continue on another thread. So no pool can stay open across one;
//! code that tries does not compile. `pooled` opens a pool for each poll of a task and closes it
//! when the poll returns. Objects that must live longer are retained.

use releasepool::{PoolManager, Ref, Slot, autorelease, pooled};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::yield_now;

const TASKS: u64 = 1_000;
const STEPS: u64 = 20;

/// Settings that all tasks read, and that are replaced now and then.
struct Settings {
    factor: u64,
}

/// Returns an object that the caller need not release, as Cocos2d-x functions do: one reference
/// goes to the current pool, which is that of the poll.
fn describe(step: u64) -> Ref<String> {
    let text = Ref::new(format!("step {step}"));
    autorelease(text.clone());
    text
}

async fn job(settings: Arc<Slot<Settings>>, results: mpsc::Sender<Ref<u64>>) {
    let mut sum = 0;
    for step in 0..STEPS {
        let length = describe(step).len() as u64;
        sum += length * settings.load_full().factor;
        yield_now().await;
    }
    // A counted reference can go to any thread.
    results
        .send(Ref::new(sum))
        .await
        .expect("`main` receives all results");
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(4).build();
    let runtime = runtime.expect("four threads can be started");
    let total = runtime.block_on(async {
        let settings = Arc::new(Slot::new(Ref::new(Settings { factor: 1 })));
        let (sender, mut results) = mpsc::channel(64);
        for _ in 0..TASKS {
            tokio::spawn(pooled(job(settings.clone(), sender.clone())));
        }
        drop(sender);
        let (mut total, mut count) = (0, 0);
        while let Some(sum) = results.recv().await {
            total += *sum;
            count += 1;
            if count % 100 == 0 {
                settings.store(Ref::new(Settings { factor: 1 }));
            }
        }
        assert_eq!(count, TASKS);
        total
    });
    // Joins the runtime's threads.
    drop(runtime);

    let manager = PoolManager::global();
    assert!(manager.quiesce(Duration::from_secs(10)));
    let snapshot = manager.snapshot();
    let polls = snapshot.departed.pools_pushed;
    let objects = snapshot.departed.created;
    println!("{TASKS} tasks, {polls} pools (one for each poll), {objects} objects, sum {total}");
    println!("live objects: {}", snapshot.live_objects());
    assert_eq!(snapshot.live_objects(), 0);
}
