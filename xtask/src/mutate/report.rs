//! The verdicts on each file's mutants, and the file that keeps them.

use super::mutant::{Kind, Mutant, Verdict};
use super::reasons::{Reasons, place};
use super::tree::folder;
use crate::command::output;
use crate::read;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const FILE: &str = "ci/mutate/report.txt";

const HEAD: &str = "\
# What became of each file's mutants when all of them were last examined, by `ci/mutate.sh`;
# `ci/mutate.sh stale` names the files whose text has changed since. Below a file are its survivors,
# whose reasons are in ci/mutate/reasons.txt.
#
# KIND FILE TEXT DATE MUTANTS DO-NOT-COMPILE NOTICED-BY-MODELS NOTICED-BY-TESTS SURVIVED EXPLAINED
";

/// The mutants that are examined.
#[derive(Debug)]
pub struct Chosen {
    /// By their indices.
    pub mutants: BTreeSet<usize>,
    /// The files all of whose mutants these are.
    pub whole: BTreeSet<String>,
}

/// The verdicts on the mutants of a file.
#[derive(Default)]
struct Entry {
    /// In the order of the report's head.
    counts: [usize; 6],
    survivors: String,
}

impl Entry {
    fn add(&mut self, mutant: &Mutant, verdict: &Verdict, is_explained: bool) {
        let column = match verdict {
            Verdict::DoesNotCompile => 1,
            Verdict::NoticedByModel(_) => 2,
            Verdict::NoticedByTest(_) => 3,
            Verdict::Survived(_) => {
                self.survivors += &survivor(mutant);
                self.counts[5] += usize::from(is_explained);
                4
            }
        };
        self.counts[0] += 1;
        self.counts[column] += 1;
    }
}

/// Returns the line of a survivor below its file.
fn survivor(mutant: &Mutant) -> String {
    format!("    {} -- {}\n", mutant.function, mutant.what)
}

/// The hash of the text that was examined, and the date.
pub type Examined<'r> = (&'r str, &'r str);

/// The lines of each kind and file.
pub struct Report(BTreeMap<(Kind, String), String>);

impl Report {
    pub fn read() -> Self {
        Self::parse(&std::fs::read_to_string(FILE).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut found: BTreeMap<_, String> = BTreeMap::new();
        let mut last = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            if let (Some(kind), Some(file)) = (words.next().and_then(Kind::from_name), words.next())
            {
                last = Some((kind, file.to_owned()));
            }
            if let Some(key) = &last {
                *found.entry(key.clone()).or_default() += &format!("{line}\n");
            }
        }
        Self(found)
    }

    fn text(&self) -> String {
        HEAD.to_owned() + &self.0.values().map(String::as_str).collect::<String>()
    }

    fn examined(&self, kind: Kind, file: &str) -> Option<Examined<'_>> {
        let mut words = self.0.get(&(kind, file.to_owned()))?.split(' ').skip(2);
        Some((words.next()?, words.next()?))
    }

    /// Returns the files whose text has changed, each with what was examined.
    pub fn stale(
        &self,
        kind: Kind,
        files: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Option<Examined<'_>>>, String> {
        let files = hashes(files)?.into_iter();
        let with_last = files.map(|(file, hash)| (self.examined(kind, &file), file, hash));
        let has_changed =
            with_last.filter(|(last, _, hash)| last.is_none_or(|last| last.0 != hash));
        Ok(has_changed.map(|(last, file, _)| (file, last)).collect())
    }

    /// Returns the survivors of a kind, by the names of mutants.
    pub fn survivors(&self, kind: Kind) -> BTreeSet<String> {
        let of_kind = self.0.iter().filter(|((of, _), _)| *of == kind);
        let names = of_kind.flat_map(|((_, file), lines)| {
            let survivors = lines.lines().skip(1);
            survivors.map(move |survivor| format!("{file} {}", survivor.trim_start()))
        });
        names.collect()
    }

    /// Moves survivors of a file that are noticed now to the column of what noticed them.
    fn strike(&mut self, kind: Kind, mutant: &Mutant, verdict: &Verdict) {
        let column = match verdict {
            Verdict::NoticedByModel(_) => 2,
            Verdict::NoticedByTest(_) => 3,
            Verdict::DoesNotCompile | Verdict::Survived(_) => return,
        };
        let Some(lines) = self.0.get_mut(&(kind, mutant.file.clone())) else {
            return;
        };
        let survivor = survivor(mutant);
        if let Some((head, survivors)) = lines.split_once('\n')
            && survivors.contains(&survivor)
        {
            // KIND FILE TEXT DATE, then the columns.
            let mut words: Vec<String> = head.split(' ').map(str::to_owned).collect();
            let mut add = |column: usize, n: isize| {
                let count = words[4 + column].parse::<isize>().unwrap_or(0);
                words[4 + column] = (count + n).to_string();
            };
            add(column, 1);
            add(4, -1);
            *lines = words.join(" ") + "\n" + &survivors.replacen(&survivor, "", 1);
        }
    }

    /// Replaces the lines of a file. What was found again keeps its date.
    fn set(&mut self, kind: Kind, file: &str, hash: &str, today: &str, entry: &Entry) {
        let counts = entry.counts.map(|count| count.to_string()).join(" ");
        let lines = |date: &str| {
            format!(
                "{} {file} {hash} {date} {counts}\n{}",
                kind.name(),
                entry.survivors
            )
        };
        let again = self.examined(kind, file).map(|(_, date)| lines(date));
        let before = self.0.get(&(kind, file.to_owned())).cloned();
        let new = again
            .filter(|again| before.as_ref() == Some(again))
            .unwrap_or(lines(today));
        self.0.insert((kind, file.to_owned()), new);
    }
}

