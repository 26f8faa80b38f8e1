//! Traces that `share --trace` has written: checks them, and draws them.
//!
//! The format is Chrome's: a JSON array of events, of which these are used: `M` names a thread, `B`
//! and `E` begin and end a span.

mod svg;

use crate::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// A trace; times are in milliseconds.
#[derive(Debug)]
pub struct Trace {
    pub tracks: Vec<Track>,
}

/// The frames and drains of one thread.
#[derive(Debug)]
pub struct Track {
    pub thread: String,
    /// In the order in which they begin.
    pub spans: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub kind: Kind,
    pub begin: f64,
    pub end: f64,
    /// How many spans are around it.
    pub depth: usize,
    /// The frame's index, or the name of the pool.
    pub name: String,
    /// How many entries were released.
    pub released: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Frame,
    Drain,
}

impl Span {
    fn length(&self) -> f64 {
        self.end - self.begin
    }
}

/// Checks the trace in a file, and says what each thread has done.
pub fn check(file: &Path) -> Outcome {
    print!("{}", read(file)?);
    Ok(true)
}

/// Draws the trace in a file, or a part of it.
pub fn draw(file: &Path, out: &Path, options: &[&str]) -> Outcome {
    let window = match *options {
        [] => None,
        ["--from", from, "--for", length] => Some(window(from, length)?),
        _ => return Err(format!("{options:?}: not --from MS --for MS")),
    };
    let picture = svg::draw(&read(file)?, window)?;
    std::fs::write(out, picture).map_err(|e| format!("{}: {e}", out.display()))?;
    println!("{} drawn", out.display());
    Ok(true)
}

fn window(from: &str, length: &str) -> Result<Range<f64>, String> {
    let number = |text: &str| {
        let number = text
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite() && *n >= 0.0);
        number.ok_or_else(|| format!("{text}: not a number of milliseconds"))
    };
    let (from, length) = (number(from)?, number(length)?);
    Ok(from..from + length)
}

fn read(file: &Path) -> Result<Trace, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| format!("{name} cannot be read: {e}"))?;
    parse(&text).map_err(|e| format!("{name}: {e}"))
}

/// A thread's spans, while they are read.
#[derive(Default)]
struct Reading {
    thread: Option<String>,
    spans: Vec<Span>,
    /// Indices of those that have not ended.
    open: Vec<usize>,
    now: f64,
}

fn parse(text: &str) -> Result<Trace, String> {
    let events: Vec<Value> = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let mut threads: BTreeMap<u64, Reading> = BTreeMap::new();
    for (nth, event) in events.iter().enumerate() {
        let tid = event["tid"].as_u64().ok_or("an event without a thread")?;
        let reading = threads.entry(tid).or_default();
        reading
            .add(event)
            .map_err(|e| format!("event {nth}, {event}: {e}"))?;
    }
    let tracks = threads.into_iter().map(|(tid, reading)| {
        let thread = reading.thread.ok_or(format!("thread {tid} has no name"))?;
        if !reading.open.is_empty() {
            return Err(format!("a span of thread {thread} has no end"));
        }
        let spans = reading.spans;
        Ok(Track { thread, spans })
    });
    let mut tracks = tracks.collect::<Result<Vec<_>, String>>()?;
    tracks.sort_by(|a, b| a.thread.cmp(&b.thread));
    Ok(Trace { tracks })
}

impl Reading {
    fn add(&mut self, event: &Value) -> Result<(), String> {
        let args = &event["args"];
        let phase = event["ph"].as_str().ok_or("no phase")?;
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
        let kind = match event["name"].as_str() {
            Some("releasepool::frame") => Kind::Frame,
            Some("releasepool::drain") => Kind::Drain,
            _ if phase == "i" => return Ok(()),
            _ => return Err("neither a frame nor a drain".to_owned()),
        };
        match phase {
            "B" => {
                let around = self.open.last().map(|&at| self.spans[at].kind);
                if around == Some(Kind::Drain) {
                    return Err("inside a drain, so it is not outermost".to_owned());
                }
                let name = match kind {
                    Kind::Frame => &args["index"],
                    Kind::Drain => &args["pool"],
                };
                let name = name
                    .as_str()
                    .ok_or("no index of a frame or name of a pool")?;
                self.open.push(self.spans.len());
                self.spans.push(Span {
                    kind,
                    begin: now,
                    end: now,
                    depth: self.open.len() - 1,
                    name: name.trim_matches('"').to_owned(),
                    released: 0,
                });
                Ok(())
            }
            "E" => {
                let at = self.open.pop().ok_or("nothing has begun")?;
                let span = &mut self.spans[at];
                if span.kind != kind {
                    return Err("another span has begun".to_owned());
                }
                let released = args["released"].as_str().and_then(|n| n.parse().ok());
                span.released = released.ok_or("no number of released entries")?;
                span.end = now;
                Ok(())
            }
            _ => Err("an unknown phase".to_owned()),
        }
    }
}

