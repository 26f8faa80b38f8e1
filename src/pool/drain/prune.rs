//! Finding the stack of a manager, and freeing the stacks of managers that are gone.

use super::engine;
use crate::pool::stack::budget::Limit;
use crate::pool::stack::manager_shared::ManagerShared;
use crate::pool::stack::pool_stack::PoolStack;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::unbox;
use std::sync::Arc;

/// Returns the stack of a manager, and makes it if the thread has none.
pub(crate) fn find_or_add<'p>(
    pools: &'p ThreadPools,
    manager: &Arc<ManagerShared>,
) -> &'p PoolStack {
    match pools.find(manager) {
        Some(stack) => stack,
        None => add(pools, manager),
    }
}

#[cold]
fn add<'p>(pools: &'p ThreadPools, manager: &Arc<ManagerShared>) -> &'p PoolStack {
    let stack = pools.add(manager);
    // Prunes last: `prune` runs foreign code, which may call this function again. It does not free
    // `stack`, because the caller has a handle to the stack's manager.
    prune(pools);
    stack
}

/// Drains and frees the stacks of managers that have no handle left.
fn prune(pools: &ThreadPools) {
    // Draining runs foreign code, which may call this function again: so stacks are taken one at a
    // time, and nothing is borrowed meanwhile.
    while let Some(stack) = pools.take_abandoned() {
        let outcome = {
            // SAFETY: the stack is off the list, so nothing else frees it.
            let this = unsafe { stack.as_ref() };
            let outcome = engine::empty_stack(this, Limit::SOME);
            if let Some(key) = pools.key() {
                this.retire(key);
            }
            this.root.entries.clear(&pools.pages);
            // The drain was cut off, as destructors fed the stack without end.
            this.backlog.leak(&pools.pages);
            outcome
        };
        // SAFETY: `ThreadPools::add` made the stack, which is off the list. No handle to its
        // manager is left by which to find it; it has no open pool, and no drain of it is in
        // progress.
        drop(unsafe { unbox(stack) });
        // A panic of an old manager's objects does not concern the caller, which uses a new
        // manager.
        outcome.report();
    }
}
