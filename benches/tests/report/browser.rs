//! A Chromium without a window, told what to do through a pipe.
//!
//! Its `--dump-dom` and `--screenshot` would not do: some builds are without them, and
//! what is asked of the page here would have to be a script in it, which it has not.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, fs, thread};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// As it is called by those who package it.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Where it is installed: what `CHROMIUM` names, or one that is in the path.
pub fn installed() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    let folders: Vec<_> = env::split_paths(&path).collect();
    let found = |name: &&str| {
        folders
            .iter()
            .map(move |folder| folder.join(name))
            .find(|p| p.is_file())
    };
    NAMES.iter().find_map(|name| found(&name))
}

/// A running browser, with one page.
pub struct Browser {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last: u64,
    profile: PathBuf,
}

impl Browser {
    /// Starts it; what it writes and says is left in `folder`.
    pub fn start(program: &Path, folder: &Path) -> Self {
        let profile = folder.join(format!("profile-{}", std::process::id()));
        fs::create_dir_all(&profile).expect("a folder for its files");
        let log = File::create(folder.join("browser.log")).expect("a file for what it says");
        // It reads orders from file 3 and answers to file 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--remote-debugging-pipe", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("it starts");
        let orders = child.stdin.take().expect("is a pipe");
        let output = BufReader::new(child.stdout.take().expect("is a pipe"));
        let (sender, answers) = channel();
        // So that waiting for it can end.
        thread::spawn(move || {
            for message in output.split(0) {
                let message = message
                    .ok()
                    .and_then(|text| serde_json::from_slice(&text).ok());
                if message.is_none_or(|message| sender.send(message).is_err()) {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            orders,
            answers,
            session: None,
            last: 0,
            profile,
        };
        let page = browser.order("Target.createTarget", json!({ "url": "about:blank" }));
        let page = json!({ "targetId": page["targetId"], "flatten": true });
        let session = browser.order("Target.attachToTarget", page);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        browser.order("Page.enable", json!({}));
        browser
    }

    fn next(&self, what: &str) -> Value {
        self.answers.recv_timeout(PATIENCE).unwrap_or_else(|e| {
            panic!("the browser says nothing after {what}: {e}; see browser.log")
        })
    }

    /// Has it do something, and gives its answer.
    pub fn order(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut order = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let text = format!("{order}\0");
        self.orders.write_all(text.as_bytes()).expect("it listens");
        loop {
            let mut answer = self.next(method);
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
        }
    }

    /// How wide the window is, and whether the user likes it dark.
    pub fn look(&mut self, width: u32, scheme: &str, media: &str) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.order("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.order(
            "Emulation.setEmulatedMedia",
            json!({ "media": media, "features": features }),
        );
    }

    /// Opens a file.
    pub fn open(&mut self, file: &Path) {
        let url = format!("file://{}", file.display());
        let answer = self.order("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{answer}");
        while self.next("opening")["method"] != "Page.loadEventFired" {}
    }

    /// What a function gives, called in the page.
    pub fn ask(&mut self, function: &str) -> Value {
        let call = json!({ "expression": format!("({function})()"), "returnByValue": true });
        let mut answer = self.order("Runtime.evaluate", call);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].take()
    }

    /// A picture of a part of the page, as PNG in base 64.
    pub fn picture(&mut self, part: &Value) -> String {
        let what = json!({ "format": "png", "clip": part, "captureBeyondViewport": true });
        let answer = self.order("Page.captureScreenshot", what);
        answer["data"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self
            .orders
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..30 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}

/// What a text in base 64 means.
pub fn decoded(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => u32::from(c - b'A'),
        b'a'..=b'z' => u32::from(c - b'a') + 26,
        b'0'..=b'9' => u32::from(c - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0, |bits, &c| bits << 6 | value(c));
        let bits = bits << (6 * (4 - four.len()));
        out.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    out
}
