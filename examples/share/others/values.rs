//! The same job with `serde_json::Value`, whose values own their children and count no references.
//! Workers parse the documents; one thread walks each of them once, and another destroys it. Objects of
//! the library do exactly that, too, for comparison; so they leave out the temporary strings of the main
//! job.

use crate::error::Error;
use crate::job::digest::{Digest, Walk};
use crate::job::keys::Keys;
use crate::job::node;
use crate::job::run::processor_time;
use crate::job::worker::work;
use crate::job::world::ours::{Memory, Ours};
use crate::others::compare::Turn;
use releasepool::Looper;
use serde_json::Value;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How many documents may wait to be walked, and how many to be destroyed.
const WAITING: usize = 16;

/// What one of the two did.
#[derive(Clone, Copy, Default)]
pub struct Side {
    /// The bytes of text that were parsed.
    pub bytes: usize,
    /// The processors' time, on all threads; where the platform does not report that, the time that
    /// passed.
    pub time: Duration,
}

impl Side {
    pub fn add(&mut self, other: Self) {
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

/// Returns whether `serde_json::Value` can hold all documents of the turn: it refuses those that are
/// nested deeper than 127.
pub fn can_parse(turn: &Turn<'_>) -> bool {
    let mut texts = turn.sample.iter().map(|&n| &turn.documents[n].text);
    texts.all(|text| serde_json::from_str::<Value>(text).is_ok())
}

/// Does the job with objects of the library.
pub fn ours(turn: &Turn<'_>, workers: usize) -> Result<Side, Error> {
    let reclaimer = Looper::reclaimer("reclaimer").map_err(|source| Error::Spawn {
        name: "reclaimer".to_owned(),
        source,
    })?;
    let start = Instant::now();
    let keys = &Keys::<Ours>::new();
    let parse = |schedule: &mut dyn Iterator<Item = usize>, send: &dyn Fn(_) -> bool| {
        work(
            &Ours::new(Memory::Blocks).without_temporaries(),
            keys,
            turn.documents,
            schedule,
            |_, root| send(root),
        )
    };
    let walk = |arrivals: Receiver<node::Value<Ours>>| {
        for root in arrivals {
            std::hint::black_box(Digest::of(&root));
            match root {
                node::Value::Node(root) => reclaimer.thread().release(root),
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
pub fn values(turn: &Turn<'_>, workers: usize) -> Result<Side, Error> {
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
        Value::String(text) => {
            walk.digest.texts += 1;
            walk.text(text);
        }
        Value::Array(items) => {
            walk.digest.arrays += 1;
            items.iter().for_each(|item| add(walk, item));
        }
        Value::Object(entries) => {
            walk.digest.dicts += 1;
            walk.digest.entries += entries.len() as u64;
            for (key, value) in entries {
                walk.text(key);
                add(walk, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Document;

    #[test]
    fn both_sides_parse_the_documents_over_and_over() {
        let document = |text: &str| Document {
            name: String::new(),
            lines_before: 0,
            text: text.to_owned(),
        };
        let documents = ["[1, \"a\", {\"b\": null}]", "{\"c\": [true, 2.5]}"].map(document);
        let expected = vec![None; 2];
        let turn = Turn {
            documents: &documents,
            expected: &expected,
            sample: vec![0, 1],
            length: Duration::from_millis(50),
        };
        assert!(can_parse(&turn));
        for side in [ours(&turn, 2).unwrap(), values(&turn, 2).unwrap()] {
            assert!(side.bytes > 0 && side.rate() > 0.0);
        }
        let tree = digest(&serde_json::from_str(&documents[0].text).unwrap());
        assert_eq!(
            (
                tree.scalars,
                tree.texts,
                tree.arrays,
                tree.dicts,
                tree.entries
            ),
            (2, 1, 1, 1, 1)
        );
    }
}
