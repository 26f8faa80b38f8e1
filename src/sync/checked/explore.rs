//! Explores a model with loom, on a separate thread.
//!
//! loom cannot clean up after a failure: the threads of the model are coroutines, and unwinding
//! them uses loom from outside a model, which aborts the process. So the panic hook reports a panic
//! on an exploring thread, and the thread then parks forever at the next place where it may: in the
//! operation that panicked, in the next operation of a destructor, or at the bottom of the
//! coroutine. It cannot park in the hook itself, which holds a lock of std. To the caller, the
//! failure is an ordinary value.

use crate::event::text_of;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::time::Duration;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// One execution of a model.
pub(crate) type Body = Arc<dyn Fn() + Send + Sync>;

/// The bounds of an exploration.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) preemption_bound: Option<usize>,
    pub(crate) max_branches: usize,
    /// The exploration stops after this number of executions.
    pub(crate) limit: Option<usize>,
}

/// The failure of a model, and the number of its execution, from 1.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) message: String,
    pub(crate) execution: usize,
}

enum Progress {
    Done,
    Failed(String),
    /// The next execution to run is the one whose path is to be written.
    Reached,
}

std::thread_local! {
    /// The channel by which an exploring thread reports its progress.
    static EXPLORING: RefCell<Option<Sender<Progress>>> = const { RefCell::new(None) };
    /// True if the exploring thread must do nothing more.
    static STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// Sends `progress` and stops the exploration, if the calling thread explores a model.
fn stop_with(progress: impl FnOnce() -> Progress) {
    if let Ok(Some(sender)) = EXPLORING.try_with(|e| e.try_borrow_mut().ok()?.take()) {
        STOPPED.set(true);
        // The caller may have stopped listening.
        let _ = sender.send(progress());
    }
}

/// Parks the calling thread forever if it explores a model and [`stop_with`] has stopped it.
pub(crate) fn halt() {
    while STOPPED.get() {
        std::thread::park();
    }
}

/// Parks forever when a panic of loom unwinds through an operation.
pub(super) struct Halt;

impl Drop for Halt {
    fn drop(&mut self) {
        halt();
    }
}

/// Reports a failure that would abort the process. In a model, does not return.
pub(crate) fn fail(message: &str) {
    stop_with(|| Progress::Failed(message.to_owned()));
    halt();
}

/// Runs the body of a thread of a model; parks forever if that panics.
pub(super) fn coroutine<R>(f: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(payload) => {
            halt();
            // Something other than this module runs the model.
            std::panic::resume_unwind(payload)
        }
    }
}

fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            before(info);
            stop_with(|| {
                let text = text_of(info.payload());
                let text = text.unwrap_or_else(|| "a panic without a text".to_owned());
                let at = info.location().map(|at| format!("\n  at {at}"));
                Progress::Failed(text.trim().to_owned() + &at.unwrap_or_default())
            });
        }));
    });
}

struct Exploration {
    progress: Receiver<Progress>,
    executions: Arc<AtomicUsize>,
}

/// Starts an exploration, which parks before execution `stop_at`.
fn start(builder: loom::model::Builder, logs: bool, stop_at: usize, body: Body) -> Exploration {
    install_hook();
    let (sender, progress) = channel();
    let executions = Arc::new(AtomicUsize::new(0));
    let count = executions.clone();
    let name = std::thread::current().name().map(str::to_owned);
    let explore = move || {
        let _logs = logs.then(|| {
            let default = EnvFilter::new("loom=info");
            let filter = EnvFilter::try_from_env("LOOM_LOG").unwrap_or(default);
            let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
            let subscriber = subscriber
                .with_test_writer()
                .without_time()
                .with_ansi(false);
            subscriber.finish().set_default()
        });
        EXPLORING.set(Some(sender));
        builder.check(move || {
            if count.fetch_add(1, Ordering::Relaxed) + 1 == stop_at {
                stop_with(|| Progress::Reached);
                halt();
            }
            coroutine(|| body());
        });
        stop_with(|| Progress::Done);
    };
    std::thread::Builder::new()
        .name(name.unwrap_or_else(|| "model".to_owned()))
        .spawn(explore)
        .expect("a thread can be started");
    Exploration {
        progress,
        executions,
    }
}

impl Plan {
    fn builder(&self) -> loom::model::Builder {
        // Overrides environment variables that make loom stop early and pass.
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = self.preemption_bound;
        builder.max_branches = self.max_branches;
        builder.max_duration = None;
        builder.checkpoint_file = None;
        // loom checks this limit only where it would write a checkpoint.
        builder.max_permutations = self.limit.map(|limit| limit + 1);
        builder.checkpoint_interval = if self.limit.is_some() { 1 } else { usize::MAX };
        builder
    }

    /// Runs the executions of `body`; returns their number.
    pub(crate) fn run(&self, body: Body) -> Result<usize, Failed> {
        let logs = std::env::var_os("LOOM_LOG").is_some();
        start(self.builder(), logs, usize::MAX, body).finish()
    }

    /// Runs the execution whose path is in `file`, with logs.
    pub(crate) fn replay(&self, file: &Path, body: Body) -> Result<usize, Failed> {
        let mut builder = Self {
            limit: Some(1),
            ..self.clone()
        }
        .builder();
        builder.checkpoint_file = Some(file.to_owned());
        builder.location = true;
        builder.log = true;
        start(builder, true, usize::MAX, body).finish()
    }

    /// Writes the path of execution `n` to `file`, by running all executions before it again on
    /// another thread. Returns whether the path was written: not if the model depends on anything
    /// other than its interleaving.
    pub(crate) fn write_path(&self, n: usize, file: PathBuf, body: Body) -> bool {
        // The model may wait forever for a lock that the failed execution holds.
        const STUCK: Duration = Duration::from_secs(10);
        let mut builder = self.builder();
        builder.max_permutations = None;
        builder.checkpoint_file = Some(file);
        // Makes loom write the path before execution `n` only.
        builder.checkpoint_interval = n;
        let exploration = start(builder, false, n, body);
        let mut before = 0;
        loop {
            match exploration.progress.recv_timeout(STUCK) {
                Ok(progress) => return matches!(progress, Progress::Reached),
                Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {
                    let now = exploration.executions.load(Ordering::Relaxed);
                    if now == before {
                        return false;
                    }
                    before = now;
                }
            }
        }
    }
}

impl Exploration {
    fn finish(self) -> Result<usize, Failed> {
        let progress = self.progress.recv();
        let execution = self.executions.load(Ordering::Relaxed);
        let message = match progress {
            Ok(Progress::Done) => return Ok(execution),
            Ok(Progress::Failed(message)) => message,
            Ok(Progress::Reached) | Err(_) => "the exploring thread ended early".to_owned(),
        };
        Err(Failed { message, execution })
    }
}
