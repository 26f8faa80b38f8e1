//! Definitions for callers and for all files of this folder: whether misuse is detected, and the
//! types by which callers describe objects, calls and pools.

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

/// A call whose argument is a raw pointer to an object.
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

/// The kind of code that gave up a strong reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReleasedBy {
    /// By the drop of a handle, a message or a slot.
    Handle,
    /// By the drain of a pool of this name.
    Pool(PoolLabel),
}

pub(crate) use label::PoolLabel;

#[cfg(not(feature = "leak-detection"))]
mod label {
    /// The name of a pool; empty without the ledger.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub(crate) struct PoolLabel;

    impl PoolLabel {
        pub(crate) const UNNAMED: Self = Self;
        pub(crate) const ROOT: Self = Self;
        pub(crate) const TOKEN: Self = Self;
        pub(crate) const HANDOFF: Self = Self;
        pub(crate) const SLOTS: Self = Self;

        #[inline(always)]
        pub(crate) fn of(_name: &str) -> Self {
            Self
        }
    }
}

/// The names of pools, for records.
#[cfg(feature = "leak-detection")]
mod label {
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex, PoisonError};

    /// The greatest number of different names that are kept. They are never freed, so that records can
    /// refer to them.
    const NAMES: usize = 4_096;

    /// A name of a pool, at an address that never changes. Other processes read it.
    #[derive(Debug, PartialEq, Eq, Hash)]
    #[repr(C)]
    pub(crate) struct PoolName {
        bytes: *const u8,
        len: usize,
    }

    // SAFETY: points to a `&'static str`.
    unsafe impl Send for PoolName {}
    // SAFETY: for the reason given for `Send`.
    unsafe impl Sync for PoolName {}

    impl PoolName {
        const fn new(name: &'static str) -> Self {
            Self {
                bytes: name.as_ptr(),
                len: name.len(),
            }
        }
    }

    static UNNAMED: PoolName = PoolName::new("unnamed");
    static ROOT: PoolName = PoolName::new("root");
    static TOKEN: PoolName = PoolName::new("token");
    static HANDOFF: PoolName = PoolName::new("handoff");
    static SLOTS: PoolName = PoolName::new("slots");
    static OTHER: PoolName = PoolName::new("(one of many names)");

    // The lock is std's even in loom builds, as nothing yields while it is held.
    static KNOWN: LazyLock<Mutex<HashMap<&'static str, &'static PoolName>>> =
        LazyLock::new(Mutex::default);

    /// The name of a pool, compared by the address of its text; `of` keeps each text once.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[repr(transparent)]
    pub(crate) struct PoolLabel(&'static PoolName);

    impl PoolLabel {
        pub(crate) const UNNAMED: Self = Self(&UNNAMED);
        pub(crate) const ROOT: Self = Self(&ROOT);
        pub(crate) const TOKEN: Self = Self(&TOKEN);
        pub(crate) const HANDOFF: Self = Self(&HANDOFF);
        /// The label of references that slots have retired, which are in no pool.
        pub(crate) const SLOTS: Self = Self(&SLOTS);

        pub(crate) fn of(name: &str) -> Self {
            let Some(_inside) = crate::ledger::threads::Inside::enter() else {
                return Self(&OTHER);
            };
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(&label) = known.get(name) {
                return Self(label);
            }
            if known.len() >= NAMES {
                return Self(&OTHER);
            }
            let name: &'static str = Box::leak(Box::from(name));
            let label: &'static PoolName = Box::leak(Box::new(PoolName::new(name)));
            known.insert(name, label);
            Self(label)
        }

        pub(crate) fn name(self) -> &'static str {
            // SAFETY: `PoolName::new` took address and length from a `&'static str`.
            unsafe {
                let bytes = std::slice::from_raw_parts(self.0.bytes, self.0.len);
                std::str::from_utf8_unchecked(bytes)
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::ledger::threads::Inside;

        #[test]
        fn inside_the_ledger_a_name_is_looked_up_by_nobody() {
            let inside = Inside::enter();
            let known = KNOWN.lock();
            // An allocator that the table calls while it is locked looks a name up, too.
            assert_eq!(PoolLabel::of("nested").0, &OTHER);
            drop((known, inside));
            assert_eq!(PoolLabel::of("nested").name(), "nested");
        }
    }
}
