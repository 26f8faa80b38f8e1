//! Compares the job with the same documents by other means, which shows what contention costs.
//!
//! All of them run the same code on the same documents; they differ in how objects are counted and
//! where pools are. There is no UI thread: one that is slower than the workers, or waits for its
//! next frame, would hide the difference. Instead, each thread inspects and releases the documents
//! that it has parsed.

use crate::args::Options;
use crate::error::Error;
use crate::input::Document;
use crate::job::digest::Digest;
use crate::job::keys::Keys;
use crate::job::node::Value;
use crate::job::run::{live_objects, without_processor};
use crate::job::schedule::{End, Schedule};
use crate::job::worker::work;
use crate::job::world::World;
use crate::job::world::ours::{Memory, Ours};
use crate::others::locked::{Locked, Manager};
use crate::others::plain::Plain;
use crate::others::values::{self, Side};
use crate::output::rate;
use crate::progress::Progress;
use crate::verify::{self, Check, Expected};
use std::collections::VecDeque;
use std::panic;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How many documents each thread keeps until newer ones replace them.
const SCENE: usize = 4;

/// With less time than this for a row, one turn is better than three.
const SHORT_TURN: Duration = Duration::from_millis(100);

/// The names of the rows for the library, by where its objects are allocated.
const BLOCKS: &str = "releasepool";
const GLOBAL: &str = "releasepool, global allocator";

/// The figures of one of the means.
pub struct Row {
    pub name: &'static str,
    pub threads: usize,
    /// True if the threads share one set of keys.
    pub shared_keys: bool,
    pub objects: u64,
    pub elapsed: Duration,
}

impl Row {
    /// Returns the objects per second.
    pub fn rate(&self) -> f64 {
        rate(self.objects, self.elapsed)
    }
}

pub struct Comparison {
    pub rows: Vec<Row>,
    /// How many documents are processed over and over.
    pub documents: usize,
    pub turns: u32,
    /// The part of the first row's time in which its thread was runnable but had no processor;
    /// 0 where the platform does not report it.
    pub waited: f64,
    pub checks: Vec<Check>,
    /// The job by the library and by `serde_json::Value`; `None` if that refuses the documents.
    pub trees: Option<Trees>,
}

/// A job with a hand-over, by two means.
#[derive(Default)]
pub struct Trees {
    pub workers: usize,
    pub ours: Side,
    pub values: Side,
}

impl Comparison {
    /// Returns whether all checks passed.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }

    /// Returns each row of blocks, with how many times as fast it was as the row of the global
    /// allocator.
    pub fn gained_by_blocks(&self) -> impl Iterator<Item = (&Row, f64)> {
        let blocks = self.rows.iter().filter(|row| row.name == BLOCKS);
        blocks.filter_map(|blocks| {
            let same = |row: &&Row| {
                let (threads, keys) = (row.threads, row.shared_keys);
                row.name == GLOBAL && (threads, keys) == (blocks.threads, blocks.shared_keys)
            };
            let global = self.rows.iter().find(same)?;
            Some((blocks, blocks.rate() / global.rate()))
        })
    }
}

/// The work that each of the means has to do in one turn.
pub struct Turn<'t> {
    pub documents: &'t [Document],
    pub expected: &'t Expected,
    /// The documents to process, over and over.
    pub sample: Vec<usize>,
    /// For how long.
    pub length: Duration,
}

impl Turn<'_> {
    /// Returns a schedule that begins now.
    pub fn schedule(&self, threads: usize) -> Schedule {
        let end = End::At {
            time: Instant::now() + self.length,
            at_least: 1,
        };
        Schedule::new(self.sample.len(), threads, end, &Arc::default())
    }
}

#[derive(Default)]
struct Done {
    objects: u64,
    elapsed: Duration,
    wrong: u64,
    /// The time in which the thread was runnable but had no processor.
    waited: Duration,
}

/// How many sets of keys there are: one for all threads, or one for each thread.
#[derive(Clone, Copy, PartialEq)]
enum KeysOf {
    All,
    Each,
}

