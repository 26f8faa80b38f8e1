//! The main job: the worker threads, the UI thread, and figures of what each of them did.

use crate::args::Options;
use crate::error::Error;
use crate::input::Document;
use crate::job::in_flight::{InFlight, Peak};
use crate::job::keys::{Keys, KnownKeys};
use crate::job::parse::parse;
use crate::job::schedule::{End, Schedule};
use crate::job::ui::{self, Arrival, Parsed, Seen, Ui};
use crate::job::world::{Value, World};
use crate::progress::Progress;
use releasepool::memory::{BlockAllocator, BlockStats};
use releasepool::report::Totals;
use releasepool::{AutoreleasePool, PoolManager, Reclaimer};
use std::cell::Cell;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The UI thread's name in the report.
const UI: &str = "ui";

/// The work of one thread.
pub struct Activity {
    pub thread: String,
    /// Counted by the example itself, where it creates and autoreleases.
    pub created: u64,
    pub autoreleased: u64,
    pub handed_over: u64,
    /// Counted by the library.
    pub totals: Totals,
}

/// How the main job went.
pub struct Run {
    pub threads: Vec<Activity>,
    pub seen: Seen,
    pub elapsed: Duration,
    /// The most that was in flight.
    pub in_flight: Peak,
    /// Objects alive at the end.
    pub live_objects: u64,
    /// The statistics of the block allocator at the end.
    pub blocks: BlockStats,
}

impl Run {
    pub fn created(&self) -> u64 {
        self.threads.iter().map(|thread| thread.created).sum()
    }
}

/// Runs the main job until its end, with a reclaimer thread that destroys the documents that are no longer shown.
pub fn run(
    documents: &[Document],
    options: &Options,
    end: End,
    progress: &mut Progress,
) -> Result<Run, Error> {
    // A single document may leave millions of releases to the next drains. `InFlight` bounds them.
    PoolManager::global().set_backlog_watermark(usize::MAX);
    let reclaimer = reclaimer()?;
    let result = run_by(documents, options, end, &reclaimer, progress);
    // The workers have ended, so the totals of ended threads grow only by those of the reclaimer.
    // (It could not be asked for them by a call, as calls overtake releases.)
    let before = PoolManager::global().snapshot().departed;
    drop(reclaimer);
    let mut totals = PoolManager::global().snapshot().departed;
    totals.pools_pushed -= before.pools_pushed;
    totals.created -= before.created;
    totals.autoreleased -= before.autoreleased;
    totals.released -= before.released;
    totals.destroyed -= before.destroyed;
    totals.handed_over -= before.handed_over;
    let mut run = result?;
    run.threads.push(Activity {
        thread: "reclaimer".to_owned(),
        created: 0,
        autoreleased: 0,
        handed_over: 0,
        totals,
    });
    run.live_objects = live_objects();
    // This thread is the UI thread, which has destroyed the keys since its loop ended.
    if let Some(ui) = run.threads.iter_mut().find(|t| t.thread == UI) {
        ui.totals.destroyed = own_totals().destroyed;
    }
    run.blocks = BlockAllocator::process().stats();
    Ok(run)
}

/// Starts a thread that destroys what is handed to it.
pub fn reclaimer() -> Result<Reclaimer, Error> {
    let name = "reclaimer";
    Reclaimer::new(name).map_err(|source| Error::Spawn {
        name: name.to_owned(),
        source,
    })
}

/// Returns the number of live objects, after what is left to other threads has been released.
pub fn live_objects() -> u64 {
    let manager = PoolManager::global();
    manager.quiesce(Duration::from_secs(10));
    manager.snapshot().live_objects()
}

