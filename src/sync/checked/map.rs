//! A map whose locks loom sees.

use super::atomic::{AtomicUsize, Ordering};
use dashmap::DashMap;
use std::hash::{Hash, Hasher};

/// Keys that are this far apart share a word, so threads that use different keys seldom do.
const WORDS: u64 = 4;

/// A [`DashMap`], whose own locks loom does not see: so each operation on a key first does a
/// read-modify-write of the key's word. loom switches threads before that, not between the two.
#[derive(Debug)]
pub(crate) struct Map<K: Eq + Hash, V> {
    map: DashMap<K, V>,
    words: [AtomicUsize; WORDS as usize],
}

impl<K: Ord + Hash + Copy, V: Clone> Map<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            map: DashMap::new(),
            words: std::array::from_fn(|_| AtomicUsize::new(0)),
        }
    }

    fn lock(&self, key: &K) {
        let mut sum = Sum(0);
        key.hash(&mut sum);
        let word = &self.words[(sum.finish() % WORDS) as usize];
        // AcqRel: as the lock and unlock of a shard.
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
        self.map.get(key).map(|entry| entry.clone())
    }

    /// What is there, in no order that matters. What comes or goes meanwhile may be missing.
    pub(crate) fn all(&self) -> Vec<(K, V)> {
        let mut keys: Vec<K> = self.map.iter().map(|entry| *entry.key()).collect();
        // loom replays executions, and the order of a hash table is another one each time.
        keys.sort_unstable();
        keys.into_iter()
            .filter_map(|key| Some((key, self.get(&key)?)))
            .collect()
    }
}

/// The sum of the words that a key consists of, so that it is known which keys share a word.
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
