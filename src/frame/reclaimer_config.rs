//! `ReclaimerConfig`: the bounds of a reclaimer, and what happens when they are reached.

/// What a sender does with a value for which a reclaimer has no room.
///
/// No choice is free of deadlocks: if the sender holds a lock that a destructor takes, then waiting
/// for room waits for that destructor, and a destructor that runs in the sender takes the lock a
/// second time. Where a lock may be held, use
/// [`Looper::try_drop_later`](crate::Looper::try_drop_later), which never waits and runs no destructor.
///
/// # Example
/// ```
/// use releasepool::{ReclaimerConfig, WhenFull};
///
/// let config = ReclaimerConfig::new().values(10_000).when_full(WhenFull::DestroyHere);
/// let reclaimer = config.spawn("reclaimer")?;
/// reclaimer.drop_later(vec![1, 2, 3]); // there, or here if 10,000 values wait
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// The sender sleeps until there is room. On the thread of any [`Looper`](crate::Looper), which
    /// must not wait for another one, the value is destroyed at once instead.
    #[default]
    Wait,
    /// The sender destroys the value itself, at once.
    DestroyHere,
}

/// The settings of a [reclaimer](crate::Looper::reclaimer): how much may wait for it.
///
/// A reclaimer is one thread, which destroys values in the order in which they came. Where one thread is too
/// slow, start several reclaimers and send each a share; the values of one tree that are released while it
/// is destroyed stay on its thread.
///
/// ```
/// use releasepool::{ReclaimerConfig, WhenFull};
/// let reclaimer = ReclaimerConfig::new()
///     .values(10_000)
///     .bytes(64 << 20)
///     .when_full(WhenFull::DestroyHere)
///     .spawn("reclaimer")?;
/// reclaimer.drop_later(vec![0; 1_000]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "settings do nothing until a reclaimer is spawned with them"]
pub struct ReclaimerConfig {
    pub(super) values: u64,
    pub(super) bytes: u64,
    pub(super) when_full: WhenFull,
}

impl Default for ReclaimerConfig {
    fn default() -> Self {
        Self {
            values: 100_000,
            bytes: 256 << 20,
            when_full: WhenFull::Wait,
        }
    }
}

impl ReclaimerConfig {
    /// Returns the default settings: 100,000 values, 256 MiB, and senders wait.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many values and references may wait. A value is accepted if fewer wait; a pool that is
    /// [handed over](crate::HandoffPool::drain_on) is then accepted as a whole. With 0, senders destroy
    /// everything themselves. Of two senders at the same time, both may be refused although there is
    /// room for one.
    pub fn values(mut self, values: usize) -> Self {
        self.values = values as u64;
        self
    }

    /// Sets how many bytes may wait, of the values that senders have
    /// [weighed](crate::Looper::drop_later_weighed). A value is accepted if fewer bytes wait, so one that
    /// is larger than the bound is accepted when nothing else waits. With 0, senders destroy weighed
    /// values themselves. A value of more than a tebibyte counts as one of a tebibyte.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets what senders do when there is no room.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }
}
