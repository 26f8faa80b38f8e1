//! Who notices a mutant.

use super::baseline::{Baseline, Check, Known, limit, run_tests};
use super::build::Built;
use super::program::{Program, folder};
use crate::checks::justified::Justified;
use crate::checks::run::in_parallel;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

/// Mutants that are known to be bugs. They are examined whatever else is: if one is not
/// noticed, no other result counts.
const CANARIES: &[&str] = &[
    // A message that is found without its link.
    "src/thread/inbox.rs Inbox::push swap: message.node().next.set(next); <-> match self.head.compare_exchange_weak( head, message.0.as_pt..",
    // A message that is released before it counts.
    "src/thread/orphans.rs Orphans::adopt delete: self.outstanding .fetch_add(weight as usize, Ordering::Relax..",
];

/// Checks that take longer, in seconds, come after all others.
const SLOW: f64 = 2.0;

/// The longest time in seconds, without a mutant, that its checks take together. Those that reach
/// little else come first; most of the others only happen to run the same code.
const MOST: f64 = 600.0;

/// The limit for a mutant that is justified: its checks only confirm that it still survives.
const MOST_IF_JUSTIFIED: f64 = 10.0;

/// Tests that are run in one process at most. If all pass, that is quicker.
const TOGETHER: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Model(String),
    Test(String),
    /// None of the checks that were run noticed it; how many were.
    Survived(usize),
}

/// The numbers of the canaries.
pub fn canaries(program: &Program) -> Result<BTreeSet<usize>, String> {
    let number = |name: &&str| {
        let found = program
            .numbers()
            .find(|&number| program.name(number) == *name);
        found.ok_or_else(|| format!("this canary is no mutant any more: {name}"))
    };
    CANARIES.iter().map(number).collect()
}

/// Which check noticed which mutant, the last times. It is only to be quicker.
struct Noticed(BTreeMap<String, String>);

impl Noticed {
    fn read() -> Self {
        let text = std::fs::read_to_string(Self::path()).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        Self(lines.map(|(a, b)| (a.to_owned(), b.to_owned())).collect())
    }

    /// The checks that noticed mutants of each file.
    fn by_file(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, check) in &self.0 {
            let file = name.split(' ').next().unwrap_or_default();
            files
                .entry(file.to_owned())
                .or_default()
                .insert(check.clone());
        }
        files
    }

    fn write(&self) {
        let line = |(name, check): (&String, &String)| format!("{name}\t{check}\n");
        let text: String = self.0.iter().map(line).collect();
        let _ = std::fs::write(Self::path(), text);
    }

    fn path() -> PathBuf {
        folder().join("noticed.txt")
    }
}

/// Who notices each mutant that compiles.
pub fn all(
    program: &Program,
    built: &Built,
    baseline: &Baseline,
    chosen: &BTreeSet<usize>,
    canaries: &BTreeSet<usize>,
    justified: &Justified,
) -> Result<BTreeMap<usize, Verdict>, String> {
    let jobs: BTreeSet<usize> = canaries.union(chosen).copied().collect();
    let jobs: Vec<usize> = jobs
        .into_iter()
        .filter(|&number| program.compiles(number))
        .collect();
    let (count, mut verdicts) = (jobs.len(), BTreeMap::new());
    let before = Noticed::read();
    let mut now = Noticed(before.0.clone());
    // By function and by file: the checks that have noticed other mutants there.
    let successful = Mutex::new(before.by_file());
    in_parallel(
        jobs,
        |&number| {
            let file = program.file(number).to_owned();
            let function = format!("{file} {}", program.function(number));
            let name = program.name(number);
            let of = |place: &str| {
                let successful = successful.lock().expect("no panic in here");
                successful.get(place).cloned().unwrap_or_default()
            };
            let mut successful_here = of(&function);
            successful_here.extend(before.0.get(name).cloned());
            let hints = Hints {
                function: successful_here,
                file: of(&file),
                is_justified: justified.reason(name).is_some(),
            };
            let verdict = examine(number, program, built, baseline, &hints);
            if let Verdict::Model(name) | Verdict::Test(name) = &verdict {
                let mut successful = successful.lock().expect("no panic in here");
                for place in [function, file] {
                    successful.entry(place).or_default().insert(name.clone());
                }
            }
            verdict
        },
        |number, verdict| {
            let by = match &verdict {
                Verdict::Model(by) | Verdict::Test(by) => format!("noticed by {by}"),
                Verdict::Survived(n) => format!("SURVIVED {n} checks"),
            };
            println!("{}: {by}", program.name(number));
            if let Verdict::Model(by) | Verdict::Test(by) = &verdict {
                now.0.insert(program.name(number).to_owned(), by.clone());
                now.write();
            }
            verdicts.insert(number, verdict);
            crate::checks::weaken::progress(verdicts.len(), count, "mutants");
        },
    );
    let is_missed = |&number: &usize| {
        !program.compiles(number) || matches!(verdicts[&number], Verdict::Survived(_))
    };
    if let Some(missed) = canaries.iter().copied().find(is_missed) {
        let name = program.name(missed);
        return Err(format!(
            "this canary was not noticed, so no other result counts: {name}"
        ));
    }
    Ok(verdicts)
}

