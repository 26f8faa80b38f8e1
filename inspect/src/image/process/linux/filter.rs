//! Tells pages that may refer to other memory from those that only have data.
//!
//! A page is kept if it has a word that may be an address, or the head of a chunk of glibc's
//! malloc. Its neighbours are kept, too: objects, and the library's structures, may lie on both.
//! What is left out, such as pixels and numbers, is read as zeros where references are looked for.

use crate::image::elf::PAGE;
use crate::image::parts::{self, Mapping};
use std::ops::Range;

/// The largest gap between mappings that form one span: fewer spans make the test of a word
/// cheaper.
const GAP: u64 = 1 << 36;

/// The multiple at which each heap of glibc's malloc but the first begins.
pub(super) const ARENA: u64 = 64 << 20;

/// The ranges of memory that addresses may point to, and the heap of malloc.
pub(super) struct Filter {
    /// The first address of each span, and its number of bytes.
    spans: Vec<(u64, u64)>,
    /// The range of the heap that `brk` has made.
    heap: Range<u64>,
}

impl Filter {
    /// Returns the filter for a process with these mappings.
    pub(super) fn new<'a>(mappings: impl Iterator<Item = &'a Mapping>) -> Filter {
        let (mut spans, mut heap) = (Vec::<(u64, u64)>::new(), 0..0);
        for mapping in mappings.filter(|mapping| mapping.read && mapping.name != "[vsyscall]") {
            match spans.last_mut() {
                Some((start, len)) if mapping.start - *start - *len < GAP => {
                    *len = mapping.end - *start;
                }
                _ => spans.push((mapping.start, mapping.end - mapping.start)),
            }
            if mapping.name == "[heap]" {
                heap = mapping.start..mapping.end;
            }
        }
        Filter { spans, heap }
    }

    /// Returns for each page of some memory whether it is kept. `heap_end` is the end of the heap
    /// of malloc that the memory may be in; 0 if there is none.
    pub(super) fn wanted(&self, address: u64, bytes: &[u8], heap_end: u64) -> Vec<bool> {
        let pages = bytes.chunks_exact(PAGE as usize);
        let pages = pages.zip((address..).step_by(PAGE as usize));
        let own: Vec<bool> = pages
            .map(|(page, at)| self.refers(at, page, heap_end))
            .collect();
        let last = own.len() - 1;
        // The words around these pages are not known here, so the first and the last page are kept.
        let wanted =
            (0..=last).map(|at| at == 0 || at == last || own[at - 1] || own[at] || own[at + 1]);
        wanted.collect()
    }

    /// Returns whether a page has something that may be an address, or a chunk's head.
    fn refers(&self, address: u64, page: &[u8], heap_end: u64) -> bool {
        let words = || parts::words(page);
        let Some(((first, _), last)) = self.spans.first().zip(self.spans.last()) else {
            return true;
        };
        // First a loop without branches: few data look like an address in the range of all spans.
        let all = last.0 + last.1 - first;
        let near = words().fold(false, |near, word| near | (word.wrapping_sub(*first) < all));
        let is_address = |word: u64| {
            self.spans
                .iter()
                .any(|span| word.wrapping_sub(span.0) < span.1)
        };
        if near && words().any(is_address) {
            return true;
        }
        let limit = if self.heap.contains(&address) {
            self.heap.end - self.heap.start
        } else if address < heap_end {
            ARENA
        } else {
            0
        };
        page.chunks_exact(16).any(|pair| {
            let (before, head) = (parts::word(&pair[..8]), parts::word(&pair[8..]));
            // `head` is a size with flags in the lowest four bits. A chunk with a mapping of its
            // own has flag 2; its first word is its distance from the mapping's beginning.
            let in_heap = head & 8 == 0 && head >= 32 && head < limit;
            in_heap
                || (head & 7 == 2
                    && head >> 40 == 0
                    && head > PAGE
                    && (head - 2).wrapping_add(before) % PAGE == 0)
        })
    }
}

/// Returns the end of the heap whose first bytes, at `address`, are `bytes`: the words for the
/// arena, the heap before, the size and the usable size, as in glibc. 0 if these are no such words.
pub(super) fn heap_end(address: u64, bytes: &[u8]) -> u64 {
    let words: Vec<u64> = parts::words(bytes).take(4).collect();
    let [arena, before, size, usable] = words[..] else {
        return 0;
    };
    let sensible = size > 0 && size % PAGE == 0 && size <= usable && usable <= ARENA;
    if sensible && arena % 8 == 0 && before % ARENA == 0 {
        address + size
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x7f00_0000_0000;

    /// Returns which of eight pages are kept, with these words at these places in them.
    fn kept(at: u64, words: &[(u64, u64)]) -> Vec<usize> {
        let mapping = |start, name: &str| Mapping {
            start,
            end: start + 8 * PAGE,
            read: true,
            name: name.to_owned(),
            ..Mapping::default()
        };
        let mappings = [mapping(0x5555_0000_0000, "[heap]"), mapping(START, "")];
        // Words that are neither an address nor the size of a chunk.
        let mut bytes = vec![0x5a; 8 * PAGE as usize];
        for (place, word) in words {
            bytes[*place as usize..][..8].copy_from_slice(&word.to_ne_bytes());
        }
        let kept = Filter::new(mappings.iter()).wanted(at, &bytes, heap_end(at, &bytes));
        (0..8).filter(|page| kept[*page]).collect()
    }

    #[test]
    fn pages_with_addresses_and_heads_are_kept_with_their_neighbours() {
        assert_eq!(kept(START, &[]), [0, 7]);
        for word in [START, START + 8 * PAGE - 1, 0x5555_0000_0003] {
            assert_eq!(kept(START, &[(4 * PAGE + 40, word)]), [0, 3, 4, 5, 7]);
        }
        for word in [0x5554_ffff_ffff, START + 8 * PAGE, 33, PAGE | 6] {
            assert_eq!(kept(START, &[(4 * PAGE + 40, word)]), [0, 7], "{word:#x}");
        }
        // A chunk with a mapping of its own.
        let mapped = [(4 * PAGE, 0), (4 * PAGE + 8, 5 * PAGE + 2)];
        assert_eq!(kept(START, &mapped), [0, 3, 4, 5, 7]);
    }

    #[test]
    fn heads_of_chunks_in_heaps_are_kept() {
        let head = (4 * PAGE + 40, 49);
        assert_eq!(kept(0x5555_0000_0000, &[head]), [0, 3, 4, 5, 7]);
        // A heap might begin at this address, but the words do not fit.
        assert_eq!(kept(START, &[(0, START), (16, u64::MAX)]), [0, 1, 7]);
        // The heap of an arena, which has five pages.
        let heap = [(0, START + 32), (8, 0), (16, 5 * PAGE), (24, 5 * PAGE)];
        assert_eq!(
            kept(START, &[&heap[..], &[head]].concat()),
            [0, 1, 3, 4, 5, 7]
        );
        let after = (5 * PAGE + 40, 49);
        assert_eq!(kept(START, &[&heap[..], &[after]].concat()), [0, 1, 7]);
    }
}
