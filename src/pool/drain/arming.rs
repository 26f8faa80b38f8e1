//! Arming a thread's inboxes, so that the next message wakes the thread or calls its hook.

use super::this_thread;
use crate::thread::record::Record;

/// Arms the inboxes of the calling thread, so that the next message wakes it; the inbox for releases
/// only if `for_releases`. Arms nothing and returns false if there is something to do already.
pub(crate) fn arm_if_idle(record: &Record, for_releases: bool) -> bool {
    let is_idle = this_thread::with(|pools| {
        pools.is_none_or(|pools| pools.posted() == 0 && pools.may_sleep())
    });
    is_idle && record.arm(for_releases)
}

/// Makes the next message to the calling thread call the hook; calls it at once if there is something
/// to do already. Does so even in a destructor, after which nothing else would. The backlog does not count:
/// what follows from the call, `run_inbox`, leaves it alone.
pub(crate) fn rearm(record: &Record) {
    let has_run = || {
        this_thread::with(|pools| {
            pools.is_none_or(|pools| pools.posted() == 0 && pools.has_served())
        })
    };
    if record.waker.has_hook() && !(has_run() && record.arm(true)) {
        record.waker.wake();
    }
}
