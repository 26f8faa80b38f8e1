//! Models and tests that may notice a mutant: what each reaches, how long it takes, and which of them notices.
//!
//! First each mutant is shown to a few quick checks, those first that have noticed mutants of its function or
//! file. What is left is shown to every check that reaches it, many mutants of different places at once. If
//! such a check fails, each half of them is shown to it, and so on. A mutant counts as shown only if the check
//! has reached it while it was on, as another one may have kept it from that.

use super::copy::FOLDER;
use super::mutant::{Mutant, Verdict};
use super::progress::Progress;
use crate::command::output;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// No core dumps, and no more than 16 GiB of addresses.
const LIMITS: &str = "ulimit -c 0; ulimit -v 16777216; exec \"$0\" \"$@\"";

/// These make loom stop early *and pass*, or change what it explores.
const LOOM: [&str; 5] = [
    "LOOM_MAX_DURATION",
    "LOOM_MAX_PERMUTATIONS",
    "LOOM_MAX_PREEMPTIONS",
    "LOOM_MAX_BRANCHES",
    "LOOM_CHECKPOINT_FILE",
];

/// In the copy of the crate, never in itself, loom finds in one run of four that one of its executions is not the
/// same when it is repeated.
const NOT_REPEATED: &str = "model posts_during_post, plain";

/// How long a check may take with no mutant on.
const LONG: Duration = Duration::from_secs(900);

/// A check that may notice a mutant: a model in a mode, or a test.
#[derive(Clone, Debug, Default)]
pub struct Check {
    pub name: String,
    pub is_test: bool,
    /// True if its program has the ledger.
    has_ledger: bool,
    /// True if there is a test of this name without the ledger: it is shown only what nothing reaches without.
    is_again: bool,
    pub program: PathBuf,
    pub args: Vec<String>,
}

impl Check {
    /// Returns whether it is a model of this name, in any mode.
    fn is_of(&self, model: &str) -> bool {
        !self.is_test && self.name.starts_with(&format!("model {model}, "))
    }

    /// Runs it to its end, or kills it, and what it has started, when `limit` is over; returns whether it
    /// passes. What it prints goes to `output`.
    fn run(&self, variables: &[(&str, &str)], limit: Duration, output: Stdio) -> bool {
        // All that is started is in the group of `timeout`.
        let mut command = Command::new("timeout");
        let limit = limit.as_secs_f64().to_string();
        command.args(["--signal=KILL", &limit, "sh", "-c", LIMITS]);
        command.arg(&self.program).args(&self.args);
        for name in LOOM {
            command.env_remove(name);
        }
        command.env("RUST_BACKTRACE", "0");
        command.envs(variables.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(Stdio::null());
        command.status().expect("there is `timeout`").success()
    }
}

/// Calls `work` with each job, on all cores, and returns the results in any order.
pub fn in_parallel<J: Send, R: Send>(jobs: Vec<J>, work: impl Fn(J) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (queue, results) = (Mutex::new(jobs.into_iter()), Mutex::new(Vec::new()));
    let next = || queue.lock().expect("no panic in here").next();
    let one_by_one = || {
        while let Some(job) = next() {
            let result = work(job);
            results.lock().expect("no panic in here").push(result);
        }
    };
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(one_by_one))));
    results.into_inner().expect("no panic in here")
}

