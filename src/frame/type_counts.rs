//! `TypeCounts`: how many values of each type wait for a reclaimer.

use crate::sync::Counter;
use std::any::type_name;
use std::ptr::fn_addr_eq;
use std::sync::OnceLock;

/// The function that names a type stands for the type.
type NameOf = fn() -> &'static str;

/// How many types are counted each for itself.
const TYPES: usize = 64;

/// How many places of the table a type may have.
const PROBES: usize = 8;

/// The figures of one type. `sent` and `done` only grow.
#[derive(Debug)]
struct TypeCount {
    name: OnceLock<NameOf>,
    sent: Counter,
    done: Counter,
}

/// The index of a type's figures.
#[derive(Clone, Copy, Debug)]
pub(super) struct TypeIndex(u8);

/// A hash table of fixed size, which is never locked; types that find no place are counted together.
#[derive(Debug)]
pub(super) struct TypeCounts([TypeCount; TYPES + 1]);

fn name_of<T>() -> &'static str {
    type_name::<T>()
}

impl TypeCounts {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| TypeCount {
            name: OnceLock::new(),
            sent: Counter::new(),
            done: Counter::new(),
        }))
    }

    /// Counts a value of type `T` that is about to be sent.
    #[inline]
    pub(super) fn sent<T>(&self) -> TypeIndex {
        let name: NameOf = name_of::<T>;
        let index = self.find(name);
        self.0[index].sent.add_shared(1);
        TypeIndex(index as u8)
    }

    /// Counts a value that has been destroyed, or given back.
    #[inline]
    pub(super) fn done(&self, index: TypeIndex) {
        self.0[usize::from(index.0)].done.add_shared(1);
    }

    #[inline]
    fn find(&self, name: NameOf) -> usize {
        let hash = (name as usize / 16).wrapping_mul(0x9E37_79B9) >> 8;
        for probe in 0..PROBES {
            let index = (hash + probe) % TYPES;
            let owner = self.0[index].name.get_or_init(|| name);
            if fn_addr_eq(*owner, name) {
                return index;
            }
        }
        TYPES
    }

    /// Returns the names of the types of which values wait, and their numbers, the greatest first.
    pub(super) fn waiting(&self) -> Vec<(&'static str, usize)> {
        let mut all: Vec<(&'static str, usize)> = Vec::new();
        for count in &self.0 {
            // Reads `done` first, as a value is sent before it is done.
            let done = count.done.get();
            let waiting = count.sent.get().saturating_sub(done) as usize;
            if waiting == 0 {
                continue;
            }
            let name = count.name.get().map_or("other types", |name| name());
            // The compiler may make several functions for one type.
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
        for count in &full.0[..TYPES] {
            count.name.get_or_init(|| name_of::<()>);
        }
        full.sent::<Numbered<1>>();
        full.sent::<Numbered<2>>();
        assert_eq!(full.waiting(), [("other types", 2)]);
    }
}
