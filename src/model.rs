//! Checks models of code that uses this crate, with [loom](https://docs.rs/loom).
#![doc = include_str!("../docs/CHECKING.md")]

#[cfg(not(releasepool_shuttle))]
mod builder;
#[cfg(all(loom, feature = "loom"))]
mod checker;
mod execution;

#[cfg(not(releasepool_shuttle))]
pub use builder::{Builder, Failure, Mode, Report, check, point, set_mode};
pub use execution::{JoinHandle, begin, end, free_kept, quiesce, spawn, thread_exit};

/// Stands in for std's atomics, for models: unlike loom's own atomics, these are checked in both
/// [modes](Mode). See "Your own atomics and locks".
#[cfg(not(releasepool_shuttle))]
#[doc(no_inline)]
pub use crate::sync::user_atomic as atomic;

// For the crate's own models.
#[cfg(all(loom, feature = "loom"))]
#[doc(hidden)]
pub use crate::sync::settings::{Site, Weaker, record_sites, sites, weaken};
#[cfg(all(loom, feature = "loom"))]
#[doc(hidden)]
pub use crate::sync::time::now;

use crate::thread::key::ThreadKey;

/// Returns the index of the registry slot that the key names; a later thread may reuse the slot.
#[doc(hidden)]
pub fn slot(key: ThreadKey) -> u32 {
    key.index()
}

/// Single internal queues and tables: models of them are small enough to be checked without bounds.
#[cfg(all(loom, feature = "loom"))]
#[doc(hidden)]
pub mod parts {
    use crate::epoch;
    use crate::hot;
    use crate::hot::hot_handle::Hot;
    use crate::object::strong::Ref;
    use crate::pool::api::guard::AutoreleasePool;
    use crate::pool::api::pin;
    use crate::pool::entries::retired;
    use crate::reclaim::room;
    use crate::sync::atomic::{AtomicU64, Ordering};
    use crate::sync::{FreeWitness, Witness, boxed, cell, unbox};
    use crate::thread::counted::CountedInbox;
    use crate::thread::inbox::{self, Chain, Message, MessageKind, Node, PushOutcome};
    use crate::thread::key::ThreadKey;
    use crate::thread::orphans::ORPHANS;
    use crate::thread::record::Record;
    use crate::thread::{current, registry};
    use std::sync::Arc;

    /// Returns the number of the object's row in the table of hot objects.
    pub fn hot_row<T>(hot: &Hot<T>) -> usize {
        hot.row()
    }

    /// Returns the address of the calling thread's accounts of hot objects, if it has any.
    pub fn hot_book() -> Option<usize> {
        hot::own_book::book_address()
    }

    /// Returns how many hot objects are dead and not released.
    pub fn hot_unreleased() -> usize {
        hot::review::unreleased()
    }

    /// Returns how many hot objects the calling thread is releasing.
    pub fn hot_releasing_here() -> usize {
        hot::review::releasing_here()
    }

    /// Returns how many releases of hot objects are over.
    pub fn hot_ended() -> u64 {
        hot::review::ended()
    }

    /// Returns how many orphans have run.
    pub fn orphans_ran() -> u64 {
        ORPHANS.ran()
    }

    /// Retires `r`, and makes all that is retired ready to be released: no thread may be pinned.
    pub fn retire_and_adopt(r: Ref<impl Send + Sync>) {
        // SAFETY: the reference `r` is given up here, and its object may be sent to other threads.
        unsafe { pin::retire(Ref::into_payload(r).cast()) };
        epoch_collect();
    }

    /// Collects what slots have retired, unless orphaned releases wait; releases nothing. Returns
    /// whether any release is ready.
    pub fn epoch_collect() -> bool {
        ORPHANS.has_releases() || epoch::has_deferred() && retired::collect()
    }

    /// Collects without the fence, which in loom also acquires what others have read: nothing may be pinned.
    pub fn collect_without_fence() {
        retired::RETIRED.collect(|| u64::MAX);
    }

    /// Pins a pool, as its first load from a slot does.
    pub fn pin(pool: &AutoreleasePool) {
        pool.pin();
    }

