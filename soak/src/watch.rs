//! The run: checks every second, stops all workers now and then for exact checks, and ends.

use crate::args::Options;
use crate::failures::{fail, failures, install_hooks, same};
use crate::free::survive;
use crate::growth::Growth;
use crate::heap::{self, mib};
use crate::ui;
use crate::workers::{PATIENCE, THREADS, Workers, programs};
use releasepool::memory::BlockAllocator;
use releasepool::reclaim::finish_drops;
use releasepool::report::{Snapshot, Totals};
use releasepool::{PoolManager, ThreadHandle};
use releasepool_examples_common::output::{Output, grouped};
use std::io;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Time from one stop of all workers to the next; shorter in short runs.
const PERIOD: Duration = Duration::from_secs(10);

/// How many programs of each sort run before the first period, by twice as many workers, so that tables
/// have their sizes, also those that grow with the number of threads at a time.
const WARM_UP: u64 = 100;

/// Upper bounds while workers are running.
const LIVE_PER_WORKER: u64 = 1_000_000;
const ORPHANS: usize = 100_000;

/// How many seconds without a frame or the end of a program a busy machine may cause.
const STALL: u32 = 10;

/// This thread and the UI thread.
const ALWAYS: usize = 2;

pub struct Watch<'w> {
    options: &'w Options,
    out: &'w mut Output,
    start: Instant,
    ui: ThreadHandle,
    growth: Growth,
    /// The numbers of frames and programs a second ago, and for how many seconds each has not
    /// changed.
    before: [(u64, u32); 2],
    stops: u64,
}

/// Runs everything; returns whether all went well.
pub fn soak(options: &Options, out: &mut Output) -> io::Result<bool> {
    install_hooks();
    // This thread registers first, so that its slot in the registry has had no earlier thread.
    // Orphaned closures of such a thread would be left to other threads.
    let _me = PoolManager::global().current_thread();
    let (ready, handle) = channel();
    let ui = thread::spawn(move || {
        _ = ready.send(PoolManager::global().current_thread());
        ui::run();
    });
    let Ok(Some(handle)) = handle.recv() else {
        fail("the UI thread has no key");
        return Ok(false);
    };
    let period = (options.length() / 6).clamp(SECOND, PERIOD);
    let planned = options.length().as_secs_f64() / period.as_secs_f64();
    let mut watch = Watch {
        options,
        out,
        start: Instant::now(),
        ui: handle,
        growth: Growth::new(planned as usize),
        before: [(0, 0); 2],
        stops: 0,
    };
    // A thread that hangs cannot be ended.
    if !watch.run(period)? {
        return Ok(false);
    }
    ui::stop();
    if ui.join().is_err() {
        fail("the UI thread panicked");
    }
    watch.end()
}

