//! Implicit autorelease: into the current pool, or into the root pool if none is open.

use crate::event::{Event, EventKind};
use crate::ledger;
use crate::object::destroy::release;
use crate::object::header::{Thin, name_of};
use crate::object::object_memory::BlockSource;
use crate::object::strong::Ref;
use crate::pool::drain::{this_thread, watch};
use crate::pool::stack::pool_life::PoolKind;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::current::current_label;
use std::panic::Location;

/// Moves the reference into this thread's current pool, the innermost that is open, which releases
/// the reference when the pool is drained: *autorelease*. (The guide says [which pool is
/// current](crate::guide#which-pool-is-current) after pools are closed out of order.) If no pool is
/// open, the reference goes to the thread's root pool, which the thread's exit and
/// [`PoolManager::drain_root`](crate::PoolManager::drain_root) drain; an
/// [event](crate::event::EventKind::NoPool) reports this with the place of the call, once for each
/// type and place and then at growing intervals.
///
/// Lends nothing back, because nothing tells the caller when the pool is drained. If you need the
/// object until then, use [`AutoreleasePool::autorelease`](crate::AutoreleasePool::autorelease).
///
/// This function uses the pools of the [global](crate::PoolManager::global) manager; for others
/// there is [`PoolManager::autorelease`](crate::PoolManager::autorelease).
///
/// Touches only memory of this thread. In the destructor of a static or a thread-local, the library may
/// have ended on this thread already: then there is no root pool any more, and the reference is released
/// at once unless a pool has been opened since.
///
/// ```
/// use releasepool::{Ref, autorelease, autoreleasepool};
/// let r = Ref::new(1);
/// let w = Ref::downgrade(&r);
/// autoreleasepool(|_| {
///     autorelease(r);
///     assert!(w.upgrade().is_some());
/// });
/// assert!(w.upgrade().is_none());
/// ```
#[inline]
#[track_caller]
pub fn autorelease<T: ?Sized>(r: Ref<T>) {
    let site = Location::caller();
    autorelease_to(Ref::into_payload(r).cast(), site, |pools| &pools.first);
}

/// Creates an object in the current pool of this thread, as [`autorelease`] finds it, and returns a
/// second reference: for code that runs in a pool that is not passed to it, such as a
/// [poll](crate::pooled), a callback, or a function that one of these calls.
///
/// The object lives until the pool is drained, even if the returned reference is dropped before:
/// so a pointer to the object stays valid for foreign code until the poll or callback ends. If no
/// pool is open, the object goes where `autorelease` would put it.
///
/// # When not to use it
/// Where the pool is at hand: [`AutoreleasePool::create`](crate::AutoreleasePool::create) lends the
/// object without counting. For an object that need not outlive the returned reference, use
/// [`Ref::new`].
///
/// # Threads
/// The value need not be `Send`: the pool belongs to the calling thread.
///
/// # Cost
/// A block of the [process-wide allocator](crate::memory::BlockAllocator::process), an entry, and the count
/// of a second reference. Aborts when memory is exhausted (`handle_alloc_error`).
///
/// ```
/// use releasepool::{Ref, Weak, autoreleasepool, pool};
/// fn name() -> Weak<String> {
///     Ref::downgrade(&pool::create(String::from("player 1")))
/// }
/// autoreleasepool(|_| assert_eq!(*name().upgrade().unwrap(), "player 1"));
/// ```
#[inline]
#[track_caller]
pub fn create<T>(value: T) -> Ref<T> {
    let r = Ref::new_from(value, BlockSource::Process);
    autorelease(r.clone());
    r
}

impl<T: ?Sized> Ref<T> {
    /// Moves the reference into this thread's current pool, as the function [`autorelease`] does.
    #[inline]
    #[track_caller]
    pub fn autorelease(this: Self) {
        autorelease(this);
    }
}

/// Takes over one strong reference and moves it into the current pool of the stack that `stack`
/// selects. `site` is the place where the user made the call.
#[inline]
pub(crate) fn autorelease_to(
    thin: Thin,
    site: &'static Location<'static>,
    stack: impl FnOnce(&ThreadPools) -> &PoolStack,
) {
    this_thread::with(|pools| {
        let Some(pools) = pools else {
            return autorelease_late(thin, site, stack);
        };
        let stack = stack(pools);
        // The ledger comes first, as it calls the global allocator, which may open and close pools.
        let label = || stack.current_pool().entries.label();
        ledger::autoreleased(thin, site, label);
        let pool = stack.current_pool();
        if pool.life.is(PoolKind::Root) {
            push_root(stack, pool, thin, site);
        } else {
            pool.push(thin);
        }
    });
}

/// Autoreleases on a thread that has exited: to a pool opened since, or else releases at once.
#[cold]
#[inline(never)]
fn autorelease_late(
    thin: Thin,
    site: &'static Location<'static>,
    stack: impl FnOnce(&ThreadPools) -> &PoolStack,
) {
    this_thread::late(|pools| {
        let stack = pools.map(stack).filter(|stack| !stack.at_root());
        if let Some(stack) = stack {
            ledger::autoreleased(thin, site, || stack.current_pool().entries.label());
        }
        // The ledger calls the global allocator, which may close pools.
        if let Some(stack) = stack.filter(|stack| !stack.at_root()) {
            return stack.current_pool().push(thin);
        }
        // SAFETY: the caller has given up this reference.
        unsafe { release(thin) };
    });
}

#[cold]
#[inline(never)]
fn push_root(stack: &PoolStack, root: &PoolState, thin: Thin, site: &'static Location<'static>) {
    // SAFETY: the reference that the caller has given up keeps the object alive.
    let name = unsafe { name_of(thin) };
    root.entries.push(thin, &stack.thread_pools().pages);
    stack.stats.root_has_grown(root.entries.len());
    // Reports nothing during a drain of the root pool: that drain also releases the entries that
    // its destructors add.
    if root.life.is_draining() {
        return;
    }
    if let Some(times) = stack.strays.count(name, site, stack.manager.id) {
        let event = Event::new(EventKind::NoPool, current_label());
        event
            .pool("root")
            .manager(stack.manager.id, stack.manager.name.as_deref())
            .of_type(name.get())
            .at(site)
            .created_at(ledger::site_of(thin))
            .times(times as usize)
            .emit();
    }
    watch::root(stack);
}
