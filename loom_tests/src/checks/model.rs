//! `Model`: a scenario of a few threads, and which outcomes it must reach.

use std::sync::Arc;

/// One model. Its threads end with `model::thread_exit`; the runner ends the main thread, and then
/// asserts that no object is alive.
pub struct Model {
    pub name: &'static str,
    pub about: &'static str,
    /// The bound on preemptions, if there is one: see [`bounded`](Self::bounded).
    pub bound: Option<usize>,
    /// The bound in the plain mode, if it differs there.
    pub plain_bound: Option<usize>,
    /// Exactly the outcomes that all executions together must reach, so that a model that stops
    /// interleaving fails.
    pub outcomes: &'static [&'static str],
    /// The outcomes in the plain mode, if they differ there.
    pub plain_outcomes: Option<&'static [&'static str]>,
    /// True if waits with a limit end when no thread can run.
    pub time_passes: bool,
    /// For canaries: part of the message that loom must fail with.
    pub must_fail: Option<&'static str>,
    /// Runs one execution; returns its outcome.
    pub body: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The result of a model's body: the text of the outcome, or its index among the model's outcomes.
pub trait Outcome: 'static {
    fn text(self, outcomes: &[&str]) -> String;
}

impl Outcome for String {
    fn text(self, _: &[&str]) -> String {
        self
    }
}

impl Outcome for &'static str {
    fn text(self, _: &[&str]) -> String {
        self.to_owned()
    }
}

/// The number of the outcome, from 0.
impl Outcome for usize {
    fn text(self, outcomes: &[&str]) -> String {
        outcomes[self].to_owned()
    }
}

/// True is the first outcome, and false the second.
impl Outcome for bool {
    fn text(self, outcomes: &[&str]) -> String {
        usize::from(!self).text(outcomes)
    }
}

/// For canaries, which have no outcomes.
impl Outcome for () {
    fn text(self, _: &[&str]) -> String {
        String::new()
    }
}

impl Model {
    /// Makes a model with two outcomes at least.
    pub fn new<O: Outcome>(
        name: &'static str,
        about: &'static str,
        outcomes: &'static [&'static str],
        body: fn() -> O,
    ) -> Self {
        assert!(
            outcomes.len() >= 2,
            "one outcome does not show that the threads of {name} have met: see `overlap`"
        );
        Self::with(name, about, outcomes, body)
    }

    fn with<O: Outcome>(
        name: &'static str,
        about: &'static str,
        outcomes: &'static [&'static str],
        body: fn() -> O,
    ) -> Self {
        Self {
            name,
            about,
            bound: None,
            plain_bound: None,
            outcomes,
            plain_outcomes: None,
            time_passes: false,
            must_fail: None,
            body: Arc::new(move || body().text(outcomes)),
        }
    }

    /// Makes a model that loom must fail with a message that contains `must_fail`.
    pub fn canary(
        name: &'static str,
        about: &'static str,
        must_fail: &'static str,
        body: fn(),
    ) -> Self {
        Self {
            must_fail: Some(must_fail),
            ..Self::with(name, about, &[], body)
        }
    }

    /// Sets the outcomes of the plain mode, if they differ: mostly they are fewer, as loom does not
    /// explore there what other threads do between a thread's load and its next operation.
    pub fn plain(mut self, outcomes: &'static [&'static str]) -> Self {
        self.plain_outcomes = Some(outcomes);
        self
    }

    /// Lets time pass: for models of time-outs. In other models time does not pass, so that a
    /// missed wake-up is a deadlock.
    pub fn timed(mut self) -> Self {
        self.time_passes = true;
        self
    }

    /// Bounds the preemptions, which are switches from a thread that could go on, as the model takes
    /// too long without a bound.
    ///
    /// To enter the registry a thread makes at least six atomic operations, to exit many more, and a
    /// sleep adds locks. Each multiplies the executions, but is not what the model is about: the models
    /// of `registry` and `exit` check the first two.
    ///
    /// The bound is enough if the race that the model is about fits in it, and most mistakes need one
    /// preemption or two. So within its bound a model must reach each of its outcomes, and it must fail
    /// when `ci/mutate.sh weaken` weakens an ordering whose comment names the model. A comment beside a
    /// bound says why the bound is not higher or not lower.
    pub fn bounded(mut self, preemptions: usize) -> Self {
        self.bound = Some(preemptions);
        self
    }

    /// Sets the bound, if the model has none of its own.
    pub fn else_bounded(mut self, preemptions: usize) -> Self {
        self.bound = self.bound.or(Some(preemptions));
        self
    }

    /// Sets another bound for the plain mode, where executions may be fewer or more.
    pub fn plain_bounded(mut self, preemptions: usize) -> Self {
        self.plain_bound = Some(preemptions);
        self
    }

    /// Returns the bound on preemptions in a mode.
    pub fn bound_in(&self, mode: &str) -> Option<usize> {
        match mode {
            "plain" => self.plain_bound.or(self.bound),
            _ => self.bound,
        }
    }
}

/// Makes a model whose body is the function that has the model's name, with two outcomes at least.
macro_rules! model {
    ($name:ident, $about:expr, $outcomes:expr $(,)?) => {
        Model::new(stringify!($name), $about, $outcomes, $name)
    };
}
pub(crate) use model;
