//! The job by `serde_json::Value`, whose values own their children and count no references, and by the
//! library. Workers parse the documents; one thread walks each of them once, and another destroys it.
//! There are no temporary strings and no frames, so that both do equal work.

use crate::error::Error;
use crate::input::Document;
use crate::job::digest::{Digest, Walk};
use crate::job::keys::Keys;
use crate::job::run::{live_objects, processor_time, reclaimer, work};
use crate::job::schedule::{End, Schedule};
use crate::job::world::{self, World};
use crate::progress::Progress;
use crate::verify::{self, Check, Expected};
use serde_json::Value;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many documents may wait to be walked, and how many to be destroyed.
const WAITING: usize = 16;

/// A turn takes at least so long, if there is time for three.
const TURN: Duration = Duration::from_millis(300);

/// What both did.
pub struct Comparison {
    /// How many documents are parsed over and over.
    pub documents: usize,
    pub turns: u32,
    pub workers: usize,
    pub ours: Side,
    /// `None` if `serde_json::Value` refuses a document.
    pub values: Option<Side>,
    pub checks: [Check; 2],
}

/// What one of the two did.
#[derive(Clone, Copy, Default)]
pub struct Side {
    /// The bytes of text that were parsed.
    bytes: usize,
    /// The processors' time, on all threads; where the platform does not report that, the time that
    /// passed.
    time: Duration,
}

impl Side {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.time += other.time;
    }

    /// Returns the bytes for each second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn or_since(self, start: Instant) -> Self {
        let passed = || start.elapsed();
        let time = Some(self.time)
            .filter(|time| !time.is_zero())
            .unwrap_or_else(passed);
        Self { time, ..self }
    }
}

/// The work of one turn.
struct Turn<'t> {
    documents: &'t [Document],
    /// The documents to process, over and over.
    sample: Vec<usize>,
    /// For how long.
    length: Duration,
}

impl Turn<'_> {
    /// Returns a schedule that begins now.
    fn schedule(&self, threads: usize) -> Schedule {
        let end = End::At {
            time: Instant::now() + self.length,
            at_least: 1,
        };
        Schedule::new(self.sample.len(), threads, end, &Arc::default())
    }
}

