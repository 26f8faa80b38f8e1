//! Tells pages that may refer to other memory from those that only have data.
//!
//! A page is kept if it has a word that may be an address, or the head of a chunk of glibc's malloc,
//! and so are its neighbours: objects, and the library's structures, may lie on both. What is left
//! out, such as pixels and numbers, is read as zeros where references are looked for.

use crate::image::Mapping;
use crate::image::elf::PAGE;
use std::ops::Range;

/// The most bytes between two mappings that one span has: compilers may compare with few spans at
/// little cost.
const GAP: u64 = 1 << 36;

/// What a heap of glibc's malloc other than the first begins at a multiple of.
pub(super) const ARENA: u64 = 64 << 20;

/// What may be an address, and where chunks of malloc are.
pub(super) struct Filter {
    /// First addresses, and how many bytes follow.
    spans: Vec<(u64, u64)>,
    /// Where the heap is that `brk` has made.
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

    /// Returns for each page of some memory whether it is kept. `heap_end` is where malloc's heap ends
    /// that was found last; memory is looked at by address.
    pub(super) fn wanted(&self, address: u64, bytes: &[u8], heap_end: &mut u64) -> Vec<bool> {
        let pages = bytes.chunks_exact(PAGE as usize);
        let pages = pages.zip((address..).step_by(PAGE as usize));
        let own: Vec<bool> = pages
            .map(|(page, at)| self.refers(at, page, heap_end))
            .collect();
        let last = own.len() - 1;
        // What is before the first page, and after the last, is not known here.
        let wanted =
            (0..=last).map(|at| at == 0 || at == last || own[at - 1] || own[at] || own[at + 1]);
        wanted.collect()
    }

    /// Returns whether a page has something that may be an address, or a chunk's head.
    fn refers(&self, address: u64, page: &[u8], heap_end: &mut u64) -> bool {
        let words = || page.chunks_exact(8).map(word);
        let Some(((first, _), last)) = self.spans.first().zip(self.spans.last()) else {
            return true;
        };
        // Few data look like an address in the whole range: the loop does not branch.
        let all = last.0 + last.1 - first;
        let near = words().fold(false, |near, word| near | (word.wrapping_sub(*first) < all));
        let is_address = |word: u64| {
            self.spans
                .iter()
                .any(|span| word.wrapping_sub(span.0) < span.1)
        };
        if near && words().any(is_address) {
            if address % ARENA == 0 {
                *heap_end = end_of_heap(address, words()).unwrap_or(*heap_end);
            }
            return true;
        }
        let limit = if self.heap.contains(&address) {
            self.heap.end - self.heap.start
        } else if address < *heap_end {
            ARENA
        } else {
            0
        };
        let mut pairs = page.chunks_exact(16);
        pairs.any(|pair| {
            let (before, head) = (word(&pair[..8]), word(&pair[8..]));
            // The size with flags; the lowest four bits are free. A mapping of its own has flag 2, and
            // what is before the chunk in the first word.
            let in_heap = head & 8 == 0 && head >= 32 && head < limit;
            in_heap
                || (head & 7 == 2
                    && head >> 40 == 0
                    && head > PAGE
                    && (head - 2).wrapping_add(before) % PAGE == 0)
        })
    }
}

/// Returns the end of the heap that begins at an address with these words, as glibc has them: the
/// arena, the heap before, the size, and how much of it can be used.
fn end_of_heap(address: u64, words: impl Iterator<Item = u64>) -> Option<u64> {
    let words: Vec<u64> = words.take(4).collect();
    let (size, usable) = (words[2], words[3]);
    let sensible = size > 0 && size % PAGE == 0 && size <= usable && usable <= ARENA;
    (sensible && words[0] % 8 == 0 && words[1] % ARENA == 0).then_some(address + size)
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
}