    /// Calls `f` while the calling thread is pinned, as `Slot::load_full` does.
    pub fn pinned<R>(f: impl FnOnce() -> R) -> R {
        pin::pinned(f)
    }

    /// Begins a new epoch, and returns the tag of the references that were taken before.
    pub fn epoch_seal() -> u64 {
        epoch::seal()
    }

    /// Reads the epoch.
    pub fn epoch_now() -> u64 {
        epoch::EPOCH.now.load(Ordering::Relaxed)
    }

    /// Returns the oldest epoch that is announced, after a collection's fence.
    pub fn epoch_oldest_pin() -> u64 {
        epoch::oldest_pin()
    }

    /// Returns whether any retired reference waits for a collection, or for a pin to end.
    pub fn is_deferred() -> bool {
        epoch::has_deferred()
    }

    /// Returns how many retired references and orphans wait, or run on other threads.
    pub fn outstanding() -> usize {
        retired::outstanding()
    }

    /// Returns the oldest epoch that is announced, without a fence.
    pub fn epoch_glance() -> u64 {
        epoch::glance()
    }

    /// Returns the pools and calls that hold the epoch, each as its thread's label and its name.
    pub fn epoch_held_by() -> Vec<(String, String)> {
        epoch::holders()
    }

    /// Registers the calling thread, which must be new, with a bound on its waiting releases.
    pub fn enter_bounded(bound: u64) {
        current::enter_bounded(bound);
    }

    /// An inbox of numbers; loom checks that each number is read after it was made.
    #[derive(Default)]
    pub struct Inbox(inbox::Inbox);

    #[repr(C)]
    struct Number {
        node: Node,
        number: u32,
        witness: Witness,
    }

    fn read(chain: Chain) -> Vec<u32> {
        let take = |message: Message| {
            // SAFETY: `message` has made every message in this inbox, and allocates by `boxed`.
            let number = unsafe { unbox(message.into_raw().cast::<Number>()) };
            // loom fails here unless making the message happens before this read.
            number.witness.write();
            number.number
        };
        chain.map(take).collect()
    }

    fn message(number: u32) -> Message {
        let node = Node::new(MessageKind::Release, ThreadKey::new(0, 0));
        let witness = Witness::new();
        let message = boxed(Number {
            node,
            number,
            witness,
        });
        // SAFETY: the message was just allocated, and no other thread can reach it yet; a number is
        // Send.
        unsafe { Message::from_raw(message.cast()) }
    }

    fn wakes(sent: Result<PushOutcome, Message>) -> Option<bool> {
        match sent {
            Ok(sent) => Some(sent == PushOutcome::WakeOwner),
            Err(back) => {
                // SAFETY: the inbox has given back the message, which `message` made by `boxed`.
                drop(unsafe { unbox(back.into_raw().cast::<Number>()) });
                None
            }
        }
    }

    /// An inbox of numbers that counts the numbers that are sent, refused and run.
    #[derive(Default)]
    pub struct Counted(CountedInbox);

    impl Counted {
        /// Counts a number as sent, and sends it. Returns whether it was accepted.
        pub fn push(&self, number: u32) -> bool {
            wakes(self.0.send(message(number))).is_some()
        }

        /// Counts a number as sent, and then as refused, as [`CountedInbox::announce_within`] does
        /// at its bound, but without that function's first load of `refused`: it adds no schedule.
        pub fn refuse(&self) {
            self.0.announce(1);
            self.0.refuse(1);
        }

        /// Counts a number as sent if fewer than `bound` wait; returns whether fewer waited.
        pub fn announce_within(&self, bound: u64) -> bool {
            self.0.announce_within(1, bound)
        }

        /// Takes out all numbers, oldest first.
        pub fn take(&self) -> Vec<u32> {
            read(self.0.inbox().take())
        }

        /// Closes the inbox and takes out all numbers, oldest first.
        pub fn close(&self) -> Vec<u32> {
            read(self.0.inbox().close())
        }

        /// Owner only: counts a number as run.
        pub fn done(&self) {
            self.0.count_done(1);
        }

        /// Returns how many numbers were counted as sent, and neither as refused nor as run.
        pub fn waiting(&self) -> u64 {
            self.0.waiting()
        }
    }

