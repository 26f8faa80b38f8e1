//! A headless Chromium, controlled through a pipe.
//!
//! Its options `--dump-dom` and `--screenshot` are not enough: some builds lack them, and they cannot
//! run scripts, of which the page has none.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{env, fs, thread};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// The names of its packages' programs.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Returns the path of the browser: the value of `CHROMIUM`, or one in `PATH`.
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
    /// Starts the browser. Its profile and its log are in `folder`.
    pub fn start(program: &Path, folder: &Path) -> Self {
        let profile = folder.join(format!("profile-{}", std::process::id()));
        fs::create_dir_all(&profile).expect("the profile can be created");
        let log = File::create(folder.join("browser.log")).expect("the log can be created");
        // It reads orders from file descriptor 3, and writes answers to 4.
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
            .expect("the browser starts");
        let orders = child.stdin.take().expect("stdin is a pipe");
        let output = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (sender, answers) = channel();
        // A thread of its own, so that waits for answers can time out.
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
        self.answers
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|e| panic!("the browser does not answer {what}: {e}; see browser.log"))
    }

    /// Calls a method of the browser and returns the result.
    pub fn order(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut order = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let text = format!("{order}\0");
        let sent = self.orders.write_all(text.as_bytes());
        sent.expect("the browser is running");
        loop {
            let mut answer = self.next(method);
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
        }
    }

    /// Sets the width of the window, the colour scheme, and the medium.
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

    /// Calls a function in the page and returns its result.
    pub fn ask(&mut self, function: &str) -> Value {
        let call = json!({ "expression": format!("({function})()"), "returnByValue": true });
        let mut answer = self.order("Runtime.evaluate", call);
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        answer["result"]["value"].take()
    }

    /// Returns a screenshot of a part of the page, as PNG.
    pub fn picture(&mut self, part: &Value) -> Vec<u8> {
        let what = json!({ "format": "png", "clip": part, "captureBeyondViewport": true });
        let answer = self.order("Page.captureScreenshot", what);
        let picture = answer["data"].as_str().expect("the answer has a picture");
        BASE64_STANDARD.decode(picture).expect("it is base 64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Fails if the browser has already ended.
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
