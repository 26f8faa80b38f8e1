//! The mass table of CONTRIBUTING.md: how many lines of code and files each part has, and the most that it may
//! have.
//!
//! A line of code is neither blank nor a comment. A part is the files below its paths; a file below the
//! paths of two parts belongs to the longer path.

use crate::command::{Outcome, read, working_files};

const PAGE: &str = "CONTRIBUTING.md";
const HEADER: &str = "| part | Rust | C++ | shell | files | raised because |";

/// What is counted, in the order of the table's columns: lines by the ends of files' names, and files.
const LANGUAGES: [&[&str]; 3] = [&[".rs"], &[".h", ".hpp", ".c", ".cpp"], &[".sh", ".ci/run"]];
const COLUMNS: [&str; 4] = ["lines of Rust", "lines of C++", "lines of shell", "files"];

type Counts = [usize; 4];

/// A row of the table.
struct Part {
    name: String,
    paths: Vec<String>,
    most: Counts,
    reason: String,
    now: Counts,
}

impl Part {
    fn parse(row: &str) -> Option<Self> {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, rust, cpp, shell, files, reason] = cells[..] else {
            return None;
        };
        // `12 of 34`; an empty cell allows none.
        let most = |cell: &str| match cell.split_once(" of ") {
            Some((_, most)) => most.replace(',', "").parse().ok(),
            None => cell.is_empty().then_some(0),
        };
        Some(Self {
            name: name.to_owned(),
            paths: name
                .split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect(),
            most: [most(rust)?, most(cpp)?, most(shell)?, most(files)?],
            reason: reason.to_owned(),
            now: Counts::default(),
        })
    }

    /// Returns the length of the longest of its paths that `file` is below.
    fn owns(&self, file: &str) -> Option<usize> {
        let is_below = |path: &&String| {
            let rest = file.strip_prefix(path.as_str());
            rest.is_some_and(|rest| ["", "/", ".rs"].contains(&rest) || rest.starts_with('/'))
        };
        self.paths.iter().filter(is_below).map(String::len).max()
    }

    fn row(&self) -> String {
        let cells = (0..COLUMNS.len()).map(|i| match self.most[i] {
            0 => String::new(),
            most => format!("{} of {}", grouped(self.now[i]), grouped(most)),
        });
        let cells: Vec<String> = cells.collect();
        format!(
            "| {} | {} | {} |",
            self.name,
            cells.join(" | "),
            self.reason
        )
    }
}

/// The number with commas between thousands.
fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// How many lines of a text are code; `sign` begins comments.
fn code_lines(text: &str, sign: &str) -> usize {
    let mut in_comment = false;
    let is_code = |line: &&str| {
        let begins = sign == "//" && !in_comment && line.starts_with("/*");
        let was_in = in_comment || begins;
        in_comment = was_in && !line.contains("*/");
        !was_in && !line.is_empty() && !line.starts_with(sign)
    };
    text.lines().map(str::trim).filter(is_code).count()
}

/// Reads the rows, and counts what each part has. Fails if a file is in no part.
fn parts(page: &str) -> Result<Vec<Part>, String> {
    let rows = page.split_once(HEADER).map_or("", |(_, rest)| rest);
    let rows = rows.lines().skip(2).take_while(|row| row.starts_with('|'));
    let part =
        |row| Part::parse(row).ok_or_else(|| format!("{PAGE}: what does this row mean: {row}"));
    let mut parts = rows.map(part).collect::<Result<Vec<_>, _>>()?;
    for file in working_files()? {
        let ends = |ends: &&[&str]| ends.iter().any(|end| file.ends_with(end));
        let Some(language) = LANGUAGES.iter().position(ends) else {
            continue;
        };
        let owner = parts.iter_mut().max_by_key(|part| part.owns(&file));
        let owner = owner.filter(|part| part.owns(&file).is_some());
        let owner =
            owner.ok_or_else(|| format!("{PAGE}: {file} is in no row of the mass table"))?;
        owner.now[language] += code_lines(&read(&file)?, if language == 2 { "#" } else { "//" });
        owner.now[3] += 1;
    }
    Ok(parts)
}

/// Prints the table, and fails where there is more than a row allows.
pub fn check() -> Outcome {
    let parts = parts(&read(PAGE)?)?;
    println!("{HEADER}");
    let mut complaints = Vec::new();
    for part in &parts {
        println!("{}", part.row());
        let over = (0..COLUMNS.len()).filter(|&i| part.now[i] > part.most[i]);
        complaints.extend(over.map(|i| {
            let (now, most) = (grouped(part.now[i]), grouped(part.most[i]));
            format!(
                "{} has {now} {}, and may have {most}",
                part.name, COLUMNS[i]
            )
        }));
    }
    let sum = |i: usize| grouped(parts.iter().map(|part| part.now[i]).sum());
    println!(
        "together: {}",
        [0, 1, 2, 3]
            .map(|i| format!("{} {}", sum(i), COLUMNS[i]))
            .join(", ")
    );
    for complaint in &complaints {
        eprintln!("{complaint}: remove something, or raise the row in {PAGE} with the reason");
    }
    Ok(complaints.is_empty() && !parts.is_empty())
}

/// Writes today's numbers into the table.
pub fn renew() -> Outcome {
    let mut page = read(PAGE)?;
    for part in parts(&page)? {
        let before = format!("| {} |", part.name);
        let old = page.lines().find(|line| line.starts_with(&before));
        let old = old.ok_or("the table has changed meanwhile")?.to_owned();
        page = page.replacen(&old, &part.row(), 1);
    }
    std::fs::write(PAGE, page).map_err(|e| format!("{PAGE} cannot be written: {e}"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_neither_blank_nor_comment() {
        let text = "fn f() {\n    // A.\n\n    /* B\n    C */\n    g() // D.\n}\n/* E */\n";
        assert_eq!(code_lines(text, "//"), 3);
        assert_eq!(code_lines("#!/bin/sh\n\n# A.\nf # B.\n", "#"), 1);
    }

    #[test]
    fn rows_say_what_is_allowed() {
        let row = "| `src`, `a/b` | 1 of 26,500 | | 2 of 3 | 4 of 5 | more to do |";
        let mut part = Part::parse(row).unwrap();
        assert_eq!(part.most, [26_500, 0, 3, 5]);
        part.now = [1, 0, 2, 4];
        assert_eq!(part.row(), row.replace("| |", "|  |"));
        assert_eq!(part.owns("src/lib.rs"), Some(3));
        assert_eq!(part.owns("a/b/c.rs"), Some(3));
        assert_eq!(part.owns("a/b.rs"), Some(3));
        assert_eq!(part.owns("a/bc.rs"), None);
        assert!(Part::parse("| `src` | many | | | | |").is_none());
    }
}
