//! Processes to inspect: the test's own executable, run again with a role to play.
#![allow(dead_code, reason = "each test file uses its own part")]

use procfs::process::Process;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The environment variable with the role that the test `role` plays.
pub const ROLE: &str = "RELEASEPOOL_INSPECT_ROLE";

/// A process that plays a role. It is killed when this is dropped.
pub struct Target {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Target {
    /// Starts a process and waits until it is ready.
    pub fn start(role: &str) -> Target {
        Target::start_by(role, |_| {})
    }

    /// Starts a process whose command `change` has changed.
    pub fn start_by(role: &str, change: impl FnOnce(&mut Command)) -> Target {
        let mut command = Command::new(std::env::current_exe().unwrap());
        change(&mut command);
        Target::start_command(command, role)
    }

    /// Starts a command that runs this program, or a copy of it.
    pub fn start_command(mut command: Command, role: &str) -> Target {
        command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
        let mut target = Target::spawn(command.env(ROLE, role));
        assert_eq!(target.answer(), "ready");
        target
    }

    /// Starts a program.
    pub fn spawn(command: &mut Command) -> Target {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Target {
            child,
            input,
            output,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line; returns the line that the process answers.
    pub fn ask(&mut self, question: &str) -> String {
        self.tell(question);
        self.answer()
    }

    /// Sends a line, whose answer is not waited for.
    pub fn tell(&mut self, question: &str) {
        writeln!(self.input, "{question}").unwrap();
    }

    /// Returns the next line.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).unwrap();
        let child = &mut self.child;
        assert!(read > 0, "the process has ended: {:?}", child.try_wait());
        line
    }

    /// Returns the next answer; skips lines of the test harness.
    pub fn answer(&mut self) -> String {
        loop {
            let line = self.line();
            if let Some((_, answer)) = line.trim_end().split_once("> ") {
                return answer.to_owned();
            }
        }
    }

    /// Returns the state of the process, such as `R`, `S`, `T`, `t` or `Z`.
    pub fn state(&self) -> char {
        state(self.pid())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the state of a process; `?` if there is none.
pub fn state(pid: u32) -> char {
    let stat = Process::new(pid as i32).and_then(|process| process.stat());
    stat.map_or('?', |stat| stat.state)
}

/// Returns the role that this process plays, if it was started by [`Target`].
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Sends an answer to the process that has started this one.
pub fn tell(answer: &str) {
    // One write for the whole line, so that the test harness cannot write in between.
    std::io::stdout()
        .write_all(format!("> {answer}\n").as_bytes())
        .unwrap();
    std::io::stdout().flush().unwrap();
}

/// Sends `ready`, and then answers each line by `answer`.
pub fn serve(mut answer: impl FnMut(&str) -> String) -> ! {
    tell("ready");
    for line in std::io::stdin().lines() {
        tell(&answer(&line.unwrap()));
    }
    std::process::exit(0)
}

/// A directory for files of a test, which is removed when this is dropped.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(test: &str) -> Directory {
        let name = format!("releasepool-inspect-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Directory(path.canonicalize().unwrap())
    }

    /// Makes gdb save a core file of a process, which goes on; `None` if gdb is not installed.
    pub fn core_of(&self, pid: u32) -> Option<PathBuf> {
        let prefix = self.0.join("core");
        let mut gcore = Command::new("gcore");
        let gcore = gcore.arg("-o").arg(&prefix).arg(pid.to_string());
        if gcore.output().is_err() {
            eprintln!("skipped: gcore is not installed");
            return None;
        }
        Some(prefix.with_extension(pid.to_string()))
    }

    pub fn copy_of_this_program(&self) -> PathBuf {
        let copy = self.0.join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        copy
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of the inspector.
pub struct Output {
    pub code: i32,
    pub text: String,
    pub error: String,
}

impl Output {
    /// Returns the output of a command that was carried out.
    pub fn success(self) -> String {
        assert_eq!(self.code, 0, "{}", self.error);
        self.text
    }

    /// Returns the output as JSON.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.success()).expect("the output is JSON")
    }
}

/// Runs the inspector.
pub fn inspect(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_releasepool-inspect");
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    Output {
        code: output.status.code().expect("the inspector exits"),
        text: text(output.stdout),
        error: text(output.stderr),
    }
}
