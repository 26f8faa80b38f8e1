//! Records which pools have entries for an object.

use super::index::with_record;
use super::label::PoolLabel;
use super::object_record::{HOLDERS, Holder};
use super::thread_names::own_number;
use std::ptr::NonNull;

/// Records that a pool of this name has got an entry for the object. Runs no foreign code.
pub(crate) fn entered_pool(thin: NonNull<u8>, label: PoolLabel) {
    let thread = own_number();
    with_record(thin.addr().get(), |record| {
        let is_same = |holder: &Holder| {
            holder.entries == 0 || holder.label == Some(label) && holder.thread == thread
        };
        // A place for the same pool, if there is one, comes before the free places.
        match record.holders.iter_mut().find(|holder| is_same(holder)) {
            Some(holder) => {
                holder.label = Some(label);
                holder.thread = thread;
                holder.entries += 1;
            }
            None => record.more += 1,
        }
    });
}

/// Records that a pool of this name has released `n` entries for the object. Runs no foreign code.
pub(crate) fn left_pool(thin: NonNull<u8>, n: u32, label: PoolLabel) {
    let thread = own_number();
    with_record(thin.addr().get(), |record| {
        let mut left = n;
        // Looks for a place of this thread first, then for any: a thread may release entries of a
        // handoff pool that another thread has added.
        for own in [true, false] {
            for holder in &mut record.holders {
                if holder.label == Some(label) && (holder.thread == thread) == own {
                    let taken = left.min(holder.entries);
                    holder.entries -= taken;
                    left -= taken;
                    if holder.entries == 0 {
                        *holder = Holder::NONE;
                    }
                }
            }
        }
        let more = left.min(record.more);
        record.more -= more;
        left -= more;
        // Keeps the sum right even if the entry came from another pool.
        for holder in &mut record.holders {
            let taken = left.min(holder.entries);
            holder.entries -= taken;
            left -= taken;
        }
        // The free places are last.
        if record.holders[0].entries == 0 {
            record.holders.swap(0, HOLDERS - 1);
        }
    });
}