/// Returns all checks that must pass with no mutant on: the models of a program in both modes, and the tests of
/// others, without and with the ledger.
pub fn all(models: &Path, tests: &[PathBuf], ledger: &[PathBuf]) -> Result<Vec<Check>, String> {
    let check = |name, is_test, program: &Path, args: &[&str]| Check {
        name,
        is_test,
        has_ledger: ledger.iter().any(|of| of == program),
        is_again: false,
        program: program.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
    };
    let mut checks = Vec::new();
    let list = output(Command::new(models).arg("--list"))?;
    let names = list.lines().filter_map(|line| line.split(' ').next());
    for name in names.filter(|name| !name.starts_with("canary_")) {
        checks.extend(["plain", "rmw"].map(|mode| {
            let args = ["--child", name, mode, "--brief"];
            check(format!("model {name}, {mode}"), false, models, &args)
        }));
    }
    let mut known = BTreeSet::new();
    for program in tests.iter().chain(ledger) {
        let list = |more: &[&str]| {
            let mut command = Command::new(program);
            output(command.args(["--list", "--format=terse"]).args(more))
        };
        let (all, ignored) = (list(&[])?, list(&["--ignored"])?);
        let is_run = |line: &&str| !ignored.lines().any(|ignored| ignored == *line);
        let names = all.lines().filter(is_run);
        for name in names.filter_map(|line| line.strip_suffix(": test")) {
            let args = ["--exact", "--test-threads=1", name];
            let is_again = !known.insert(name.to_owned());
            let again = if is_again { " with the ledger" } else { "" };
            let check = check(format!("test {name}{again}"), true, program, &args);
            checks.push(Check { is_again, ..check });
        }
    }
    Ok(checks)
}

/// How mutants are switched on.
pub struct Way {
    /// The variable of the environment that names those that are on, with commas in between.
    pub switch: &'static str,
    /// The variable that names the file in which a check notes what places it reaches, of so many; without
    /// it, it prints that.
    pub notes: Option<(&'static str, usize)>,
    /// How many are switched on at once.
    pub at_once: usize,
    /// How many times as long as without a mutant a check may take.
    pub patience: f64,
}

/// Makes the file that notes what a check reaches; returns its whole path.
fn note(path: &Path, places: usize) -> String {
    std::fs::write(path, vec![0_u8; places]).expect("target/ can be written");
    let path = std::path::absolute(path).expect("there is a working directory");
    path.to_string_lossy().into_owned()
}

/// A check, and what is known of it.
pub struct Known {
    pub check: Check,
    pub seconds: f64,
    /// The places in the source that it reaches.
    pub reached: BTreeSet<usize>,
}

/// Runs checks with no mutant on. `reached` is given the notes of a check, and what it has printed.
pub fn baseline(
    checks: Vec<Check>,
    way: &Way,
    reached: impl Fn(&[u8], &str) -> BTreeSet<usize> + Sync,
) -> Result<Vec<Known>, String> {
    let folder = Path::new(FOLDER).join(way.switch);
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let programs = checks.iter().map(|check| check.program.clone());
    let progress = Progress::open(&folder, programs.collect())?;
    println!("{} checks, with no mutant on", checks.len());
    let all = in_parallel(checks.into_iter().enumerate().collect(), |(i, check)| {
        let (notes, prints) = (folder.join(i.to_string()), folder.join(format!("{i}.out")));
        let (passed, seconds) = progress.baseline(i).unwrap_or_else(|| {
            let output = File::create(&prints).expect("target/ can be written");
            let notes = way.notes.map(|(name, places)| (name, note(&notes, places)));
            let variables = notes.as_ref().map(|(name, value)| (*name, &**value));
            let start = Instant::now();
            let variables = Vec::from_iter(variables);
            let passed = check.run(&variables, LONG, output.into());
            progress.keep_baseline(i, (passed, start.elapsed().as_secs_f64()))
        });
        let read = |file| std::fs::read(file).unwrap_or_default();
        let printed = String::from_utf8_lossy(&read(&prints)).into_owned();
        // A model that checks nothing proves nothing.
        let is_sure = way.notes.is_none() || check.name != NOT_REPEATED;
        let passed = passed && is_sure && !printed.starts_with("checked 0 ");
        let reached = reached(&read(&notes), &printed);
        let known = Known {
            check,
            seconds,
            reached,
        };
        (i, passed, known)
    });
    let mut known = BTreeMap::new();
    for (i, passed, of) in all {
        let name = &of.check.name;
        match passed {
            true => drop(known.insert(i, of)),
            // The copy needs more stack, and is slower: there are checks that notice this.
            false if way.notes.is_some() => {
                println!("left out, as it may fail with no mutant on: {name}")
            }
            false => return Err(format!("{name} fails with no mutant on")),
        }
    }
    let mut known: Vec<Known> = known.into_values().collect();
    let others = known.iter().filter(|of| !of.check.has_ledger);
    let others: BTreeSet<usize> = others.flat_map(|of| of.reached.clone()).collect();
    let again = known.iter_mut().filter(|of| of.check.is_again);
    again.for_each(|of| of.reached.retain(|place| !others.contains(place)));
    Ok(known)
}

/// Checks whose times differ by less, in seconds, count as equally quick.
const STEP: f64 = 0.2;

/// How long, in seconds without a mutant, the checks take together that a mutant is shown by itself, before
/// those that none has noticed are shown to all others together.
const FIRST: f64 = 3.0;

/// What is known, and what is wanted, before mutants are shown to checks.
#[derive(Default)]
pub struct Asked {
    /// Which checks have noticed mutants of each file, by the report.
    pub hints: BTreeMap<String, Vec<String>>,
    /// If false, mutants are shown only to quick checks.
    pub all: bool,
}

/// A mutant that is built.
#[derive(Clone)]
pub struct Job {
    /// Its index among all mutants.
    pub mutant: usize,
    pub switch: String,
    /// The places of the source one of which a check must reach.
    pub places: BTreeSet<usize>,
    /// The models that the source names; they are asked first, however long they take.
    pub named: Vec<String>,
}

/// Returns whether somebody has made this file: the run ends early then, and keeps what it has found.
pub fn is_stopped() -> bool {
    Path::new(FOLDER).join("stop").exists()
}

/// Where a mutant stands between the two rounds.
pub struct Open {
    job: Job,
    /// The checks that reach it, and that it is still to be shown to.
    left: BTreeSet<usize>,
    of: usize,
    noticed: Option<usize>,
}

/// Mutants, and the checks that they are shown to.
pub struct Show<'s> {
    all: &'s [Mutant],
    known: &'s [Known],
    way: &'s Way,
    asked: &'s Asked,
    progress: Progress,
    /// Which checks have noticed mutants of a function.
    noticed: Mutex<BTreeMap<(&'s str, &'s str), BTreeSet<usize>>>,
}