fn run_by(
    documents: &[Document],
    options: &Options,
    end: End,
    reclaimer: &Reclaimer,
    progress: &mut Progress,
) -> Result<Run, Error> {
    let workers = options.workers;
    let start = Instant::now();
    let job = &Job {
        documents,
        keys: Keys::default(),
        schedule: Schedule::new(documents.len(), workers, end),
        in_flight: Arc::new(InFlight::new(workers)),
    };
    let (sender, arrivals) = channel();
    let names = documents.iter().map(|d| d.name.as_str()).collect();
    let frames = ui::frames(options.frame());
    let proxy = &frames.proxy();
    let ui = Ui::new(arrivals, names, reclaimer, proxy.clone(), options);
    let (seen, results) = thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut results = Vec::new();
        for index in 0..workers {
            let name = format!("worker-{}", index + 1);
            let sender = sender.clone();
            let body = move || {
                let ask = || proxy.request_frame();
                let done = worker(index, job, &sender, ask);
                // With the last sender dropped, the UI thread knows that it can end.
                drop(sender);
                proxy.request_frame();
                done
            };
            let builder = thread::Builder::new().name(name.clone());
            match builder.spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    job.schedule.stop();
                    results.push(Err(Error::Spawn { name, source }));
                    break;
                }
            }
        }
        // Each worker has its own sender; the frame loop ends when the last one is dropped.
        drop(sender);
        let seen = ui.run(frames, progress);
        for thread in threads {
            // Unlike the scope, `join` waits until the thread's thread-locals are destroyed, too.
            let result = thread.join();
            results.push(result.unwrap_or_else(|panic| panic::resume_unwind(panic)));
        }
        (seen, results)
    });
    let elapsed = start.elapsed();
    let mut threads = all_or_first_error(results)?;
    threads.push(Activity {
        thread: UI.to_owned(),
        created: seen.created,
        autoreleased: seen.autoreleased,
        handed_over: 0,
        totals: own_totals(),
    });
    Ok(Run {
        threads,
        seen,
        elapsed,
        in_flight: job.in_flight.peak(),
        // The keys are still alive; `run` fills these in.
        live_objects: 0,
        blocks: BlockStats::default(),
    })
}

/// The state that all workers share.
struct Job<'j> {
    documents: &'j [Document],
    keys: Keys,
    schedule: Schedule,
    in_flight: Arc<InFlight>,
}

fn worker(
    index: usize,
    job: &Job<'_>,
    sender: &Sender<Arrival>,
    ask_for_frame: impl Fn(),
) -> Result<Activity, Error> {
    let world = World::default();
    let mut handed_over = 0;
    // A document is let in before it is parsed.
    let permit = Cell::new(None);
    let enter = |&document: &usize| {
        let bytes = job.documents[document].text.len();
        permit.set(Some(job.in_flight.enter(bytes)));
    };
    let schedule = job.schedule.of_worker(index).inspect(enter);
    let done = work(
        &world,
        &job.keys,
        job.documents,
        schedule,
        |document, root| {
            let permit = permit.take().expect("the document has been let in");
            let parsed = world.make(Parsed { root, permit });
            let accepted = sender.send(Arrival { document, parsed }).is_ok();
            if accepted {
                ask_for_frame();
                handed_over += 1;
            }
            accepted
        },
    );
    if let Err(error) = done {
        // The other workers need not go on.
        job.schedule.stop();
        return Err(error);
    }
    Ok(Activity {
        thread: thread::current().name().unwrap_or("?").to_owned(),
        created: world.created.get(),
        autoreleased: world.autoreleased.get(),
        handed_over,
        totals: own_totals(),
    })
}

/// Does the work of a worker, which the comparison does, too: parses the documents of `schedule` and
/// passes the roots to `hand_over`, until that returns false.
pub fn work(
    world: &World,
    keys: &Keys,
    documents: &[Document],
    schedule: impl Iterator<Item = usize>,
    mut hand_over: impl FnMut(usize, Value) -> bool,
) -> Result<(), Error> {
    let keys = KnownKeys::new(world, keys);
    for document in schedule {
        let pool = AutoreleasePool::new();
        let text = &documents[document].text;
        let root = parse(world, &keys, text);
        let root = root.map_err(|error| documents[document].invalid(document, error))?;
        // This thread's pool still owns the root while the receiver inspects it. The last of the
        // two to release it destroys the graph.
        if let Value::Node(root) = &root {
            world.autorelease(&pool, root.clone());
        }
        if !hand_over(document, root) {
            break;
        }
    }
    Ok(())
}

/// Returns what all threads did, or the error of the first invalid document in the list,
/// regardless of which worker was first to find one.
fn all_or_first_error(mut results: Vec<Result<Activity, Error>>) -> Result<Vec<Activity>, Error> {
    let position = |result: &Result<_, Error>| match result {
        Err(Error::Invalid { document, .. }) => (0, *document),
        Err(_) => (0, 0),
        Ok(_) => (1, 0),
    };
    results.sort_by_key(position);
    results.into_iter().collect()
}

/// Returns the library's counts for the calling thread.
fn own_totals() -> Totals {
    let manager = PoolManager::global();
    let me = manager.current_thread().map(|thread| thread.key());
    let snapshot = manager.snapshot();
    me.and_then(|me| snapshot.thread(me))
        .map_or_else(Totals::default, |thread| thread.totals)
}

/// Returns the peak memory of the process, on Linux. Without a library, as those that read this
/// file take longer to build than the whole example.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
