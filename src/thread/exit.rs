//! How a thread leaves.

use super::orphans::ORPHANS;
use super::record;

/// The whole exit of a thread, as an explicit sequence: the destructor of a
/// thread-local only calls it, and models call it themselves.
///
/// 1. The pools' hook drains what the thread may not leave behind, and closes
///    the inbox.
/// 2. Memory's hook gives its heaps up.
/// 3. What is in the inbox of a thread that never had a pool goes to the
///    orphans.
/// 4. The thread is taken out of the look-ups; its slot is free.
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
    for message in record.inbox.close() {
        ORPHANS.adopt(message);
    }
    record::depart(&record);
}
