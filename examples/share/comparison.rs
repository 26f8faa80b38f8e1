//! Compares the library with `serde_json::Value`, whose values own their children and count no
//! references. On each side, workers parse the documents; one thread walks each document once, and
//! another destroys it. There are no temporary strings and no frames, so both sides do equal work.

use crate::error::Error;
use crate::input::Document;
use crate::job::digest::Digest;
use crate::job::keys::Keys;
use crate::job::run::{live_objects, reclaimer, work};
use crate::job::schedule::{End, Schedule};
use crate::job::world::{Value, World};
use crate::progress::Progress;
use crate::verify::{self, Check, Expected};
use std::fs;
use std::hint::black_box;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many documents may wait to be walked, and how many to be destroyed.
const WAITING: usize = 16;

/// If three turns of each side would be shorter than this, each side has only one.
const TURN: Duration = Duration::from_millis(300);

/// The result of the comparison.
pub struct Comparison {
    /// How many documents are parsed over and over.
    pub documents: usize,
    pub turns: u32,
    pub workers: usize,
    pub ours: Side,
    pub values: Side,
    pub checks: [Check; 2],
}

/// What one of the two sides did.
#[derive(Clone, Copy, Default)]
pub struct Side {
    /// The bytes of text that were parsed.
    bytes: usize,
    /// The processors' time, on all threads; where the platform does not report that, the time that
    /// passed.
    time: Duration,
}

impl Side {
    /// Adds the job, which returns the bytes of text that it has parsed.
    fn add(&mut self, job: impl FnOnce() -> Result<usize, Error>) -> Result<(), Error> {
        let (start, before) = (Instant::now(), processor_time());
        self.bytes += job()?;
        let time = processor_time().zip(before);
        let time = time.map(|(now, before)| now.saturating_sub(before));
        self.time += time.unwrap_or_else(|| start.elapsed());
        Ok(())
    }

    /// Returns the bytes for each second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Returns the processors' time of all threads of the process, on Linux.
/// [`peak_memory`](crate::job::run::peak_memory) says why without a library.
fn processor_time() -> Option<Duration> {
    let figures = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have spaces.
    let (_, figures) = figures.rsplit_once(')')?;
    // In user mode, and in the kernel, in hundredths of a second.
    let times = figures.split_whitespace().skip(11).take(2);
    let sum: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(10 * sum))
}

/// The work of one turn.
struct Turn<'t> {
    documents: &'t [Document],
    /// The documents to process, over and over.
    sample: Vec<usize>,
    workers: usize,
    /// The length of the turn.
    length: Duration,
}

