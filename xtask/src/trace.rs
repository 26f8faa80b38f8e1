//! Checks a trace that `share --trace` has written.
//!
//! The format is Chrome's: a JSON array of events, of which these are used: `M` names a thread, `B`
//! and `E` begin and end a span.

use crate::command::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

const FRAME: &str = "releasepool::frame";
const DRAIN: &str = "releasepool::drain";

/// The spans of one thread; times are in milliseconds.
#[derive(Default)]
struct Track {
    thread: Option<String>,
    /// The spans that have begun and not ended: their names, and when they began.
    open: Vec<(String, f64)>,
    now: f64,
    frames: usize,
    longest_frame: f64,
    drains: usize,
    drains_in_frames: usize,
    longest_drain: f64,
    released: u64,
}

/// Checks that the spans in a trace nest and that its threads have names; prints a line for each thread.
pub fn check(file: &Path) -> Outcome {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| format!("{name} cannot be read: {e}"))?;
    let tracks = parse(&text).map_err(|e| format!("{name}: {e}"))?;
    for (thread, track) in tracks {
        println!("{thread}: {track}");
    }
    Ok(true)
}

/// Returns the tracks by the names of their threads.
fn parse(text: &str) -> Result<BTreeMap<String, Track>, String> {
    let events: Vec<Value> = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let mut tracks: BTreeMap<u64, Track> = BTreeMap::new();
    for event in &events {
        let tid = event["tid"].as_u64().ok_or("an event without a thread")?;
        let added = tracks.entry(tid).or_default().add(event);
        added.map_err(|e| format!("{event}: {e}"))?;
    }
    let named = tracks.into_iter().map(|(tid, mut track)| {
        let thread = track.thread.take();
        let thread = thread.ok_or(format!("thread {tid} has no name"))?;
        match track.open.is_empty() {
            true => Ok((thread, track)),
            false => Err(format!("a span of thread {thread} has no end")),
        }
    });
    named.collect()
}

impl Track {
    fn add(&mut self, event: &Value) -> Result<(), String> {
        let (phase, args) = (event["ph"].as_str().ok_or("no phase")?, &event["args"]);
        if phase == "M" {
            let name = args["name"].as_str().filter(|name| !name.is_empty());
            self.thread = Some(name.ok_or("no name of a thread")?.to_owned());
            return Ok(());
        }
        let now = event["ts"].as_f64().ok_or("no time")? / 1_000.0;
        if now < self.now {
            return Err(format!("the thread's time goes back, from {} ms", self.now));
        }
        self.now = now;
        let name = event["name"].as_str().unwrap_or_default();
        match phase {
            "i" if ![FRAME, DRAIN].contains(&name) => Ok(()),
            _ if ![FRAME, DRAIN].contains(&name) => Err("neither a frame nor a drain".to_owned()),
            "B" => self.begin(name, args),
            "E" => self.end(name, args),
            _ => Err("an unknown phase".to_owned()),
        }
    }

    fn begin(&mut self, name: &str, args: &Value) -> Result<(), String> {
        if self.open.last().is_some_and(|(around, _)| around == DRAIN) {
            return Err("inside a drain, so it is not outermost".to_owned());
        }
        let label = if name == FRAME { "index" } else { "pool" };
        args[label].as_str().ok_or(format!("it has no {label}"))?;
        self.open.push((name.to_owned(), self.now));
        Ok(())
    }

