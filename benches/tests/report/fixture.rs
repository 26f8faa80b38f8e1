//! Made-up runs.

use releasepool_benches::comparison::{Judged, Spread};
use releasepool_benches::contest::Figure;
use releasepool_benches::results::{
    Before, FORMAT, Machine, Point, Question, Results, Role, Scenario, Series, Verdict,
};

/// The rounds of a point. It is prime, so that multiplying modulo it permutes the rounds.
const ROUNDS: i32 = 101;

/// Returns a figure with quartiles a fraction `spread` below and above the median.
pub fn figure(median: f64, spread: f64) -> Figure {
    Figure {
        low: median * (1.0 - spread),
        median,
        high: median * (1.0 + spread),
    }
}

/// Returns samples around a median. `key` determines their order: samples with different keys do not
/// rise and fall together, but the median of their ratios is the ratio of their medians.
pub fn samples(median: f64, spread: f64, key: i32) -> Vec<Option<f64>> {
    let half = ROUNDS / 2;
    let factor = 1 + key.rem_euclid(ROUNDS - 1);
    let place = |round: i32| f64::from((round * factor + half).rem_euclid(ROUNDS) - half);
    let sample = |round| median * (2.0 * spread * place(round) / f64::from(half)).exp();
    (-half..=half).map(|round| Some(sample(round))).collect()
}

pub fn point(threads: usize, time: Figure) -> Point {
    let spread = (time.high / time.low).sqrt().ln();
    let spread = if spread.is_finite() { spread } else { 0.0 };
    let key = (time.median.to_bits() % 997) as i32;
    Point {
        threads,
        oversubscribed: threads > 2,
        time,
        ratio: None,
        samples: samples(time.median, spread, key),
        together: true,
        instructions: None,
        before: None,
    }
}

/// Asks for a comparison.
pub fn between(one: &str, other: &str) -> Question {
    Question::Between(one.to_owned(), other.to_owned())
}

/// Asks how an implementation scales.
pub fn scaling(one: &str) -> Question {
    Question::Scaling(one.to_owned())
}

/// Returns a series with 1, 2, 4 ... threads. Points that are zero are left out.
pub fn series(implementation: &str, role: Role, medians: &[f64]) -> Series {
    let points = medians.iter().enumerate().filter(|(_, time)| **time > 0.0);
    let points = points.map(|(at, &time)| point(1 << at, figure(time, 0.04 + 0.03 * at as f64)));
    Series {
        implementation: implementation.to_owned(),
        role,
        note: None,
        points: points.collect(),
    }
}

/// Returns a scenario, with the ratios to the first series.
pub fn scenario(id: &str, title: &str, remarks: &str, mut series: Vec<Series>) -> Scenario {
    let first = series.first().map(|s| s.points.clone()).unwrap_or_default();
    for (at, series) in series.iter_mut().enumerate() {
        for point in &mut series.points {
            let same = first.iter().find(|other| other.threads == point.threads);
            let ratio = same.map(|other| point.time.median / other.time.median);
            point.ratio = ratio.filter(|_| at > 0).map(|ratio| figure(ratio, 0.05));
        }
    }
    Scenario {
        id: id.to_owned(),
        title: title.to_owned(),
        what: format!(
            "{title}: each thread does it again and again; one operation is one of these."
        ),
        remarks: remarks.to_owned(),
        questions: Vec::new(),
        series,
    }
}

pub fn machine() -> Machine {
    Machine {
        processor: "Example(R) Processor 9000 @ 3.00GHz".to_owned(),
        parallelism: 2,
        system: "Linux 6.18".to_owned(),
        toolchain: "rustc 1.95.0 (f2d3ce0bd 2026-03-21)".to_owned(),
        flags: "bench: lto = thin, codegen-units = 1".to_owned(),
        allocator: "glibc 2.41".to_owned(),
        commit: Some("44421550, changed".to_owned()),
        began: 1_795_288_847,
        seconds: 312.4,
    }
}

pub fn results(scenarios: Vec<Scenario>) -> Results {
    Results {
        format: FORMAT,
        machine: machine(),
        quick: false,
        scenarios,
        targets: Vec::new(),
        baseline: None,
    }
}

fn slots() -> Scenario {
    use Role::{Ours, Peer, Reference};
    let mut of = scenario(
        "slot-load",
        "Load from a slot that all share",
        "A reference from a slot is valid until the pool is drained.",
        vec![
            series("releasepool Slot", Ours, &[4.1, 4.3, 8.8, 17.9]),
            series("releasepool Slot, strong", Ours, &[9.8, 21.0, 44.0, 92.0]),
            series("RefCell<Rc>", Reference, &[1.2]),
            series("arc-swap, load", Peer, &[4.1, 4.2, 8.6, 17.0]),
            series("arc-swap, load_full", Peer, &[11.0, 33.0, 60.0, 130.0]),
            series("Mutex<Arc>", Peer, &[14.0, 71.0, 240.0, 660.0]),
            series("RwLock<Arc>", Peer, &[15.0, 77.0, 180.0, 390.0]),
            series(
                "parking_lot::RwLock<Arc>",
                Peer,
                &[12.0, 66.0, 150.0, 280.0],
            ),
            series("crossbeam-epoch", Peer, &[6.4, 6.9, 14.0, 29.0]),
        ],
    );
    of.questions = vec![
        between("releasepool Slot", "arc-swap, load"),
        between("releasepool Slot", "RwLock<Arc>"),
        between("releasepool Slot, strong", "arc-swap, load_full"),
        scaling("releasepool Slot"),
        scaling("RwLock<Arc>"),
    ];
    of.series[1].note = Some("with a reference that outlives the pool".to_owned());
    for (at, series) in of.series.iter_mut().enumerate() {
        series.points[0].instructions = Some(18.0 + 7.5 * at as f64);
    }
    of
}

