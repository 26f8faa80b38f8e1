//! The keys of threads, and the calling thread's key.

use crate::sync::cell::Cell;
use crate::sync::{described, local};
use std::fmt;

/// The key of a thread, unique among all threads that this process ever runs.
///
/// Unlike the thread ids of the kernel or of pthreads, a key is never reused: it consists of the
/// index of a slot in the registry and of the slot's generation when the thread claimed it. A key
/// may outlive its thread; looking it up then finds nothing.
///
/// # Example
/// ```
/// use releasepool::PoolManager;
///
/// let manager = PoolManager::global();
/// let key = std::thread::spawn(|| PoolManager::global().current_thread().unwrap().key()).join().unwrap();
/// assert!(manager.thread(key).is_none(), "it has ended, and no other thread gets its key");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadKey {
    index: u32,
    generation: u32,
}

impl ThreadKey {
    /// The key of no thread: generations begin at 1.
    pub(crate) const NOBODY: Self = Self::new(u32::MAX, 0);

    pub(crate) const fn new(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }

    pub(crate) const fn index(self) -> u32 {
        self.index
    }

    pub(crate) const fn generation(self) -> u32 {
        self.generation
    }
}

/// Writes `#index.generation`.
impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}.{}", self.index, self.generation)
    }
}

impl fmt::Debug for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ThreadKey({self})")
    }
}

local! {
    /// The calling thread's key. The thread keeps it after its exit.
    static OWN: Cell<ThreadKey> = Cell::new(ThreadKey::NOBODY);
}

/// Sets the calling thread's key, when the thread is entered into the registry.
pub(super) fn set_own(key: ThreadKey) {
    OWN.with(|own| own.set(key));
}

/// Returns whether `key` is the calling thread's, also after its exit.
#[inline]
pub(crate) fn is_own(key: ThreadKey) -> bool {
    OWN.with(|own| own.get() == key)
}

/// Returns the calling thread's key if it has ever been entered, also after its exit.
#[inline]
pub(crate) fn own_key() -> Option<ThreadKey> {
    let key = OWN.with(Cell::get);
    (key != ThreadKey::NOBODY).then_some(key)
}

described! {
    use std::mem::offset_of;

    impl ThreadKey {
        pub(super) const INDEX: usize = offset_of!(Self, index);
        pub(super) const GENERATION: usize = offset_of!(Self, generation);
    }
}
