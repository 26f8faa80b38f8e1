//! The verdicts on each file's mutants, and the file that keeps them.

use super::mutant::{Kind, Mutant, Reasons, Verdict, place};
use crate::command::{output, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const FILE: &str = "ci/mutate/report.txt";

const HEAD: &str = "\
# What became of each file's mutants when all of them were last examined, by `ci/mutate.sh`;
# `ci/mutate.sh stale` names the files whose text has changed since. Below a file are its survivors,
# whose reasons are in ci/mutate/reasons.txt.
#
# KIND FILE TEXT DATE DO-NOT-COMPILE NOTICED-BY-MODELS NOTICED-BY-TESTS
";

/// The mutants that are examined.
#[derive(Debug)]
pub struct Chosen {
    /// By their indices.
    pub mutants: BTreeSet<usize>,
    /// The files all of whose mutants these are.
    pub whole: BTreeSet<String>,
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
    survivors: Vec<String>,
}

impl Entry {
    fn add(&mut self, mutant: &Mutant, verdict: &Verdict) {
        match column(verdict) {
            Some(column) => self.counts[column] += 1,
            None => self.survivors.push(survivor(mutant)),
        }
    }

    /// Moves a survivor that is noticed now to the column of what noticed it.
    fn strike(&mut self, mutant: &Mutant, verdict: &Verdict) {
        let survivor = survivor(mutant);
        let at = self.survivors.iter().position(|of| *of == survivor);
        if let (Some(at), Some(column @ 1..)) = (at, column(verdict)) {
            self.survivors.remove(at);
            self.counts[column] += 1;
        }
    }
}

/// Returns where a verdict is counted; survivors are listed.
fn column(verdict: &Verdict) -> Option<usize> {
    match verdict {
        Verdict::DoesNotCompile => Some(0),
        Verdict::NoticedByModel(_) => Some(1),
        Verdict::NoticedByTest(_) => Some(2),
        Verdict::Survived(_) => None,
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
            if let (Some(survivor), Some((_, last))) = (line.strip_prefix("    "), found.last_mut())
            {
                last.survivors.push(survivor.to_owned());
            } else if let [kind, file, hash, date, counts @ ..] =
                &line.split(' ').collect::<Vec<_>>()[..]
                && let Some(kind) = Kind::from_name(kind)
            {
                let mut counts = counts.iter().map(|count| count.parse().unwrap_or(0));
                let entry = Entry {
                    hash: hash.to_string(),
                    date: date.to_string(),
                    counts: std::array::from_fn(|_| counts.next().unwrap_or(0)),
                    survivors: Vec::new(),
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
            text.extend(
                entry
                    .survivors
                    .iter()
                    .map(|survivor| format!("    {survivor}\n")),
            );
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
    pub fn survivors(&self, kind: Kind) -> BTreeSet<String> {
        let of_kind = self.0.iter().filter(|((of, _), _)| *of == kind);
        let names = of_kind.flat_map(|((_, file), entry)| {
            let survivors = entry.survivors.iter();
            survivors.map(move |survivor| format!("{file} {survivor}"))
        });
        names.collect()
    }
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

/// Prints what is wrong with the chosen mutants; keeps what became of them: see [`keep`].
/// Returns whether each survivor has a reason, and each reason a survivor.
pub fn judge(
    kind: Kind,
    all: &[Mutant],
    chosen: &Chosen,
    verdicts: &BTreeMap<usize, Verdict>,
    reasons: &Reasons,
    mut complaints: Vec<String>,
) -> Result<bool, String> {
    for (&i, verdict) in verdicts {
        let name = all[i].name();
        // One of several mutants of a name may be the one that survives.
        let may_survive = |i| matches!(verdicts.get(&i), None | Some(Verdict::Survived(_)));
        let mut of_name = (0..all.len()).filter(|&i| all[i].name() == name);
        let is_explained = reasons.explain(kind, &all[i]);
        if !is_explained && matches!(verdict, Verdict::Survived(_)) {
            complaints.push(format!("survives, and has no reason: {name}"));
        } else if is_explained && !of_name.any(may_survive) {
            complaints.push(format!(
                "has a reason, but does not survive: {name}: {verdict}"
            ));
        }
    }
    let names: BTreeSet<String> = all.iter().map(Mutant::name).collect();
    let of_files = reasons
        .names(kind)
        .filter(|name| chosen.whole.contains(place(name).0));
    let gone = of_files.filter(|name| !names.contains(*name));
    complaints.extend(gone.map(|name| format!("has a reason, but is no mutant: {name}")));
    let failed = |complaint: &String| println!("FAILED: {complaint}");
    complaints.iter().for_each(failed);
    keep(kind, all, &chosen.whole, verdicts)?;
    Ok(complaints.is_empty())
}

/// Keeps what became of these mutants in the report: of files all of whose mutants they are, which may have none; of
/// others, which survivors are noticed now, unless the text has changed. Once more changes nothing.
pub fn keep(
    kind: Kind,
    all: &[Mutant],
    whole: &BTreeSet<String>,
    verdicts: &BTreeMap<usize, Verdict>,
) -> Result<(), String> {
    let mut report = Report::read();
    let files = verdicts.keys().map(|&i| all[i].file.clone()).collect();
    let stale: BTreeSet<String> = report.stale(kind, &files)?.into_keys().collect();
    let new = |file: &String| (file.clone(), Entry::default());
    let mut entries: BTreeMap<String, Entry> = whole.iter().map(new).collect();
    for (&i, verdict) in verdicts {
        let file = &all[i].file;
        let last = report.0.get_mut(&(kind, file.clone()));
        if let Some(entry) = entries.get_mut(file) {
            entry.add(&all[i], verdict);
        } else if let Some(last) = last.filter(|_| !stale.contains(file)) {
            last.strike(&all[i], verdict);
        }
    }
    let today = output(Command::new("date").arg("+%F"))?;
    for (file, mut entry) in entries {
        entry.hash = hash(&read(&file)?);
        entry.date = today.trim().to_owned();
        report.0.insert((kind, file), entry);
    }
    report.0.retain(|(_, file), _| Path::new(file).exists());
    std::fs::write(FILE, report.text()).map_err(|e| format!("{FILE}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
order src/main.rs 0123 2026-01-02 0 1 2
    A::f -- delete: g();
    A::f -- swap: a <-> b
logic src/main.rs 4567 2026-01-03 0 0 0
";

    #[test]
    fn survivors_are_kept_until_they_are_noticed() {
        let mut report = Report::parse(&format!("{HEAD}{LINES}"));
        assert_eq!(report.text(), format!("{HEAD}{LINES}"));
        let survivors: Vec<_> = report.survivors(Kind::Order).into_iter().collect();
        let wanted = [
            "src/main.rs A::f -- delete: g();",
            "src/main.rs A::f -- swap: a <-> b",
        ];
        assert_eq!(survivors, wanted);
        let mutant = Mutant {
            file: "src/main.rs".to_owned(),
            function: "A::f".to_owned(),
            what: "delete: g();".to_owned(),
            lines: 1..2,
        };
        let entry = report.0.values_mut().next().unwrap();
        let before = entry.clone();
        entry.strike(&mutant, &Verdict::Survived(1));
        assert_eq!(*entry, before);
        entry.strike(&mutant, &Verdict::NoticedByTest("t".to_owned()));
        let first = "order src/main.rs 0123 2026-01-02 0 1 3\n    A::f -- swap: a <-> b\n";
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
