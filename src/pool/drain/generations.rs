//! Counting how often destructors feed the drain that runs them.

/// Counts the generations of entries in a pool that is being drained.
///
/// An entry that was there before the drain is of generation 0, what its destructor autoreleases of
/// generation 1, and so on. Exact, as entries are taken newest first: those of one generation are
/// next to each other, above those of the generation before.
#[derive(Default)]
pub(super) struct Generations {
    /// The index at which the entries of each generation begin, and its number; both increase.
    floors: Vec<(usize, u32)>,
}

impl Generations {
    /// Records that the destructor of the entry at `index` has added entries; returns their
    /// generation.
    pub(super) fn fed(&mut self, index: usize) -> u32 {
        while self.floors.last().is_some_and(|&(floor, _)| floor > index) {
            self.floors.pop();
        }
        let generation = self.floors.last().map_or(0, |&(_, g)| g) + 1;
        // The entry was the last of its generation: none of it is left.
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
        // The next older entry starts anew.
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
