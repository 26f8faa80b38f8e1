//! A map and a list that call no foreign code under their locks, and functions that make room.
//!
//! The global allocator is foreign code, which may use this crate. So memory is allocated before
//! the lock is taken, and freed after it is released; if the memory no longer suffices under the
//! lock, the thread begins again.

use super::{Lock, const_fn};
use crate::macros::debug_fields;
use std::borrow::Borrow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

type Entries<K, V, H> = HashMap<K, V, BuildHasherDefault<H>>;

/// A map for slow paths. An insertion happens before every read that finds it. Cloning a value must
/// not allocate.
pub(crate) struct PlainMap<K, V, H = DefaultHasher>(Mutex<Entries<K, V, H>>);

impl<K: Eq + Hash + Copy, V: Clone, H: Hasher + Default> PlainMap<K, V, H> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(HashMap::with_hasher(BuildHasherDefault::new())))
    }

    fn lock(&self) -> MutexGuard<'_, Entries<K, V, H>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        let before = self.with_room(|entries| entries.insert(key, value));
        drop(before);
    }

    /// Returns the value of this key; inserts `value` first if there was none.
    pub(crate) fn get_or_insert(&self, key: K, value: V) -> V {
        self.with_room(|entries| entries.entry(key).or_insert(value).clone())
    }

    fn with_room<R>(&self, f: impl FnOnce(&mut Entries<K, V, H>) -> R) -> R {
        with_room(|f| f(&mut self.lock()), f)
    }

    pub(crate) fn remove(&self, key: &K) {
        // The end of this statement releases the lock; the value is dropped later.
        let removed = self.lock().remove(key);
        drop(removed);
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.lock().get(key).cloned()
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.lock().contains_key(key)
    }

    /// Returns all entries, in any order. Entries that are inserted or removed during the call
    /// may be missing.
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

/// The values of one kind that live in the process, in the order in which they were added.
pub(crate) struct Living<T>(Lock<Vec<Weak<T>>>);

impl<T> Living<T> {
    const_fn! {
        pub(crate) fn new() -> Self {
            Self(Lock::new(Vec::new()))
        }
    }

    /// Adds a value. Only if the list is full, removes the values that have been dropped, and makes
    /// room for as many more as live: so the time to add many values is linear in their number.
    pub(crate) fn add(&self, value: &Arc<T>) {
        let lives = |value: &Weak<T>| value.strong_count() > 0;
        let (mut spare, mut gone) = (Vec::new(), Vec::new());
        loop {
            let mut list = self.0.lock();
            let len = list.len();
            if len < list.capacity() {
                return list.push(Arc::downgrade(value));
            }
            let living = list.iter().filter(|v| lives(v)).count();
            if len <= gone.capacity() && living < spare.capacity() {
                // Only moves the references: those in `gone` are freed after the lock is released.
                for value in list.drain(..) {
                    if lives(&value) { &mut spare } else { &mut gone }.push(value);
                }
                mem::swap(&mut *list, &mut spare);
                continue;
            }
            drop(list);
            spare = Vec::with_capacity(2 * living + 4);
            gone = Vec::with_capacity(len);
        }
    }

    /// Returns all living values.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let mut all = Vec::new();
        loop {
            let list = self.0.lock();
            let len = list.len();
            if len <= all.capacity() {
                all.extend(list.iter().filter_map(Weak::upgrade));
                return all;
            }
            drop(list);
            all = Vec::with_capacity(len);
        }
    }
}

/// Hashes one address. Addresses in one page of memory get neighboring buckets, so that a thread
/// that creates objects one after the other finds the buckets in the cache.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, address: usize) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let address = address as u64;
        let page = (address >> 12).wrapping_mul(ODD);
        let place = (address >> 4) & 0xFF;
        // A `DashMap` takes the bucket from the low bits of the hash, the shard from high bits, and
        // compares the seven highest bits.
        let tag = (address.wrapping_mul(ODD) >> 57) << 57;
        let mixed = (page >> 32) ^ ((page << 32) >> 7);
        self.0 = (mixed.wrapping_add(place) & (!0 >> 7)) | tag;
    }
}

