//! A map that calls no foreign code while it is locked, and room in lists.
//!
//! The global allocator is foreign code, which may use this crate. So memory is allocated before
//! the lock is taken, and freed after it is released; if the memory no longer suffices under the
//! lock, the thread begins again.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Entries<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A map for slow paths. An insertion happens before every read that finds it. Cloning a value must
/// not allocate.
pub(crate) struct Table<K, V>(Mutex<Entries<K, V>>);

impl<K: Eq + Hash + Copy, V: Clone> Table<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(HashMap::with_hasher(BuildHasherDefault::new())))
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let mut spare = Entries::default();
        loop {
            let mut entries = self.lock();
            let n = entries.len();
            if n == entries.capacity() && n < spare.capacity() {
                spare.extend(entries.drain());
                mem::swap(&mut *entries, &mut spare);
            }
            if n < entries.capacity() {
                let before = entries.insert(key, value);
                drop(entries);
                return drop((before, spare));
            }
            drop(entries);
            spare = Entries::with_capacity_and_hasher(2 * n + 4, BuildHasherDefault::new());
        }
    }

    pub(crate) fn remove(&self, key: &K) {
        // The end of this statement releases the lock; the value is dropped later.
        let removed = self.lock().remove(key);
        drop(removed);
    }

    pub(crate) fn get(&self, key: &K) -> Option<V> {
        self.lock().get(key).cloned()
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.lock().contains_key(key)
    }

    /// Returns all entries, in any order. Entries that are inserted or removed meanwhile may be
    /// missing.
    pub(crate) fn all(&self) -> Vec<(K, V)> {
        let mut all = Vec::new();
        loop {
            let entries = self.lock();
            let n = entries.len();
            if n <= all.capacity() {
                all.extend(entries.iter().map(|(key, value)| (*key, value.clone())));
                drop(entries);
                return all;
            }
            drop(entries);
            all = Vec::with_capacity(n + n / 8);
        }
    }
}

impl<K, V> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").finish_non_exhaustive()
    }
}

/// Makes room for one more item in a list. `access` locks or borrows the list, and passes the list
/// to the function that it gets.
pub(crate) fn reserve<T>(access: impl Fn(&mut dyn FnMut(&mut Vec<T>))) {
    let mut spare = Vec::new();
    loop {
        let mut more = None;
        access(&mut |list| {
            let n = list.len();
            if n == list.capacity() && n < spare.capacity() {
                spare.append(list);
                mem::swap(list, &mut spare);
            }
            more = (n == list.capacity()).then_some(2 * n + 4);
        });
        if more.is_none() && spare.capacity() == 0 {
            return;
        }
        // Frees the former memory, which may run foreign code that uses up the room.
        spare = more.map_or_else(Vec::new, Vec::with_capacity);
    }
}