    impl Inbox {
        /// Sends a number. Returns whether the owner must be woken; `None` if the number was
        /// refused.
        pub fn push(&self, number: u32) -> Option<bool> {
            wakes(self.0.push(message(number)))
        }

        /// Owner only: makes the next push wake the owner, unless a message waits already. Returns
        /// whether the next push will wake the owner.
        pub fn arm(&self) -> bool {
            self.0.arm()
        }

        /// Makes the owner look at the inbox. Returns whether the owner must be woken.
        pub fn nudge(&self) -> bool {
            self.0.nudge() == PushOutcome::WakeOwner
        }

        /// Returns whether a number waits, or the owner has been nudged and has not taken since.
        pub fn has_messages(&self) -> bool {
            self.0.has_messages()
        }

        /// Takes out all numbers, oldest first.
        pub fn take(&self) -> Vec<u32> {
            read(self.0.take())
        }

        /// Closes the inbox and takes out all numbers, oldest first.
        pub fn close(&self) -> Vec<u32> {
            read(self.0.close())
        }
    }

    /// A reclaimer's room for values.
    #[derive(Default)]
    pub struct Room(room::Room);

    impl Room {
        /// Sleeps until there may be room, unless `is_there` returns true; returns false once the
        /// reclaimer has ended.
        pub fn wait(&self, is_there: impl FnOnce() -> bool) -> bool {
            self.0.wait(is_there)
        }

        /// Wakes the threads that wait. Only one thread may call this, after it has made room.
        pub fn made(&self) {
            self.0.made();
        }

        /// Ends all waits. Only the thread that makes room may call this.
        pub fn end(&self) {
            self.0.end();
        }
    }

    /// A registry of threads, separate from that of the process.
    #[derive(Default)]
    pub struct Registry(registry::Registry);

    /// One of the crate's cells, shared between threads on purpose, for canaries.
    #[derive(Debug, Default)]
    pub struct Cell(cell::Cell<u32>);

    // SAFETY: loom runs one thread at a time, so accesses never overlap; loom fails the model if
    // two of them are not ordered.
    unsafe impl Sync for Cell {}

    impl Cell {
        /// Reads the cell.
        pub fn get(&self) -> u32 {
            self.0.get()
        }

        /// Writes the cell.
        pub fn set(&self, n: u32) {
            self.0.set(n);
        }
    }

    /// One of the crate's atomics, for canaries.
    #[derive(Debug, Default)]
    pub struct Atomic(AtomicU64);

    impl Atomic {
        /// Loads the value, relaxed.
        pub fn load(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        /// Stores the value, relaxed.
        pub fn store(&self, n: u64) {
            self.0.store(n, Ordering::Relaxed);
        }

        /// Stores the value, relaxed, and returns the old one.
        pub fn swap(&self, n: u64) -> u64 {
            self.0.swap(n, Ordering::Relaxed)
        }

        /// Tells the checker that the memory was freed, without any synchronization.
        ///
        /// # Safety
        /// No memory is freed, so callers need not promise anything. The function is unsafe because
        /// it plants a mistake that the checker must find.
        pub unsafe fn lie_freed(&self) {
            // SAFETY: loom runs one thread at a time, and keeps the value outside of the atomic, so
            // no other reference is in use; the missing order is the mistake that a canary detects.
            unsafe { &mut *(&raw const self.0).cast_mut() }.freed();
        }
    }

    impl Registry {
        /// Registers a thread; returns its key.
        pub fn claim(&self) -> ThreadKey {
            self.0.claim(|key| Arc::new(Record::new(key, None))).key()
        }

        /// Removes the thread with this key.
        pub fn leave(&self, key: ThreadKey) {
            self.0.leave(key);
        }

        /// Looks a key up; returns the key in the record that was found.
        pub fn get(&self, key: ThreadKey) -> Option<ThreadKey> {
            self.0.get(key).map(|record| record.key())
        }

        /// Returns the keys in all records.
        pub fn all(&self) -> Vec<ThreadKey> {
            self.0
                .all()
                .into_iter()
                .map(|record| record.key())
                .collect()
        }
    }
}