impl<'s> Show<'s> {
    pub fn new(
        all: &'s [Mutant],
        known: &'s [Known],
        way: &'s Way,
        asked: &'s Asked,
    ) -> Result<Self, String> {
        let folder = Path::new(FOLDER).join(way.switch);
        let programs = known.iter().map(|known| known.check.program.clone());
        Ok(Self {
            all,
            known,
            way,
            asked,
            progress: Progress::open(&folder, programs.collect())?,
            noticed: Mutex::default(),
        })
    }

    /// Shows mutants to quick checks, each alone.
    pub fn alone(&self, jobs: Vec<Job>) -> Vec<Open> {
        in_parallel(jobs, |job| self.first(job))
    }

    /// Returns what is known of these mutants.
    pub fn verdicts(&self, open: &[Open]) -> BTreeMap<usize, Verdict> {
        let verdict = |open: &Open| (open.job.mutant, self.verdict(open));
        open.iter().map(verdict).collect()
    }

    fn verdict(&self, open: &Open) -> Verdict {
        let shown = open.of - open.left.len();
        match open.noticed.map(|check| &self.known[check].check) {
            None => Verdict::Survived { shown, of: open.of },
            Some(check) if check.is_test => Verdict::NoticedByTest(check.name.clone()),
            Some(check) => Verdict::NoticedByModel(check.name.clone()),
        }
    }

    fn say(&self, open: &Open) {
        println!(
            "{}: {}",
            self.all[open.job.mutant].name(),
            self.verdict(open)
        );
    }

