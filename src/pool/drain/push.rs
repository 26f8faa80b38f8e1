//! Adds an entry to a pool that is open.
//!
//! The slow path, which takes a new page, also compares the pool's length with its watermark.

use super::watch;
use crate::object::header::Thin;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::WITH_PAGES;

impl PoolState {
    /// Adds an entry, which takes over one strong reference. Not for the root pool, whose watermark
    /// is tested elsewhere.
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
        if self.entries.is_untouched() {
            if self.index >= WITH_PAGES {
                self.life.gain_extra();
            }
            // This is the first page; most pools have no other.
            if self.entries.begin(&stack.thread_pools().pages) {
                self.entries.push_in_page(thin);
                return;
            }
        }
        self.push_and_watch(stack, thin);
    }

    #[inline(never)]
    fn push_and_watch(&self, stack: &PoolStack, thin: Thin) {
        self.entries.push(thin, &stack.thread_pools().pages);
        // Reports last: the hook is foreign code, and may even close the pool, if it is the current
        // one and the caller does not borrow it.
        watch::pool(stack, self);
    }
}

#[cfg(test)]
mod tests {
    use super::WITH_PAGES;
    use crate::pool::api::guard::AutoreleasePool;
    use crate::pool::drain::this_thread;

    /// Returns how many of the thread's pools have a page.
    fn pools_with_pages() -> usize {
        this_thread::with(|pools| {
            let pools = pools.expect("the thread has not exited");
            let all = (0..).map_while(|index| pools.pool(index));
            all.filter(|pool| !pool.entries.is_untouched()).count()
        })
    }

    #[test]
    fn only_the_outer_pools_keep_pages_while_they_are_closed() {
        let deep = WITH_PAGES as usize * 2;
        for (entries, drains) in [(1, false), (1, true), (9, false), (9, true)] {
            let mut pools: Vec<_> = (0..deep).map(|_| AutoreleasePool::new()).collect();
            for pool in &mut pools {
                for n in 0..entries {
                    pool.create(n);
                }
                if drains {
                    pool.drain();
                }
            }
            assert!(pools_with_pages() >= deep);
            // Closes the newest first, so that each pool is the topmost one when it is closed.
            while let Some(pool) = pools.pop() {
                drop(pool);
            }
            assert!(
                pools_with_pages() <= WITH_PAGES as usize,
                "{entries}, {drains}"
            );
        }
    }
}
