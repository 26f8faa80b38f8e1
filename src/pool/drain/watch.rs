//! Events about pools and backlogs that have grown beyond their watermarks.

use super::pending;
use crate::event::{Event, EventKind};
use crate::object::header::{Thin, header};
use crate::pool::entries::page::ENTRIES;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::thread::current::current_label;

/// Number of objects that are sampled for an event at most.
const SAMPLE: usize = 4_096;

/// Number of types that an event lists at most.
const TYPES: usize = 8;

/// Reports a root pool that has passed its watermark. To be called after each entry that is added
/// to the pool.
#[inline]
pub(in crate::pool) fn root(stack: &PoolStack) {
    let len = stack.root.entries.len();
    if len >= stack.manager.watermarks.root().max(stack.next_mark.get()) {
        report_root(stack, len);
    }
}

#[cold]
fn report_root(stack: &PoolStack, len: usize) {
    stack.next_mark.set(len.saturating_mul(2));
    let sample = Sample::of_entries(&stack.root, len);
    let newest = sample.first;
    let mut event = sample.add_to(about(EventKind::RootWatermark, stack, &stack.root, len));
    if let Some(newest) = newest {
        event = event.of_type(newest);
    }
    event.emit();
}

/// Reports a guard or token pool that has passed its watermark, or a doubling of it, since it took
/// its last page. To be called after the first entry in each new page.
///
/// The pool does not store that it was reported, as closing would then take longer. So a pool that
/// is drained and grows again is reported again, and the limit on events holds the report back.
pub(super) fn pool(stack: &PoolStack, pool: &PoolState) {
    let len = pool.entries.len();
    let watermark = stack.manager.watermarks.pool();
    // Reports nothing during a drain: it also releases the objects that its destructors
    // autorelease.
    if len < watermark || pool.life.is_draining() {
        return;
    }
    let doublings = (len / watermark).ilog2();
    let before = len.saturating_sub(ENTRIES);
    if before < watermark << doublings {
        report_pool(stack, pool, len, doublings);
    }
}

#[cold]
fn report_pool(stack: &PoolStack, pool: &PoolState, len: usize, doublings: u32) {
    about(EventKind::PoolWatermark, stack, pool, len)
        .doublings(doublings)
        .emit_with(|event| {
            let sample = Sample::of_entries(pool, len);
            sample.add_to(event)
        });
}

/// Reports a backlog that grows beyond its watermark. To be called at the end of each budgeted
/// drain; `pool` is the drained pool.
///
/// A backlog grows if a drain leaves more than the watermark, and more than any earlier drain since
/// the backlog was last below half of the watermark. So the first drain that leaves more than the
/// watermark is only recorded: it may just have taken in a large batch, which later drains work
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
    sample
        .add_to(about(EventKind::BacklogWatermark, stack, pool, len))
        .emit();
}

fn about(kind: EventKind, stack: &PoolStack, pool: &PoolState, len: usize) -> Event {
    Event::new(kind, current_label())
        .pool(pool.name())
        .manager(stack.manager.id, stack.manager.name.as_deref())
        .count(len)
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
    /// Samples the newest of the `len` entries of a pool.
    fn of_entries(pool: &PoolState, len: usize) -> Self {
        Self::take(len, |f| {
            // SAFETY: `f` only reads the entries' headers, so no entry is taken out meanwhile.
            unsafe { pool.entries.newest_first() }.all(f);
        })
    }

    fn add_to(self, event: Event) -> Event {
        event.types(self.types, self.size)
    }

    /// Samples some of `len` objects. `look_through` passes objects to the closure that it gets, as
    /// long as that returns `true`.
    fn take(len: usize, look_through: impl FnOnce(&mut dyn FnMut(Thin) -> bool)) -> Self {
        // Allocates before reading the first object: the global allocator is foreign code, which
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
