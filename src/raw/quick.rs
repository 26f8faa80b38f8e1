//! The quick ways of C++: allocation, autorelease and freeing with one look-up of the thread's state
//! for many calls.
//!
//! In a shared library, each look-up of a thread-local is a call of the dynamic linker, around
//! which the compiler saves registers. So C++ looks up one thread-local of its own, which leads to
//! all addresses. Each way does only what most calls need, and returns `None` or false otherwise.

use crate::foreign::by_hand::ByHandContext;
use crate::foreign::class::ForeignClass;
use crate::foreign::own_memory;
use crate::macros::debug_fields;
use crate::memory::block::block_allocator::alloc_at_hand;
use crate::memory::block::heap::Heap;
use crate::memory::block::thread_heaps;
use crate::object::object_memory::block_of_size;
use crate::pool::drain::this_thread;
use crate::pool::entries::Entries;
use crate::pool::stack::pool_life::PoolKind;
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::cell::Cell;
use crate::thread::current;
use crate::thread::record::{Record, Tally};
use std::alloc::Layout;
use std::ptr::NonNull;

/// The context of a thread: the addresses of its thread-locals. None of these has a destructor, so the
/// addresses are valid until the thread ends; on systems without native thread-locals, such as Android,
/// until the last of the four rounds in which pthread keys are destroyed.
#[derive(Clone, Copy)]
pub struct ThreadContext {
    heap: NonNull<Cell<*const Heap>>,
    record: NonNull<Cell<*const Record>>,
    pools: NonNull<Cell<*const ThreadPools>>,
    by_hand: ByHandContext,
}

debug_fields! { ThreadContext: |_this| .. }

impl ThreadContext {
    /// Returns the context of the calling thread.
    pub fn of_this_thread() -> Self {
        Self {
            heap: thread_heaps::process_heap_place(),
            record: current::record_place(),
            pools: this_thread::place(),
            by_hand: ByHandContext::of_this_thread(),
        }
    }

    /// Returns the thread's figures, if the thread is in the registry and has not exited.
    ///
    /// # Safety
    /// The context is that of the calling thread.
    #[inline(always)]
    unsafe fn tally(&self) -> Option<&Tally> {
        // SAFETY: the pointer is null, or leads to a record that exists (invariant 7 of `thread`).
        unsafe { self.record.as_ref().get().as_ref() }.map(|record| &record.tally)
    }

    /// Takes a block from the thread's heap, and counts an object.
    ///
    /// # Safety
    /// The contract of [`tally`](Self::tally); `class` is a size class.
    #[inline(always)]
    unsafe fn alloc_counted(&self, class: usize, waste: usize) -> Option<NonNull<u8>> {
        // SAFETY: the context is the calling thread's, and so is the heap to which it leads
        // (invariant 3 of `block`). The record exists while the pointer to it is not null (invariant 7 of
        // `thread`).
        unsafe {
            let heap = NonNull::new(self.heap.as_ref().get().cast_mut())?;
            let block = alloc_at_hand(heap, class, waste)?;
            // A thread that has a heap has a record: its exit gives up the heap first.
            let record = self.record.as_ref().get();
            debug_assert!(!record.is_null());
            (*record).tally.created.add(1);
            Some(block)
        }
    }

    /// Notes `block` in `own_memory`, unless the thread knows it to be noted; returns `block`.
    ///
    /// # Safety
    /// The contract of [`tally`](Self::tally).
    #[inline(always)]
    unsafe fn noted(&self, block: NonNull<u8>) -> NonNull<u8> {
        // SAFETY: forwards the contract.
        if unsafe { self.by_hand.knows(block) } {
            block
        } else {
            note(block)
        }
    }

    /// Allocates the memory of an object, as [`ForeignClass::alloc_uninit`] does.
    ///
    /// # Safety
    /// The context is that of the calling thread.
    #[inline(always)]
    pub unsafe fn alloc_uninit(&self, class: &'static ForeignClass) -> Option<NonNull<u8>> {
        let (size, waste) = class.block()?;
        // SAFETY: forwards the contract; a class knows its size class.
        unsafe {
            self.alloc_counted(size, waste)
                .map(|block| self.noted(block))
        }
    }

    /// Allocates memory as [`alloc_by_hand`](super::alloc_by_hand) does.
    ///
    /// # Safety
    /// The context is that of the calling thread.
    #[inline(always)]
    pub unsafe fn alloc_by_hand(&self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let (size, waste) = block_of_size(size, align)?;
        // SAFETY: forwards the contract; `block_of_size` returns a size class.
        unsafe {
            self.alloc_counted(size, waste)
                .map(|block| self.noted(block))
        }
    }

    /// Frees memory as [`free_by_hand`](super::free_by_hand) does. Returns whether it did.
    ///
    /// # Safety
    /// The context is that of the calling thread; the rest is the contract of `free_by_hand`, if this
    /// returns true.
    #[inline(always)]
    pub unsafe fn free_by_hand(&self, memory: NonNull<u8>, size: usize, align: usize) -> bool {
        let Some((size, waste)) = block_of_size(size, align) else {
            return false;
        };
        // SAFETY: the context is the calling thread's; the block is given up, by the contract.
        unsafe {
            let Some(tally) = self.tally() else {
                return false;
            };
            if !self.by_hand.has_no_pending() {
                return false;
            }
            tally.destroyed.add(1);
            thread_heaps::free_with(|| self.heap.as_ref().get(), memory, size, waste);
        }
        true
    }

