//! The releases that budgeted drains have left for later: a stack's backlog, and the messages that
//! the thread has taken out of its inbox and not run.

use crate::object::header::Thin;
use crate::pool::entries::page_chain::PageChain;
use crate::pool::remote::remote_release;
use crate::pool::stack::pool_stack::PoolStack;
use crate::thread::inbox::MessageKind;

/// Returns whether an entry for this object, which is alive, was left for later. Takes linear time.
pub(crate) fn contains(stack: &PoolStack, thin: Thin) -> bool {
    let mut found = false;
    look_through(stack, &mut |left| {
        found = left == thin;
        !found
    });
    found
}

/// Calls `f` with each object whose release was left for later, as long as `f` returns `true`. `f`
/// must not run foreign code.
pub(super) fn look_through(stack: &PoolStack, f: &mut dyn FnMut(Thin) -> bool) {
    let mut goes_on = true;
    let mut look = |thin| {
        goes_on = goes_on && f(thin);
        goes_on
    };
    stack.backlog.look_through(&mut look);
    let claimed = &stack.thread_pools().claimed;
    claimed.none(|message| match message.kind() {
        MessageKind::ReleaseMany => {
            // SAFETY: `look` takes no entry out of the pages.
            !unsafe { PageChain::entries(message).newest_first() }.all(&mut look)
        }
        MessageKind::Release => !look(remote_release::object_of(message)),
        MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere => !look(message.as_raw().cast()),
        MessageKind::Closure
        | MessageKind::LoopClosure
        | MessageKind::FrameClosure
        | MessageKind::OrphanBatch => false,
    });
}

/// Leaks the releases that were left for later; returns how many.
pub(super) fn leak(stack: &PoolStack) -> usize {
    let pools = stack.thread_pools();
    let mut leaked = stack.backlog.leak(&pools.pages);
    // Messages still in the inbox are run when it is closed.
    if let Some(record) = pools.record() {
        let claimed = pools.claimed.leak();
        record.releases.done(claimed);
        leaked += claimed as usize;
    }
    leaked
}
