//! Adding an entry to a pool that is open.
//!
//! The slow path, which takes a new page, also compares the pool's length with its watermark.

use super::pool_stack::{PoolStack, PoolState};
use super::watch;
use crate::object::header::Thin;

impl PoolState {
    /// Adds an entry, which takes over one strong reference. Not for the root pool, which has a
    /// watermark of its own.
    #[inline]
    pub(crate) fn push(&self, thin: Thin) {
        if !self.entries.push_in_page(thin) {
            self.push_in_new_page(thin);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_in_new_page(&self, thin: Thin) {
        // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
        let stack = unsafe { &*self.stack.get() };
        // Small pools have no other page.
        if self.entries.is_untouched() && self.entries.begin(&stack.thread_pools().pages) {
            self.entries.push_in_page(thin);
            return;
        }
        self.push_and_watch(stack, thin);
    }

    #[inline(never)]
    fn push_and_watch(&self, stack: &PoolStack, thin: Thin) {
        self.entries.push(thin, &stack.thread_pools().pages);
        // Last, as the hook is foreign code: it may even close the pool, if that is the current one
        // and the caller does not borrow it.
        watch::pool(stack, self);
    }
}
