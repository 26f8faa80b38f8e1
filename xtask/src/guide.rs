//! Runs the commands that a page shows, and compares what they print with what the page shows.
//!
//! Commands are the lines that begin with `$ ` in code blocks of the language `console`; `\` at the
//! end continues a command. All run in one shell, in the root of the project, one after the other,
//! so a later one can use what an earlier one has started. The lines below a command are its
//! output, errors included; a command without any must succeed. Numbers, addresses and the spaces
//! around them may differ; a line `...` stands for any lines.

use crate::{Outcome, command, markdown, read};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long one command may take.
const TIMEOUT: Duration = Duration::from_secs(600);

/// The line that ends the output of a command, before its exit code.
const END: &str = "=== end of command, exit code ";

/// A command, and the lines that the page shows below it.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    command: String,
    output: Vec<String>,
}

/// Runs the commands of a page; returns whether all print what the page shows.
pub fn check(page: &str) -> Outcome {
    let shown: Vec<Shown> = markdown::blocks(&read(page)?, "console")
        .iter()
        .flat_map(|block| commands(block))
        .collect();
    if shown.is_empty() {
        return Err(format!("{page} shows no command"));
    }
    let mut shell = Shell::start()?;
    let mut all_agree = true;
    for shown in &shown {
        println!("$ {}", shown.command);
        let (lines, exit_code) = shell.run(&shown.command)?;
        for line in &lines {
            println!("{line}");
        }
        if shown.output.is_empty() && exit_code != "0" {
            eprintln!(
                "{page}: `{}` failed with exit code {exit_code}",
                shown.command
            );
            all_agree = false;
        } else if !shown.output.is_empty()
            && let Err(line) = agrees(&shown.output, &lines)
        {
            eprintln!("{page}: `{}` no longer prints: {line}", shown.command);
            all_agree = false;
        }
    }
    Ok(all_agree)
}

/// Returns the commands of a block.
fn commands(block: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut continues = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            found.push(Shown {
                command: command.to_owned(),
                output: Vec::new(),
            });
        } else if let Some(last) = found.last_mut() {
            if continues {
                last.command.push('\n');
                last.command.push_str(line);
            } else {
                last.output.push(line.to_owned());
                continue;
            }
        }
        continues = line.ends_with('\\');
    }
    found
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
        let at = if skip {
            rest.iter().position(|line| *line == wanted)
        } else {
            (rest.first() == Some(&wanted)).then_some(0)
        };
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
                let hex = c == '0' && chars.peek() == Some(&'x');
                while chars
                    .next_if(|&c| match c {
                        '.' | ',' | '_' => true,
                        c if hex => c.is_ascii_hexdigit() || c == 'x',
                        c => c.is_ascii_digit(),
                    })
                    .is_some()
                {}
                plain.push('#');
            }
            ' ' | '─' | '-' | '═' | '╌' if plain.ends_with(c) => {}
            c => plain.push(c),
        }
    }
    plain
}

/// A shell that runs one command after the other.
struct Shell {
    child: Child,
    commands: ChildStdin,
    lines: Receiver<String>,
}

impl Shell {
    fn start() -> Result<Self, String> {
        let mut bash = Command::new("bash");
        bash.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own, so that what runs in the background can be ended.
            .process_group(0);
        let mut child = bash.spawn().map_err(|e| command::not_run(&bash, &e))?;
        let mut commands = child.stdin.take().expect("it is piped");
        let output = child.stdout.take().expect("it is piped");
        writeln!(commands, "exec 2>&1").map_err(|e| e.to_string())?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            commands,
            lines,
        })
    }

    /// Runs a command; returns what it prints, and its exit code.
    fn run(&mut self, command: &str) -> Result<(Vec<String>, String), String> {
        // A command may not end its line. One write, as a command may end the shell.
        let text = format!("{command}\nprintf '\\n%s%d\\n' '{END}' $?\n");
        let written = self.commands.write_all(text.as_bytes());
        written.map_err(|e| format!("the shell has ended before `{command}`: {e}"))?;
        let deadline = Instant::now() + TIMEOUT;
        let mut lines: Vec<String> = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => match line.strip_prefix(END) {
                    Some(exit_code) => {
                        lines.pop_if(|line| line.is_empty());
                        return Ok((lines, exit_code.to_owned()));
                    }
                    None => lines.push(line),
                },
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("`{command}` takes longer than {TIMEOUT:?}"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("`{command}` has ended the shell"));
                }
            }
        }
    }
}

impl Drop for Shell {
    /// Ends the shell and what it has started in the background.
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.child.wait();
    }
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
            .map(|s| (&*s.command, s.output.len()))
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
    }

    #[test]
    fn what_is_printed_below_the_shown_lines_is_noticed() {
        let printed = lines("a\nb\n");
        assert!(agrees(&lines("a\n"), &printed).is_err());
        assert_eq!(agrees(&lines("a\n...\n"), &printed), Ok(()));
    }

    #[test]
    fn commands_run_in_one_shell() {
        let mut shell = Shell::start().unwrap();
        assert_eq!(
            shell.run("x=5; printf a").unwrap(),
            (lines("a"), "0".into())
        );
        let (printed, exit_code) = shell.run("echo $x; false").unwrap();
        assert_eq!((printed, &*exit_code), (lines("5"), "1"));
        assert!(shell.run("exit 3").unwrap_err().contains("ended the shell"));
    }

    #[test]
    fn what_a_shell_has_started_ends_with_it() {
        let mut shell = Shell::start().unwrap();
        let (printed, _) = shell.run("sleep 1000 & echo $!").unwrap();
        drop(shell);
        // Killed at once, and gone a little later; nobody may have waited for it yet.
        let is_gone = || {
            std::fs::read_to_string(format!("/proc/{}/stat", printed[0]))
                .map_or(true, |stat| stat.contains(" Z "))
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_gone() {
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::yield_now();
        }
    }
}
