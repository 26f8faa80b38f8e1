//! What each command is made of: its outcome, files of the project, and other programs.

use std::path::Path;
use std::process::{Command, ExitStatus};

/// True if all is well; an error says why that cannot be told.
pub type Outcome = Result<bool, String>;

/// Reads a file of the project.
pub fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{path} cannot be read: {e}"))
}

/// Prints what is run, and runs it.
pub fn step(command: &mut Command) -> Result<ExitStatus, String> {
    let args = command.get_args().map(|arg| arg.to_string_lossy());
    let words: Vec<_> = std::iter::once(command.get_program().to_string_lossy())
        .chain(args)
        .collect();
    println!("\n== {} ==", words.join(" "));
    command.status().map_err(|e| not_run(command, &e))
}

/// Returns the output of a program; its errors go where ours go.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|e| not_run(command, &e))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{command:?} failed: {}", output.status))
    }
}

pub fn git(args: &[&str]) -> Result<String, String> {
    output(Command::new("git").args(args))
}

/// Returns the files of the project as they are now: those that git tracks and new ones, without those that
/// were deleted.
pub fn working_files() -> Result<Vec<String>, String> {
    let files = git(&[
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ])?;
    let files = files.split('\0').filter(|file| Path::new(file).is_file());
    Ok(files.map(str::to_owned).collect())
}

pub fn not_run(command: &Command, error: &std::io::Error) -> String {
    format!(
        "{} cannot be run: {error}",
        command.get_program().to_string_lossy()
    )
}
