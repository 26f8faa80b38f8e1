//! Dictionary keys: one counted object per word, shared by all threads.
//!
//! A thread looks up each word once in the table of all threads, and from then on in a table of its
//! own. Both are sets of references to the keys, so a word is in memory once.
//!
//! The table grows with every new word of a document. So it is a [`DashSet`], which is locked in
//! parts, and not a set in a [`Slot`](releasepool::Slot): a slot is for values that are replaced as
//! a whole, and to replace this one would mean to copy all the words that are known already.

use crate::job::node::Key;
use crate::job::world::World;
use dashmap::DashSet;
use foldhash::fast::RandomState;
use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

/// A key in a table, where it is found by its text.
struct Word<W: World>(W::Counted<Key>);

impl<W: World> Borrow<str> for Word<W> {
    fn borrow(&self) -> &str {
        &self.0.0
    }
}

impl<W: World> Hash for Word<W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // `Borrow` demands the hash of the text.
        self.0.0.hash(state);
    }
}

impl<W: World> PartialEq for Word<W> {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}

impl<W: World> Eq for Word<W> {}

/// The keys of all threads.
pub struct Keys<W: World>(DashSet<Word<W>, RandomState>);

impl<W: World> Keys<W> {
    pub fn new() -> Self {
        Self(DashSet::default())
    }

    fn intern(&self, world: &W, text: &str) -> W::Counted<Key> {
        loop {
            if let Some(word) = self.0.get(text) {
                return word.0.clone();
            }
            // If another thread inserts one for this word meanwhile, that one stays.
            self.0.insert(Word(world.make(Key(text.into()))));
        }
    }
}

/// The keys that a thread has used.
pub struct KnownKeys<'k, W: World> {
    world: &'k W,
    shared: &'k Keys<W>,
    known: RefCell<HashSet<Word<W>, RandomState>>,
}

impl<'k, W: World> KnownKeys<'k, W> {
    pub fn new(world: &'k W, shared: &'k Keys<W>) -> Self {
        Self {
            world,
            shared,
            known: RefCell::default(),
        }
    }

    pub fn intern(&self, text: &str) -> W::Counted<Key> {
        let mut known = self.known.borrow_mut();
        if let Some(word) = known.get(text) {
            return word.0.clone();
        }
        let key = self.shared.intern(self.world, text);
        known.insert(Word(key.clone()));
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::world::ours::{Memory, Ours};
    use releasepool::Ref;
    use std::thread;

    #[test]
    fn each_word_is_one_object_for_all_threads() {
        let words: Vec<String> = (0..20_000).map(|n| format!("word {n}")).collect();
        let keys = Keys::<Ours>::new();
        let intern_all = || {
            let world = Ours::new(Memory::Blocks);
            let known = KnownKeys::new(&world, &keys);
            let all: Vec<_> = words.iter().map(|word| known.intern(word)).collect();
            assert!(all.iter().zip(&words).all(|(key, word)| *key.0 == **word));
            assert!(Ref::ptr_eq(&all[7], &known.intern("word 7")));
            all
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(intern_all);
            (intern_all(), other.join().unwrap())
        });
        assert!(one.iter().zip(&other).all(|(a, b)| Ref::ptr_eq(a, b)));
        assert_eq!(keys.0.len(), words.len());
    }
}