debug_fields! { [K, V, H] PlainMap<K, V, H>: |_this| .. }

/// A collection that moves all its items to another memory without allocating, and adds items without
/// allocating while it has room.
pub(crate) trait List: Default {
    fn with_capacity(n: usize) -> Self;
    fn capacity(&self) -> usize;
    fn len(&self) -> usize;

    /// Moves the items of `other`, for which there is room, to the end.
    fn append(&mut self, other: &mut Self);
}

macro_rules! lists {
    ($([$($generics:tt)*] $list:ty: $with_capacity:expr, $append:expr;)*) => {$(
        impl<$($generics)*> List for $list {
            fn with_capacity(n: usize) -> Self {
                $with_capacity(n)
            }

            fn capacity(&self) -> usize {
                self.capacity()
            }

            fn len(&self) -> usize {
                self.len()
            }

            fn append(&mut self, other: &mut Self) {
                $append(self, other);
            }
        }
    )*};
}
lists! {
    [T] Vec<T>: Vec::with_capacity, Vec::append;
    [T] VecDeque<T>: VecDeque::with_capacity, VecDeque::append;
    [K: Eq + Hash, V, S: BuildHasher + Default] HashMap<K, V, S>:
        |n| HashMap::with_capacity_and_hasher(n, S::default()),
        |this: &mut Self, other: &mut Self| this.extend(other.drain());
}

/// Makes room for one more item in a list. `access` locks or borrows the list, and passes the list
/// to the function that it gets.
#[cold]
pub(crate) fn reserve<L: List>(access: impl Fn(&mut dyn FnMut(&mut L))) {
    let mut spare = L::default();
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
        spare = more.map_or_else(L::default, L::with_capacity);
    }
}

/// Halves the memory that a burst has left in a list, if the list has room for more than `kept`
/// items and uses less than a quarter of it. For `access`, see [`reserve`].
#[inline]
pub(crate) fn shrink<L: List>(kept: usize, access: impl Fn(&mut dyn FnMut(&mut L))) {
    let mut smaller = None;
    access(&mut |list| {
        let capacity = list.capacity();
        let is_left = capacity > kept && list.len() < capacity / 4;
        smaller = is_left.then_some(capacity / 2);
    });
    if let Some(n) = smaller {
        let mut spare = L::with_capacity(n);
        access(&mut |list| {
            if list.len() < spare.capacity() && spare.capacity() < list.capacity() {
                spare.append(list);
                mem::swap(list, &mut spare);
            }
        });
    }
}

/// Passes the list to `f`, with room for one more item: `f` adds it without allocating. For
/// `access`, see [`reserve`].
#[inline]
pub(crate) fn with_room<L: List, R>(
    access: impl Fn(&mut dyn FnMut(&mut L)),
    f: impl FnOnce(&mut L) -> R,
) -> R {
    let mut f = Some(f);
    loop {
        let mut result = None;
        access(&mut |list| {
            if list.len() < list.capacity() {
                result = f.take().map(|f| f(list));
            }
        });
        match result {
            Some(result) => return result,
            None => reserve(&access),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds `n` values; returns how many values, in total, the list has moved to another memory.
    fn moves(n: usize, mut made: impl FnMut(Arc<()>)) -> usize {
        let list = Living::new();
        let full = |list: &Vec<_>| {
            if list.len() == list.capacity() {
                list.len()
            } else {
                0
            }
        };
        let mut moves = 0;
        for _ in 0..n {
            moves += full(&list.0.lock());
            let value = Arc::new(());
            list.add(&value);
            made(value);
        }
        let len = list.0.lock().len();
        assert!(len <= 2 * list.all().len() + 4, "the others were removed");
        moves
    }

    #[test]
    fn many_values_take_linear_time_whether_they_are_kept_or_gone() {
        const MANY: usize = 2_000;
        let mut kept = Vec::new();
        assert!(moves(MANY, |value| kept.push(value)) < 2 * MANY);
        assert!(moves(MANY, drop) < 2 * MANY);
    }
}
