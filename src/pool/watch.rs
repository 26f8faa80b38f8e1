//! Whether root pools and backlogs grow beyond their watermarks.

use super::pending;
use super::pool_stack::{PoolStack, PoolState};
use crate::event::{Event, EventKind};
use crate::object::header::{Thin, header};
use crate::thread::current::current_label;

/// Entries whose types are looked at.
const SAMPLE: usize = 4_096;

/// Types that an event names.
const TYPES: usize = 8;

/// To be called when an entry has been added to the root pool.
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
        // SAFETY: `f` takes nothing out.
        unsafe { stack.root.entries.newest_first() }.all(f);
    });
    let newest = sample.first;
    let mut event = event(EventKind::RootWatermark, stack, &stack.root, len, sample);
    if let Some(newest) = newest {
        event = event.of_type(newest);
    }
    event.emit();
}

/// To be called at the end of a drain within a budget, of `head`.
///
/// A backlog grows if a drain leaves more than the watermark, and more than any drain before it
/// since there was last less than half of that. So the first drain that leaves more than the
/// watermark is only noted: it may just have taken in a large batch, which those that follow
/// work off.
pub(super) fn backlog(stack: &PoolStack, head: &PoolState) {
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
                report_backlog(stack, head, len);
            }
            _ => {}
        }
    }
}

#[cold]
fn report_backlog(stack: &PoolStack, head: &PoolState, len: usize) {
    let sample = Sample::take(len, |f| pending::look_through(stack, f));
    event(EventKind::BacklogWatermark, stack, head, len, sample).emit();
}

fn event(
    kind: EventKind,
    stack: &PoolStack,
    head: &PoolState,
    len: usize,
    sample: Sample,
) -> Event {
    Event::new(kind, current_label())
        .pool(head.name())
        .manager(stack.manager.id, stack.manager.name.as_deref())
        .count(len)
        .types(sample.types, sample.size)
}

/// The types of some of the objects that wait.
struct Sample {
    /// Type of the first that was looked at.
    first: Option<&'static str>,
    /// The most common ones, and how many objects have them.
    types: Vec<(&'static str, usize)>,
    /// How many objects were looked at.
    size: usize,
}

impl Sample {
    /// Looks at some of `len` objects, which `look_through` hands to the closure that it is
    /// given, as long as that returns `true`.
    fn take(len: usize, look_through: impl FnOnce(&mut dyn FnMut(Thin) -> bool)) -> Self {
        // Before the first look, as the global allocator is foreign code: it may drain the pool.
        let mut names: Vec<&'static str> = Vec::with_capacity(len.min(SAMPLE));
        let room = names.capacity().min(SAMPLE);
        look_through(&mut |thin| {
            let has_room = names.len() < room;
            if has_room {
                // SAFETY: the memory of what waits has not been freed.
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