impl Watch<'_> {
    /// Runs all periods; returns false if something hangs.
    fn run(&mut self, period: Duration) -> io::Result<bool> {
        for panics in [false, true] {
            let enough = programs() + WARM_UP;
            if !self.work(panics, 2, || programs() >= enough)? {
                return Ok(false);
            }
        }
        self.start = Instant::now();
        while self.start.elapsed() < self.options.length() && failures() == 0 {
            let end = Instant::now() + period;
            if !self.work(self.stops % 2 == 0, 1, || Instant::now() >= end)? {
                return Ok(false);
            }
            // The number of chunks that ended threads leave to later ones varies; it would hide
            // small leaks.
            BlockAllocator::process().trim();
            self.growth.measure();
            for (line, has_grown) in self.growth.lines() {
                if has_grown {
                    fail(line);
                }
            }
            self.stops += 1;
        }
        Ok(true)
    }

    /// Has some times the number of workers run programs until a time, and stops them all for exact checks; returns false if
    /// something hangs.
    fn work(&mut self, panics: bool, times: usize, is_over: impl Fn() -> bool) -> io::Result<bool> {
        let number = times * self.options.workers;
        let workers = Workers::start(number, panics, &self.ui);
        let mut next = Instant::now() + SECOND;
        while !is_over() && failures() == 0 {
            thread::sleep(Duration::from_millis(10));
            if Instant::now() >= next {
                next += SECOND;
                self.check_and_tell(number)?;
            }
        }
        if !workers.stop() {
            return Ok(false);
        }
        ui::between_frames(|| {
            deferred();
            check_books(ALWAYS);
        });
        Ok(true)
    }

    /// Checks the bounds and prints a line. Called once a second, while workers are running.
    fn check_and_tell(&mut self, workers: usize) -> io::Result<()> {
        let snapshot = PoolManager::global().snapshot();
        let live = snapshot.live_objects();
        if live > (workers as u64 + 1) * LIVE_PER_WORKER {
            fail(format!("{live} live objects pile up"));
        }
        if snapshot.orphans > ORPHANS {
            fail(format!("{} orphans pile up", snapshot.orphans));
        }
        // Workers, each with the threads of a program at most, of which some exit while others go on for
        // them, a looper and a reclaimer; and the reclaimer of the process.
        let threads = snapshot.threads.len();
        if threads > workers * 3 * THREADS + 1 + ALWAYS {
            fail(format!(
                "{threads} threads are registered, for {workers} workers"
            ));
        }
        for ((before, still), count) in self.before.iter_mut().zip([ui::frames(), programs()]) {
            *still = if count > *before { 0 } else { *still + 1 };
            *before = count;
            if *still >= STALL {
                fail(format!("no frame, or no program, for {STALL} seconds"));
            }
        }
        if self.options.quiet {
            return Ok(());
        }
        let resident = heap::resident();
        let resident = resident.map_or("n/a".to_owned(), |bytes| format!("{:.1}", mib(bytes)));
        self.out.say(&format!(
            "{:7.1} s  {:>9} live objects  {resident:>6} MiB ({:.1} allocated)  {} pools pushed  {} programs  \
             {} frames\n",
            self.start.elapsed().as_secs_f64(),
            grouped(live),
            mib(heap::allocated()),
            grouped(pools_pushed(&snapshot)),
            grouped(programs()),
            grouped(ui::frames()),
        ))
    }

    /// Checks that no object is left when all threads have ended, and prints the report.
    fn end(self) -> io::Result<bool> {
        deferred();
        if let Err(report) = PoolManager::global().shutdown(PATIENCE) {
            fail(report.to_string());
        }
        check_books(1);
        let snapshot = PoolManager::global().snapshot();
        let mut text = format!("\nsoaked for {:.1} s\n", self.start.elapsed().as_secs_f64());
        for (what, count) in [
            ("random programs", programs()),
            ("frames", ui::frames()),
            ("pools pushed", pools_pushed(&snapshot)),
            ("stops of all workers", self.stops),
        ] {
            text += &format!("{what}: {}\n", grouped(count));
            // If it never happened, it was not tested.
            if count == 0 {
                fail(format!("{what}: none in the whole run"));
            }
        }
        for (line, _) in self.growth.lines() {
            text += &format!("{line}\n");
        }
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

/// Runs everything that is deferred, on this thread; repeatedly, because destructors and closures may
/// defer more.
fn deferred() {
    let manager = PoolManager::global();
    let end = Instant::now() + PATIENCE;
    let mut is_over = false;
    while !is_over {
        if !finish_drops(PATIENCE) {
            fail("the reclaimer has values left");
        }
        survive(|| is_over = manager.quiesce(PATIENCE) && manager.drain_root() == 0);
        if Instant::now() > end {
            return fail("there is always more to quiesce");
        }
    }
}

/// Checks exact figures, while no worker is running.
fn check_books(threads: usize) {
    let snapshot = PoolManager::global().snapshot();
    same("live objects", snapshot.live_objects(), 0);
    same("orphans", snapshot.orphans, 0);
    same("threads registered", snapshot.threads.len(), threads);
}
