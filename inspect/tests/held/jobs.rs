//! Tasks that wait, and hold objects meanwhile. Each way to hold them has a type of its own.

use releasepool::{Ref, Weak, pooled};
use std::any::Any;
use std::collections::HashMap;
use std::future::{Future, pending, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, Notify, Semaphore, broadcast, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet, yield_now};
use tokio::time::{sleep, timeout};

struct Job<const WAY: usize>(u64);

/// How many tasks there are of each kind.
const TASKS: u64 = 200;

/// Longer than the process lives.
const LONG: Duration = Duration::from_secs(1_000);

/// A future that has its argument twice: as it was given, and as it is used.
async fn waits<const WAY: usize>(job: Ref<Job<WAY>>) -> u64 {
    pending::<()>().await;
    job.0
}

async fn nested<const WAY: usize>(job: Ref<Job<WAY>>) -> u64 {
    let n = job.0;
    n + waits(job).await
}

async fn both<const WAY: usize>(job: Ref<Job<WAY>>) -> u64 {
    waits(job.clone()).await + nested(job).await
}

async fn joined<const WAY: usize>(job: Ref<Job<WAY>>) -> u64 {
    let mut one = pin!(waits(job.clone()));
    let mut two = pin!(nested(job.clone()));
    let first = poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Pending => two.as_mut().poll(context),
        ready => ready,
    });
    first.await + job.0
}

async fn sleeps<const WAY: usize>(job: Ref<Job<WAY>>) -> u64 {
    let mut beats = [job.0; 16];
    loop {
        sleep(Duration::from_millis(50)).await;
        black_box(&mut beats)[3] += 1;
    }
}

async fn receives<const WAY: usize>(job: Ref<Job<WAY>>, mut messages: mpsc::Receiver<u64>) -> u64 {
    let mut sum = job.0;
    while let Some(message) = messages.recv().await {
        sum += message * job.0;
    }
    sum
}

async fn receives_jobs<const WAY: usize>(
    job: Ref<Job<WAY>>,
    mut jobs: mpsc::Receiver<Ref<Job<WAY>>>,
) -> u64 {
    let mut sum = job.0;
    while let Some(next) = jobs.recv().await {
        sum += next.0 * job.0;
    }
    sum
}

async fn collects<const WAY: usize>(mut jobs: mpsc::Receiver<Ref<Job<WAY>>>) -> u64 {
    let mut all = Vec::new();
    while let Some(job) = jobs.recv().await {
        all.push(job);
    }
    all.iter().map(|job| job.0).sum()
}

async fn listens<const WAY: usize>(
    job: Ref<Job<WAY>>,
    mut news: broadcast::Receiver<u64>,
    end: oneshot::Receiver<u64>,
) -> u64 {
    let heard = news.recv().await.unwrap();
    heard + end.await.unwrap() + job.0
}

async fn locks<const WAY: usize>(
    job: Ref<Job<WAY>>,
    sum: Arc<Mutex<u64>>,
    places: Arc<Semaphore>,
) -> u64 {
    *sum.lock().await += job.0;
    let _place = places.acquire().await;
    waits(job).await
}

async fn has_time<const WAY: usize>(job: Ref<Job<WAY>>, notify: Arc<Notify>) -> u64 {
    while timeout(LONG, notify.notified()).await.is_err() {}
    job.0
}

async fn knows<const WAY: usize>(job: Ref<Job<WAY>>, weak: Weak<Job<WAY>>) -> u64 {
    pending::<()>().await;
    weak.upgrade().map_or(0, |weak| weak.0) + job.0
}

async fn is_large<const WAY: usize>(job: Ref<Job<WAY>>, numbers: [u64; 64]) -> u64 {
    yield_now().await;
    pending::<()>().await;
    numbers.iter().sum::<u64>() + job.0
}

/// The values that the program keeps until its end.
type All = Vec<Box<dyn Any>>;

fn jobs<const WAY: usize>() -> impl Iterator<Item = Ref<Job<WAY>>> {
    (0..TASKS).map(|n| Ref::new(Job(n)))
}

