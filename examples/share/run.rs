//! The main job: worker threads, the UI thread, and what each of them did.

use crate::args::{Length, Options};
use crate::error::Error;
use crate::input::Document;
use crate::keys::Keys;
use crate::progress::Progress;
use crate::schedule::{End, Schedule};
use crate::ui::{Arrival, Seen, Ui};
use crate::worker::work;
use crate::world::World;
use crate::world::ours::Ours;
use releasepool::{PoolManager, Totals};
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Text whose graphs may wait in the queue, and so be in memory.
const WAITING_BYTES: usize = 4 << 20;

/// What one thread did.
pub struct Activity {
    pub thread: String,
    /// The example's own count, where it creates and autoreleases.
    pub created: u64,
    pub autoreleased: u64,
    pub handed_over: u64,
    /// The library's.
    pub totals: Totals,
}

/// How the main job went.
pub struct Run {
    pub threads: Vec<Activity>,
    pub seen: Seen,
    pub elapsed: Duration,
    /// Bytes of memory at most; `None` where it is not measured.
    pub peak_memory: Option<u64>,
    /// When all was done.
    pub live_objects: u64,
}

impl Run {
    pub fn created(&self) -> u64 {
        self.threads.iter().map(|thread| thread.created).sum()
    }
}

/// As many documents as may wait for the UI thread: a bound, so that workers that
/// are faster wait, too, rather than fill the memory.
fn queue_length(documents: &[Document], workers: usize) -> usize {
    let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
    let average = (bytes / documents.len()).max(1);
    (WAITING_BYTES / average).clamp(workers, 4096)
}

pub fn run(
    documents: &[Document],
    options: &Options,
    progress: &mut Progress,
) -> Result<Run, Error> {
    let mut run = parse_and_show(documents, options, progress)?;
    run.live_objects = PoolManager::global().snapshot().live_objects();
    Ok(run)
}

fn parse_and_show(
    documents: &[Document],
    options: &Options,
    progress: &mut Progress,
) -> Result<Run, Error> {
    let workers = options.workers;
    let start = Instant::now();
    let end = match options.length {
        Length::Time(time) => End::At(start + time),
        Length::Rounds(rounds) => End::Rounds(rounds),
    };
    let schedule = &Schedule::new(documents.len(), workers, end);
    let keys = &Keys::<Ours>::new();
    let sent = &AtomicU64::new(0);
    let (sender, arrivals) = sync_channel(queue_length(documents, workers));
    let names = documents.iter().map(|d| d.name.as_str()).collect();
    let ui = Ui::new(arrivals, sent, names);
    progress.restart();

    let (seen, results) = thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut results = Vec::new();
        for index in 0..workers {
            let name = format!("worker-{}", index + 1);
            let sender = sender.clone();
            let body = move || worker(index, documents, keys, schedule, sent, &sender);
            let builder = thread::Builder::new().name(name.clone());
            match builder.spawn_scoped(scope, body) {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    schedule.stop();
                    results.push(Err(Error::Spawn { name, source }));
                    break;
                }
            }
        }
        // The workers have one each; the frames end when the last is gone.
        drop(sender);
        let seen = ui.run(options.frame, progress);
        for thread in threads {
            // Waits for the thread's very end, which the scope alone does not.
            let result = thread.join();
            results.push(result.unwrap_or_else(|panic| panic::resume_unwind(panic)));
        }
        (seen, results)
    });
    let elapsed = start.elapsed();
    let mut threads = all_or_first_error(results)?;
    threads.push(Activity {
        thread: "ui".to_owned(),
        created: seen.created,
        autoreleased: seen.autoreleased,
        handed_over: 0,
        totals: own_totals(),
    });
    Ok(Run {
        threads,
        seen,
        elapsed,
        peak_memory: peak_memory(),
        // The keys are still there; see `run`.
        live_objects: 0,
    })
}

fn worker(
    index: usize,
    documents: &[Document],
    keys: &Keys<Ours>,
    schedule: &Schedule,
    sent: &AtomicU64,
    sender: &SyncSender<Arrival>,
) -> Result<Activity, Error> {
    let world = Ours::default();
    let mut handed_over = 0;
    let done = work(
        &world,
        keys,
        documents,
        schedule.of_worker(index),
        |document, root| {
            let accepted = sender.send(Arrival { document, root }).is_ok();
            if accepted {
                sent.fetch_add(1, Ordering::Relaxed);
                handed_over += 1;
            }
            accepted
        },
    );
    if let Err(error) = done {
        // The others need not go on.
        schedule.stop();
        return Err(error);
    }
    Ok(Activity {
        thread: thread::current().name().unwrap_or("?").to_owned(),
        created: world.tally().created.get(),
        autoreleased: world.tally().autoreleased.get(),
        handed_over,
        totals: own_totals(),
    })
}

/// Of the documents that are wrong, the first one's error, whichever worker was
/// the first to find one.
fn all_or_first_error(results: Vec<Result<Activity, Error>>) -> Result<Vec<Activity>, Error> {
    let mut threads = Vec::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(activity) => threads.push(activity),
            Err(error) => errors.push(error),
        }
    }
    let position = |error: &Error| match error {
        Error::Invalid { document, .. } => *document,
        _ => 0,
    };
    match errors.into_iter().min_by_key(position) {
        Some(error) => Err(error),
        None => Ok(threads),
    }
}

/// What the library says that the calling thread has done.
fn own_totals() -> Totals {
    let manager = PoolManager::global();
    let me = manager.current_thread().map(|thread| thread.key());
    let snapshot = manager.snapshot();
    me.and_then(|me| snapshot.thread(me))
        .map_or_else(Totals::default, |thread| thread.totals)
}

#[cfg(target_os = "linux")]
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(not(target_os = "linux"))]
fn peak_memory() -> Option<u64> {
    None
}