/// Compares both for this time; `None` if that is too short for the documents.
pub fn compare(
    documents: &[Document],
    expected: &Expected,
    workers: usize,
    time: Duration,
    bytes_per_second: f64,
    progress: &mut Progress,
) -> Result<Option<Comparison>, Error> {
    // In turns, so that a disturbance from outside affects both. One more slice is for what is begun.
    let turns = if time / 7 >= TURN { 3 } else { 1 };
    let length = time / (2 * turns + 1);
    // A turn should go through all of the sample, by the slower of the two, too.
    let bytes = bytes_per_second * length.as_secs_f64() / 4.0;
    let Some(sample) = sample(documents, expected, bytes as usize) else {
        return Ok(None);
    };
    progress.note("comparing with serde_json::Value");
    let turn = Turn {
        documents,
        sample,
        length,
    };
    let (mut by_us, mut by_values) = (Side::default(), can_parse(&turn).then(Side::default));
    for round in 1..=turns {
        progress.detail(&format!("comparing, turn {round} of {turns}"));
        by_us.add(ours(&turn, workers)?);
        if let Some(side) = &mut by_values {
            side.add(values(&turn, workers)?);
        }
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

/// Returns whether `serde_json::Value` can hold all documents of the turn: it refuses those that are
/// nested deeper than 127.
fn can_parse(turn: &Turn<'_>) -> bool {
    let mut texts = turn.sample.iter().map(|&n| &turn.documents[n].text);
    texts.all(|text| serde_json::from_str::<Value>(text).is_ok())
}

/// Does the job with objects of the library.
fn ours(turn: &Turn<'_>, workers: usize) -> Result<Side, Error> {
    let reclaimer = reclaimer()?;
    let start = Instant::now();
    let keys = &Keys::default();
    let parse = |schedule: &mut dyn Iterator<Item = usize>, send: &dyn Fn(_) -> bool| {
        work(
            &World::without_temporaries(),
            keys,
            turn.documents,
            schedule,
            |_, root| send(root),
        )
    };
    let walk = |arrivals: Receiver<world::Value>| {
        for root in arrivals {
            std::hint::black_box(Digest::of(&root));
            match root {
                world::Value::Node(root) => reclaimer.thread().release(root),
                other => drop(other),
            }
        }
        processor_time()
    };
    let mut side = job(turn, workers, parse, walk)?;
    side.time += reclaimer
        .call(processor_time)
        .ok()
        .flatten()
        .unwrap_or_default();
    // Its destructors do not panic.
    let _ = reclaimer.shutdown();
    Ok(side.or_since(start))
}

/// Does the job with `serde_json::Value`.
fn values(turn: &Turn<'_>, workers: usize) -> Result<Side, Error> {
    let start = Instant::now();
    let (condemned, to_drop) = sync_channel::<Value>(WAITING);
    let reclaimer = thread::spawn(move || {
        to_drop.into_iter().for_each(drop);
        processor_time()
    });
    let parse = |schedule: &mut dyn Iterator<Item = usize>, send: &dyn Fn(_) -> bool| {
        for n in schedule {
            let root = serde_json::from_str(&turn.documents[n].text);
            if !send(root.expect("`can_parse` has parsed it")) {
                break;
            }
        }
        Ok(())
    };
    let walk = |arrivals: Receiver<Value>| {
        for root in arrivals {
            std::hint::black_box(digest(&root));
            // The thread ends after this one.
            let _ = condemned.send(root);
        }
        drop(condemned);
        processor_time()
    };
    let mut side = job(turn, workers, parse, walk)?;
    side.time += reclaimer
        .join()
        .unwrap_or_else(|panic| resume_unwind(panic))
        .unwrap_or_default();
    Ok(side.or_since(start))
}

/// Parses documents on workers and has another thread walk them. Both `parse` and `walk` run on
/// threads that end with them.
fn job<R: Send>(
    turn: &Turn<'_>,
    workers: usize,
    parse: impl Fn(&mut dyn Iterator<Item = usize>, &dyn Fn(R) -> bool) -> Result<(), Error> + Sync,
    walk: impl FnOnce(Receiver<R>) -> Option<Duration> + Send,
) -> Result<Side, Error> {
    let schedule = &turn.schedule(workers);
    let (sender, arrivals) = sync_channel(WAITING);
    let worker = |index: usize, sender: SyncSender<R>| {
        let bytes = Cell::new(0);
        let count = |&n: &usize| bytes.set(bytes.get() + turn.documents[n].text.len());
        let documents = schedule.of_worker(index).map(|n| turn.sample[n]);
        parse(&mut documents.inspect(count), &|root| {
            sender.send(root).is_ok()
        })?;
        let time = processor_time().unwrap_or_default();
        Ok(Side {
            bytes: bytes.get(),
            time,
        })
    };
    thread::scope(|scope| {
        let walker = scope.spawn(|| walk(arrivals));
        let start = |index| {
            let (sender, worker) = (sender.clone(), &worker);
            scope.spawn(move || worker(index, sender))
        };
        let threads: Vec<_> = (0..workers).map(start).collect();
        // The walker ends when the last worker has dropped its sender.
        drop(sender);
        let mut side = Side::default();
        for thread in threads {
            let done: Result<Side, Error> =
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            side.add(done?);
        }
        let walked = walker.join().unwrap_or_else(|panic| resume_unwind(panic));
        side.time += walked.unwrap_or_default();
        Ok(side)
    })
}

/// Returns the digest of a tree. It is another one than that of the document, as `Value` sorts keys.
fn digest(root: &Value) -> Digest {
    let mut walk = Walk::default();
    add(&mut walk, root);
    walk.finish()
}

/// Recurses as deep as the document, which is no deeper than 127.
fn add(walk: &mut Walk, value: &Value) {
    match value {
        Value::Null => walk.scalar(0.0),
        Value::Bool(value) => walk.scalar(f64::from(u8::from(*value))),
        Value::Number(value) => walk.scalar(value.as_f64().unwrap_or_default()),
        Value::String(text) => walk.text(text),
        Value::Array(items) => {
            walk.digest.arrays += 1;
            items.iter().for_each(|item| add(walk, item));
        }
        Value::Object(entries) => {
            walk.digest.dicts += 1;
            walk.digest.entries += entries.len() as u64;
            for (key, value) in entries {
                walk.key(key);
                add(walk, value);
            }
        }
    }
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
            length: Duration::from_millis(50),
        };
        assert!(can_parse(&turn));
        for side in [ours(&turn, 2).unwrap(), values(&turn, 2).unwrap()] {
            assert!(side.bytes > 0 && side.rate() > 0.0);
        }
        for text in texts {
            // Neither has keys to sort.
            let tree = digest(&serde_json::from_str(text).unwrap());
            assert_eq!(Digest::of_text(text).ok(), Some(tree));
        }
    }
}
