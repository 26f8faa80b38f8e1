//! The verdicts on each file's mutants, and the file that keeps them.

use super::mutant::{Kind, Mutant, Reasons, Verdict};
use crate::command::{output, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const FILE: &str = "ci/mutate/report.txt";

const HEAD: &str = "\
# What became of each file's mutants when all of them were last examined, by `ci/mutate.sh`;
# `ci/mutate.sh stale` names the files whose text has changed since. Below a file are its survivors,
# whose reasons are in ci/mutate/reasons.txt, each with the number of checks that it was shown to, of
# those that reach it; and the checks that have noticed the others, which are asked first the next time.
#
# KIND FILE TEXT DATE DO-NOT-COMPILE NOTICED-BY-MODELS NOTICED-BY-TESTS
";

/// How the checks that have noticed mutants of a file begin.
const NOTICED_BY: &str = "by ";

/// The mutants that are examined.
#[derive(Debug, Default)]
pub struct Chosen {
    /// By their indices.
    pub mutants: BTreeSet<usize>,
    /// The kinds and files all of whose mutants these are.
    pub whole: BTreeSet<(Kind, String)>,
}

/// How many checks a survivor was shown to, of those that reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown(usize, usize);

impl Shown {
    pub fn to_all(self) -> bool {
        self.0 == self.1
    }
}

/// The verdicts on the mutants of a file, when all of them were examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The hash of the text that was examined.
    pub hash: String,
    pub date: String,
    /// In the order of the report's head.
    counts: [usize; 3],
    /// Functions and changes.
    survivors: BTreeMap<String, Shown>,
    /// The checks that have noticed others, and how many each.
    noticed_by: BTreeMap<String, usize>,
}

impl Entry {
    fn add(&mut self, mutant: &Mutant, verdict: &Verdict) {
        self.survivors.remove(&survivor(mutant));
        match verdict {
            Verdict::DoesNotCompile => self.counts[0] += 1,
            Verdict::NoticedByModel(_) => self.counts[1] += 1,
            Verdict::NoticedByTest(_) => self.counts[2] += 1,
            Verdict::Survived { shown, of } => {
                let shown = Shown(*shown, *of);
                self.survivors.insert(survivor(mutant), shown);
            }
        }
        if let Some(by) = verdict.noticed_by() {
            *self.noticed_by.entry(by.to_owned()).or_default() += 1;
        }
    }

    /// Renews what is known of a survivor.
    fn renew(&mut self, mutant: &Mutant, verdict: &Verdict) {
        if self.survivors.contains_key(&survivor(mutant)) {
            self.add(mutant, verdict);
        }
    }
}

fn survivor(mutant: &Mutant) -> String {
    format!("{} -- {}", mutant.function, mutant.what)
}

/// The entries of each kind and file.
pub struct Report(BTreeMap<(Kind, String), Entry>);

