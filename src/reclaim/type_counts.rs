//! `TypeCounts`: how many values of each type wait for a reclaimer.

use crate::sync::Counter;
use crossbeam_utils::CachePadded;
use std::any::type_name;
use std::ptr::fn_addr_eq;
use std::sync::OnceLock;

/// A function that returns the name of a type. Its address stands for the type.
type NameOf = fn() -> &'static str;

/// How many types can have a count of their own.
const TYPES: usize = 64;

/// How many places of the table are tried for a type.
const PROBES: usize = 8;

/// A type, and how many of its values were sent; the number only grows.
#[derive(Debug)]
struct SentType {
    name: OnceLock<NameOf>,
    sent: Counter,
}

/// The index of a type's figures in [`TypeCounts`].
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeIndex(u8);

/// A hash table of fixed size. Types that find no place in it are counted together.
#[derive(Debug)]
pub(super) struct TypeCounts {
    sent: [SentType; TYPES + 1],
    /// How many values of each type were destroyed or given back. Mostly the reclaimer writes these
    /// figures, so they are not on the cache lines of `sent`, which senders write.
    done: CachePadded<[Counter; TYPES + 1]>,
}

fn name_of<T>() -> &'static str {
    type_name::<T>()
}

impl TypeCounts {
    pub(super) fn new() -> Self {
        Self {
            sent: std::array::from_fn(|_| SentType {
                name: OnceLock::new(),
                sent: Counter::new(),
            }),
            done: CachePadded::new(std::array::from_fn(|_| Counter::new())),
        }
    }

    /// Counts a value of type `T` that is about to be sent.
    #[inline]
    pub(super) fn sent<T>(&self) -> TypeIndex {
        let name: NameOf = name_of::<T>;
        let index = self.find(name);
        self.sent[index].sent.add_shared(1);
        TypeIndex(index as u8)
    }

    /// Counts a value that has been destroyed, or given back.
    #[inline]
    pub(super) fn done(&self, index: TypeIndex) {
        self.done[usize::from(index.0)].add_shared(1);
    }

    #[inline]
    fn find(&self, name: NameOf) -> usize {
        // The upper six bits of the product, as there are 64 places.
        let hash = (name as usize as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        let first = hash as usize;
        for index in (first..first + PROBES).map(|place| place % TYPES) {
            let owner = self.sent[index].name.get_or_init(|| name);
            if fn_addr_eq(*owner, name) {
                return index;
            }
        }
        TYPES
    }

    /// Returns the names of the types whose values wait, and how many of each, the most frequent
    /// first.
    pub(super) fn waiting(&self) -> Vec<(&'static str, usize)> {
        let mut all: Vec<(&'static str, usize)> = Vec::new();
        for (count, done) in self.sent.iter().zip(&*self.done) {
            // Reads `done` first, as a value is sent before it is done.
            let done = done.get();
            let waiting = count.sent.get().saturating_sub(done) as usize;
            if waiting == 0 {
                continue;
            }
            let name = count.name.get().map_or("other types", |name| name());
            // The compiler may make several functions for one type, which then has several places.
            match all.iter_mut().find(|(other, _)| *other == name) {
                Some((_, n)) => *n += waiting,
                None => all.push((name, waiting)),
            }
        }
        all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbered<const N: usize>;

    #[test]
    fn types_are_counted_apart_and_those_without_a_place_together() {
        let counts = TypeCounts::new();
        let strings = [counts.sent::<String>(), counts.sent::<String>()];
        counts.sent::<u32>();
        assert_eq!(counts.waiting(), [("alloc::string::String", 2), ("u32", 1)]);
        strings.into_iter().for_each(|index| counts.done(index));
        assert_eq!(counts.waiting(), [("u32", 1)]);
        let full = TypeCounts::new();
        full.sent[0].name.get_or_init(|| name_of::<u32>);
        for count in &full.sent[..TYPES] {
            count.name.get_or_init(|| name_of::<()>);
        }
        full.sent::<Numbered<1>>();
        full.sent::<Numbered<2>>();
        assert_eq!(full.waiting(), [("other types", 2)]);
        // Makes two places of one type, as if the compiler had made two functions for it.
        (0..=2).for_each(|n| full.sent[n].sent.add_shared(n.max(1) as u64));
        assert_eq!(full.waiting(), [("()", 3), ("other types", 2), ("u32", 1)]);
        macro_rules! send {
            ($($n:literal)*) => { $(counts.sent::<Numbered<$n>>();)* };
        }
        // Sends values of nine types: more than the [`PROBES`] places that are tried for one type.
        send!(1 2 3 4 5 6 7 8 9);
        assert_eq!(counts.waiting().len(), 10);
    }

    #[test]
    fn eight_places_are_tried_for_a_type() {
        let name: NameOf = name_of::<u32>;
        let first = TypeCounts::new().find(name);
        for (free, found) in [(7, (first + 7) % TYPES), (8, TYPES)] {
            let counts = TypeCounts::new();
            for (n, count) in counts.sent.iter().enumerate() {
                if n != (first + free) % TYPES {
                    count.name.get_or_init(|| name_of::<()>);
                }
            }
            assert_eq!(counts.find(name), found);
        }
    }
}
