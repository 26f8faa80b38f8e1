//! What callers and all files of this folder share: whether misuse is detected, and the types by which
//! callers describe objects and calls.

#[cfg(feature = "leak-detection")]
use super::label::PoolLabel;

/// True if misuse of raw pointers, handles and blocks is detected: in debug builds and with the
/// feature `checks`.
pub(crate) const CHECKS: bool = cfg!(any(debug_assertions, feature = "checks"));

/// Writes the message about a misuse, and aborts the process.
#[cold]
#[inline(never)]
pub(crate) fn abort(message: &str) -> ! {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "releasepool: {message}; aborting");
    crate::sync::abort(message)
}

/// Describes the type of a new object.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "leak-detection"),
    allow(dead_code, reason = "nothing records it")
)]
pub(crate) struct ObjectDescription {
    /// The address of the type info, for readers outside the process.
    pub(crate) type_info: *const (),
    pub(crate) type_name: fn() -> &'static str,
    /// The size of the allocation, header included.
    pub(crate) bytes: usize,
}

/// A call that turns a pointer into a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawCall {
    FromRaw,
    Increment,
    Decrement,
    WeakFromRaw,
}

impl RawCall {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FromRaw => "Ref::from_raw",
            Self::Increment => "Ref::increment_strong_count",
            Self::Decrement => "Ref::decrement_strong_count",
            Self::WeakFromRaw => "Weak::from_raw",
        }
    }

    /// Returns the words for a message about such a call with a dead object.
    #[cfg(feature = "leak-detection")]
    pub(super) fn misuse(self) -> &'static str {
        match self {
            Self::FromRaw => "used after its death",
            Self::Increment => "retained after its last release",
            Self::Decrement => "released more often than it was retained",
            Self::WeakFromRaw => "used after its memory was freed",
        }
    }
}

/// The name of a pool; empty without the ledger.
#[cfg(not(feature = "leak-detection"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PoolLabel;

#[cfg(not(feature = "leak-detection"))]
impl PoolLabel {
    pub(crate) const UNNAMED: Self = Self;
    pub(crate) const ROOT: Self = Self;
    pub(crate) const TOKEN: Self = Self;
    pub(crate) const HANDOFF: Self = Self;

    #[inline(always)]
    pub(crate) fn of(_name: &str) -> Self {
        Self
    }
}

/// The kind of code that gave up a strong reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReleasedBy {
    /// By the drop of a handle, a message or a slot.
    Handle,
    /// By the drain of a pool of this name.
    Pool(PoolLabel),
}
