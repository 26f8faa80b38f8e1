//! The run: checks every second, stops all workers now and then for exact checks, and ends.

use crate::args::Options;
use crate::bomb;
use crate::crew::Crew;
use crate::growth::Growth;
use crate::heap::{self, mib};
use crate::jobs::programs::THREADS;
use crate::ledger::{LEDGER, fail, failures, same};
use crate::stage::{PATIENCE, Stage};
use crate::ui::{self, Ask, Settled};
use releasepool::{BlockAllocator, PoolManager, Snapshot, Totals, finish_drops};
use releasepool_examples_common::label;
use releasepool_examples_common::output::{Output, grouped};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Time from one stop of all workers to the next; shorter in short runs.
const PERIOD: Duration = Duration::from_secs(10);

/// Upper bounds while workers are running.
const LIVE_PER_WORKER: u64 = 1_000_000;
const ORPHANS: usize = 100_000;

/// How many seconds without a frame or a new thread a busy machine may cause.
const STALL: u32 = 10;

/// This thread.
const ALWAYS: usize = 1;

pub struct Watch<'w> {
    options: &'w Options,
    out: &'w mut Output,
    start: Instant,
    stage: Arc<Stage>,
    crew: Crew,
    ui: JoinHandle<()>,
    asks: Sender<Ask>,
    growth: Growth,
    /// The numbers of frames and threads a second ago, and for how many seconds each has not
    /// changed.
    before: [(u64, u32); 2],
    stops: u64,
}

/// Runs everything; returns whether all went well.
pub fn soak(options: &Options, out: &mut Output) -> io::Result<bool> {
    bomb::install_hooks();
    // This thread registers first, so that its slot in the registry has had no earlier thread.
    // Orphaned closures of such a thread would be left to other threads.
    let _me = PoolManager::global().current_thread();
    let (asks, asked) = channel();
    let (ready, handle) = channel();
    let ui = thread::Builder::new().name("ui".to_owned());
    LEDGER.threads.add(1);
    let ui = ui.spawn(move || ui::run(&asked, &ready));
    let (Ok(ui), Ok(handle)) = (ui, handle.recv()) else {
        fail("the UI thread cannot be started");
        return Ok(false);
    };
    let stage = Arc::new(Stage::new(handle));
    let period = (options.length() / 6).clamp(SECOND, PERIOD);
    let planned = options.length().as_secs_f64() / period.as_secs_f64();
    Watch {
        options,
        out,
        start: Instant::now(),
        crew: Crew::new(&stage, options.workers),
        stage,
        ui,
        asks,
        growth: Growth::new(planned as usize),
        before: [(0, 0); 2],
        stops: 0,
    }
    .run(period)
}

