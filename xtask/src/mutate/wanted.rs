//! Which mutants are examined.

use super::mutant::{Kind, Mutant, Reasons};
use super::report::{Chosen, Report};
use crate::command::git;
use crate::rust;
use std::collections::BTreeSet;
use std::ops::Range;

/// How many mutants of a sample are examined unless it is said.
const SAMPLE: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Of files with one of these in their paths; of all files if there is none.
    Files(Vec<String>),
    /// Of files whose text has changed since the report, and survivors without a reason, or that were not shown
    /// to all checks; or at most so many of these.
    Changed(Option<usize>),
    /// Of what the last commit changed; at most so many.
    Commit(usize),
    /// None: the files that must be examined are printed.
    Stale,
    /// None: what reasons say to notice their mutants is run with them; those with this in their names.
    Prove(String),
}

impl Wanted {
    /// Parses the arguments; `None` if they mean nothing.
    pub fn parse(args: &[&str]) -> Option<Self> {
        Some(match args {
            ["all"] => Self::Files(Vec::new()),
            ["changed"] => Self::Changed(None),
            ["changed", most] => Self::Changed(Some(most.parse().ok()?)),
            ["commit"] => Self::Commit(SAMPLE),
            ["commit", most] => Self::Commit(most.parse().ok()?),
            ["stale"] => Self::Stale,
            ["prove"] => Self::Prove(String::new()),
            ["prove", part] => Self::Prove((*part).to_owned()),
            [] => return None,
            files if files.iter().any(|file| file.starts_with('-')) => return None,
            files => Self::Files(files.iter().map(|&file| file.to_owned()).collect()),
        })
    }

    /// Chooses among all mutants of a kind, which can be made of these files.
    pub fn choose(
        &self,
        kind: Kind,
        files: &BTreeSet<String>,
        all: &[Mutant],
        reasons: &Reasons,
    ) -> Result<Chosen, String> {
        let those = |is_chosen: &dyn Fn(&Mutant) -> bool| {
            let indices = all
                .iter()
                .enumerate()
                .filter(|(_, mutant)| mutant.kind == kind);
            let mutants = indices.filter(|(_, mutant)| is_chosen(mutant));
            mutants.map(|(i, _)| i).collect::<BTreeSet<usize>>()
        };
        let whole = |files: BTreeSet<String>| Chosen {
            mutants: those(&|mutant| files.contains(&mutant.file)),
            whole: files.into_iter().map(|file| (kind, file)).collect(),
        };
        Ok(match self {
            Self::Files(parts) => whole(named(files, parts)?),
            Self::Changed(most) => {
                let report = Report::read();
                let survivors = report.survivors(kind);
                let mut chosen = whole(report.stale(kind, files)?.into_keys().collect());
                chosen.mutants.extend(those(&|mutant| {
                    let shown = survivors.get(&mutant.name());
                    shown.is_some_and(|shown| !shown.to_all() || !reasons.explain(mutant))
                }));
                match most {
                    Some(most) => sample(chosen.mutants, *most),
                    None => chosen,
                }
            }
            Self::Commit(most) => {
                let diff = git(&["diff", "--no-ext-diff", "-U0", "HEAD^", "HEAD", "--", "src"])?;
                let mut changed = within(all, &changed_lines(&diff));
                changed.retain(|&i| all[i].kind == kind);
                sample(changed, *most)
            }
            Self::Stale | Self::Prove(_) => whole(BTreeSet::new()),
        })
    }
}

/// Returns the files with one of these parts in their paths.
fn named(files: &BTreeSet<String>, parts: &[String]) -> Result<BTreeSet<String>, String> {
    // A file may have mutants of another kind.
    let all = rust::files("src")?;
    let is_unknown = |part: &&String| !all.iter().any(|file| file.contains(*part));
    if let Some(part) = parts.iter().find(is_unknown) {
        return Err(format!("no file of src/ has {part:?} in its path"));
    }
    let is_named =
        |file: &&String| parts.is_empty() || parts.iter().any(|part| file.contains(part));
    Ok(files.iter().filter(is_named).cloned().collect())
}

/// Lines of a file.
type Lines = (String, Range<usize>);

