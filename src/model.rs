//! Model checks your own code on top of this crate, with [loom](https://docs.rs/loom).
#![doc = include_str!("../docs/CHECKING.md")]

mod builder;
#[cfg(all(loom, feature = "loom"))]
mod engine;
#[cfg(all(loom, feature = "loom"))]
mod live;
mod mode;
#[cfg(all(loom, feature = "loom"))]
mod replay;
mod thread;

pub use builder::{Builder, Failure, Report, check};
pub use mode::Mode;
pub use thread::{JoinHandle, point, spawn, thread_exit};

// For the crate's own models.
#[cfg(all(loom, feature = "loom"))]
#[doc(hidden)]
pub use crate::sync::settings::{Site, record_sites, sites, weaken};
#[cfg(all(loom, feature = "loom"))]
#[doc(hidden)]
pub use crate::sync::time::now;

use crate::PoolManager;
use crate::object::header;
use crate::object::thread_bound::HOMELESS;
use crate::thread::current::tally_destroyed;
use crate::thread::key::ThreadKey;
use std::time::Duration;

/// Sets how loads are made from now on, in the whole process.
///
/// For code that calls loom itself, with [`begin`] and [`end`]; [`Builder`] does it for you.
pub fn set_mode(mode: Mode) {
    crate::sync::settings::make_loads_rmw(mode == Mode::Rmw);
}

/// Starts an execution of a model; to be called first.
///
/// For code that calls loom itself; [`Builder`] does it for you.
pub fn begin() {
    live::begin();
}

/// Ends an execution of a model; to be called last, by the main thread, after all others have been
/// joined.
///
/// Exits the main thread. For code that calls loom itself; [`Builder`] does it for you.
///
/// # Panics
/// If a counted object is alive, or a posted closure has not run. The message names the types, how
/// many objects of each there are, and what may hold them.
pub fn end() {
    thread_exit();
    live::assert_none();
}

/// Releases what slots have given up; to be called after the joins, when no pool is open.
///
/// A slot defers the release of what it gives up until no thread can be reading it, so an object
/// that was stored over is alive until then.
///
/// # Panics
/// If something keeps the release from happening, such as a pool that has loaded from a slot and is
/// open.
pub fn quiesce() {
    // Each advances the epoch by a step or two.
    let released = (0..10).any(|_| PoolManager::global().quiesce(Duration::ZERO));
    assert!(released, "a thread still reads from a slot: drop its pools");
}

/// Frees the values of [`HomeRef`](crate::HomeRef)s that outlived their home; returns how many.
///
/// Such values are kept for ever, which [`end`] takes for objects that are alive, and loom for a
/// leak. Call this at the end of a model that makes them on purpose. No destructor runs.
pub fn free_kept() -> usize {
    let free = |object| {
        tally_destroyed(1);
        // SAFETY: dead, and nobody has a reference of any kind.
        unsafe { header::free(object) };
    };
    HOMELESS.take().map(free).count()
}

/// Returns the index of the thread's slot in the registry, which its successor may have too.
#[doc(hidden)]
pub fn slot(key: ThreadKey) -> u32 {
    key.index()
}

/// The small queues and tables beneath the public types, on their own: models of
/// them stay small enough to be checked without bounds.
#[cfg(all(loom, feature = "loom"))]
#[doc(hidden)]
pub mod parts {
    use crate::sync::atomic::{AtomicU64, Ordering};
    use crate::sync::cell;
    use crate::sync::{FreeWitness, Witness, boxed, unbox};
    use crate::thread::counted::CountedInbox;
    use crate::thread::inbox::{self, Chain, Message, MessageKind, Node, PushOutcome};
    use crate::thread::key::ThreadKey;
    use crate::thread::record::Record;
    use crate::thread::registry;
    use std::ptr::NonNull;
    use std::sync::Arc;

    /// An inbox for numbers; loom watches each number.
    pub struct Inbox(inbox::Inbox);

    #[repr(C)]
    struct Number {
        node: Node,
        number: u32,
        witness: Witness,
    }

    unsafe fn run(_: NonNull<Node>) {
        unreachable!("numbers are read, not run")
    }

    fn read(chain: Chain) -> Vec<u32> {
        let take = |message: Message| {
            // SAFETY: all messages here are numbers.
            let number = unsafe { unbox(message.into_raw().cast::<Number>()) };
            // loom checks that its making came before.
            number.witness.write();
            number.number
        };
        chain.map(take).collect()
    }