impl Report {
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string(FILE).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut found: Vec<((Kind, String), Entry)> = Vec::new();
        for line in text.lines() {
            if let (Some(rest), Some((_, last))) = (line.strip_prefix("    "), found.last_mut()) {
                let numbers = |two: &str| {
                    let (a, b) = two.split_once(" of ")?;
                    Some(Shown(a.parse().ok()?, b.parse().ok()?))
                };
                if let Some(checks) = rest.strip_prefix(NOTICED_BY) {
                    let checks = checks
                        .split("; ")
                        .filter_map(|check| check.rsplit_once(" * "));
                    let with_number =
                        |(name, n): (&str, &str)| Some((name.to_owned(), n.parse().ok()?));
                    last.noticed_by = checks.filter_map(with_number).collect();
                } else {
                    // Without numbers, it is of a run that did not count.
                    let of = rest.rsplit_once(" -- ");
                    let known = of.and_then(|(survivor, two)| Some((survivor, numbers(two)?)));
                    let (survivor, shown) = known.unwrap_or((rest, Shown(0, 0)));
                    last.survivors.insert(survivor.to_owned(), shown);
                }
            } else if let [kind, file, hash, date, counts @ ..] =
                &line.split(' ').collect::<Vec<_>>()[..]
                && let Some(kind) = Kind::from_name(kind)
            {
                let mut counts = counts.iter().map(|count| count.parse().unwrap_or(0));
                let entry = Entry {
                    hash: hash.to_string(),
                    date: date.to_string(),
                    counts: std::array::from_fn(|_| counts.next().unwrap_or(0)),
                    ..Entry::default()
                };
                found.push(((kind, file.to_string()), entry));
            }
        }
        Self(found.into_iter().collect())
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for ((kind, file), entry) in &self.0 {
            let counts = entry.counts.map(|count| count.to_string()).join(" ");
            text += &format!(
                "{} {file} {} {} {counts}\n",
                kind.name(),
                entry.hash,
                entry.date
            );
            for (survivor, Shown(k, n)) in &entry.survivors {
                text += &format!("    {survivor} -- {k} of {n}\n");
            }
            if !entry.noticed_by.is_empty() {
                let checks = entry.noticed_by.iter();
                let checks = Vec::from_iter(checks.map(|(check, n)| format!("{check} * {n}")));
                text += &format!("    {NOTICED_BY}{}\n", checks.join("; "));
            }
        }
        text
    }

    /// Returns the files whose text has changed, each with what was examined.
    pub fn stale(
        &self,
        kind: Kind,
        files: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Option<&Entry>>, String> {
        let mut stale = BTreeMap::new();
        for file in files {
            let (hash, last) = (hash(&read(file)?), self.0.get(&(kind, file.clone())));
            if last.is_none_or(|last| last.hash != hash) {
                stale.insert(file.clone(), last);
            }
        }
        Ok(stale)
    }

    /// Returns the survivors of a kind, by the names of mutants.
    pub fn survivors(&self, kind: Kind) -> BTreeMap<String, Shown> {
        let of_kind = self.0.iter().filter(|((of, _), _)| *of == kind);
        let names = of_kind.flat_map(|((_, file), entry)| {
            let survivors = entry.survivors.iter();
            survivors.map(move |(survivor, shown)| (format!("{file} {survivor}"), *shown))
        });
        names.collect()
    }

    /// Returns the files of a kind that were examined.
    pub fn files(&self, kind: Kind) -> BTreeSet<String> {
        let of_kind = self.0.keys().filter(|(of, _)| *of == kind);
        of_kind.map(|(_, file)| file.clone()).collect()
    }

    /// Returns the checks that have noticed mutants of each file, those first that have noticed most.
    pub fn hints(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<&String, BTreeMap<&String, usize>> = BTreeMap::new();
        for ((_, file), entry) in &self.0 {
            let of_file = all.entry(file).or_default();
            for (check, n) in &entry.noticed_by {
                *of_file.entry(check).or_default() += n;
            }
        }
        let sorted = |checks: BTreeMap<&String, usize>| {
            let mut checks = Vec::from_iter(checks);
            checks.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
            checks.into_iter().map(|(check, _)| check.clone()).collect()
        };
        all.into_iter()
            .map(|(file, checks)| (file.clone(), sorted(checks)))
            .collect()
    }
}

/// Returns the names of models that a line of a comment has.
fn models(comment: &str) -> &str {
    let names = comment.split_once("Model: ").map_or("", |two| two.1);
    names.split('.').next().unwrap_or("")
}

/// Returns a hash of a text, without imports, and without comments but for the names of models. FNV-1a,
/// which is the same wherever this is built.
pub fn hash(text: &str) -> String {
    let mut is_import = false;
    let code = |line| match str::trim(line) {
        comment if comment.starts_with("//") => models(comment),
        code => {
            is_import |= ["use ", "pub use ", "pub(crate) use "]
                .iter()
                .any(|begin| code.starts_with(begin));
            let is_code = !is_import;
            is_import &= !code.ends_with(';');
            if is_code { code } else { "" }
        }
    };
    let code = text.lines().map(code).filter(|line| !line.is_empty());
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in code.flat_map(|line| line.bytes().chain(*b"\n")) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}").split_off(4)
}

/// Prints what is wrong with mutants. Returns whether each survivor has a reason and, if `all`, was shown to all
/// checks that reach it; and no other mutant has a reason.
pub fn judge(
    all: &[Mutant],
    verdicts: &BTreeMap<usize, Verdict>,
    reasons: &Reasons,
    to_all: bool,
    mut complaints: Vec<String>,
) -> bool {
    for (&i, verdict) in verdicts {
        let (mutant, name) = (&all[i], all[i].name());
        let kind = mutant.kind.name();
        match (verdict, reasons.explain(mutant)) {
            (Verdict::Survived { shown, of }, _) if to_all && shown < of => {
                complaints.push(format!(
                    "was shown to {shown} of {of} checks: {kind} {name}"
                ));
            }
            (Verdict::Survived { .. }, false) => {
                complaints.push(format!("survives, and has no reason: {kind} {name}"));
            }
            (Verdict::Survived { .. }, true) | (_, false) => {}
            (_, true) => complaints.push(format!(
                "has a reason, but does not survive: {kind} {name}: {verdict}"
            )),
        }
    }
    complaints
        .iter()
        .for_each(|complaint| println!("FAILED: {complaint}"));
    complaints.is_empty()
}

