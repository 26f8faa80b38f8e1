//! Own managers and their settings.

use super::PoolManager;
use crate::pool::namespace::{Namespace, RootPolicy, WATERMARK};
use std::sync::Arc;

/// Settings of a [`PoolManager`]; from [`PoolManager::builder`].
///
/// ```
/// use releasepool::{PoolManager, RootPolicy};
/// let manager = PoolManager::builder()
///     .name("physics")
///     .root_watermark(1_000)
///     .root_policy(RootPolicy::DrainAtBoundary)
///     .build();
/// assert_eq!(manager.name(), Some("physics"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder makes nothing until `build`"]
pub struct PoolManagerBuilder {
    name: Option<String>,
    watermark: usize,
    policy: RootPolicy,
}

impl Default for PoolManagerBuilder {
    fn default() -> Self {
        Self {
            name: None,
            watermark: WATERMARK,
            policy: RootPolicy::Report,
        }
    }
}

impl PoolManagerBuilder {
    /// A name for dumps and reports.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// How many entries in a root pool are worth an event, and again at each
    /// doubling. 10,000 unless set; 0 counts as 1.
    pub fn root_watermark(mut self, entries: usize) -> Self {
        self.watermark = entries.max(1);
        self
    }

    /// What happens beyond the watermark. [`RootPolicy::Report`] unless set.
    pub fn root_policy(mut self, policy: RootPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Makes the manager.
    #[must_use]
    pub fn build(self) -> PoolManager {
        let namespace = Namespace::new(self.name, self.watermark, self.policy);
        PoolManager::of(Arc::new(namespace))
    }
}
