//! Size classes: the thirty-three sizes of blocks.

use crate::sync::described;
use std::alloc::Layout;

/// The alignment of all blocks, in bytes.
pub(crate) const ALIGN: usize = 16;

/// The greatest alignment of a layout that has a class, in bytes.
pub(crate) const MOST_ALIGN: usize = 64;

/// The sizes of blocks, in bytes, by class: Box2D's fourteen up to 640, and 48, 80 and 112 between
/// them, as small objects are the most frequent; then four for each doubling up to 2,048, as nodes
/// of engines have some 700 to 1,800 bytes; then sizes of which a chunk holds at most 24.
///
/// A block is aligned to each power of two up to [`MOST_ALIGN`] by which its size can be divided. So
/// that this serves over-aligned layouts, each multiple of 32 up to 256 is a size, and all greater
/// sizes are multiples of 64.
pub(crate) const SIZES: [usize; 33] = [
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1_024,
    1_280, 1_536, 1_792, 2_048, 2_688, 3_264, 4_032, 5_440, 8_128, 16_320, 21_760, 32_640, 64_768,
];

/// The size of the largest block, in bytes.
pub(crate) const LARGEST: usize = SIZES[SIZES.len() - 1];

/// The class of the smallest block for a size; the index is the size in units of [`ALIGN`].
static BY_UNITS: [u8; LARGEST / ALIGN + 1] = {
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
/// layout's size is 0 or too large, or its alignment is greater than [`MOST_ALIGN`].
#[inline]
pub(crate) const fn class_of(layout: Layout) -> Option<usize> {
    class_of_size(layout.size(), layout.align())
}

/// Returns what [`class_of`] returns for a layout of this size and alignment.
#[inline(always)]
pub(crate) const fn class_of_size(size: usize, align: usize) -> Option<usize> {
    // One comparison finds both 0, which wraps around to the largest number, and too large sizes.
    if size.wrapping_sub(1) >= LARGEST || align > MOST_ALIGN {
        return None;
    }
    let size = if align > ALIGN {
        size.next_multiple_of(align)
    } else {
        size
    };
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
        for align in [1, 32, MOST_ALIGN] {
            for size in (1..=LARGEST).step_by(if cfg!(miri) { 97 } else { 1 }) {
                let layout = Layout::from_size_align(size, align).unwrap();
                let class = class_of(layout).unwrap();
                assert!(SIZES[class] >= size && SIZES[class] % align.max(ALIGN) == 0);
                assert!(class == 0 || SIZES[class - 1] < size.next_multiple_of(align));
            }
        }
    }

    #[test]
    fn empty_large_and_over_aligned_layouts_have_no_class() {
        let class = |size, align| class_of(Layout::from_size_align(size, align).unwrap());
        assert_eq!(class(0, 1), None);
        assert_eq!(class(1, 1), Some(0));
        assert_eq!(class(LARGEST + 1, 1), None);
        assert_eq!(class(16, 2 * MOST_ALIGN), None);
        assert_eq!(class(LARGEST, ALIGN), Some(SIZES.len() - 1));
    }
}
