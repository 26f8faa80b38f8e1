//! Checks that the commands that a page shows print what it shows.

use crate::command::{Outcome, not_run, read};
use std::process::{Command, Stdio};

/// How long all commands of a page may take, in seconds.
const LIMIT: &str = "1800";

/// Where the shell writes what the commands print.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guide.log");

/// Runs the commands that a page shows, and returns whether all print what the page shows.
///
/// Commands are the lines that begin with `$ ` in code blocks of the language `console`. All run in one shell, in
/// the root of the project, one after the other, so a later one can use what an earlier one has started. The lines
/// below a command are its output, errors included; a command without any must succeed. Numbers, addresses, the
/// spaces around them and empty lines may differ; a line `...` stands for any lines.
pub fn check(page: &str) -> Outcome {
    let text = read(page)?;
    let shown = shown(&text);
    let printed = run(&shown)?;
    println!("{printed}");
    let result = agrees(&shown, printed.lines());
    if let Err(line) = &result {
        eprintln!("{page}: no longer printed: {line}");
    }
    Ok(result.is_ok() && !shown.is_empty())
}

/// Returns the lines of the code blocks of a page.
fn shown(text: &str) -> Vec<&str> {
    let blocks = text.split("\n```console\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap_or(rest));
    blocks.flat_map(str::lines).collect()
}

/// Runs the commands among these lines in one shell, and ends what they have started. Returns each command with
/// what it prints below it, and with a word if it fails and should print nothing.
fn run(shown: &[&str]) -> Result<String, String> {
    // All that was started is in the group of `timeout`.
    let mut script = "trap 'kill -KILL 0' EXIT\n".to_owned();
    for (at, line) in shown.iter().enumerate() {
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let is_silent = shown.get(at + 1).is_none_or(|next| next.starts_with("$ "));
        let end = if is_silent { "|| echo failed" } else { "" };
        script += &format!("cat <<'END'\n{line}\nEND\n{{ {command}\n}} {end}\n");
    }
    let failed = |e: std::io::Error| format!("{LOG}: {e}");
    let log = std::fs::File::create(LOG).map_err(failed)?;
    let mut shell = Command::new("timeout");
    shell.args(["--signal=KILL", LIMIT, "bash", "-c", &script]);
    shell.stdin(Stdio::null());
    shell.stderr(log.try_clone().map_err(failed)?).stdout(log);
    shell.status().map_err(|e| not_run(&shell, &e))?;
    read(LOG)
}

/// Compares the lines that a page shows with those that were printed; an error is the first shown
/// line that was not printed, or says which line was printed after the last.
fn agrees<'l>(shown: &[&str], printed: impl Iterator<Item = &'l str>) -> Result<(), String> {
    let is_full = |line: &String| !line.is_empty();
    let printed: Vec<String> = printed.map(without_numbers).filter(is_full).collect();
    let mut rest = &printed[..];
    let mut skip = false;
    for line in shown.iter().filter(|line| !line.trim().is_empty()) {
        if line.trim() == "..." {
            skip = true;
            continue;
        }
        let wanted = without_numbers(line);
        let mut at = rest.iter().position(|line| *line == wanted);
        at = at.filter(|at| skip || *at == 0);
        rest = &rest[at.ok_or_else(|| (*line).to_owned())? + 1..];
        skip = false;
    }
    match rest {
        [line, ..] if !skip => Err(format!("nothing more (but: {line})")),
        _ => Ok(()),
    }
}

/// Returns a line with `#` in place of each number and address, and without what alignment adds.
fn without_numbers(line: &str) -> String {
    let mut plain = String::new();
    let mut chars = line.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '0'..='9' => {
                let is_hex = c == '0' && chars.peek() == Some(&'x');
                let goes_on = |&c: &char| {
                    ".,_".contains(c)
                        || c.is_ascii_digit()
                        || is_hex && (c.is_ascii_hexdigit() || c == 'x')
                };
                while chars.next_if(goes_on).is_some() {}
                plain.push('#');
            }
            ' ' | '─' | '-' | '═' | '╌' if plain.ends_with(c) => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_differ_and_words_may_not() {
        let agree = |shown: &str, printed: &str| {
            let shown: Vec<&str> = shown.split('|').collect();
            agrees(&shown, printed.split('|'))
        };
        let shown = "3 objects at 0x7f00, 1.5 ms|...|end   of  12";
        let printed = "12 objects at 0xabcdef, 20 ms|more|more||end of 1,200|";
        assert_eq!(agree(shown, printed), Ok(()));
        let other = "12 strings at 0xabcdef, 20 ms|end of 3";
        let first = Err("3 objects at 0x7f00, 1.5 ms".to_owned());
        assert_eq!(agree(shown, other), first);
        assert_eq!(agree(shown, &printed[..34]), Err("end   of  12".to_owned()));
        assert!(agree("a", "a|b").is_err());
        assert_eq!(agree("a|...", "a|b"), Ok(()));
    }

    #[test]
    fn commands_run_in_one_shell_whose_programs_end_with_it() {
        let page = "\n```console\n$ x=5; echo a\na\n$ echo $x; false\n5\n$ false\n```\n$ no\n\n```console\n\
                    $ sleep 1000 & echo $!\n...\n$ exit 3\n$ true\n```\n";
        let run = run(&shown(page)).unwrap();
        let lines: Vec<&str> = run.lines().collect();
        let first = [
            "$ x=5; echo a",
            "a",
            "$ echo $x; false",
            "5",
            "$ false",
            "failed",
        ];
        assert_eq!(lines[..6], first);
        assert_eq!(lines.len(), 9, "no command after `exit`");
        // Killed at once, and gone a little later; nobody may have waited for it yet.
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", lines[7]));
        while stat().is_ok_and(|stat| !stat.contains(" Z ")) {
            std::thread::yield_now();
        }
    }
}