struct Means {
    name: &'static str,
    threads: usize,
    keys: KeysOf,
    go: fn(&Turn<'_>, usize, KeysOf) -> Result<Done, Error>,
}

fn all_means(workers: usize) -> Vec<Means> {
    let means = |name, threads, keys, go| Means {
        name,
        threads,
        keys,
        go,
    };
    let mut all = vec![means("Rc, pools of one thread", 1, KeysOf::Each, plain)];
    all.push(means(BLOCKS, 1, KeysOf::All, ours));
    all.push(means(GLOBAL, 1, KeysOf::All, ours_without_blocks));
    all.push(means("pools behind a mutex", 1, KeysOf::All, locked));
    for keys in [KeysOf::All, KeysOf::Each] {
        all.push(means(BLOCKS, workers, keys, ours));
        all.push(means(GLOBAL, workers, keys, ours_without_blocks));
        all.push(means("pools behind a mutex", workers, keys, locked));
    }
    all
}

fn plain(turn: &Turn<'_>, _: usize, _: KeysOf) -> Result<Done, Error> {
    alone(turn)
}

fn ours(turn: &Turn<'_>, threads: usize, keys: KeysOf) -> Result<Done, Error> {
    together(turn, threads, keys, || Ours::new(Memory::Blocks))
}

fn ours_without_blocks(turn: &Turn<'_>, threads: usize, keys: KeysOf) -> Result<Done, Error> {
    together(turn, threads, keys, || Ours::new(Memory::Global))
}

fn locked(turn: &Turn<'_>, threads: usize, keys: KeysOf) -> Result<Done, Error> {
    let manager = Arc::new(Manager::default());
    together(turn, threads, keys, || Locked::new(&manager))
}

/// Compares the means for this time; `None` if that is too short for the documents.
pub fn compare(
    documents: &[Document],
    expected: &Expected,
    options: &Options,
    time: Duration,
    bytes_per_second: f64,
    progress: &mut Progress,
) -> Result<Option<Comparison>, Error> {
    // One more than there were, because there is no UI thread that needs a processor.
    let means = all_means(options.workers + 1);
    // In turns, so that a disturbance from outside affects more than one of the means.
    let slice = time / (means.len() as u32 + 2);
    let turns = if slice >= 3 * SHORT_TURN { 3 } else { 1 };
    let length = slice / turns;
    // A turn should go through all of the sample, by the slowest of the means, too.
    let bytes = bytes_per_second * length.as_secs_f64() / 4.0;
    let Some(sample) = sample(documents, expected, bytes as usize) else {
        return Ok(None);
    };
    progress.note("comparing with other means");
    let turn = Turn {
        documents,
        expected,
        sample,
        length,
    };
    let mut trees = values::can_parse(&turn).then(|| Trees {
        workers: options.workers,
        ..Trees::default()
    });
    let mut rows: Vec<Row> = Vec::new();
    let mut wrong = 0;
    let mut waited = Duration::ZERO;
    for round in 1..=turns {
        for (index, means) in means.iter().enumerate() {
            let (name, threads) = (means.name, means.threads);
            progress.detail(&format!(
                "comparing, turn {round} of {turns}: {name}, {threads} threads"
            ));
            let done = (means.go)(&turn, threads, means.keys);
            let done = done.inspect_err(|_| progress.clear())?;
            wrong += done.wrong;
            waited += done.waited;
            if round == 1 {
                rows.push(Row {
                    name,
                    threads,
                    shared_keys: threads > 1 && means.keys == KeysOf::All,
                    objects: 0,
                    elapsed: Duration::ZERO,
                });
            }
            rows[index].objects += done.objects;
            rows[index].elapsed += done.elapsed;
        }
        if let Some(trees) = &mut trees {
            progress.detail(&format!(
                "comparing, turn {round} of {turns}: serde_json::Value"
            ));
            trees.ours.add(values::ours(&turn, trees.workers)?);
            trees.values.add(values::values(&turn, trees.workers)?);
        }
    }
    progress.clear();
    let digests = Check {
        what: "digests",
        holds: wrong == 0,
        finding: format!("{wrong} differ from those of a parse without the library"),
    };
    let live = live_objects();
    let alone = rows.first().map_or(0.0, |row| row.elapsed.as_secs_f64());
    Ok(Some(Comparison {
        waited: waited.as_secs_f64() / alone.max(f64::MIN_POSITIVE),
        rows,
        documents: turn.sample.len(),
        turns,
        trees,
        checks: vec![digests, verify::live_objects(live), verify::temporaries()],
    }))
}

/// Returns documents from all parts of the list that have about so many bytes of text in all, or
/// one of up to four times the size; `None` if there is none.
fn sample(documents: &[Document], expected: &Expected, bytes: usize) -> Option<Vec<usize>> {
    let size = |index: usize| documents[index].text.len();
    let verified: Vec<usize> = (0..documents.len())
        .filter(|&index| expected[index].is_some())
        .collect();
    let total: usize = verified.iter().map(|&index| size(index)).sum();
    let step = total.div_ceil(bytes.max(1)).max(1);
    let mut left = bytes;
    let mut sample = Vec::new();
    for &index in verified.iter().step_by(step) {
        if size(index) <= left {
            left -= size(index);
            sample.push(index);
        }
    }
    if sample.is_empty() {
        let smallest = verified.into_iter().min_by_key(|&index| size(index))?;
        if size(smallest) > bytes.saturating_mul(4) {
            return None;
        }
        sample.push(smallest);
    }
    Some(sample)
}

/// Processes the documents with [`Plain`], on a single thread. It is a new thread, because the
/// memory allocator may be faster on the first one.
fn alone(turn: &Turn<'_>) -> Result<Done, Error> {
    let schedule = turn.schedule(1);
    let start = Instant::now();
    let body = || {
        let world = Plain::default();
        let keys = Keys::<Plain>::new();
        let wrong = go_through(turn, &world, &keys, schedule.of_worker(0))?;
        let waited = without_processor().unwrap_or_default();
        Ok::<_, Error>((world.tally().created.get(), wrong, waited))
    };
    let result = thread::scope(|scope| scope.spawn(body).join());
    let (objects, wrong, waited) = result.unwrap_or_else(|panic| panic::resume_unwind(panic))?;
    Ok(Done {
        objects,
        elapsed: start.elapsed(),
        wrong,
        waited,
    })
}

/// Processes the documents on several threads.
fn together<W: World>(
    turn: &Turn<'_>,
    threads: usize,
    keys_of: KeysOf,
    world: impl Fn() -> W + Sync,
) -> Result<Done, Error>
where
    Keys<W>: Sync,
{
    let schedule = &turn.schedule(threads);
    let keys = Keys::<W>::new();
    let start = Instant::now();
    let mut sum = Done::default();
    let mut failed = None;
    thread::scope(|scope| {
        let mut running = Vec::new();
        for index in 0..threads {
            let (shared, world) = (&keys, &world);
            let body = move || {
                let world = world();
                let own = Keys::new();
                let keys = match keys_of {
                    KeysOf::All => shared,
                    KeysOf::Each => &own,
                };
                let wrong = go_through(turn, &world, keys, schedule.of_worker(index))?;
                Ok((world.tally().created.get(), wrong))
            };
            let name = format!("worker-{}", index + 1);
            match thread::Builder::new()
                .name(name.clone())
                .spawn_scoped(scope, body)
            {
                Ok(thread) => running.push(thread),
                Err(source) => {
                    schedule.stop();
                    failed = Some(Error::Spawn { name, source });
                    break;
                }
            }
        }
        for thread in running {
            let result = thread.join();
            match result.unwrap_or_else(|panic| panic::resume_unwind(panic)) {
                Ok((objects, wrong)) => {
                    sum.objects += objects;
                    sum.wrong += wrong;
                }
                Err(error) => failed = Some(error),
            }
        }
    });
    drop(keys);
    sum.elapsed = start.elapsed();
    failed.map_or(Ok(sum), Err)
}

/// Parses the documents of the schedule, inspects each and keeps it for a while. Returns how many
/// digests were wrong.
fn go_through<W: World>(
    turn: &Turn<'_>,
    world: &W,
    keys: &Keys<W>,
    schedule: impl Iterator<Item = usize>,
) -> Result<u64, Error> {
    let mut scene: VecDeque<Value<W>> = VecDeque::new();
    let mut wrong = 0;
    let schedule = schedule.map(|n| turn.sample[n]);
    work(world, keys, turn.documents, schedule, |document, root| {
        let frame = world.pool();
        if Some(Digest::of(&root)) != turn.expected[document] {
            wrong += 1;
        }
        scene.push_back(root);
        if scene.len() > SCENE {
            if let Some(Value::Node(oldest)) = scene.pop_front() {
                world.autorelease(&frame, oldest);
            }
        }
        true
    })?;
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_of(sizes: &[usize], bytes: usize) -> Option<Vec<usize>> {
        let document = |&size: &usize| Document {
            name: String::new(),
            lines_before: 0,
            text: " ".repeat(size),
        };
        let documents: Vec<_> = sizes.iter().map(document).collect();
        // The last one was not verified.
        let mut expected = vec![Some(Digest::default()); sizes.len()];
        *expected.last_mut().unwrap() = None;
        sample(&documents, &expected, bytes)
    }

    #[test]
    fn what_blocks_gain_is_a_ratio_of_rates() {
        let row = |name, threads, objects, seconds| Row {
            name,
            threads,
            shared_keys: false,
            objects,
            elapsed: Duration::from_secs(seconds),
        };
        let comparison = Comparison {
            rows: vec![
                row(GLOBAL, 1, 100, 2),
                row(BLOCKS, 1, 300, 2),
                row(BLOCKS, 2, 100, 1),
                row(GLOBAL, 2, 100, 2),
            ],
            documents: 1,
            turns: 1,
            waited: 0.0,
            trees: None,
            checks: Vec::new(),
        };
        let gained: Vec<_> = comparison.gained_by_blocks().map(|gain| gain.1).collect();
        assert_eq!(gained, [3.0, 2.0]);
    }

    #[test]
    fn samples_are_spread_and_verified() {
        assert_eq!(sample_of(&[10; 5], 1000), Some(vec![0, 1, 2, 3]));
        assert_eq!(sample_of(&[10; 9], 40), Some(vec![0, 2, 4, 6]));
        assert_eq!(sample_of(&[10, 30, 10], 20), Some(vec![0]));
        assert_eq!(sample_of(&[90, 70, 10], 20), Some(vec![1]));
        assert_eq!(sample_of(&[90, 90, 10], 20), None);
        assert_eq!(sample_of(&[10], 20), None);
    }
}
