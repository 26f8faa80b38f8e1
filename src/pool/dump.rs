//! What is in a pool.

use super::pool_stack::PoolState;
use crate::object::header::header;
use crate::thread::current::current_label;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The contents of a pool, to be displayed; by
/// [`AutoreleasePool::dump`](crate::AutoreleasePool::dump).
///
/// First a line with name, thread and number of entries; then a line per entry,
/// newest first, that is in the order in which they will be released: address,
/// type, and strong count at the time of writing.
pub struct PoolDump<'p>(pub(super) &'p PoolState);

// As its `AutoreleasePool`.
impl UnwindSafe for PoolDump<'_> {}
impl RefUnwindSafe for PoolDump<'_> {}

impl fmt::Display for PoolDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.0;
        let len = head.entries.len();
        let entries = if len == 1 { "entry" } else { "entries" };
        write!(
            f,
            "pool \"{}\", thread {}: {len} {entries}",
            head.name(),
            current_label()
        )?;
        // SAFETY: the pool is borrowed: the formatter, which is foreign code, can
        // only add to it.
        for thin in unsafe { head.entries.newest_first() } {
            // SAFETY: alive by the entry's reference: the pool is borrowed.
            let object = unsafe { header(thin) };
            let (name, count) = (object.type_info.type_name(), object.count.strong());
            write!(f, "\n  {thin:p} {name} count {count}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for PoolDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