impl Watch<'_> {
    fn run(mut self, period: Duration) -> io::Result<bool> {
        let mut next_stop = self.start + period;
        while self.start.elapsed() < self.options.length() {
            let left = self.options.length().saturating_sub(self.start.elapsed());
            self.crew.work(left.min(SECOND));
            self.check_and_tell()?;
            if Instant::now() >= next_stop {
                next_stop += period;
                // A thread that hangs cannot be ended.
                let Some(settled) = self.stop_all() else {
                    return Ok(false);
                };
                self.check_scene(&settled);
                // The number of chunks that ended threads leave to later ones varies; it would hide
                // small leaks.
                BlockAllocator::process().trim();
                self.growth.measure();
                self.growth.found().into_iter().for_each(fail);
                let _ = self.asks.send(Ask::GoOn);
            }
            if failures() > 0 {
                break;
            }
        }
        self.end()
    }

    /// Checks the bounds and prints a line. Called once a second, while workers are running.
    fn check_and_tell(&mut self) -> io::Result<()> {
        let snapshot = PoolManager::global().snapshot();
        let live = LEDGER.alive();
        same(
            "values destroyed by another thread",
            label::destroyed_elsewhere(),
            0,
        );
        let workers = self.options.workers as u64;
        if live > (workers + 1) * LIVE_PER_WORKER {
            fail(format!("{live} live objects pile up"));
        }
        if snapshot.orphans > ORPHANS {
            fail(format!("{} orphans pile up", snapshot.orphans));
        }
        // Workers, each with the threads of a program at most, of which some exit while others go on for
        // them; the UI thread; and the reclaimer of the process.
        let threads = snapshot.threads.len() as u64;
        if threads > workers * 3 * THREADS as u64 + 2 + ALWAYS as u64 {
            fail(format!(
                "{threads} threads are registered, for {workers} workers"
            ));
        }
        let counts = [&LEDGER.frames, &LEDGER.threads];
        for ((before, still), count) in self.before.iter_mut().zip(counts) {
            *still = if count.get() > *before { 0 } else { *still + 1 };
            *before = count.get();
            if *still >= STALL {
                fail(format!("no frame, or no new thread, for {STALL} seconds"));
            }
        }
        if self.options.quiet {
            return Ok(());
        }
        let resident = heap::resident();
        let resident = resident.map_or("n/a".to_owned(), |bytes| format!("{:.1}", mib(bytes)));
        self.out.say(&format!(
            "{:7.1} s  {:>9} live objects  {resident:>6} MiB ({:.1} allocated)  {} threads seen  {} pools pushed  \
             {} panics  {} programs  {} frames\n",
            self.start.elapsed().as_secs_f64(),
            grouped(live),
            mib(heap::allocated()),
            grouped(LEDGER.threads.get()),
            grouped(pools_pushed(&snapshot)),
            grouped(LEDGER.caught.get() + LEDGER.reported.get()),
            grouped(LEDGER.programs.get()),
            grouped(LEDGER.frames.get()),
        ))
    }

    /// Stops all workers, lets the UI thread take in what they sent and pause, and releases what
    /// ended threads have left. Returns `None` if something hangs.
    fn stop_all(&mut self) -> Option<Settled> {
        self.stops += 1;
        if !self.crew.stop() {
            return None;
        }
        let (answer, answered) = channel();
        let _ = self.asks.send(Ask::Settle(answer));
        let Ok(settled) = answered.recv_timeout(PATIENCE) else {
            fail("the UI thread hangs");
            return None;
        };
        self.stage.clear();
        self.deferred();
        Some(settled)
    }

    /// Runs everything that is deferred, on this thread; repeatedly, because destructors and
    /// closures may defer more.
    fn deferred(&self) {
        let manager = PoolManager::global();
        let end = Instant::now() + PATIENCE;
        loop {
            if !finish_drops(PATIENCE) {
                fail("the reclaimer has values left");
            }
            match bomb::defuse(|| manager.quiesce(PATIENCE)) {
                Ok(true) if manager.drain_root() == 0 => return,
                Ok(false) => fail("quiesce left something"),
                _ => {}
            }
            if Instant::now() > end {
                return fail("there is always more to quiesce");
            }
        }
    }

    /// Checks exact figures, while no worker is running.
    fn check_scene(&self, settled: &Settled) {
        let snapshot = PoolManager::global().snapshot();
        same(
            "live objects by the library",
            snapshot.live_objects(),
            settled.objects,
        );
        check_books();
        same("payloads", LEDGER.alive(), settled.objects);
        same("threads registered", snapshot.threads.len(), 1 + ALWAYS);
    }

    /// Ends all threads, checks that no object is left, and prints the report.
    fn end(mut self) -> io::Result<bool> {
        if self.stop_all().is_none() {
            return Ok(false);
        }
        let _ = self.asks.send(Ask::End);
        if self.ui.join().is_err() {
            fail("the UI thread panicked");
        }
        if let Err(report) = PoolManager::global().shutdown(PATIENCE) {
            fail(report.to_string());
        }
        let snapshot = PoolManager::global().snapshot();
        same("live objects by the library", snapshot.live_objects(), 0);
        same("payloads", LEDGER.alive(), 0);
        same("threads registered", snapshot.threads.len(), ALWAYS);
        let all = [
            ("objects", &LEDGER.made),
            ("threads", &LEDGER.threads),
            ("frames", &LEDGER.frames),
            ("roots shown", &LEDGER.roots_taken),
            ("closures run", &LEDGER.posts_run),
            ("closures refused by ended threads", &LEDGER.posts_refused),
            ("panics caught", &LEDGER.caught),
            ("panics reported", &LEDGER.reported),
            ("closures in teardowns", &LEDGER.teardowns),
            ("random programs", &LEDGER.programs),
        ];
        let mut text = format!("\nsoaked for {:.1} s\n", self.start.elapsed().as_secs_f64());
        for (what, count) in all {
            text += &format!("{what}: {}\n", grouped(count.get()));
            // If it never happened, it was not tested.
            if count.get() == 0 {
                fail(format!("{what}: none in the whole run"));
            }
        }
        check_books();
        text += &format!("pools pushed: {}\n", grouped(pools_pushed(&snapshot)));
        text += &format!("stops of all workers: {}\n", self.stops);
        text += &self.growth.summary();
        text += &match failures() {
            0 => "all invariants held; at the end, 0 live objects\n".to_owned(),
            n => format!("FAILED: {n} failures, see above\n"),
        };
        self.out.say(&text)?;
        Ok(failures() == 0)
    }
}

fn pools_pushed(snapshot: &Snapshot) -> u64 {
    let pushed = |totals: &Totals| totals.pools_pushed;
    let living = snapshot.threads.iter().map(|t| pushed(&t.totals));
    living.sum::<u64>() + pushed(&snapshot.departed)
}

/// Checks counts against each other, while no worker is running.
fn check_books() {
    let ledger = &LEDGER;
    let snapshot = PoolManager::global().snapshot();
    same("orphans", snapshot.orphans, 0);
    same(
        "values destroyed by another thread",
        label::destroyed_elsewhere(),
        0,
    );
    same(
        "roots taken",
        ledger.roots_taken.get(),
        ledger.roots_sent.get(),
    );
    let done = ledger.posts_run.get() + ledger.posts_refused.get();
    same("closures run or refused", done, ledger.posts_accepted.get());
    same(
        "panics seen by the hook",
        ledger.hooked.get(),
        ledger.bombs.get(),
    );
    let known = ledger.caught.get() + ledger.reported.get();
    same("panics caught or reported", known, ledger.bombs.get());
}
