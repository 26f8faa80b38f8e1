//! `PoolManagerBuilder`: settings of new managers.

use super::pool_manager::PoolManager;
use crate::block::block_allocator::BlockAllocator;
use crate::pool::stack::manager_shared::{ManagerSettings, ManagerShared, RootPolicy};
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
#[derive(Clone, Debug, Default)]
#[must_use = "a builder makes nothing until `build`"]
pub struct PoolManagerBuilder(ManagerSettings);

impl PoolManagerBuilder {
    /// Sets a name, which dumps, reports and events include.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.0.name = Some(name.into());
        self
    }

    /// Sets the number of entries in a root pool at which an
    /// [event](crate::event::EventKind::RootWatermark) is emitted, and again at each doubling.
    /// 10,000 unless set; 0 counts as 1. [`PoolManager::set_root_watermark`] changes it later.
    pub fn root_watermark(mut self, entries: usize) -> Self {
        self.0.root_watermark = entries;
        self
    }

    /// Sets what happens when a root pool grows beyond its watermark. [`RootPolicy::Report`] unless
    /// set. [`PoolManager::set_root_policy`] changes it later.
    pub fn root_policy(mut self, policy: RootPolicy) -> Self {
        self.0.root_policy = policy;
        self
    }

    /// Sets the number of releases left by drains [within a
    /// budget](crate::AutoreleasePool::drain_within) at which an
    /// [event](crate::event::EventKind::BacklogWatermark) is emitted if the backlog grows, and
    /// again at each doubling. 100,000 unless set; 0 counts as 1.
    /// [`PoolManager::set_backlog_watermark`] changes it later.
    pub fn backlog_watermark(mut self, releases: usize) -> Self {
        self.0.backlog_watermark = releases;
        self
    }

    /// Sets the number of entries in a guard or token pool at which an
    /// [event](crate::event::EventKind::PoolWatermark) is emitted, and again at each doubling.
    /// 100,000 unless set; 0 counts as 1. [`PoolManager::set_pool_watermark`] changes it later.
    pub fn pool_watermark(mut self, entries: usize) -> Self {
        self.0.pool_watermark = entries;
        self
    }

    /// Sets the allocator for the objects that the manager's pools
    /// [create](crate::AutoreleasePool::create). The [process-wide
    /// allocator](BlockAllocator::process) unless set.
    ///
    /// ```
    /// use releasepool::{BlockAllocator, PoolManager};
    /// let blocks = BlockAllocator::new();
    /// let manager = PoolManager::builder().memory(blocks.clone()).build();
    /// let pool = manager.pool();
    /// pool.create("in a block");
    /// assert_eq!(blocks.stats().live_blocks, 1);
    /// ```
    pub fn memory(mut self, blocks: BlockAllocator) -> Self {
        self.0.memory = Some(blocks);
        self
    }

    /// Makes the manager.
    #[must_use]
    pub fn build(self) -> PoolManager {
        PoolManager::of(Arc::new(ManagerShared::new(self.0)), false)
    }
}
