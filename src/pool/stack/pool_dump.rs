//! `PoolDump`: a pool's entries, for display.

use super::pool_stack::PoolState;
use crate::object::header::{header, name_of};
use crate::thread::current::current_label;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The entries of a pool, for display; made by [`AutoreleasePool::dump`](crate::AutoreleasePool::dump).
///
/// Displays a line with the pool's name, its thread and the number of entries, then a line for each
/// entry with its address, type, and strong count at the time of writing. The entries are listed
/// newest first, which is the order in which they will be released.
///
/// # Example
/// ```
/// let pool = releasepool::AutoreleasePool::named("frame");
/// pool.create(5);
/// let text = pool.dump().to_string();
/// assert!(text.contains("frame") && text.contains("i32"), "{text}");
/// ```
pub struct PoolDump<'p>(pub(in crate::pool) &'p PoolState);

// `AutoreleasePool` has these auto traits, too.
impl UnwindSafe for PoolDump<'_> {}
impl RefUnwindSafe for PoolDump<'_> {}

impl fmt::Display for PoolDump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pool = self.0;
        let len = pool.entries.len();
        let entries = if len == 1 { "entry" } else { "entries" };
        write!(
            f,
            "pool \"{}\", thread {}: {len} {entries}",
            pool.name(),
            current_label()
        )?;
        // SAFETY: the pool is borrowed, so the formatter, which is foreign code, can add entries,
        // but not drain the pool.
        for thin in unsafe { pool.entries.newest_first() } {
            // SAFETY: the entry's reference keeps the object alive while the pool is borrowed.
            let object = unsafe { header(thin) };
            // SAFETY: as above.
            let name = unsafe { name_of(thin) };
            let count = object.count.strong();
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
