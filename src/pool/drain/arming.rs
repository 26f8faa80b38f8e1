//! Arming a thread's inboxes, so that the next message wakes the thread or calls its hook.

use super::this_thread;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::record::Record;

/// Arms the inboxes of the calling thread, so that the next message wakes it; the inbox for releases
/// only if `for_releases`. Arms nothing and returns false if there is something to do already.
pub(crate) fn arm_if_idle(record: &Record, for_releases: bool) -> bool {
    arm_if(record, for_releases, ThreadPools::may_sleep)
}

/// Makes the next message to the calling thread call the hook; calls it at once if there is something
/// to do already. Does so even in a destructor, after which nothing else would. The backlog does not count:
/// what follows from the call, `run_inbox`, leaves it alone.
pub(crate) fn rearm(record: &Record) {
    if record.waker.has_hook() && !arm_if(record, true, ThreadPools::has_served) {
        record.waker.wake();
    }
}

fn arm_if(record: &Record, for_releases: bool, is_done: impl Fn(&ThreadPools) -> bool) -> bool {
    let is_idle =
        this_thread::with(|pools| pools.is_none_or(|pools| pools.posted() == 0 && is_done(pools)));
    is_idle && record.arm(for_releases)
}