    /// Shows a mutant to the checks of the first round.
    fn first(&self, job: Job) -> Open {
        let mutant = &self.all[job.mutant];
        let function = (&*mutant.file, &*mutant.function);
        let noticed = || self.noticed.lock().expect("no panic in here");
        let hints = noticed().get(&function).cloned().unwrap_or_default();
        let order = self.in_order(&job, &hints);
        let mut open = Open {
            left: order.iter().copied().collect(),
            of: order.len(),
            noticed: None,
            job,
        };
        let mut seconds = 0.0;
        for check in order {
            if is_stopped() {
                break;
            }
            let known = &self.known[check];
            let is_named = open.job.named.iter().any(|model| known.check.is_of(model));
            seconds += known.seconds;
            if seconds > FIRST && !is_named && !hints.contains(&check) {
                break;
            }
            if self.shown(check, std::slice::from_ref(&open.job))[0] == Some(true) {
                open.noticed = Some(check);
                noticed().entry(function).or_default().insert(check);
                break;
            }
            open.left.remove(&check);
        }
        self.say(&open);
        open
    }

    /// Returns the checks that reach a mutant: those that the source names and those of its function's hints
    /// before the others; of these the quick ones first, then those that have noticed mutants of its file,
    /// models before tests, and those that reach little else first.
    fn in_order(&self, job: &Job, hints: &BTreeSet<usize>) -> Vec<usize> {
        let reaches = |&check: &usize| !self.known[check].reached.is_disjoint(&job.places);
        let mut checks: Vec<usize> = (0..self.known.len()).filter(reaches).collect();
        let of_file = self.asked.hints.get(&self.all[job.mutant].file);
        checks.sort_by_cached_key(|&at| {
            let Known {
                check,
                seconds,
                reached,
            } = &self.known[at];
            let is_named = job.named.iter().any(|model| check.is_of(model));
            let rank = of_file.and_then(|names| names.iter().position(|name| *name == check.name));
            let steps = match hints.contains(&at) {
                true => 0,
                false => (seconds / STEP) as u64,
            };
            let rank = rank.unwrap_or(usize::MAX);
            (
                !is_named,
                steps,
                !hints.contains(&at),
                rank,
                check.is_test,
                reached.len(),
            )
        });
        checks
    }

