//! Size classes: which blocks there are.

use std::alloc::Layout;

/// What all blocks are aligned to, at least.
pub(crate) const ALIGN: usize = 16;

/// The sizes of blocks, in bytes: Box2D's fourteen, and 48, 80 and 112 between them, as
/// small objects are the most frequent.
pub(crate) const SIZES: [usize; 17] = [
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640,
];

/// The largest block.
pub(crate) const LARGEST: usize = SIZES[SIZES.len() - 1];

/// The class for each number of 16-byte units.
const BY_UNITS: [u8; LARGEST / ALIGN + 1] = {
    let mut table = [0; LARGEST / ALIGN + 1];
    let mut units = 0;
    let mut class = 0;
    while units < table.len() {
        if units * ALIGN > SIZES[class] {
            class += 1;
        }
        table[units] = class as u8;
        units += 1;
    }
    table
};

/// Returns the index in [`SIZES`] of the smallest block for this layout; none if it has no size,
/// is too large, or is aligned to more than blocks are.
#[inline]
pub(crate) const fn class_of(layout: Layout) -> Option<usize> {
    // One comparison: 0 wraps around to the largest number.
    if layout.size().wrapping_sub(1) >= LARGEST || layout.align() > ALIGN {
        return None;
    }
    Some(BY_UNITS[layout.size().div_ceil(ALIGN)] as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        for size in 1..=LARGEST {
            let layout = Layout::from_size_align(size, 1).unwrap();
            let class = class_of(layout).unwrap();
            assert!(SIZES[class] >= size);
            assert!(class == 0 || SIZES[class - 1] < size);
        }
    }

    #[test]
    fn what_has_no_size_or_is_too_large_or_over_aligned_has_none() {
        let class = |size, align| class_of(Layout::from_size_align(size, align).unwrap());
        assert_eq!(class(0, 1), None);
        assert_eq!(class(1, 1), Some(0));
        assert_eq!(class(LARGEST + 1, 1), None);
        assert_eq!(class(16, 2 * ALIGN), None);
        assert_eq!(class(LARGEST, ALIGN), Some(SIZES.len() - 1));
    }

    #[test]
    fn sizes_are_multiples_of_the_alignment() {
        assert!(SIZES.iter().all(|size| size % ALIGN == 0));
    }
}
