//! Size classes: the seventeen sizes of blocks.

use crate::sync::described;
use std::alloc::Layout;

/// The alignment of all blocks, in bytes.
pub(crate) const ALIGN: usize = 16;

/// The sizes of blocks, in bytes, by class: Box2D's fourteen, and 48, 80 and 112 between them, as
/// small objects are the most frequent.
pub(crate) const SIZES: [usize; 17] = [
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640,
];

/// The size of the largest block, in bytes.
pub(crate) const LARGEST: usize = SIZES[SIZES.len() - 1];

/// The class for each size, in units of [`ALIGN`] bytes.
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

/// Returns the class of the smallest block for this layout, an index into [`SIZES`]; `None` if the
/// layout's size is 0 or too large, or its alignment is greater than that of blocks.
#[inline]
pub(crate) const fn class_of(layout: Layout) -> Option<usize> {
    class_of_size(layout.size(), layout.align())
}

/// Returns what [`class_of`] returns for a layout of this size and alignment.
#[inline(always)]
pub(crate) const fn class_of_size(size: usize, align: usize) -> Option<usize> {
    // One comparison for both: 0 wraps around to the largest number.
    if size.wrapping_sub(1) >= LARGEST || align > ALIGN {
        return None;
    }
    Some(BY_UNITS[size.div_ceil(ALIGN)] as usize)
}

described! {
    use crate::layout::{Entry, Value};

    pub(crate) const NOTE: &[Entry] = &[Entry {
        name: "block.sizes",
        value: Value::List(&SIZES),
    }];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        for size in 1..=LARGEST {
            let layout = Layout::from_size_align(size, 1).unwrap();
            let class = class_of(layout).unwrap();
            assert!(SIZES[class] >= size && SIZES[class] % ALIGN == 0);
            assert!(class == 0 || SIZES[class - 1] < size);
        }
    }

    #[test]
    fn empty_large_and_over_aligned_layouts_have_no_class() {
        let class = |size, align| class_of(Layout::from_size_align(size, align).unwrap());
        assert_eq!(class(0, 1), None);
        assert_eq!(class(1, 1), Some(0));
        assert_eq!(class(LARGEST + 1, 1), None);
        assert_eq!(class(16, 2 * ALIGN), None);
        assert_eq!(class(LARGEST, ALIGN), Some(SIZES.len() - 1));
    }
}