    fn message(number: u32) -> Message {
        let node = Node::new(MessageKind::Release, ThreadKey::new(0, 0), run);
        let witness = Witness::new();
        let message = boxed(Number {
            node,
            number,
            witness,
        });
        // SAFETY: just made, and numbers may be sent.
        unsafe { Message::from_raw(message.cast()) }
    }

    fn rings(sent: Result<PushOutcome, Message>) -> Option<bool> {
        match sent {
            Ok(sent) => Some(sent == PushOutcome::WakeOwner),
            Err(back) => {
                // SAFETY: all messages here are numbers.
                drop(unsafe { unbox(back.into_raw().cast::<Number>()) });
                None
            }
        }
    }

    impl Default for Inbox {
        fn default() -> Self {
            Self(inbox::Inbox::new())
        }
    }

    /// The same, with the counts of what was sent and of what has run.
    pub struct Counted(CountedInbox);

    impl Default for Counted {
        fn default() -> Self {
            Self(CountedInbox::new())
        }
    }

    impl Counted {
        /// Counts a number as sent, and sends it. Returns whether it was accepted.
        pub fn push(&self, number: u32) -> bool {
            self.0.announce(1);
            rings(self.0.push(message(number))).is_some()
        }

        /// Takes what is there.
        pub fn take(&self) -> Vec<u32> {
            read(self.0.inbox().take())
        }

        /// Closes the inbox and takes what is there.
        pub fn close(&self) -> Vec<u32> {
            read(self.0.inbox().close())
        }

        /// For the owner: counts a number as run.
        pub fn done(&self) {
            self.0.done(1);
        }

        /// Returns how many were sent and have not run.
        pub fn waiting(&self) -> u64 {
            self.0.waiting()
        }
    }

    impl Inbox {
        /// Sends a number. Returns whether the owner is to be rung for it; `None` if it was refused.
        pub fn push(&self, number: u32) -> Option<bool> {
            rings(self.0.push(message(number)))
        }

        /// For the owner: has the next push ring, if there is nothing. Returns whether it will.
        pub fn arm(&self) -> bool {
            self.0.arm()
        }

        /// Takes what is there.
        pub fn take(&self) -> Vec<u32> {
            read(self.0.take())
        }

        /// Closes the inbox and takes what is there.
        pub fn close(&self) -> Vec<u32> {
            read(self.0.close())
        }
    }

    /// A registry of its own.
    pub struct Registry(registry::Registry);

    impl Default for Registry {
        fn default() -> Self {
            Self(registry::Registry::new())
        }
    }

    /// One of the crate's cells, for canaries: every thread may use it.
    #[derive(Debug)]
    pub struct Cell(cell::Cell<u32>);

    // SAFETY: loom runs one thread at a time, and fails if two uses are not ordered.
    unsafe impl Sync for Cell {}

    impl Default for Cell {
        fn default() -> Self {
            Self(cell::Cell::new(0))
        }
    }

    impl Cell {
        /// Reads it.
        pub fn get(&self) -> u32 {
            self.0.get()
        }

        /// Writes it.
        pub fn set(&self, n: u32) {
            self.0.set(n);
        }
    }

    /// One of the crate's atomics, for canaries.
    #[derive(Debug)]
    pub struct Atomic(AtomicU64);

    impl Default for Atomic {
        fn default() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    impl Atomic {
        /// A relaxed load.
        pub fn load(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        /// A relaxed store.
        pub fn store(&self, n: u64) {
            self.0.store(n, Ordering::Relaxed);
        }

        /// Marks the memory as given back, without any synchronisation.
        ///
        /// # Safety
        /// None in fact: it only tells the checker a lie that it must find out.
        pub unsafe fn lie_freed(&self) {
            // SAFETY: loom runs one thread at a time, and keeps the value outside
            // of the atomic; this is the mistake that a canary is to detect.
            unsafe { &mut *(&raw const self.0).cast_mut() }.freed();
        }
    }

    impl Registry {
        /// Enters a thread, and gives its key.
        pub fn claim(&self) -> ThreadKey {
            self.0.claim(|key| Arc::new(Record::new(key, None))).key()
        }

        /// The thread of this key has left.
        pub fn leave(&self, key: ThreadKey) {
            self.0.leave(key);
        }

        /// Looks a key up: the key in the record that was found.
        pub fn get(&self, key: ThreadKey) -> Option<ThreadKey> {
            self.0.get(key).map(|record| record.key())
        }

        /// The keys in all records.
        pub fn all(&self) -> Vec<ThreadKey> {
            self.0
                .all()
                .into_iter()
                .map(|record| record.key())
                .collect()
        }
    }
}
