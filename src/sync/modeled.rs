//! The code that loom and shuttle share.

use super::atomic::{AtomicPtr, AtomicUsize, Ordering};
use super::map::PlainMap;
use std::any::Any;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Empty: models have no readers outside of the process.
pub(crate) struct Roll;

/// Empty, like [`Roll`].
#[derive(Debug)]
pub(crate) struct Link;

impl Roll {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) unsafe fn add(&self, _: &Link) {}

    pub(crate) unsafe fn remove(&self, _: &Link) {}
}

impl Link {
    pub(crate) const fn new() -> Self {
        Self
    }
}

/// Stands for the kernel's fence, which models cannot have: an access to one atomic, by the thread
/// that calls the fence and at each point where the fence may take effect. Of two such accesses,
/// the later one acquires what came before the earlier one. The models assume that the kernel's
/// fence orders at least as much.
pub(crate) mod membarrier {
    use crate::sync::atomic::{AtomicUsize, Ordering};

    super::super::global! {
        pub(crate) static KERNEL: AtomicUsize = AtomicUsize::new(0);
    }

    pub(crate) fn is_granted() -> bool {
        true
    }

    pub(crate) fn at_point<R>(access: impl FnOnce() -> R) -> R {
        fence_all();
        let result = access();
        fence_all();
        result
    }

    pub(crate) fn fence_all() -> bool {
        KERNEL.fetch_add(1, Ordering::AcqRel);
        true
    }
}

pub(crate) fn null_pointers<T, const N: usize>() -> [AtomicPtr<T>; N] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

macro_rules! array_of {
    ($item:expr; $n:expr) => {
        std::array::from_fn::<_, { $n }, _>(|_| $item)
    };
}
pub(crate) use array_of;

macro_rules! const_fn {
    ($(#[$doc:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$doc])* $vis fn $($rest)* };
}
pub(crate) use const_fn;

/// True: atomics are those of the model checker, and larger than native ones.
pub(crate) const CHECKED: bool = true;

/// True: models have no room for large tables, and must cross every bucket and page boundary.
pub(crate) const SMALL: bool = true;

/// Catches nothing: the checkers report a failure by a panic, which must propagate.
pub(crate) fn catch_unwind<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    Ok(f())
}

/// Does nothing: loom runs thread-local destructors after `join` has returned, so the threads of
/// models call the thread exit themselves.
pub(crate) fn at_thread_exit(_exit: fn()) -> bool {
    true
}

type TypeName = fn() -> &'static str;

struct Living {
    header: NonNull<u8>,
    type_name: TypeName,
}

// SAFETY: the address is never dereferenced here, only returned by `live_objects`.
unsafe impl Send for Living {}

/// The counted objects that have not been freed, for the message at the end of a model.
static LIVING: Mutex<BTreeMap<usize, Living>> = Mutex::new(BTreeMap::new());

fn all() -> MutexGuard<'static, BTreeMap<usize, Living>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records that the object with this header was made.
pub(crate) fn note_created(header: NonNull<u8>, type_name: TypeName) {
    all().insert(header.addr().get(), Living { header, type_name });
}

/// Records that the object with this header is about to be freed.
pub(crate) fn note_freed(header: NonNull<u8>) {
    all().remove(&header.addr().get());
}

/// Forgets all objects, at the start of an execution.
pub(crate) fn forget_objects() {
    all().clear();
}

/// Returns header and type of each object that was made and not freed in this execution.
pub(crate) fn live_objects() -> Vec<(NonNull<u8>, &'static str)> {
    let all = all();
    let each = all.values().map(|l| (l.header, (l.type_name)()));
    each.collect()
}

/// The number of words among which a [`Map`] distributes its keys, so that threads with different
/// keys seldom share a word.
const WORDS: u64 = 4;

/// A [`PlainMap`] whose operations the checker sees.
///
/// The checker does not see the table's own lock, so each operation on a key first does a
/// read-modify-write of the key's word. Threads may switch before the read-modify-write, but not
/// between it and the operation.
#[derive(Debug)]
pub(crate) struct Map<K: Eq + Hash, V> {
    map: PlainMap<K, V>,
    words: [AtomicUsize; WORDS as usize],
}

impl<K: Ord + Hash + Copy, V: Clone> Map<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            map: PlainMap::new(),
            words: std::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    fn lock(&self, key: &K) {
        let mut sum = Sum(0);
        key.hash(&mut sum);
        let word = &self.words[(sum.finish() % WORDS) as usize];
        // AcqRel: stands for the lock and unlock of the table.
        word.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        self.lock(&key);
        self.map.insert(key, value);
    }

    pub(crate) fn remove(&self, key: &K) {
        self.lock(key);
        self.map.remove(key);
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.lock(key);
        self.map.get(key)
    }

    /// Returns all entries, in any order. Entries that are inserted or removed during the call
    /// may be missing.
    pub(crate) fn all(&self) -> Vec<(K, V)> {
        let mut keys: Vec<K> = self.map.all().into_iter().map(|(key, _)| key).collect();
        // Executions are replayed, and the order of a hash table differs each time.
        keys.sort_unstable();
        keys.into_iter()
            .filter_map(|key| Some((key, self.get(&key)?)))
            .collect()
    }
}

/// A hash that is the sum of the words of a key, so that models know which keys share a word.
struct Sum(u64);

impl Hasher for Sum {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    }

    fn write_u32(&mut self, n: u32) {
        self.0 += u64::from(n);
    }
}
