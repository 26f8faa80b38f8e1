//! Dictionary keys: one counted object per word, shared by all threads.
//!
//! Every thread reads the table of all keys; it rarely changes. With the library it is in a
//! [`Slot`], where readers do not contend; the other worlds put it behind a lock.

use crate::node::Key;
use crate::world::World;
use crate::world::ours::Ours;
use releasepool::{Slot, autoreleasepool};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

pub type Table<W> = HashMap<Box<str>, <W as World>::Counted<Key>>;

/// A table that all threads share.
pub trait Shared<W: World>: Default {
    fn find(&self, text: &str) -> Option<W::Counted<Key>>;

    /// Inserts `key`, unless another thread has inserted one for this word.
    fn insert(&self, world: &W, text: &str, key: W::Counted<Key>);
}

impl Shared<Ours> for Slot<Table<Ours>> {
    fn find(&self, text: &str) -> Option<<Ours as World>::Counted<Key>> {
        autoreleasepool(|pool| self.load(pool).get(text).cloned())
    }

    fn insert(&self, world: &Ours, text: &str, key: <Ours as World>::Counted<Key>) {
        self.rcu(|table| {
            let mut table = table.clone();
            table.entry(text.into()).or_insert_with(|| key.clone());
            world.make(table)
        });
    }
}

/// A table behind a lock.
pub struct Locking<W: World>(RwLock<Table<W>>);

impl<W: World> Default for Locking<W> {
    fn default() -> Self {
        Self(RwLock::new(Table::<W>::new()))
    }
}

impl<W: World> Shared<W> for Locking<W> {
    fn find(&self, text: &str) -> Option<W::Counted<Key>> {
        let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
        table.get(text).cloned()
    }

    fn insert(&self, _: &W, text: &str, key: W::Counted<Key>) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        table.entry(text.into()).or_insert(key);
    }
}

/// The keys of all threads.
#[derive(Default)]
pub struct Keys<W: World>(W::Keys);

impl<W: World> Keys<W> {
    pub fn new() -> Self {
        Self(W::Keys::default())
    }

    fn intern(&self, world: &W, text: &str) -> W::Counted<Key> {
        loop {
            if let Some(key) = self.0.find(text) {
                return key;
            }
            self.0.insert(world, text, world.make(Key(text.into())));
        }
    }
}

/// The keys that a thread has used, so that it looks up each word in the shared table only once.
pub struct KnownKeys<'k, W: World> {
    world: &'k W,
    shared: &'k Keys<W>,
    known: RefCell<Table<W>>,
}

impl<'k, W: World> KnownKeys<'k, W> {
    pub fn new(world: &'k W, shared: &'k Keys<W>) -> Self {
        Self {
            world,
            shared,
            known: RefCell::new(Table::<W>::new()),
        }
    }

    pub fn intern(&self, text: &str) -> W::Counted<Key> {
        let mut known = self.known.borrow_mut();
        if let Some(key) = known.get(text) {
            return key.clone();
        }
        let key = self.shared.intern(self.world, text);
        known.insert(text.into(), key.clone());
        key
    }
}
