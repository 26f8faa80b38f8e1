//! Checks that the commands that a page shows print what it shows.

use crate::command::{Outcome, not_run, read};
use std::process::{Command, Stdio};

/// How long all commands of a page may take, in seconds.
const LIMIT: &str = "1800";

/// Where the shell writes what the commands print.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guide.log");

/// The line that ends the output of a command, before its exit code.
const END: &str = "=== end of command, exit code ";

/// Runs the commands that a page shows, and returns whether all print what the page shows.
///
/// Commands are the lines that begin with `$ ` in code blocks of the language `console`; `\` at the end
/// continues a command. All run in one shell, in the root of the project, one after the other, so a
/// later one can use what an earlier one has started. The lines below a command are its output, errors
/// included; a command without any must succeed. Numbers, addresses and the spaces around them may
/// differ; a line `...` stands for any lines.
pub fn check(page: &str) -> Outcome {
    let text = read(page)?;
    let blocks = blocks(&text, "console");
    let shown: Vec<_> = blocks.iter().flat_map(|block| commands(block)).collect();
    let run = run(shown.iter().map(|(command, _)| &**command))?;
    let mut complaints = Vec::new();
    for ((command, output), (printed, exit_code)) in shown.iter().zip(&run) {
        println!("$ {command}\n{}", printed.join("\n"));
        if output.is_empty() && exit_code != "0" {
            complaints.push(format!("`{command}` failed with exit code {exit_code}"));
        } else if !output.is_empty()
            && let Err(line) = agrees(output, printed)
        {
            complaints.push(format!("`{command}` no longer prints: {line}"));
        }
    }
    match shown.get(run.len()) {
        Some((command, _)) => complaints.push(format!("`{command}` has no end")),
        None if shown.is_empty() => complaints.push("no command is shown".to_owned()),
        None => {}
    }
    let print = |complaint: &String| eprintln!("{page}: {complaint}");
    complaints.iter().for_each(print);
    Ok(complaints.is_empty())
}

/// Returns the code blocks of a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("\n```{language}\n");
    let blocks = text.split(&begin).skip(1);
    blocks
        .map(|rest| rest.split("\n```").next().unwrap_or(rest))
        .collect()
}

/// Returns the commands of a block, each with the lines below it.
fn commands(block: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), Vec::new())),
            (None, Some((command, output))) if output.is_empty() && command.ends_with('\\') => {
                *command += &format!("\n{line}");
            }
            (None, Some((_, output))) => output.push(line.to_owned()),
            (None, None) => {}
        }
    }
    found
}

/// Runs commands in one shell, and ends what they have started. Returns what each prints, and its exit
/// code, of those that have ended.
fn run<'c>(commands: impl Iterator<Item = &'c str>) -> Result<Vec<(Vec<String>, String)>, String> {
    // A command may not end its line.
    let with_end = |command| format!("{command}\nprintf '\\n%s%d\\n' '{END}' $?\n");
    // All that was started is in the group of `timeout`.
    let script =
        "trap 'kill -KILL 0' EXIT\n".to_owned() + &commands.map(with_end).collect::<String>();
    let failed = |e: std::io::Error| format!("{LOG}: {e}");
    let log = std::fs::File::create(LOG).map_err(failed)?;
    let mut shell = Command::new("timeout");
    shell.args(["--signal=KILL", LIMIT, "bash", "-c", &script]);
    shell.stdin(Stdio::null());
    shell.stderr(log.try_clone().map_err(failed)?).stdout(log);
    shell.status().map_err(|e| not_run(&shell, &e))?;
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for line in read(LOG)?.lines() {
        match line.strip_prefix(END) {
            Some(exit_code) => {
                lines.pop_if(|line: &mut String| line.is_empty());
                found.push((std::mem::take(&mut lines), exit_code.to_owned()));
            }
            None => lines.push(line.to_owned()),
        }
    }
    Ok(found)
}

/// Compares the lines that a page shows with those that were printed; an error is the first shown
/// line that was not printed, or the first printed one that is not shown.
fn agrees(shown: &[String], printed: &[String]) -> Result<(), String> {
    let printed: Vec<String> = printed.iter().map(|line| without_numbers(line)).collect();
    let mut rest = &printed[..];
    let mut skip = false;
    for line in shown {
        if line.trim() == "..." {
            skip = true;
            continue;
        }
        let wanted = without_numbers(line);
        let mut at = rest.iter().position(|line| *line == wanted);
        at = at.filter(|at| skip || *at == 0);
        rest = &rest[at.ok_or_else(|| line.clone())? + 1..];
        skip = false;
    }
    match rest.iter().find(|line| !line.is_empty()) {
        Some(line) if !skip => Err(format!("nothing more (but: {line})")),
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

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_have_the_lines_below_them() {
        let found = commands("$ a \\\n    b\nx\ny\n$ c\n$ d &\n");
        let found: Vec<_> = found
            .iter()
            .map(|(command, output)| (&**command, output.len()))
            .collect();
        assert_eq!(found, [("a \\\n    b", 2), ("c", 0), ("d &", 0)]);
    }

    #[test]
    fn numbers_may_differ_and_words_may_not() {
        let shown = lines("3 objects at 0x7f00, 1.5 ms\n...\nend   of  12\n");
        let printed = lines("12 objects at 0xabcdef, 20 ms\nmore\nmore\nend of 1,200\n\n");
        assert_eq!(agrees(&shown, &printed), Ok(()));
        let other = lines("12 strings at 0xabcdef, 20 ms\nend of 3\n");
        assert_eq!(agrees(&shown, &other), Err(shown[0].clone()));
        assert_eq!(agrees(&shown, &printed[..2]), Err(shown[2].clone()));
        let printed = lines("a\nb\n");
        assert!(agrees(&lines("a\n"), &printed).is_err());
        assert_eq!(agrees(&lines("a\n...\n"), &printed), Ok(()));
    }

    #[test]
    fn commands_run_in_one_shell_whose_programs_end_with_it() {
        let run = run([
            "x=5; printf a",
            "echo $x; false",
            "sleep 1000 & echo $!",
            "exit 3",
            "true",
        ]
        .into_iter());
        let run = run.unwrap();
        let ended = |text, code: &str| (lines(text), code.to_owned());
        assert_eq!(run[..2], [ended("a", "0"), ended("5", "1")]);
        assert_eq!(run.len(), 3, "no command after `exit`");
        // Killed at once, and gone a little later; nobody may have waited for it yet.
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", run[2].0[0]));
        while stat().is_ok_and(|stat| !stat.contains(" Z ")) {
            std::thread::yield_now();
        }
    }
}
