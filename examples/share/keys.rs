//! Dictionary keys: one counted object per word, shared by all threads.

use crate::node::Key;
use crate::world::World;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

type Table<W> = HashMap<Box<str>, <W as World>::Counted<Key>>;

/// All threads' keys.
pub struct Keys<W: World>(RwLock<Table<W>>);

impl<W: World> Keys<W> {
    pub fn new() -> Self {
        Self(RwLock::new(Table::<W>::new()))
    }

    fn intern(&self, world: &W, text: &str) -> W::Counted<Key> {
        {
            let table = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(key) = table.get(text) {
                return key.clone();
            }
        }
        // Another thread may have been faster: whoever came first made the key.
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let make = || world.make(Key(text.into()));
        table.entry(text.into()).or_insert_with(make).clone()
    }
}

/// The keys that a thread has met, so that it asks the others only once per word.
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
