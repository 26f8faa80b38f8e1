//! For model checking: this crate's models, and yours.
//!
//! Only there with `--cfg loom`, `--cfg crossbeam_loom` and the feature `loom`; then everything in the crate
//! runs on loom's atomics, cells, threads and thread-locals. A model
//!
//! * starts its threads by `loom::thread`, and calls [`thread_exit`] at the end of
//!   each, as loom runs the destructors of thread-locals only after a `join` has
//!   returned;
//! * calls [`begin`] first, and [`end`] last, which exits the main thread, and fails if
//!   an object still lives.
//!
//! Run it in both [`Mode`]s: see [`set_mode`].
//!
//! Functions that are `const` elsewhere, such as [`HandoffPool::new`](crate::HandoffPool::new), are
//! not here: loom's cells and atomics belong to an execution.

use crate::object::header;
use crate::object::home::{KEPT, Kept};
use crate::sync::settings;
use crate::thread::key::ThreadKey;
use crate::thread::orphans::{ORPHANS, Orphans};
use crate::thread::record::{DEPARTED, tally_destroyed};

pub use crate::sync::time::{let_time_pass, now};
pub use settings::{Mode, Site, record_sites, set_mode, sites, weaken};

/// What a thread's end does: drains its root and token pools, closes its inbox,
/// hands on the rest. To be called at the end of each of a model's threads.
pub fn thread_exit() {
    crate::thread::exit::thread_exit();
}

/// To be called at the start of each execution.
pub fn begin() {
    settings::begin_execution();
    // A constant in fact, made here as loom's statics are: by who comes first, which
    // would order what it did before with what all others do after.
    let _orphans: &Orphans = &ORPHANS;
    let _kept: &Kept = &KEPT;
    DEPARTED.created.take();
    DEPARTED.destroyed.take();
    DEPARTED.handed_over.take();
}

/// To be called at the end of each execution, by the main thread, after all others
/// have been joined. Exits the main thread.
///
/// # Panics
/// If a counted object still lives.
pub fn end() {
    thread_exit();
    let (created, destroyed) = (DEPARTED.created.get(), DEPARTED.destroyed.get());
    assert_eq!(
        created, destroyed,
        "objects still live (or died twice) at the end"
    );
}

/// Frees what [`HomeRef`](crate::HomeRef)s have left behind whose home was gone, as [`end`]
/// takes it for alive, and loom for a leak. No destructor runs. How many there were.
pub fn free_kept() -> usize {
    let free = |object| {
        tally_destroyed(1);
        // SAFETY: dead, and nobody has a reference of any kind.
        unsafe { header::free(object) };
    };
    KEPT.take().map(free).count()
}

/// Index of the slot in the registry: the same for a thread and its successor.
pub fn slot(key: ThreadKey) -> u32 {
    key.index()
}

/// The small queues and tables beneath the public types, on their own: models of
/// them stay small enough to be checked without bounds.
pub mod parts {
    use crate::sync::atomic::{AtomicU64, Ordering};
    use crate::sync::cell;
    use crate::sync::{FreeWitness, Witness, boxed, unbox};
    use crate::thread::inbox::{self, Chain, Kind, Message, Node, Sent};
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

    impl Default for Inbox {
        fn default() -> Self {
            Self(inbox::Inbox::new())
        }
    }

    impl Inbox {
        /// Sends a number. Returns whether the owner is to be rung for it; `None` if it was refused.
        pub fn push(&self, number: u32) -> Option<bool> {
            let node = Node::new(Kind::Release, ThreadKey::new(0, 0), run);
            let witness = Witness::new();
            let message = boxed(Number {
                node,
                number,
                witness,
            });
            // SAFETY: just made, and numbers may be sent.
            let message = unsafe { Message::from_raw(message.cast()) };
            match self.0.push(message) {
                Ok(sent) => Some(sent == Sent::Ring),
                Err(back) => {
                    // SAFETY: the same message.
                    drop(unsafe { unbox(back.into_raw().cast::<Number>()) });
                    None
                }
            }
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
            self.0.claim(|key| Arc::new(Record::new(key))).key()
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
