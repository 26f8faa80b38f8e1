//! Which mutants are examined.

use super::program::{Program, git};
use super::report;
use releasepool_order_mutants::changed_lines;
use std::collections::BTreeSet;

/// How many mutants of a commit are examined unless it is said.
const SAMPLE: usize = 40;

pub enum Wanted {
    /// Of files whose path contains one of these.
    Files(Vec<String>),
    /// Of files that are not as they were when the report was made.
    Changed,
    /// Of functions that the last commit changed; at most so many.
    Commit(usize),
    /// As the first, but only by checks that take a moment, and nothing is kept.
    Quick(Vec<String>),
    /// As the first, but they are only printed.
    List(Vec<String>),
}

/// What is examined.
pub struct Chosen {
    pub files: BTreeSet<String>,
    /// By number.
    pub mutants: BTreeSet<usize>,
}

impl Wanted {
    pub fn parse(args: &[&str]) -> Result<Self, String> {
        let owned = |args: &[&str]| args.iter().map(|&a| a.to_owned()).collect();
        match args {
            ["changed"] => Ok(Self::Changed),
            ["commit"] => Ok(Self::Commit(SAMPLE)),
            ["commit", most] => match most.parse() {
                Ok(most) => Ok(Self::Commit(most)),
                Err(_) => Err(format!("not a number of mutants: {most}")),
            },
            ["quick", files @ ..] => Ok(Self::Quick(owned(files))),
            ["list", files @ ..] => Ok(Self::List(owned(files))),
            files => match files.iter().find(|file| file.starts_with('-')) {
                Some(option) => Err(format!(
                    "no option {option}; usage: cargo weaken -- --order [wide] [FILE...] | changed | commit [N] | quick [FILE...] | list [FILE...]"
                )),
                None => Ok(Self::Files(owned(files))),
            },
        }
    }

    pub fn only_lists(&self) -> bool {
        matches!(self, Self::List(_))
    }

    pub fn is_quick(&self) -> bool {
        matches!(self, Self::Quick(_))
    }

    pub fn is_of_whole_files(&self) -> bool {
        matches!(self, Self::Files(_) | Self::Changed)
    }

    pub fn choose(&self, program: &Program) -> Result<Chosen, String> {
        let files: BTreeSet<String> = match self {
            Self::Files(parts) | Self::Quick(parts) | Self::List(parts) => {
                let all = || program.files().map(str::to_owned);
                let one = |part: &String| {
                    let found: Vec<_> = all().filter(|file| file.contains(part)).collect();
                    match found.is_empty() {
                        true => Err(format!("no file of src/ has {part:?} in its path")),
                        false => Ok(found),
                    }
                };
                if parts.is_empty() {
                    all().collect()
                } else {
                    let found: Result<Vec<_>, _> = parts.iter().map(one).collect();
                    found?.into_iter().flatten().collect()
                }
            }
            Self::Changed => {
                let known = report::contents();
                let has_changed = |file: &&str| known.get(*file) != Some(&report::content(file));
                let files = program.files().filter(has_changed);
                files.map(str::to_owned).collect()
            }
            Self::Commit(most) => return in_commit(program, *most),
        };
        let is_wanted = |&number: &usize| files.contains(program.file(number));
        let mutants = program.numbers().filter(is_wanted).collect();
        Ok(Chosen { files, mutants })
    }
}

fn in_commit(program: &Program, most: usize) -> Result<Chosen, String> {
    let diff = git(&["diff", "--no-ext-diff", "-U0", "HEAD^", "HEAD", "--", "src"])?;
    let changed = changed_lines(&diff);
    let is_changed = |&number: &usize| {
        let lines = program.lines(number);
        changed.iter().any(|(file, changed)| {
            file == program.file(number) && changed.start < lines.end && lines.start < changed.end
        })
    };
    let all: Vec<usize> = program.numbers().filter(is_changed).collect();
    let step = all.len().div_ceil(most.max(1)).max(1);
    if step > 1 {
        println!(
            "{} mutants in what changed; one in {step} is examined",
            all.len()
        );
    }
    let mutants: BTreeSet<usize> = all.into_iter().step_by(step).collect();
    let files = mutants
        .iter()
        .map(|&n| program.file(n).to_owned())
        .collect();
    Ok(Chosen { files, mutants })
}