/// Keeps what became of these mutants in the report: of files all of whose mutants they are, which may have none; of
/// others, what is known of survivors, unless the text has changed. Once more changes nothing.
pub fn keep(
    all: &[Mutant],
    whole: &BTreeSet<(Kind, String)>,
    verdicts: &BTreeMap<usize, Verdict>,
) -> Result<(), String> {
    let mut report = Report::read();
    let mut stale = BTreeSet::new();
    for kind in Kind::ALL {
        let files = report.stale(kind, &report.files(kind))?;
        stale.extend(files.into_keys().map(|file| (kind, file)));
    }
    let new = |of: &(Kind, String)| (of.clone(), Entry::default());
    let mut entries: BTreeMap<(Kind, String), Entry> = whole.iter().map(new).collect();
    for (&i, verdict) in verdicts {
        let of = (all[i].kind, all[i].file.clone());
        if let Some(entry) = entries.get_mut(&of) {
            entry.add(&all[i], verdict);
        } else if let Some(last) = report.0.get_mut(&of).filter(|_| !stale.contains(&of)) {
            last.renew(&all[i], verdict);
        }
    }
    // What the tool does not make any more does not survive.
    let named = |mutant: &Mutant| (mutant.kind, mutant.file.clone(), survivor(mutant));
    let made: BTreeSet<_> = all.iter().map(named).collect();
    let kinds: BTreeSet<_> = all.iter().map(|mutant| mutant.kind).collect();
    let is_known = |of: &(Kind, String)| kinds.contains(&of.0) && !stale.contains(of);
    for ((kind, file), entry) in report.0.iter_mut().filter(|(of, _)| is_known(of)) {
        let is_made = |name: &String| made.contains(&(*kind, file.clone(), name.clone()));
        entry.survivors.retain(|name, _| is_made(name));
    }
    let today = output(Command::new("date").arg("+%F"))?;
    for (of, mut entry) in entries {
        entry.hash = hash(&read(&of.1)?);
        entry.date = today.trim().to_owned();
        report.0.insert(of, entry);
    }
    report.0.retain(|(_, file), _| Path::new(file).exists());
    std::fs::write(FILE, report.text()).map_err(|e| format!("{FILE}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
order src/main.rs 0123 2026-01-02 0 1 2
    A::f -- delete: g(); -- 3 of 4
    A::f -- swap: a <-> b -- 2 of 2
    by model a, rmw * 1; test b::c * 2
logic src/main.rs 4567 2026-01-03 0 0 0
";

    #[test]
    fn survivors_are_kept_until_they_are_noticed() {
        let mut report = Report::parse(&format!("{HEAD}{LINES}"));
        assert_eq!(report.text(), format!("{HEAD}{LINES}"));
        let survivors = report.survivors(Kind::Order);
        let shown = |name| survivors.get(name).map(|shown: &Shown| shown.to_all());
        assert_eq!(shown("src/main.rs A::f -- delete: g();"), Some(false));
        assert_eq!(shown("src/main.rs A::f -- swap: a <-> b"), Some(true));
        assert_eq!(report.hints()["src/main.rs"], ["test b::c", "model a, rmw"]);
        let mutant = Mutant {
            kind: Kind::Order,
            file: "src/main.rs".to_owned(),
            function: "A::f".to_owned(),
            what: "delete: g();".to_owned(),
            lines: 1..2,
        };
        let entry = report.0.values_mut().next().unwrap();
        entry.renew(&mutant, &Verdict::Survived { shown: 4, of: 4 });
        assert_eq!(entry.survivors["A::f -- delete: g();"], Shown(4, 4));
        entry.renew(&mutant, &Verdict::NoticedByTest("t".to_owned()));
        entry.renew(&mutant, &Verdict::NoticedByTest("t".to_owned()));
        let first =
            "order src/main.rs 0123 2026-01-02 0 1 3\n    A::f -- swap: a <-> b -- 2 of 2\n";
        assert!(report.text().starts_with(&format!("{HEAD}{first}")));
    }

    #[test]
    fn comments_count_only_if_they_name_models() {
        let text = "// A.\nfn f() {\n    // Model: a.\n    g()\n}\n";
        let imports = "use a::{\n    b,\n};\npub(crate) use c;\n";
        let change = |from: &str, to: &str| hash(&text.replace(from, to)) != hash(text);
        assert!(!change("A.", "B, see b.") && !change("Model", "It pairs. Model"));
        assert!(!change("// A", &format!("{imports}// A")));
        assert!(change(" a.", " b.") && change("g", "h") && change("// A", "d\n// A"));
    }

    #[test]
    fn what_has_changed_or_was_never_examined_is_stale() {
        let files = BTreeSet::from(["src/main.rs".to_owned()]);
        let hash = hash(&read("src/main.rs").unwrap());
        let report = Report::parse(&LINES.replace("0123", &hash));
        let stale = |kind| report.stale(kind, &files).unwrap().into_values().next();
        assert_eq!(stale(Kind::Order), None);
        assert_eq!(stale(Kind::Logic).unwrap().unwrap().date, "2026-01-03");
        assert_eq!(stale(Kind::Weaken), Some(None));
    }
}