fn handoff() -> Scenario {
    use Role::{Ours, Peer, Reference};
    let mut of = scenario(
        "hand-over",
        "Let another thread free what this one made",
        "A pool takes objects of any type.",
        vec![
            series("releasepool", Ours, &[31.0, 48.0, 110.0, 230.0]),
            series("Box, on the same thread", Reference, &[19.0]),
            series("crossbeam-channel", Peer, &[22.0, 30.0, 64.0, 160.0]),
            // Without one thread, and without the most.
            series("ArrayQueue", Peer, &[0.0, 41.0, 95.0]),
            series("std::sync::mpsc", Peer, &[44.0, 90.0, 0.0, 700.0]),
        ],
    );
    of.questions = vec![
        between("releasepool", "crossbeam-channel"),
        between("releasepool", "std::sync::mpsc"),
        scaling("std::sync::mpsc"),
    ];
    of
}

fn counts() -> Scenario {
    use Role::{Ours, Peer, Reference};
    let mut of = scenario(
        "hot-object",
        "Count the references of one object that all use",
        "The pool's borrow is not counted.",
        vec![
            series("releasepool", Ours, &[0.62, 0.63, 1.3, 2.6]),
            series("Rc", Reference, &[0.9]),
            series("Arc", Peer, &[8.9, 62.0, 160.0, 420.0]),
            series("triomphe::Arc", Peer, &[8.6, 61.0, 150.0, 410.0]),
            series("Mutex<usize>", Peer, &[13.0, 90.0, 900.0, 9_000.0]),
        ],
    );
    of.questions = vec![
        between("releasepool", "Arc"),
        between("Arc", "triomphe::Arc"),
        scaling("releasepool"),
        scaling("Arc"),
    ];
    let mut before = |series: usize, at: usize, time: f64, changed: bool| {
        let time = figure(time, 0.04);
        of.series[series].points[at].before = Some(Before { time, changed });
    };
    before(0, 0, 0.51, true);
    before(0, 1, 0.64, false);
    before(2, 0, 12.0, true);
    before(2, 1, 62.5, false);
    of
}

/// Returns a run with everything that a run can have.
pub fn sample() -> Results {
    let verdict = |what: &str, asked: &str, limit, at_least, measured, remark: Option<&str>| {
        let median = f64::from(measured);
        let samples = samples(median, 0.06, 7);
        let spread = Spread::of(samples.iter().copied().flatten());
        Verdict {
            what: what.to_owned(),
            asked: asked.to_owned(),
            limit,
            at_least,
            measured: figure(median, 0.06),
            samples,
            result: spread.map_or(Judged::TooFew, |spread| spread.judge(limit, at_least)),
            remark: remark.map(str::to_owned),
        }
    };
    let targets = vec![
        verdict(
            "Loading from a slot, 2 threads: releasepool to arc-swap",
            "at most 1.1 times as long",
            1.1,
            false,
            1.03_f32,
            None,
        ),
        verdict(
            "A hot object, 2 threads: Arc to releasepool",
            "at least 8 times as fast",
            8.0,
            true,
            97.0,
            None,
        ),
        verdict(
            "Handing over, 2 threads: releasepool to crossbeam-channel",
            "at most 1.2 times as long",
            1.2,
            false,
            1.58,
            Some("Each object is checked when it changes threads."),
        ),
    ];
    Results {
        quick: true,
        targets,
        baseline: Some("before.json".to_owned()),
        ..results(vec![slots(), handoff(), counts()])
    }
}

/// Returns a run with long names, lines that are close together or far apart, many lines, and one
/// number of threads only.
pub fn crowded() -> Results {
    let many = |count: usize, medians: fn(f64) -> Vec<f64>| {
        let role = |at| if at == 0 { Role::Ours } else { Role::Peer };
        let name = |at| format!("implementation number {at} of very many, and of a long name");
        let of = |at| series(&name(at), role(at), &medians(at as f64));
        (0..count).map(of).collect()
    };
    let close = |at: f64| {
        [10.0, 11.0, 12.0, 13.0]
            .map(|time| time + at / 50.0)
            .to_vec()
    };
    let wide = |at: f64| [0.3, 5.0, 1e3, 1e5].map(|time| time * (1.0 + at)).to_vec();
    let one = |at: f64| vec![4.0 + at];
    let threads = |at: f64| {
        (0..8)
            .map(|doubled| 2.0 + at + f64::from(doubled))
            .collect()
    };
    results(vec![
        scenario("close", "Close together", "All are even.", many(15, close)),
        scenario("wide", "Five decades", "All are far apart.", many(3, wide)),
        scenario("one", "One thread", "There is one only.", many(4, one)),
        scenario("threads", "Many threads", "Up to 128.", many(24, threads)),
    ])
}
