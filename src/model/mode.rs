//! `Mode`, which determines how a model performs loads.

use std::fmt;

/// Determines how a model performs loads.
///
/// Each mode reaches executions that the other one does not, so a model is checked in both.
///
/// ```
/// # #[cfg(loom)] {
/// use releasepool::model::Mode;
/// for mode in Mode::ALL {
///     assert_eq!(Mode::from_name(&mode.to_string()), Some(mode));
/// }
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Loads are plain loads and may read stale values.
    Plain,
    /// Loads are read-modify-writes, and stores are exchanges: they see the newest value and
    /// interleave with every other access. The first `compare_exchange_weak` of an execution fails.
    Rmw,
}

impl Mode {
    /// Both modes, in the order in which [`Builder`](super::Builder) runs them.
    pub const ALL: [Self; 2] = [Self::Plain, Self::Rmw];

    /// Returns the mode with this name, as [`Display`](fmt::Display) writes it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Rmw => "rmw",
        }
    }
}

/// Writes `plain` or `rmw`.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