/// Compares both sides for this time; `None` if that is too short for the documents.
pub fn compare(
    documents: &[Document],
    expected: &Expected,
    workers: usize,
    time: Duration,
    bytes_per_second: f64,
    progress: &mut Progress,
) -> Result<Option<Comparison>, Error> {
    // The sides take turns, so that disturbances affect both. One more slice is for what is begun.
    let turns = if time / 7 >= TURN { 3 } else { 1 };
    let length = time / (2 * turns + 1);
    // Even the slower side should get through the whole sample in a turn.
    let bytes = bytes_per_second * length.as_secs_f64() / 4.0;
    let Some(sample) = sample(documents, expected, bytes as usize) else {
        return Ok(None);
    };
    let turn = Turn {
        documents,
        sample,
        workers,
        length,
    };
    let (mut by_us, mut by_values) = (Side::default(), Side::default());
    for round in 1..=turns {
        progress.note(&format!(
            "comparing with serde_json::Value, turn {round} of {turns}"
        ));
        by_us.add(|| ours(&turn))?;
        by_values.add(|| values(&turn))?;
    }
    progress.clear();
    Ok(Some(Comparison {
        documents: turn.sample.len(),
        turns,
        workers,
        ours: by_us,
        values: by_values,
        checks: [verify::live_objects(live_objects()), verify::temporaries()],
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

/// Does the job with objects of the library. Returns the bytes of text that were parsed.
fn ours(turn: &Turn<'_>) -> Result<usize, Error> {
    let reclaimer = reclaimer()?;
    let keys = &Keys::default();
    let parse = |schedule: &mut dyn Iterator<Item = usize>, send: &dyn Fn(_) -> bool| {
        let world = World::without_temporaries();
        work(&world, keys, turn.documents, schedule, |_, root| send(root))
    };
    let walk = |arrivals: Receiver<Value>| {
        for root in arrivals {
            black_box(Digest::of(&root));
            match root {
                Value::Node(root) => reclaimer.thread().release(root),
                other => drop(other),
            }
        }
    };
    let bytes = job(turn, parse, walk);
    drop(reclaimer);
    bytes
}

/// Does the job with `serde_json::Value`. Returns the bytes of text that were parsed.
fn values(turn: &Turn<'_>) -> Result<usize, Error> {
    let (condemned, to_drop) = sync_channel::<serde_json::Value>(WAITING);
    let reclaimer = thread::spawn(move || to_drop.into_iter().for_each(drop));
    let parse = |schedule: &mut dyn Iterator<Item = usize>, send: &dyn Fn(_) -> bool| {
        for n in schedule {
            let document = &turn.documents[n];
            let root = serde_json::from_str(&document.text);
            if !send(root.map_err(|error| document.invalid(n, error))?) {
                break;
            }
        }
        Ok(())
    };
    let walk = move |arrivals: Receiver<serde_json::Value>| {
        for root in arrivals {
            black_box(Digest::of_tree(&root));
            // Cannot fail: the receiving thread ends after this one.
            let _ = condemned.send(root);
        }
    };
    let bytes = job(turn, parse, walk);
    reclaimer
        .join()
        .unwrap_or_else(|panic| resume_unwind(panic));
    bytes
}

/// Parses documents on workers and has another thread walk them. Returns the bytes of their text.
fn job<R: Send>(
    turn: &Turn<'_>,
    parse: impl Fn(&mut dyn Iterator<Item = usize>, &dyn Fn(R) -> bool) -> Result<(), Error> + Sync,
    walk: impl FnOnce(Receiver<R>) + Send,
) -> Result<usize, Error> {
    let end = End::At {
        time: Instant::now() + turn.length,
        at_least: 1,
    };
    let schedule = Schedule::new(turn.sample.len(), turn.workers, end);
    let bytes = AtomicUsize::new(0);
    let count = |&n: &usize| _ = bytes.fetch_add(turn.documents[n].text.len(), Ordering::Relaxed);
    let (sender, arrivals) = sync_channel(WAITING);
    thread::scope(|scope| {
        scope.spawn(|| walk(arrivals));
        let start = |index| {
            let (sender, schedule, count, parse) = (sender.clone(), &schedule, &count, &parse);
            scope.spawn(move || {
                let documents = schedule.of_worker(index).map(|n| turn.sample[n]);
                parse(&mut documents.inspect(count), &|root| {
                    sender.send(root).is_ok()
                })
            })
        };
        let workers: Vec<_> = (0..turn.workers).map(start).collect();
        // The walker ends when the last worker has dropped its sender.
        drop(sender);
        let mut results = workers.into_iter().map(thread::ScopedJoinHandle::join);
        results.try_for_each(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    Ok(bytes.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_of(sizes: &[usize], bytes: usize) -> Option<Vec<usize>> {
        let document = |&size: &usize| Document::new("", " ".repeat(size));
        let documents: Vec<_> = sizes.iter().map(document).collect();
        // The last one was not verified.
        let mut expected = vec![Some(Digest::default()); sizes.len()];
        *expected.last_mut().unwrap() = None;
        sample(&documents, &expected, bytes)
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

    #[test]
    fn both_sides_parse_the_documents_over_and_over() {
        let texts = ["[1, \"a\", {\"b\": null}]", "{\"c\": [true, 2.5]}"];
        let documents = texts.map(|text| Document::new("", text));
        let turn = Turn {
            documents: &documents,
            sample: vec![0, 1],
            workers: 2,
            length: Duration::from_millis(50),
        };
        for job in [ours, values] {
            let mut side = Side::default();
            side.add(|| job(&turn)).unwrap();
            assert!(side.bytes > 0 && side.rate() > 0.0);
        }
        for text in texts {
            // `Value` sorts keys, but no dictionary here has more than one.
            let tree = Digest::of_tree(&serde_json::from_str(text).unwrap());
            assert_eq!(Digest::of_text(text).ok(), Some(tree));
        }
    }
}
