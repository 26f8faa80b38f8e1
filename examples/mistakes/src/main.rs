//! Mistakes in the use of releasepool, and what it says of each: `cargo run -p releasepool-mistakes`.
//!
//! Each mistake is made in a process of its own, as some of them abort it. What the process writes
//! to standard error is what your program would write. With `-- NAME` only that mistake is made; anything
//! else, such as `-- --help`, lists the names.

mod mistakes;

use mistakes::{MISTAKES, Mistake};
use std::process::{Command, ExitCode, Stdio};

/// The environment variable that names the mistake that a process is to make.
const CHILD: &str = "RELEASEPOOL_MISTAKE";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CHILD) {
        let mistake = find(&name).expect("this process's parent knows the mistakes");
        (mistake.make)();
        return ExitCode::SUCCESS;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut mistakes = Vec::new();
    for name in &args {
        let Some(mistake) = find(name) else {
            eprintln!("there is no mistake {name:?}. These are:");
            for Mistake { name, what, .. } in MISTAKES {
                eprintln!("  {name:24}{what}");
            }
            return ExitCode::from(2);
        };
        mistakes.push(mistake);
    }
    match mistakes.is_empty() {
        true => MISTAKES.iter().for_each(show),
        false => mistakes.into_iter().for_each(show),
    }
    ExitCode::SUCCESS
}

fn find(name: &str) -> Option<&'static Mistake> {
    MISTAKES.iter().find(|mistake| mistake.name == name)
}

/// Makes a mistake in a process of its own, and shows what that writes, and how it ends.
fn show(mistake: &Mistake) {
    println!("== {}: {}", mistake.name, mistake.what);
    let this = std::env::current_exe().expect("the path of this program");
    let child = Command::new(this)
        .env(CHILD, mistake.name)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .output()
        .expect("this program runs");
    print!("{}", String::from_utf8_lossy(&child.stderr));
    println!("   {}\n", child.status);
}