/// Starts a task for each job, and keeps what the task needs.
fn each<const WAY: usize, F, K>(all: &mut All, task: impl Fn(Ref<Job<WAY>>) -> (F, K))
where
    F: Future<Output = u64> + Send + 'static,
    K: 'static,
{
    let kept = jobs().map(|job| {
        let (task, kept) = task(job);
        tokio::spawn(task);
        kept
    });
    all.push(Box::new(kept.collect::<Vec<_>>()));
}

/// Starts all tasks.
pub fn start() -> Box<dyn Any> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_time()
        .build()
        .unwrap();
    let mut all = All::new();
    {
        let _inside = runtime.enter();
        alone(&mut all);
        with_others(&mut all);
        shared(&mut all);
    }
    Box::new((runtime, all))
}

/// Tasks that use only their argument.
fn alone(all: &mut All) {
    each(all, |job: Ref<Job<1>>| (waits(job), ()));
    each(all, |job: Ref<Job<2>>| (nested(job), ()));
    each(all, |job: Ref<Job<3>>| (joined(job), ()));
    each(all, |job: Ref<Job<4>>| (pooled(sleeps(job)), ()));
    each(all, |job: Ref<Job<5>>| (is_large(job, [7; 64]), ()));
    each(all, |job: Ref<Job<6>>| {
        let task: Pin<Box<dyn Future<Output = u64> + Send>> = Box::pin(both(job));
        (task, ())
    });
    each(all, |job: Ref<Job<7>>| {
        let weak = Ref::downgrade(&job);
        (knows(job, weak.clone()), weak)
    });
    let mut set = JoinSet::new();
    for job in jobs::<8>() {
        set.spawn(nested(job));
    }
    all.push(Box::new(set));
}

/// Tasks that wait for channels, locks and notifications.
fn with_others(all: &mut All) {
    each(all, |job: Ref<Job<11>>| {
        let (sender, messages) = mpsc::channel(4);
        (receives(job, messages), sender)
    });
    each(all, |job: Ref<Job<12>>| {
        let (sender, jobs) = mpsc::channel(4);
        for n in 0..1 + job.0 % 2 {
            assert!(sender.try_send(Ref::new(Job(n))).is_ok());
        }
        (receives_jobs(job, jobs), sender)
    });
    let (news, _) = broadcast::channel(8);
    each(all, |job: Ref<Job<13>>| {
        let (sender, end) = oneshot::channel();
        (listens(job, news.subscribe(), end), sender)
    });
    all.push(Box::new(news));
    let (sum, places) = (Arc::new(Mutex::new(0)), Arc::new(Semaphore::new(3)));
    each(all, |job: Ref<Job<14>>| {
        (locks(job, sum.clone(), places.clone()), ())
    });
    let notify = Arc::new(Notify::new());
    each(all, |job: Ref<Job<15>>| (has_time(job, notify.clone()), ()));
    let (sender, received) = mpsc::channel(TASKS as usize);
    tokio::spawn(collects(received));
    each(all, |job: Ref<Job<16>>| {
        let sender = sender.clone();
        let task = async move { sender.send(job).await.map_or(0, |()| 1) };
        (task, ())
    });
    all.push(Box::new(sender));
}

/// Tasks whose objects are held elsewhere, too.
fn shared(all: &mut All) {
    // The first five objects have no task.
    let vector = jobs::<21>().collect::<Vec<_>>();
    for job in vector.iter().skip(5) {
        tokio::spawn(waits(job.clone()));
    }
    all.push(Box::new(vector));
    let one = Ref::new(Job::<22>(0));
    for _ in 0..TASKS {
        tokio::spawn(waits(one.clone()));
    }
    let map = Arc::new(Mutex::new(HashMap::new()));
    each(all, |job: Ref<Job<23>>| {
        let map = map.clone();
        let task = async move {
            map.lock().await.insert(job.0, job.clone());
            match job.0 % 3 {
                0 => 0,
                _ => waits(job).await,
            }
        };
        (task, ())
    });
    all.push(Box::new(map));
    // Some tasks end with the object as their result, and some are aborted.
    let results = jobs::<24>().map(|job| {
        let n = job.0;
        let task: JoinHandle<Ref<Job<24>>> = tokio::spawn(async move {
            match job.0 % 5 {
                0 => pending::<()>().await,
                _ => yield_now().await,
            }
            job
        });
        if n % 7 == 0 {
            task.abort();
        }
        task
    });
    all.push(Box::new(results.collect::<Vec<_>>()));
}