/// A line for each thread.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Track { thread, spans } in &self.tracks {
            let of = |kind| spans.iter().filter(move |span| span.kind == kind);
            let longest = |kind| of(kind).map(Span::length).fold(0.0, f64::max);
            let drains = || of(Kind::Drain);
            let released: u64 = drains().map(|span| span.released).sum();
            writeln!(
                f,
                "{thread}: {} frames, the longest {:.3} ms; {} drains, {} of them in frames, the \
                 longest {:.3} ms, {released} entries released",
                of(Kind::Frame).count(),
                longest(Kind::Frame),
                drains().count(),
                drains().filter(|drain| drain.depth > 0).count(),
                longest(Kind::Drain),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const TRACE: &str = r#"[
        {"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "worker"}},
        {"ph": "B", "pid": 1, "tid": 7, "ts": 5000, "name": "releasepool::drain", "args": {"pool": "\"a<b\""}},
        {"ph": "M", "pid": 1, "tid": 0, "name": "thread_name", "args": {"name": "main"}},
        {"ph": "B", "pid": 1, "tid": 0, "ts": 1000, "name": "releasepool::frame", "args": {"index": "3"}},
        {"ph": "B", "pid": 1, "tid": 0, "ts": 2000, "name": "releasepool::drain", "args": {"pool": "\"frame\""}},
        {"ph": "E", "pid": 1, "tid": 0, "ts": 4000, "name": "releasepool::drain", "args": {"pool": "\"frame\"", "released": "12"}},
        {"ph": "i", "pid": 1, "tid": 0, "ts": 4000, "name": "releasepool::event", "args": {}},
        {"ph": "E", "pid": 1, "tid": 0, "ts": 4500, "name": "releasepool::frame", "args": {"index": "3", "released": "12"}},
        {"ph": "E", "pid": 1, "tid": 7, "ts": 11000, "name": "releasepool::drain", "args": {"released": "1"}}
    ]"#;

    #[test]
    fn spans_are_read_and_summed_up() {
        let trace = parse(TRACE).unwrap();
        let [main, worker] = &trace.tracks[..] else {
            panic!("{trace:?}")
        };
        let frame = Span {
            kind: Kind::Frame,
            begin: 1.0,
            end: 4.5,
            depth: 0,
            name: "3".to_owned(),
            released: 12,
        };
        assert_eq!((&*main.thread, &main.spans[0]), ("main", &frame));
        assert_eq!((main.spans[1].depth, &*main.spans[1].name), (1, "frame"));
        assert_eq!(&*worker.spans[0].name, "a<b");
        let wanted = "\
            main: 1 frames, the longest 3.500 ms; 1 drains, 1 of them in frames, the longest \
            2.000 ms, 12 entries released\n\
            worker: 0 frames, the longest 0.000 ms; 1 drains, 0 of them in frames, the longest \
            6.000 ms, 1 entries released\n";
        assert_eq!(trace.to_string(), wanted);
    }

    #[test]
    fn what_is_wrong_is_found() {
        let wrong = |from: &str, to: &str, words: &str| {
            assert!(TRACE.contains(from), "{from}");
            let error = parse(&TRACE.replace(from, to)).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        wrong("\"ts\": 4500", "\"ts\": 3000", "time goes back");
        wrong("]", "", "EOF");
        wrong(
            r#""name": "worker""#,
            r#""name": """#,
            "no name of a thread",
        );
        wrong(
            r#""tid": 7, "name": "thread_name""#,
            r#""tid": 8, "name": "thread_name""#,
            "thread 7 has no name",
        );
        wrong(
            r#""E", "pid": 1, "tid": 7"#,
            r#""i", "pid": 1, "tid": 7"#,
            "unknown phase",
        );
        wrong(
            r#""i", "pid": 1, "tid": 0"#,
            r#""B", "pid": 1, "tid": 0"#,
            "neither a frame nor a drain",
        );
        wrong(
            r#""ts": 4000, "name": "releasepool::drain""#,
            r#""ts": 4000, "name": "releasepool::frame""#,
            "another span has begun",
        );
        wrong(
            r#""ts": 1000, "name": "releasepool::frame", "args": {"index": "3"}"#,
            r#""ts": 1000, "name": "releasepool::drain", "args": {"pool": "x"}"#,
            "not outermost",
        );
        wrong(
            r#""released": "12""#,
            r#""released": "x""#,
            "no number of released",
        );
        let ended = TRACE.replace(r#""tid": 7, "ts": 11000"#, r#""tid": 0, "ts": 11000"#);
        assert!(parse(&ended).unwrap_err().contains("nothing has begun"));
        let open: Vec<&str> = TRACE.lines().collect();
        let open = open[..8].join("\n");
        let open = format!("{} ]", open.trim_end_matches(','));
        let error = parse(&open).unwrap_err();
        assert!(
            error.contains("thread worker has no end") || error.contains("thread main has no end"),
            "{error}"
        );
    }

    #[test]
    fn windows_are_numbers() {
        assert_eq!(window("10", "2.5").unwrap(), 10.0..12.5);
        for bad in ["-1", "x", "inf", "NaN"] {
            assert!(window(bad, "1").is_err() && window("1", bad).is_err());
        }
    }
}
