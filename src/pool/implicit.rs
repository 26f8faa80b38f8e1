//! The current pool and the root pool.

use super::pool_stack::PoolStack;
use super::state::{Kind, PoolState};
use super::thread_pools::{self, ThreadPools};
use super::watch;
use crate::event::{Event, EventKind};
use crate::object::destroy::release;
use crate::object::header::{Thin, header};
use crate::object::strong::Ref;
use crate::thread::current::current_label;

/// Hands the reference to this thread's current pool, to be released when that
/// is drained: *autorelease*. Without an open pool it goes to the thread's root
/// pool, which [`PoolManager::drain_root`](crate::PoolManager::drain_root) and the
/// thread's end drain; an [event](crate::event::EventKind::NoPool) says so, once for each type
/// and then at growing intervals.
///
/// Returns no reference, as nobody knows when the current pool is drained: use
/// [`AutoreleasePool::autorelease`](crate::AutoreleasePool::autorelease) if you need
/// the object until then.
///
/// This is the process's own manager's; others have
/// [`PoolManager::autorelease`](crate::PoolManager::autorelease).
///
/// Touches only memory of this thread. While the thread's own thread-locals are
/// torn down there may be no pools any more: then the reference is released at
/// once.
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
pub fn autorelease<T: ?Sized>(r: Ref<T>) {
    autorelease_to(Ref::into_payload(r).cast(), |local| &local.first);
}

impl<T: ?Sized> Ref<T> {
    /// The same as [`autorelease`].
    pub fn autorelease(this: Self) {
        autorelease(this);
    }
}

/// Takes over one strong reference.
#[inline]
pub(crate) fn autorelease_to(thin: Thin, stack: impl FnOnce(&ThreadPools) -> &PoolStack) {
    thread_pools::with(|local| {
        let Some(local) = local else {
            // SAFETY: the reference that the caller gave up.
            return unsafe { release(thin) };
        };
        let stack = stack(local);
        let head = stack.current_pool();
        if head.kind.get() == Kind::Root {
            push_root(stack, head, thin);
        } else {
            head.entries.push(thin, &local.pages);
        }
    });
}

#[cold]
#[inline(never)]
fn push_root(stack: &PoolStack, root: &PoolState, thin: Thin) {
    // SAFETY: alive by the reference that we have.
    let class = unsafe { header(thin) }.type_info;
    root.entries.push(thin, &stack.local().pages);
    stack.stats.root_has_grown(root.entries.len());
    // What a drain autoreleases into its own root pool goes with it.
    if root.draining.get() > 0 {
        return;
    }
    if let Some(times) = stack.strays.count(class, stack.namespace.id) {
        let event = Event::new(EventKind::NoPool, current_label());
        event
            .pool("root")
            .manager(stack.namespace.id, stack.namespace.name.as_deref())
            .of_type(class.type_name())
            .times(times as usize)
            .emit();
    }
    watch::root(stack);
}
