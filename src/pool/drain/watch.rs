//! Adds an entry to an open pool; searches the releases that budgeted drains have left for later;
//! and emits events about pools and backlogs that have grown beyond their watermarks.

use crate::event::{Event, EventKind};
use crate::ledger::object_name::ObjectName;
use crate::object::header::{Thin, name_of};
use crate::pool::entries::page::{ENTRIES, PageChain};
use crate::pool::remote;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::WITH_PAGES;
use crate::thread::current::current_label;
use crate::thread::inbox::MessageKind;

/// Number of objects that are sampled for an event at most.
const SAMPLE: usize = 4_096;

/// Number of types that an event lists at most.
const TYPES: usize = 8;

/// Reports a root pool that has passed its watermark. To be called after each entry that is added
/// to the pool.
#[inline]
pub(in crate::pool) fn root(stack: &PoolStack) {
    let len = stack.root.entries.len();
    let watermark = stack.manager.watermarks.root.get();
    if len >= watermark.max(stack.next_mark.get()) {
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

/// Reports a guard or token pool that has passed its watermark, or a doubling of the watermark,
/// with its last [`ENTRIES`] entries. To be called after the first entry in each new page.
///
/// The pool does not store that it was reported, as closing would then take longer. So a pool that
/// is drained and grows again is reported again; only the limit on events restricts such reports.
pub(super) fn pool(stack: &PoolStack, pool: &PoolState) {
    let len = pool.entries.len();
    let watermark = stack.manager.watermarks.pool.get();
    // Reports nothing during a drain: the drain also releases the objects that its destructors
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
        .emit_with(|event| Sample::of_entries(pool, len).add_to(event));
}

/// Reports a backlog that grows beyond its watermark. To be called at the end of each budgeted
/// drain; `pool` is the drained pool.
///
/// The first drain that leaves as many releases as the watermark, or more, is only recorded: it may
/// just have taken in a large batch, which later drains work off. The first later drain that leaves
/// more than that one is reported, and then each that leaves at least twice as many as the last
/// reported one. A drain that leaves less than half of the watermark clears the record.
pub(super) fn backlog(stack: &PoolStack, pool: &PoolState) {
    let len = stack.backlog.len() + stack.thread_pools().remote_releases();
    let watermark = stack.manager.watermarks.backlog.get();
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
    let sample = Sample::collect(len, |f| look_through_left(stack, f));
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
        Self::collect(len, |f| {
            // SAFETY: `f` only reads the objects' headers, so no entry is taken out meanwhile.
            unsafe { pool.entries.newest_first() }.all(f);
        })
    }

    fn add_to(self, event: Event) -> Event {
        event.types(self.types, self.size)
    }

    /// Samples some of `len` objects. `look_through` passes objects to the closure that it gets, as
    /// long as that returns `true`.
    fn collect(len: usize, look_through: impl FnOnce(&mut dyn FnMut(Thin) -> bool)) -> Self {
        // Allocates before reading the first object: the global allocator is foreign code, which
        // may drain the pool.
        let room = len.min(SAMPLE);
        let mut names: Vec<ObjectName> = Vec::with_capacity(room);
        look_through(&mut |thin| {
            let has_room = names.len() < room;
            if has_room {
                // SAFETY: `look_through` passes objects that wait for their release or destructor,
                // so their headers have not been freed, and nothing here runs foreign code.
                names.push(unsafe { name_of(thin) });
            }
            has_room
        });
        // Gets the names last: this may run foreign code.
        let mut names: Vec<_> = names.into_iter().map(ObjectName::get).collect();
        let (first, size) = (names.first().copied(), names.len());
        names.sort_unstable();
        let alike = names.chunk_by(|one, other| one == other);
        let mut types: Vec<_> = alike.map(|alike| (alike[0], alike.len())).collect();
        types.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
        types.truncate(TYPES);
        Self { first, types, size }
    }
}

impl PoolState {
    /// Adds an entry, which takes over one strong reference. Not for the root pool, whose watermark
    /// [`root`] tests.
    #[inline]
    pub(crate) fn push(&self, thin: Thin) {
        if !self.entries.push_in_page(thin) {
            self.push_in_new_page(thin);
        }
    }

    #[cold]
    #[inline(never)]
    fn push_in_new_page(&self, thin: Thin) {
        // SAFETY: the pool is open, so its stack exists (invariant 3 of `pool`).
        let stack = unsafe { &*self.stack.get() };
        if self.index >= WITH_PAGES {
            self.life.gain_extra();
        }
        self.entries.push(thin, &stack.thread_pools().pages);
        // Reports last: the hook is foreign code, and may even close the pool, if the pool is the
        // current one and the caller does not borrow it.
        pool(stack, self);
    }
}

/// Returns whether a budgeted drain left a release of this live object undone. Takes linear time.
pub(crate) fn is_left(stack: &PoolStack, thin: Thin) -> bool {
    let mut found = false;
    look_through_left(stack, &mut |left| {
        found = left == thin;
        !found
    });
    found
}

/// Calls `f` with each object whose release or destruction was left for later, as long as `f`
/// returns `true`. `f` must not run foreign code.
fn look_through_left(stack: &PoolStack, f: &mut dyn FnMut(Thin) -> bool) {
    let mut goes_on = true;
    let mut look = |thin| {
        goes_on = goes_on && f(thin);
        goes_on
    };
    stack.backlog.look_through(&mut look);
    let claimed = &stack.thread_pools().claimed;
    claimed.none(|message| match message.kind() {
        MessageKind::ReleaseMany => {
            // SAFETY: `look` takes no entry out of the pages.
            !unsafe { PageChain::entries(message).newest_first() }.all(&mut look)
        }
        MessageKind::Release => !look(remote::object_of(message)),
        MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere => !look(message.as_raw().cast()),
        MessageKind::Closure
        | MessageKind::LoopClosure
        | MessageKind::FrameClosure
        | MessageKind::OrphanBatch => false,
    });
}

#[cfg(test)]
mod tests {
    use super::WITH_PAGES;
    use crate::pool::api::guard::AutoreleasePool;
    use crate::pool::drain::this_thread;

    /// Returns how many of the thread's pools have a page.
    fn pools_with_pages() -> usize {
        this_thread::with(|pools| {
            let pools = pools.expect("the thread has not exited");
            let all = (0..).map_while(|index| pools.pool(index));
            all.filter(|pool| !pool.entries.is_untouched()).count()
        })
    }

    #[test]
    fn only_the_outer_pools_keep_pages_while_they_are_closed() {
        let deep = WITH_PAGES as usize * 2;
        for (entries, drains) in [(1, false), (1, true), (9, false), (9, true)] {
            let mut pools: Vec<_> = (0..deep).map(|_| AutoreleasePool::new()).collect();
            for pool in &mut pools {
                for n in 0..entries {
                    pool.create(n);
                }
                if drains {
                    pool.drain();
                }
            }
            assert!(pools_with_pages() >= deep);
            // Closes the newest first, so that each pool is the topmost one when it is closed.
            while let Some(pool) = pools.pop() {
                drop(pool);
            }
            assert!(
                pools_with_pages() <= WITH_PAGES as usize,
                "{entries}, {drains}"
            );
        }
    }
}