/// Returns the hashes of files.
fn hashes(files: &BTreeSet<String>) -> Result<BTreeMap<String, String>, String> {
    let hashed = |file: &String| Ok((file.clone(), hash(&read(file)?)));
    files.iter().map(hashed).collect()
}

/// Returns the names of models that a line of a comment has.
fn models(comment: &str) -> &str {
    let names = comment.split_once("Model: ").map_or("", |two| two.1);
    names.split('.').next().unwrap_or("")
}

/// Returns a hash of a text, without imports, and without comments but for the names of models. FNV-1a,
/// which is the same wherever this is built.
fn hash(text: &str) -> String {
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

/// Prints what became of the chosen mutants, and keeps it: of files all of whose mutants they are; of others,
/// which survivors are noticed now, unless the text has changed.
/// Returns whether each survivor has a reason, and each reason a survivor.
pub fn judge(
    kind: Kind,
    all: &[Mutant],
    chosen: &Chosen,
    verdicts: &BTreeMap<usize, Verdict>,
    reasons: &Reasons,
) -> Result<bool, String> {
    let (mut details, mut complaints) = (String::new(), Vec::new());
    for (&i, verdict) in verdicts {
        let (mutant, name) = (&all[i], all[i].name());
        let reason = reasons.reason(kind, mutant);
        details += &format!("{name}: {verdict}\n");
        // One of several mutants of a name may be the one that survives.
        let may_survive = |i| matches!(verdicts.get(&i), None | Some(Verdict::Survived(_)));
        let of_name = || (0..all.len()).filter(|&i| all[i].name() == name);
        match (verdict, reason) {
            (Verdict::Survived(_), None) => {
                complaints.push(format!("survives, and has no reason: {name}"));
            }
            (_, Some(_)) if !of_name().any(may_survive) => {
                complaints.push(format!(
                    "has a reason, but does not survive: {name}: {verdict}"
                ));
            }
            _ => {}
        }
    }
    let names: BTreeSet<String> = all.iter().map(Mutant::name).collect();
    let of_files = reasons
        .names(kind)
        .filter(|name| chosen.whole.contains(place(name).0));
    let gone = of_files.filter(|name| !names.contains(*name));
    complaints.extend(gone.map(|name| format!("has a reason, but is no mutant: {name}")));
    let columns = [
        "mutants",
        "invalid",
        "models",
        "tests",
        "survived",
        "explained",
    ];
    println!(
        "\n{:<40} {}",
        "file",
        columns.map(|name| format!("{name:>10}")).concat()
    );
    let mut sum = [0; 6];
    let entries = entries(kind, all, &chosen.whole, verdicts, reasons);
    for (file, Entry { counts, .. }) in entries.iter().filter(|(_, entry)| entry.counts[0] > 0) {
        println!(
            "{file:<40} {}",
            counts.map(|count| format!("{count:>10}")).concat()
        );
        sum.iter_mut()
            .zip(counts)
            .for_each(|(sum, count)| *sum += count);
    }
    println!(
        "{:<40} {}",
        kind.name(),
        sum.map(|count| format!("{count:>10}")).concat()
    );
    complaints
        .iter()
        .for_each(|complaint| println!("FAILED: {complaint}"));
    let path = folder().join(format!("{}.txt", kind.name()));
    std::fs::write(&path, details).map_err(|e| failed(&e))?;
    println!("each mutant: {}", path.display());
    keep(kind, all, &chosen.whole, verdicts, reasons)?;
    Ok(complaints.is_empty())
}

/// Keeps what became of these mutants in the report, as [`judge`] says. Once more changes nothing.
pub fn keep(
    kind: Kind,
    all: &[Mutant],
    whole: &BTreeSet<String>,
    verdicts: &BTreeMap<usize, Verdict>,
    reasons: &Reasons,
) -> Result<(), String> {
    let entries = entries(kind, all, whole, verdicts, reasons);
    let files = entries.keys().cloned().collect();
    let (mut report, hashes) = (Report::read(), hashes(&files)?);
    let stale = report.stale(kind, &files)?.into_keys().collect();
    let unchanged = &(&files - &stale) - whole;
    let again = verdicts.iter().map(|(&i, verdict)| (&all[i], verdict));
    for (mutant, verdict) in again.filter(|(mutant, _)| unchanged.contains(&mutant.file)) {
        report.strike(kind, mutant, verdict);
    }
    let today = output(Command::new("date").arg("+%F"))?;
    for file in whole {
        report.set(kind, file, &hashes[file], today.trim(), &entries[file]);
    }
    report.0.retain(|(_, file), _| Path::new(file).exists());
    std::fs::write(FILE, report.text()).map_err(|e| failed(&e))
}

fn failed(e: &std::io::Error) -> String {
    format!("what became of mutants cannot be written: {e}")
}

/// Counts the verdicts on the mutants of each file; `whole` are files that may have none.
fn entries(
    kind: Kind,
    all: &[Mutant],
    whole: &BTreeSet<String>,
    verdicts: &BTreeMap<usize, Verdict>,
    reasons: &Reasons,
) -> BTreeMap<String, Entry> {
    let new = |file: &String| (file.clone(), Entry::default());
    let mut entries: BTreeMap<String, Entry> = whole.iter().map(new).collect();
    for (&i, verdict) in verdicts {
        let (mutant, is_explained) = (&all[i], reasons.reason(kind, &all[i]).is_some());
        let entry = entries.entry(mutant.file.clone()).or_default();
        entry.add(mutant, verdict, is_explained);
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
order src/a.rs 0123 2026-01-02 5 0 1 2 2 1
    A::f -- delete: g();
    A::f -- swap: a <-> b
logic src/a.rs 4567 2026-01-03 0 0 0 0 0 0
";

    #[test]
    fn lines_are_kept_by_kind_and_file() {
        let mut report = Report::parse(&format!("{HEAD}{LINES}"));
        assert_eq!(report.text(), format!("{HEAD}{LINES}"));
        let examined = |report: &Report, kind| {
            report
                .examined(kind, "src/a.rs")
                .map(|(hash, date)| format!("{hash} {date}"))
        };
        assert_eq!(
            examined(&report, Kind::Order).as_deref(),
            Some("0123 2026-01-02")
        );
        assert_eq!(examined(&report, Kind::Weaken), None);
        assert_eq!(
            report
                .survivors(Kind::Order)
                .into_iter()
                .collect::<Vec<_>>(),
            [
                "src/a.rs A::f -- delete: g();",
                "src/a.rs A::f -- swap: a <-> b"
            ]
        );
        // A survivor that a test notices now.
        let mutant = Mutant {
            file: "src/a.rs".to_owned(),
            function: "A::f".to_owned(),
            what: "delete: g();".to_owned(),
            lines: 1..2,
        };
        let mut struck = Report::parse(LINES);
        struck.strike(Kind::Order, &mutant, &Verdict::Survived(1));
        assert_eq!(struck.0, report.0);
        struck.strike(
            Kind::Order,
            &mutant,
            &Verdict::NoticedByTest("t".to_owned()),
        );
        let first = "order src/a.rs 0123 2026-01-02 5 0 1 3 1 1\n    A::f -- swap: a <-> b\n";
        assert!(struck.text().starts_with(&format!("{HEAD}{first}")));
        // A survivor that was found again keeps its date.
        let mut entry = Entry::default();
        report.set(Kind::Logic, "src/a.rs", "4567", "2026-03-04", &entry);
        assert_eq!(report.text(), format!("{HEAD}{LINES}"));
        entry.counts = [1, 0, 0, 0, 1, 0];
        entry.survivors = "    f -- x\n".to_owned();
        report.set(Kind::Logic, "src/a.rs", "4567", "2026-03-04", &entry);
        let new = "logic src/a.rs 4567 2026-03-04 1 0 0 0 1 0\n    f -- x\n";
        assert!(report.text().ends_with(new));
    }

    #[test]
    fn comments_count_only_if_they_name_models() {
        let text = "// A.\nfn f() {\n    // Model: a.\n    g()\n}\n";
        assert_eq!(hash(text), hash(&text.replace("A.", "B, see b.")));
        assert_eq!(hash(text), hash(&text.replace("Model", "It pairs. Model")));
        assert_ne!(hash(text), hash(&text.replace(" a.", " b.")));
        assert_ne!(hash(text), hash(&text.replace('g', "h")));
        assert_eq!(hash("a").len(), 12);
        let imports = "use a::{\n    b,\n};\npub(crate) use c;\n";
        assert_eq!(hash(text), hash(&format!("{imports}{text}")));
        assert_ne!(hash("c"), hash(&format!("{imports}d")));
    }

    #[test]
    fn what_has_changed_or_was_never_examined_is_stale() {
        let file = "src/main.rs".to_owned();
        let files = BTreeSet::from([file.clone()]);
        let hash = hashes(&files).unwrap().remove(&file).unwrap();
        let report = format!("order {file} {hash} 2026-01-02 0\nlogic {file} 0123 2026-01-03 0\n");
        let report = Report::parse(&report);
        let stale = |kind| report.stale(kind, &files).unwrap().remove(&file);
        assert_eq!(stale(Kind::Order), None);
        assert_eq!(stale(Kind::Logic), Some(Some(("0123", "2026-01-03"))));
        assert_eq!(stale(Kind::Weaken), Some(None));
    }
}