/// What is known of a mutant before it is examined.
struct Hints {
    /// The checks that noticed it the last time, or another mutant of its function.
    function: BTreeSet<String>,
    /// The checks that noticed another mutant of its file.
    file: BTreeSet<String>,
    is_justified: bool,
}

/// Runs the checks that reach a mutant until one notices: those that were successful in its function
/// before those that were in its file, and these before the others; of these the models before the
/// tests, those that reach little else first, the slow ones last.
fn examine(
    number: usize,
    program: &Program,
    built: &Built,
    baseline: &Baseline,
    hints: &Hints,
) -> Verdict {
    let mut checks: Vec<&Known> = baseline.reaching(program.block(number)).collect();
    checks.sort_by(|a, b| {
        let key = |known: &Known| {
            let name = known.check.name();
            let place = match () {
                () if hints.function.contains(&name) => 0,
                () if hints.file.contains(&name) => 1,
                () => 2,
            };
            let is_slow = known.seconds > SLOW && place == 2;
            (is_slow, place, known.check.is_test())
        };
        key(a).cmp(&key(b)).then(a.breadth().cmp(&b.breadth()))
    });
    let (mut seconds, most) = (
        0.0,
        if hints.is_justified {
            MOST_IF_JUSTIFIED
        } else {
            MOST
        },
    );
    let fits = |known: &&&Known| {
        seconds += known.seconds;
        seconds <= most
    };
    let fitting = checks.iter().take_while(fits).count();
    checks.truncate(fitting.max(1));
    let mutant = number.to_string();
    let env = [("RELEASEPOOL_ORDER_MUTANT", &*mutant)];
    let fails = |known: &Known| !known.check.run(built, &env, known.limit()).passed;
    let notices = |known: &Known| match known.check {
        Check::Model(..) => fails(known),
        // Twice: it is not to fail by chance.
        Check::Test { .. } => fails(known) && fails(known),
    };
    let mut rest = &checks[..];
    while let Some(first) = rest.first() {
        let (now, then) = rest.split_at(together(rest));
        rest = then;
        if now.len() > 1 && pass_together(now, built, &env) {
            continue;
        }
        if let Some(known) = now.iter().find(|known| notices(known)) {
            let name = known.check.name();
            return match first.check {
                Check::Model(..) => Verdict::Model(name),
                Check::Test { .. } => Verdict::Test(name),
            };
        }
    }
    Verdict::Survived(checks.len())
}

/// How many checks at the beginning are run in one process: quick tests of one program.
fn together(checks: &[&Known]) -> usize {
    let Check::Test { program, .. } = checks[0].check else {
        return 1;
    };
    let mut seconds = 0.0;
    let fits = |known: &&&Known| {
        seconds += known.seconds;
        matches!(known.check, Check::Test { program: p, .. } if p == program) && seconds < SLOW
    };
    checks.iter().take(TOGETHER).take_while(fits).count().max(1)
}

fn pass_together(tests: &[&Known], built: &Built, env: &[(&str, &str)]) -> bool {
    let Check::Test { program, .. } = tests[0].check else {
        return false;
    };
    let names: Vec<&str> = tests
        .iter()
        .filter_map(|known| known.check.test())
        .collect();
    let seconds = tests.iter().map(|known| known.seconds).sum();
    run_tests(built, program, &names, env, limit(seconds)).passed
}