    fn end(&mut self, name: &str, args: &Value) -> Result<(), String> {
        let (begun, since) = self.open.pop().ok_or("nothing has begun")?;
        let released = args["released"]
            .as_str()
            .and_then(|n| n.parse::<u64>().ok());
        let released = released.ok_or("no number of released entries")?;
        let length = self.now - since;
        if begun != name {
            return Err("another span has begun".to_owned());
        }
        if name == FRAME {
            self.frames += 1;
            self.longest_frame = self.longest_frame.max(length);
        } else {
            self.drains += 1;
            self.drains_in_frames += usize::from(!self.open.is_empty());
            self.longest_drain = self.longest_drain.max(length);
            self.released += released;
        }
        Ok(())
    }
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} frames, the longest {:.3} ms; {} drains, {} of them in frames, the longest {:.3} ms, \
             {} entries released",
            self.frames,
            self.longest_frame,
            self.drains,
            self.drains_in_frames,
            self.longest_drain,
            self.released,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"[
        {"ph": "M", "tid": 7, "name": "thread_name", "args": {"name": "worker"}},
        {"ph": "B", "tid": 7, "ts": 5000, "name": "releasepool::drain", "args": {"pool": "\"a<b\""}},
        {"ph": "M", "tid": 0, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "B", "tid": 0, "ts": 1000, "name": "releasepool::frame", "args": {"index": "3"}},
        {"ph": "B", "tid": 0, "ts": 2000, "name": "releasepool::drain", "args": {"pool": "\"frame\""}},
        {"ph": "E", "tid": 0, "ts": 4000, "name": "releasepool::drain", "args": {"released": "12"}},
        {"ph": "i", "tid": 0, "ts": 4000, "name": "releasepool::event", "args": {}},
        {"ph": "E", "tid": 0, "ts": 4500, "name": "releasepool::frame", "args": {"released": "12"}},
        {"ph": "E", "tid": 7, "ts": 11000, "name": "releasepool::drain", "args": {"released": "1"}}
    ]"#;

    #[test]
    fn spans_are_summed_up() {
        let tracks = parse(TRACE).unwrap();
        let main = "1 frames, the longest 3.500 ms; 1 drains, 1 of them in frames, the longest 2.000 ms, \
                    12 entries released";
        assert_eq!(tracks["main"].to_string(), main);
        let worker = "0 frames, the longest 0.000 ms; 1 drains, 0 of them in frames, the longest \
                      6.000 ms, 1 entries released";
        assert_eq!(tracks["worker"].to_string(), worker);
    }

    #[test]
    fn what_is_wrong_is_found() {
        for (from, to, words) in [
            (r#""ts": 4500"#, r#""ts": 3000"#, "time goes back"),
            ("]", "", "EOF"),
            (
                r#""name": "worker""#,
                r#""name": """#,
                "no name of a thread",
            ),
            (
                r#""M", "tid": 7"#,
                r#""M", "tid": 8"#,
                "thread 7 has no name",
            ),
            (r#""E", "tid": 7"#, r#""i", "tid": 7"#, "unknown phase"),
            (
                r#""i", "tid": 0"#,
                r#""B", "tid": 0"#,
                "neither a frame nor",
            ),
            (r#""index": "3""#, r#""x": "3""#, "it has no index"),
            (
                r#""ts": 4000, "name": "releasepool::drain""#,
                r#""ts": 4000, "name": "releasepool::frame""#,
                "another span",
            ),
            (
                r#""ts": 1000, "name": "releasepool::frame", "args": {"index": "3"}"#,
                r#""ts": 1000, "name": "releasepool::drain", "args": {"pool": "x"}"#,
                "not outermost",
            ),
            (
                r#""released": "12""#,
                r#""released": "x""#,
                "no number of released",
            ),
            (
                r#""tid": 7, "ts": 11000"#,
                r#""tid": 0, "ts": 11000"#,
                "nothing has begun",
            ),
        ] {
            assert!(TRACE.contains(from), "{from}");
            let error = parse(&TRACE.replace(from, to)).err().unwrap();
            assert!(error.contains(words), "{error}");
        }
        let (open, _) = TRACE.rsplit_once(',').unwrap();
        let (open, _) = open.rsplit_once("\"args\"").unwrap();
        let (open, _) = open.rsplit_once(",\n").unwrap();
        let error = parse(&format!("{open}]")).err().unwrap();
        assert!(error.contains("has no end"), "{error}");
    }
}