    /// Returns the entries of the current pool, if it is no root pool and has room for one more on its
    /// topmost page.
    ///
    /// # Safety
    /// The context is that of the calling thread.
    #[inline(always)]
    unsafe fn entries_with_room(&self) -> Option<&Entries> {
        // With the ledger, which records the place of each call, the caller takes the slow way.
        if cfg!(feature = "leak-detection") {
            return None;
        }
        // SAFETY: the pointer is null, or leads to pools that only the thread's exit frees, which
        // does not run here (invariant 3 of `pool`).
        let pools = unsafe { self.pools.as_ref().get().as_ref() }?;
        let pool = pools.first.current_pool();
        (!pool.life.is(PoolKind::Root) && pool.entries.has_room()).then_some(&pool.entries)
    }

    /// Makes an object as [`ForeignClass::create`] does; its reference goes to the current pool.
    ///
    /// # Safety
    /// The context is that of the calling thread.
    #[inline(always)]
    pub unsafe fn create(&self, class: &'static ForeignClass) -> Option<NonNull<u8>> {
        let (size, waste) = class.block()?;
        // SAFETY: forwards the contract; a class knows its size class, and the block is new. The entries
        // still have room, as nothing that runs before `put` adds an entry.
        unsafe {
            let entries = self.entries_with_room()?;
            let block = self.alloc_counted(size, waste)?;
            let thin = class.begin_uncounted(block);
            entries.put(thin);
            Some(thin)
        }
    }

    /// Moves a strong reference into the current pool. Returns whether it did.
    ///
    /// # Safety
    /// The context is that of the calling thread. The caller owns a reference, which it gives up if
    /// this returns true.
    #[inline(always)]
    pub unsafe fn autorelease(&self, thin: NonNull<u8>) -> bool {
        // SAFETY: forwards the contract; the entries have room.
        unsafe {
            let Some(entries) = self.entries_with_room() else {
                return false;
            };
            entries.put(thin);
        }
        true
    }
}

// An `extern "C"` function does not unwind, so its callers need no stack frame.
#[cold]
#[inline(never)]
extern "C" fn note(block: NonNull<u8>) -> NonNull<u8> {
    own_memory::note(block, Layout::new::<usize>());
    block
}

#[cfg(all(test, not(feature = "leak-detection")))]
mod tests {
    use super::*;
    use crate::raw::tests::{class, tallies};
    use crate::raw::{Object, adopt, alloc_by_hand, free_by_hand};
    use crate::sync::thread::spawn;
    use crate::{AutoreleasePool, Ref};
    use std::alloc::Layout;

    /// Runs `f` on a thread that has not used the library.
    fn on_a_new_thread(f: impl FnOnce(ThreadContext) + Send + 'static) {
        let thread = spawn("new", || f(ThreadContext::of_this_thread()));
        thread.unwrap().join().unwrap();
    }

    #[test]
    fn a_thread_without_pools_and_memory_has_no_quick_way() {
        on_a_new_thread(|context| {
            let object = Ref::new(1);
            let at = NonNull::from(&*object).cast();
            // SAFETY: the context is this thread's; `object` keeps its reference, as none moves.
            unsafe {
                assert!(context.create(class(32, None)).is_none());
                assert!(context.alloc_uninit(class(32, None)).is_none());
                assert!(context.alloc_by_hand(32, 8).is_none());
                assert!(!context.autorelease(at));
            }
        });
    }

    #[test]
    fn the_root_pool_a_full_page_and_large_objects_have_no_quick_way() {
        on_a_new_thread(|context| {
            let (small, large) = (class(32, None), class(10_000, None));
            // SAFETY: the context is this thread's; each object has one reference.
            unsafe {
                drop(adopt(small.create().unwrap()));
                assert!(context.create(small).is_none());
                let pool = AutoreleasePool::new();
                assert!(context.create(small).is_none(), "a pool without a page");
                pool.autorelease(adopt(small.create().unwrap()));
                let before = tallies();
                let mut made = 0;
                while context.create(small).is_some() {
                    made += 1;
                }
                assert!(made > 0 && pool.len() == made + 1);
                assert_eq!(tallies(), (before.0 + made as u64, before.1));
                assert!(context.create(large).is_none());
                assert!(context.alloc_uninit(large).is_none());
                assert!(context.alloc_by_hand(10_000, 8).is_none());
                assert!(context.alloc_by_hand(64, 64).is_none());
            }
        });
    }

    #[test]
    fn the_quick_ways_do_what_the_others_do() {
        on_a_new_thread(|context| {
            let class = class(32, None);
            let mut pool = AutoreleasePool::new();
            // SAFETY: the context is this thread's, and each object has one reference.
            unsafe {
                pool.autorelease(adopt(class.create().unwrap()));
                class.free_uninit(context.alloc_uninit(class).unwrap());
                let before = tallies();
                let r: Ref<Object> = adopt(context.create(class).unwrap());
                assert!(class.has(NonNull::from(&*r).cast()));
                assert_eq!(Ref::strong_count(&r), 1);
                std::mem::forget(r);
                assert!(context.autorelease(class.create().unwrap()));
                assert_eq!((pool.len(), tallies()), (3, (before.0 + 2, before.1)));
                assert_eq!(pool.drain(), 3);
                assert_eq!(tallies(), (before.0 + 2, before.1 + 3));
                let layout = Layout::from_size_align(40, 8).unwrap();
                // Gives the thread's heap free blocks of this size.
                free_by_hand(alloc_by_hand(layout).unwrap(), layout);
                let before = tallies();
                let memory = context.alloc_by_hand(40, 8).unwrap();
                assert!(own_memory::contains(memory.add(16)));
                assert_eq!(tallies(), (before.0 + 1, before.1));
                assert!(context.free_by_hand(memory, 40, 8));
                assert_eq!(tallies(), (before.0 + 1, before.1 + 1));
            }
        });
    }
}
