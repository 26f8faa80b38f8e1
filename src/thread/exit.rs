//! How a thread leaves.

use super::orphans::ORPHANS;
use super::record;

/// The whole exit of a thread, as an explicit sequence: the destructor of a
/// thread-local only calls it, and models call it themselves.
///
/// 1. The hook of the loops closes those that are still open.
/// 2. The pools' hook drains what the thread may not leave behind, and closes
///    the inbox.
/// 3. Memory's hook gives its heaps up.
/// 4. What is in the inbox of a thread that never had a pool goes to the
///    orphans.
/// 5. The thread is taken out of the look-ups; its slot is free.
///
/// Idempotent. Nothing that a destructor does on the way can bring the thread
/// back: afterwards pools work detached, and implicit releases happen at once.
pub(crate) fn thread_exit() {
    let Some(record) = record::leaving() else {
        return;
    };
    // One after the other, as the first may yet make use of what the last takes away.
    while let Some(hook) = record::next_hook() {
        hook(&record);
    }
    for inbox in [&record.calls, &record.releases] {
        for message in inbox.inbox().close() {
            let weight = message.weight();
            ORPHANS.adopt(message);
            inbox.done(weight);
        }
    }
    record::depart(&record);
}
