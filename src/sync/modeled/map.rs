//! A map whose locks the checker sees.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::table::Table;
use std::hash::{Hash, Hasher};

/// The number of words among which the keys are distributed, so that threads with different keys
/// seldom share a word.
const WORDS: u64 = 4;

/// A [`Table`] whose operations the checker sees.
///
/// It does not see the table's own lock, so each operation on a key first does a
/// read-modify-write of the key's word. Threads may switch before the read-modify-write, but
/// not between it and the operation.
#[derive(Debug)]
pub(crate) struct Map<K: Eq + Hash, V> {
    map: Table<K, V>,
    words: [AtomicUsize; WORDS as usize],
}

impl<K: Ord + Hash + Copy, V: Clone> Map<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            map: Table::new(),
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

    /// Returns all entries, in any order. Entries that are inserted or removed meanwhile may be
    /// missing.
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