/// Returns the lines that a diff without context changes, as they are now. Where lines have gone, the one that
/// is there now.
fn changed_lines(diff: &str) -> Vec<Lines> {
    let (mut file, mut changed) = (String::new(), Vec::new());
    for line in diff.lines() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            file = path.to_owned();
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            let now = rest
                .split(' ')
                .find_map(|part| part.strip_prefix('+'))
                .unwrap_or("0");
            let (start, len) = now.split_once(',').unwrap_or((now, "1"));
            let [start, len] = [start, len].map(|number| number.parse().unwrap_or(0));
            changed.push((file.clone(), start..start + len.max(1)));
        }
    }
    changed
}

/// Returns the mutants in these lines.
fn within(all: &[Mutant], changed: &[Lines]) -> BTreeSet<usize> {
    let is_changed = |mutant: &Mutant| {
        changed.iter().any(|(file, changed)| {
            let lines = &mutant.lines;
            *file == mutant.file && changed.start < lines.end && lines.start < changed.end
        })
    };
    let indices = all.iter().enumerate();
    indices
        .filter(|(_, mutant)| is_changed(mutant))
        .map(|(i, _)| i)
        .collect()
}

/// Chooses at most `most` of these mutants, evenly.
fn sample(mutants: BTreeSet<usize>, most: usize) -> Chosen {
    let step = mutants.len().div_ceil(most.max(1)).max(1);
    if step > 1 {
        println!(
            "{} mutants; a sample is examined: one in {step}",
            mutants.len()
        );
    }
    Chosen {
        mutants: mutants.into_iter().step_by(step).collect(),
        whole: BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Mutant> {
        let places = [
            ("src/main.rs", 1),
            ("src/main.rs", 5),
            ("src/rust.rs", 5),
            ("src/rust.rs", 6),
        ];
        let mutant = |(file, line): (&str, usize)| Mutant {
            kind: Kind::Order,
            file: file.to_owned(),
            function: "f".to_owned(),
            what: "x".to_owned(),
            lines: line..line + 1,
        };
        places.map(mutant).into()
    }

    #[test]
    fn what_is_wanted_is_read() {
        let files = |files: &[&str]| Wanted::Files(files.iter().map(|&f| f.to_owned()).collect());
        for (args, wanted) in [
            ("all", files(&[])),
            ("changed", Wanted::Changed(None)),
            ("changed 3", Wanted::Changed(Some(3))),
            ("commit", Wanted::Commit(SAMPLE)),
            ("commit 2", Wanted::Commit(2)),
            ("a.rs b.rs", files(&["a.rs", "b.rs"])),
        ] {
            let args: Vec<_> = args.split(' ').collect();
            assert_eq!(Wanted::parse(&args), Some(wanted));
        }
        for args in [&[][..], &["commit", "x"], &["--all"]] {
            assert_eq!(Wanted::parse(args), None, "{args:?}");
        }
    }

    #[test]
    fn files_are_found_by_parts_of_their_paths() {
        let files = ["src/main.rs", "src/rust.rs"].map(str::to_owned).into();
        let of = |part: &str| named(&files, &[part.to_owned()]).map(|files| files.len());
        assert_eq!((of("rust.rs"), of("src")), (Ok(1), Ok(2)));
        assert!(of("no_such_file.rs").is_err());
    }

    #[test]
    fn a_sample_is_of_changed_lines_and_has_no_more_than_is_wanted() {
        let diff = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -3,2 +4,3 @@ fn f() {\n-x\n+y\n@@ -9 +11 @@\n\
                    @@ -20,2 +22,0 @@\n--- a/src/rust.rs\n+++ b/src/rust.rs\n@@ -6 +6 @@\n";
        let changed = changed_lines(diff);
        let ranges: Vec<_> = changed.iter().map(|(_, range)| range.clone()).collect();
        assert_eq!(ranges, [4..7, 11..12, 22..23, 6..7]);
        let within = within(&all(), &changed);
        assert_eq!(within, BTreeSet::from([1, 3]));
        assert_eq!(sample(within, 1).mutants, BTreeSet::from([1]));
        assert_eq!(sample((0..4).collect(), 3).mutants, BTreeSet::from([0, 2]));
        assert_eq!(sample((0..4).collect(), 0).mutants.len(), 1);
    }
}
