//! Counts how often destructors feed the drain that runs them.

/// Counts the generations of entries in a pool that is being drained.
///
/// An entry that was in the pool before the drain is of generation 0, an entry that its destructor
/// autoreleases is of generation 1, and so on. The count is exact, as entries are taken newest
/// first: the entries of one generation are next to each other, above those of the previous
/// generation.
#[derive(Default)]
pub(super) struct Generations {
    /// The index at which the entries of each generation begin, and its number; both increase.
    floors: Vec<(usize, u32)>,
}

impl Generations {
    /// Records that the destructor of the object of the entry at `index` has added entries; returns
    /// the generation of the new entries.
    pub(super) fn fed(&mut self, index: usize) -> u32 {
        while self.floors.last().is_some_and(|&(floor, _)| floor > index) {
            self.floors.pop();
        }
        let generation = self.floors.last().map_or(0, |&(_, g)| g) + 1;
        // The entry was the last of its generation.
        if self.floors.last().is_some_and(|&(floor, _)| floor == index) {
            self.floors.pop();
        }
        self.floors.push((index, generation));
        generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_counts_its_links() {
        let mut g = Generations::default();
        for n in 1..100 {
            assert_eq!(g.fed(5), n);
        }
        assert_eq!(g.floors.len(), 1);
        // The children of the next older entry are of generation 1 again.
        assert_eq!(g.fed(4), 1);
    }

    #[test]
    fn siblings_do_not_add_up() {
        let mut g = Generations::default();
        // The entry at 3 leaves ten children at 3..13, each with one child.
        assert_eq!(g.fed(3), 1);
        for child in (3..13).rev() {
            assert_eq!(g.fed(child), 2, "child at {child}");
        }
    }
}
