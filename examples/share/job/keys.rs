//! Dictionary keys: one counted object per word, shared by all threads.
//!
//! A thread looks up each word once in the table of all threads, and from then on in a table of its
//! own. Both are sets of references to the keys, so a word is in memory once.
//!
//! There are at most [`WORDS`] words in the table. Documents with more keys use data as keys, of
//! which few occur twice: each key without a place in the table is an object of its own.
//!
//! The table grows with every new word of a document. So it is a [`DashSet`], which is locked in
//! parts, and not a set in a [`Slot`](releasepool::Slot): a slot is for values that are replaced as
//! a whole, and to replace this one would mean to copy all the words that are known already.

use crate::job::world::World;
use dashmap::DashSet;
use foldhash::fast::RandomState;
use releasepool::Ref;
use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many words are shared; threads that insert at the same time may add a few more.
const WORDS: usize = 1 << 16;

/// A key in a table, where it is found by its text.
#[derive(PartialEq, Eq, Hash)]
struct Word(Ref<str>);

impl Borrow<str> for Word {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The keys of all threads.
#[derive(Default)]
pub struct Keys {
    words: DashSet<Word, RandomState>,
    /// How many words are in the set, whose `len` would lock one part after another.
    count: AtomicUsize,
}

impl Keys {
    /// Returns the key that all threads share; `None` if the table is full and does not have it.
    fn shared(&self, world: &World, text: &str) -> Option<Ref<str>> {
        loop {
            if let Some(word) = self.words.get(text) {
                return Some(word.0.clone());
            }
            if self.count.load(Ordering::Relaxed) >= WORDS {
                return None;
            }
            // If another thread inserts this word meanwhile, that object stays.
            if self.words.insert(Word(world.make_text(text))) {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The keys that a thread has used.
pub struct KnownKeys<'k> {
    world: &'k World,
    shared: &'k Keys,
    known: RefCell<HashSet<Word, RandomState>>,
}

impl<'k> KnownKeys<'k> {
    pub fn new(world: &'k World, shared: &'k Keys) -> Self {
        Self {
            world,
            shared,
            known: RefCell::default(),
        }
    }

    pub fn intern(&self, text: &str) -> Ref<str> {
        let mut known = self.known.borrow_mut();
        if let Some(word) = known.get(text) {
            return word.0.clone();
        }
        let Some(shared) = self.shared.shared(self.world, text) else {
            return self.world.make_text(text);
        };
        known.insert(Word(shared.clone()));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn each_word_is_one_object_for_all_threads() {
        let words: Vec<String> = (0..20_000).map(|n| format!("word {n}")).collect();
        let keys = Keys::default();
        let intern_all = || {
            let world = World::default();
            let known = KnownKeys::new(&world, &keys);
            let all: Vec<_> = words.iter().map(|word| known.intern(word)).collect();
            assert!(all.iter().zip(&words).all(|(key, word)| **key == **word));
            assert!(Ref::ptr_eq(&all[7], &known.intern("word 7")));
            all
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(intern_all);
            (intern_all(), other.join().unwrap())
        });
        assert!(one.iter().zip(&other).all(|(a, b)| Ref::ptr_eq(a, b)));
        assert_eq!(keys.words.len(), words.len());
    }

    #[test]
    fn keys_that_the_table_has_no_place_for_are_objects_of_their_own() {
        let keys = Keys::default();
        let world = World::default();
        let known = KnownKeys::new(&world, &keys);
        let first = known.intern("first");
        for n in 0..WORDS {
            assert_eq!(*known.intern(&n.to_string()), *n.to_string());
        }
        assert_eq!(keys.words.len(), WORDS);
        let [one, other] = ["last", "last"].map(|word| known.intern(word));
        assert!(*one == *other && !Ref::ptr_eq(&one, &other));
        assert!(Ref::ptr_eq(&first, &known.intern("first")));
    }
}
