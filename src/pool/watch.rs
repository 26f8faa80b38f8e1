//! Events about root pools and backlogs that have grown beyond their watermarks.

use super::pending;
use super::pool_stack::{PoolStack, PoolState};
use crate::event::{Event, EventKind};
use crate::object::header::{Thin, header};
use crate::thread::current::current_label;

/// Number of objects that are sampled for an event at most.
const SAMPLE: usize = 4_096;

/// Number of types that an event lists at most.
const TYPES: usize = 8;

/// Reports a root pool that has passed its watermark. To be called after each entry that is added
/// to it.
#[inline]
pub(super) fn root(stack: &PoolStack) {
    let len = stack.root.entries.len();
    if len >= stack.manager.watermarks.root().max(stack.next_mark.get()) {
        report_root(stack, len);
    }
}

#[cold]
fn report_root(stack: &PoolStack, len: usize) {
    stack.next_mark.set(len.saturating_mul(2));
    let sample = Sample::take(len, |f| {
        // SAFETY: `f` only reads the entries' headers, so no entry is taken out meanwhile.
        unsafe { stack.root.entries.newest_first() }.all(f);
    });
    let newest = sample.first;
    let mut event = event(EventKind::RootWatermark, stack, &stack.root, len, sample);
    if let Some(newest) = newest {
        event = event.of_type(newest);
    }
    event.emit();
}

/// Reports a backlog that grows beyond its watermark. To be called at the end of each budgeted
/// drain; `pool` is the drained pool.
///
/// A backlog grows if a drain leaves more than the watermark, and more than any drain before it
/// since the backlog was last below half of the watermark. So the first drain that leaves more than
/// the watermark is only recorded: it may just have taken in a large batch, which later drains work
/// off.
pub(super) fn backlog(stack: &PoolStack, pool: &PoolState) {
    let len = stack.backlog.len() + stack.thread_pools().remote_releases();
    let watermark = stack.manager.watermarks.backlog();
    let next = &stack.backlog.next_mark;
    if len < watermark.div_ceil(2) {
        next.set(0);
    } else if len >= watermark {
        match next.get() {
            0 => next.set(len.saturating_add(1)),
            due if len >= due => {
                next.set(len.saturating_mul(2));
                report_backlog(stack, pool, len);
            }
            _ => {}
        }
    }
}

#[cold]
fn report_backlog(stack: &PoolStack, pool: &PoolState, len: usize) {
    let sample = Sample::take(len, |f| pending::look_through(stack, f));
    event(EventKind::BacklogWatermark, stack, pool, len, sample).emit();
}

fn event(
    kind: EventKind,
    stack: &PoolStack,
    pool: &PoolState,
    len: usize,
    sample: Sample,
) -> Event {
    Event::new(kind, current_label())
        .pool(pool.name())
        .manager(stack.manager.id, stack.manager.name.as_deref())
        .count(len)
        .types(sample.types, sample.size)
}

/// The types of some of the waiting objects.
struct Sample {
    /// Type of the first sampled object.
    first: Option<&'static str>,
    /// The most common types, with the number of sampled objects of each.
    types: Vec<(&'static str, usize)>,
    /// Number of sampled objects.
    size: usize,
}

impl Sample {
    /// Samples some of `len` objects. `look_through` passes objects to the closure that it gets, as
    /// long as that returns `true`.
    fn take(len: usize, look_through: impl FnOnce(&mut dyn FnMut(Thin) -> bool)) -> Self {
        // Allocated before the first object is read: the global allocator is foreign code, which
        // may drain the pool.
        let mut names: Vec<&'static str> = Vec::with_capacity(len.min(SAMPLE));
        let room = names.capacity().min(SAMPLE);
        look_through(&mut |thin| {
            let has_room = names.len() < room;
            if has_room {
                // SAFETY: `look_through` passes objects that wait for their release or destructor,
                // so their headers have not been freed, and nothing here runs foreign code.
                names.push(unsafe { header(thin) }.type_info.type_name());
            }
            has_room
        });
        let (first, size) = (names.first().copied(), names.len());
        names.sort_unstable();
        let mut types: Vec<_> = names
            .chunk_by(|one, other| one == other)
            .map(|alike| (alike[0], alike.len()))
            .collect();
        types.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
        types.truncate(TYPES);
        Self { first, types, size }
    }
}