    /// Shows mutants to all other checks that reach them, many at once, if that is asked.
    pub fn to_all(&self, mut open: Vec<Open>) -> Vec<Open> {
        if !self.asked.all {
            return open;
        }
        open.sort_by_key(|open| open.job.mutant);
        let mut checks: Vec<usize> = (0..self.known.len()).collect();
        checks.sort_by(|&a, &b| self.known[a].seconds.total_cmp(&self.known[b].seconds));
        let (done, many) = (AtomicUsize::new(0), checks.len());
        let open = Mutex::new(open);
        let lock = || open.lock().expect("no panic in here");
        in_parallel(checks, |check| {
            if is_stopped() {
                return;
            }
            let waits = |open: &&Open| open.noticed.is_none() && open.left.contains(&check);
            let jobs: Vec<Job> = lock()
                .iter()
                .filter(waits)
                .map(|open| open.job.clone())
                .collect();
            let results = self.shown(check, &jobs);
            let mut open = lock();
            for (job, result) in jobs.iter().zip(results) {
                let at = open.binary_search_by_key(&job.mutant, |open| open.job.mutant);
                let open = &mut open[at.expect("all jobs are open")];
                // Another check may have noticed it meanwhile.
                if result == Some(true) && open.noticed.is_none() {
                    open.noticed = Some(check);
                    self.say(open);
                } else if result == Some(false) {
                    open.left.remove(&check);
                }
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done % 50 == 0 {
                println!("{done} of {many} checks have been shown what is left");
            }
        });
        open.into_inner().expect("no panic in here")
    }

    /// Shows mutants to a check; returns for each whether it notices. `None` if it does not reach it.
    fn shown(&self, check: usize, jobs: &[Job]) -> Vec<Option<bool>> {
        let mut results: BTreeMap<usize, bool> = BTreeMap::new();
        let mut waiting: Vec<&Job> = Vec::new();
        for job in jobs {
            match self.progress.result(check, job.mutant) {
                Some(result) => drop(results.insert(job.mutant, result)),
                None => waiting.push(job),
            }
        }
        while !waiting.is_empty() {
            // At most one of each place.
            let (mut together, mut places, mut rest) = (Vec::new(), BTreeSet::new(), Vec::new());
            for job in waiting {
                let fits = together.len() < self.way.at_once && places.is_disjoint(&job.places);
                match fits {
                    true => {
                        places.extend(&job.places);
                        together.push(job);
                    }
                    false => rest.push(job),
                }
            }
            self.together(check, &together, &mut results);
            waiting = rest;
        }
        jobs.iter()
            .map(|job| results.get(&job.mutant).copied())
            .collect()
    }

    /// Shows mutants of different places to a check at once.
    fn together(&self, check: usize, jobs: &[&Job], results: &mut BTreeMap<usize, bool>) {
        let mut settle = |job: &Job, result| {
            self.progress.keep(check, job.mutant, result);
            results.insert(job.mutant, result);
        };
        let (passed, reached) = self.run(check, jobs);
        if let [job] = jobs {
            return settle(job, !passed);
        }
        let is_shown = |job: &&Job| {
            let reached = reached.as_ref();
            passed && reached.is_none_or(|reached| !reached.is_disjoint(&job.places))
        };
        let (shown, kept): (Vec<&Job>, Vec<&Job>) = jobs.iter().copied().partition(is_shown);
        for job in &shown {
            settle(job, false);
        }
        if shown.is_empty() {
            let (first, second) = kept.split_at(kept.len() / 2);
            self.together(check, first, results);
            self.together(check, second, results);
        } else if !kept.is_empty() {
            self.together(check, &kept, results);
        }
    }

    /// Runs a check with these mutants on; returns whether it passes, and the places that it reaches, if it
    /// notes them. With one mutant on, no check is to fail by chance: it runs twice, unless it has hung.
    fn run(&self, check: usize, jobs: &[&Job]) -> (bool, Option<BTreeSet<usize>>) {
        let Known { check, seconds, .. } = &self.known[check];
        let limit = Duration::from_secs_f64(self.way.patience * seconds + 10.0);
        let switches: Vec<&str> = jobs.iter().map(|job| &*job.switch).collect();
        let switches = switches.join(",");
        let notes = self.way.notes.filter(|_| jobs.len() > 1);
        let notes = notes.map(|(name, places)| {
            let id = std::thread::current().id();
            let path = Path::new(FOLDER).join(format!("shown-{id:?}"));
            (name, note(&path, places), path)
        });
        let mut variables = vec![(self.way.switch, &*switches)];
        variables.extend(notes.as_ref().map(|(name, value, _)| (*name, &**value)));
        let start = Instant::now();
        let passes = || check.run(&variables, limit, Stdio::null());
        let passed = passes() || jobs.len() == 1 && start.elapsed() < limit && passes();
        let read = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            (0..bytes.len())
                .filter(|&place| bytes[place] != 0)
                .collect()
        };
        (passed, notes.map(|(_, _, path)| read(&path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = Way {
        switch: "ON",
        notes: None,
        at_once: 64,
        patience: 1.0,
    };

    fn known(name: &str, seconds: f64, reached: usize, script: &str) -> Known {
        let check = Check {
            name: name.to_owned(),
            is_test: name.starts_with("test "),
            program: "bash".into(),
            args: ["-c", script].map(str::to_owned).into(),
            ..Check::default()
        };
        let reached = (1..1 + reached).collect();
        Known {
            check,
            seconds,
            reached,
        }
    }

    fn mutants(n: usize) -> Vec<Mutant> {
        let mutant = |n: usize| Mutant {
            kind: super::super::mutant::Kind::Logic,
            file: "f".to_owned(),
            function: format!("f{n}"),
            what: n.to_string(),
            lines: 0..1,
        };
        (0..n).map(mutant).collect()
    }

    fn job(mutant: usize, place: usize, named: &[&str]) -> Job {
        Job {
            mutant,
            switch: mutant.to_string(),
            places: BTreeSet::from([place]),
            named: named.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn named_and_hinted_and_quick_checks_come_first() {
        let known = [
            known("test few", 0.1, 1, ""),
            known("model slow, rmw", 3.0, 1, ""),
            known("model many, rmw", 0.1, 9, ""),
            known("model few, rmw", 0.1, 2, ""),
            known("model long, rmw", 1.0, 1, ""),
            known("test many", 0.1, 9, ""),
            known("model elsewhere, rmw", 0.1, 0, ""),
        ];
        let order = |named: &[&str], hints: &[usize], of_file: &str| {
            let asked = Asked {
                hints: [("f".to_owned(), vec![of_file.to_owned()])].into(),
                all: true,
            };
            let show = Show {
                all: &mutants(1),
                known: &known,
                way: &WAY,
                asked: &asked,
                progress: Progress::default(),
                noticed: Mutex::default(),
            };
            let checks = show.in_order(&job(0, 1, named), &hints.iter().copied().collect());
            let names: Vec<_> = checks
                .iter()
                .map(|&check| &*known[check].check.name)
                .collect();
            names.join(", ").replace("model ", "").replace(", rmw", "")
        };
        let all = "few, many, test few, test many, long, slow";
        assert_eq!(order(&[], &[], ""), all);
        let hinted = order(&["many"], &[5, 1], "");
        assert_eq!(hinted, "many, slow, test many, few, test few, long");
        let of_file = order(&[], &[], "test many");
        assert_eq!(of_file, "test many, few, many, test few, long, slow");
    }

    #[test]
    fn each_of_many_mutants_that_are_on_at_once_has_its_own_verdict() {
        let known = [
            known("test a", 60.0, 20, "[[ ,$ON, != *,3,* ]]"),
            known(
                "model b, rmw",
                60.0,
                4,
                "[[ ,$ON, != *,1,* && ,$ON, != *,2,* ]]",
            ),
        ];
        let asked = Asked {
            all: true,
            ..Asked::default()
        };
        let all = mutants(8);
        let show = Show {
            all: &all,
            known: &known,
            way: &WAY,
            asked: &asked,
            progress: Progress::default(),
            noticed: Mutex::default(),
        };
        // Two of one place.
        let jobs: Vec<Job> = (0..8)
            .map(|mutant| job(mutant, 1 + mutant / 2, &[]))
            .collect();
        let open: Vec<Open> = jobs.into_iter().map(|job| show.first(job)).collect();
        assert!(
            open.iter()
                .all(|open| open.noticed.is_none() && open.left.len() == open.of)
        );
        let verdicts: Vec<_> = show
            .to_all(open)
            .iter()
            .map(|open| show.verdict(open))
            .collect();
        let by_model = |i: usize| matches!(verdicts[i], Verdict::NoticedByModel(_));
        assert!(by_model(1) && by_model(2) && !by_model(0), "{verdicts:?}");
        assert!(matches!(verdicts[3], Verdict::NoticedByTest(_)));
        assert_eq!(verdicts[0], Verdict::Survived { shown: 2, of: 2 });
        assert_eq!(verdicts[7], Verdict::Survived { shown: 2, of: 2 });
    }

    #[test]
    fn a_check_that_takes_too_long_is_killed_with_what_it_has_started() {
        let passes = |script, limit| {
            let check = known("test", 0.0, 0, script).check;
            let variables = [("X", "7")];
            check.run(&variables, Duration::from_millis(limit), Stdio::null())
        };
        assert!(passes("[ $X = 7 ]", 60_000) && !passes("[ $X = 8 ]", 60_000));
        assert!(!passes("sleep 1000 | cat", 50));
    }
}
