//! The layout of malloc's variables in each version of glibc; malloc's arenas, and their memory.

use crate::discovery::regions::{Region, Regions};
use crate::image::{Image, Module};
use std::ops::Range;

/// The offsets of malloc's variables from the beginning of an arena, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MallocLayout {
    /// The first of [`FAST_BINS`] lists of small chunks that are free but look used.
    pub(super) fast_bins: u64,
    /// The address of the topmost chunk.
    pub(super) top: u64,
    /// The first of [`BINS`] pairs of links.
    pub(super) bins: u64,
    /// The address of the next arena, in a circle.
    pub(super) next: u64,
    /// How many bytes the arena has from the system.
    pub(super) system_bytes: u64,
    /// The size of an arena.
    pub(super) size: u64,
    /// The size, in bytes, of each counter of chunks in a thread's cache.
    pub(super) count_bytes: u64,
    /// True if links in fast bins and caches are XORed with bits of the link's own address.
    pub(super) hidden_links: bool,
}

/// The number of lists of small chunks that are free but look used.
pub(super) const FAST_BINS: u64 = 10;

/// The number of pairs of links in an arena.
const BINS: u64 = 127;

/// The number of lists in a thread's cache.
pub(super) const CACHE_BINS: u64 = 64;

/// The changes of glibc's malloc, by the first minor version with each: where the lists of small
/// chunks are, the bytes of a counter in a thread's cache, and whether links are hidden.
const VERSIONS: [(u32, u64, u64, bool); 4] = [
    (26, 8, 1, false),
    // From version 2.27 on, the lists come after a word that tells whether there are fast chunks.
    (27, 16, 1, false),
    (30, 16, 2, false),
    (32, 16, 2, true),
];

/// The last minor version of 2 that is known: 2.42 has other caches.
const LAST: u32 = 41;

impl MallocLayout {
    /// Returns the layout of version 2.`minor`, if it is known.
    fn of_version(minor: u32) -> Option<Self> {
        let known = VERSIONS
            .iter()
            .rfind(|known| known.0 <= minor && minor <= LAST)?;
        let (_, fast_bins, count_bytes, hidden_links) = *known;
        let top = fast_bins + 8 * FAST_BINS;
        // The field `last_remainder` is between `top` and `bins`.
        let bins = top + 16;
        // The bitmap of the bins is between `bins` and `next`.
        let next = bins + 16 * BINS + 16;
        Some(Self {
            fast_bins,
            top,
            bins,
            next,
            // The fields `next_free` and `attached_threads` are between `next` and this one.
            system_bytes: next + 24,
            size: next + 40,
            count_bytes,
            hidden_links,
        })
    }

    /// Returns the size of a thread's cache.
    pub(super) fn cache_bytes(&self) -> u64 {
        CACHE_BINS * (self.count_bytes + 8)
    }
}

/// The beginning of the text that glibc writes about itself.
const BANNER: &[u8] = b"GNU C Library (";

/// The words before the version in that text.
const VERSION: &str = "release version 2.";

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// The most bytes of a banner that are read.
const BANNER_BYTES: usize = 256;

/// Returns the layout of malloc in the program, or why it is not known.
pub(super) fn layout(image: &dyn Image) -> Result<MallocLayout, String> {
    if cfg!(not(target_pointer_width = "64")) {
        return Err("malloc is known on 64-bit systems only".to_owned());
    }
    let libc = image.modules().iter().find(|module| is_libc(module));
    // A statically linked program contains glibc itself.
    let Some(module) = libc.or(image.modules().first()) else {
        return Err("the program has no C library that is known".to_owned());
    };
    let Some(minor) = banner_version(image, module) else {
        return Err(match libc {
            Some(module) => format!("the version of {} is not known", module.path),
            None => "the program does not use glibc".to_owned(),
        });
    };
    let unknown = || {
        format!(
            "malloc of glibc 2.{minor} is not known to this program, which knows 2.26 to 2.{LAST}"
        )
    };
    MallocLayout::of_version(minor).ok_or_else(unknown)
}

/// Returns whether a module is glibc by its name.
fn is_libc(module: &Module) -> bool {
    let name = module.path.rsplit('/').next().unwrap_or_default();
    name.starts_with("libc.so.6") || name.starts_with("libc-2.")
}

/// Reads the version that a module's banner has.
fn banner_version(image: &dyn Image, module: &Module) -> Option<u32> {
    let constant = image.mappings().iter().filter(|mapping| {
        mapping.read && !mapping.write && (module.start..module.end).contains(&mapping.start)
    });
    let mut buffer = vec![0; PIECE + BANNER_BYTES];
    for mapping in constant {
        for from in (mapping.start..mapping.end).step_by(PIECE) {
            let len = buffer.len().min((mapping.end - from) as usize);
            let n = image.read(from, &mut buffer[..len]);
            if let Some(found) = position(&buffer[..n], BANNER) {
                let text = &buffer[found..n.min(found + BANNER_BYTES)];
                return version_in(&String::from_utf8_lossy(text));
            }
        }
    }
    None
}

/// Returns where `text` begins in `bytes`.
fn position(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(text.len())?;
    (0..=last).find(|&at| bytes[at] == text[0] && bytes[at..].starts_with(text))
}

/// Returns the minor version in a banner.
fn version_in(banner: &str) -> Option<u32> {
    let (_, version) = banner.split_once(VERSION)?;
    let end = version.find(|c: char| !c.is_ascii_digit())?;
    version[..end].parse().ok()
}

/// The heaps of arenas other than the first begin at multiples of this, and are no larger.
const HEAP_BYTES: u64 = 64 << 20;

/// The most arenas that are followed.
const MOST: usize = 1 << 14;

/// The most bins of an arena that may be linked wrongly, because a thread was stopped while it
/// changed them.
const CHANGING: usize = 2;

/// The size of a heap's header before version 2.35, and from 2.35 on. The first arena's memory has
/// no such header.
const HEAP_HEADERS: [u64; 2] = [32, 48];

/// The arenas of a program.
#[derive(Debug, Default)]
pub(super) struct Arenas {
    /// The address of the first arena, which is a variable of the C library.
    main: Option<u64>,
    /// The addresses of all arenas.
    pub(super) all: Vec<u64>,
    /// The topmost chunks of all arenas, which are free, by address.
    pub(super) tops: Vec<u64>,
}

impl Arenas {
    /// Returns the memory that has the arenas' chunks, from the first chunk on, and the memory that
    /// the arenas themselves are in.
    pub(super) fn ranges(
        &self,
        regions: &Regions<'_>,
        layout: &MallocLayout,
    ) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let main = self.main.and_then(|main| main_range(regions, main, layout));
        let mut ranges = Vec::from_iter(main);
        let mut state = Vec::from_iter(self.main.map(|main| main..main + layout.size));
        for region in regions.all() {
            let first = region.start.next_multiple_of(HEAP_BYTES);
            for heap in (first..region.end).step_by(HEAP_BYTES as usize) {
                if let Some(range) = self.heap_range(regions, heap, layout) {
                    state.push(heap..range.start);
                    ranges.push(range);
                }
            }
        }
        (ranges, state)
    }

    /// Returns the memory of the chunks in the heap at an address, if one is there.
    fn heap_range(
        &self,
        regions: &Regions<'_>,
        heap: u64,
        layout: &MallocLayout,
    ) -> Option<Range<u64>> {
        let [arena, previous, size, writable] =
            [0, 8, 16, 24].map(|offset| regions.word(heap + offset));
        let (arena, previous, size) = (arena?, previous?, size?);
        if !self.all.contains(&arena) || size > writable? || !(64..=HEAP_BYTES).contains(&size) {
            return None;
        }
        let first = if previous == 0 {
            // The first heap of an arena contains the arena itself, after which its first chunk is
            // aligned.
            if !HEAP_HEADERS.contains(&arena.wrapping_sub(heap)) {
                return None;
            }
            (arena + layout.size).next_multiple_of(16)
        } else {
            // The header is as large as in the arena's first heap, where the arena follows it.
            heap + arena % HEAP_BYTES
        };
        Some(first..heap + size)
    }
}

/// Finds the arenas: the first by its shape in the C library's variables, the others by links.
pub(super) fn find(image: &dyn Image, regions: &Regions<'_>, layout: &MallocLayout) -> Arenas {
    let mut arenas = Arenas::default();
    let libc = image.modules().iter().find(|module| is_libc(module));
    let Some(module) = libc.or(image.modules().first()) else {
        return arenas;
    };
    let of_module = |region: &&Region<'_>| (module.start..module.end).contains(&region.start);
    let variables = regions.all().iter().filter(of_module);
    let candidates = variables.flat_map(|region| {
        let addresses = (region.start..region.end).step_by(8);
        addresses.filter_map(|at| Some((wrong_bins(regions, region, at, layout)?, at)))
    });
    arenas.main = candidates.min().map(|(_, at)| at);
    let Some(main) = arenas.main else {
        return arenas;
    };
    let mut next = main;
    while arenas.all.len() < MOST {
        arenas.all.push(next);
        let top = regions.word(next.wrapping_add(layout.top));
        arenas.tops.extend(top);
        match regions.word(next.wrapping_add(layout.next)) {
            Some(arena) if arena != main && arena != 0 => next = arena,
            _ => break,
        }
    }
    arenas.tops.sort_unstable();
    arenas
}

/// Returns how many bins are wrong if an arena is at `at`; `None` if they are too many. A right bin
/// links to itself if it is empty; otherwise its first and its last chunk link back to it.
fn wrong_bins(
    regions: &Regions<'_>,
    region: &Region<'_>,
    at: u64,
    layout: &MallocLayout,
) -> Option<usize> {
    let is_wrong = |bin: &u64| {
        let links = at + layout.bins + 16 * bin;
        // A bin is treated as a chunk, whose links come after two words.
        let own = links - 16;
        match (region.word(links), region.word(links + 8)) {
            (Some(next), Some(previous)) if next == own || previous == own => next != previous,
            (Some(next), Some(previous)) => {
                regions.word(next.wrapping_add(24)) != Some(own)
                    || regions.word(previous.wrapping_add(16)) != Some(own)
            }
            _ => true,
        }
    };
    let wrong = (0..BINS).filter(is_wrong).take(CHANGING + 1).count();
    (wrong <= CHANGING).then_some(wrong)
}

/// Returns the memory of the first arena's chunks.
fn main_range(regions: &Regions<'_>, main: u64, layout: &MallocLayout) -> Option<Range<u64>> {
    let top = regions.word(main + layout.top)?;
    let size = regions.word(top.wrapping_add(8))? & !7;
    let end = top.checked_add(size)?;
    let bytes = regions.word(main + layout.system_bytes)?;
    let region = regions.find(top)?;
    // The memory begins as many bytes before its end as the arena got from the system, unless other
    // code extended the heap. In a statically linked program, thread-locals may come before it.
    let start = end
        .checked_sub(bytes)
        .filter(|start| region.contains(*start));
    Some(start.unwrap_or(region.start)..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_of_known_versions() {
        let layout = MallocLayout::of_version(36).unwrap();
        // Offsets as debuggers show them.
        assert_eq!((layout.fast_bins, layout.top, layout.bins), (16, 96, 112));
        assert_eq!(
            (layout.next, layout.system_bytes, layout.size),
            (2160, 2184, 2200)
        );
        assert_eq!(layout.cache_bytes(), 640);
        let old = MallocLayout::of_version(26).unwrap();
        assert_eq!((old.fast_bins, old.top, old.hidden_links), (8, 88, false));
        assert_eq!(old.cache_bytes(), 576);
    }

    #[test]
    fn unknown_versions_are_refused() {
        assert_eq!(MallocLayout::of_version(25), None);
        assert_eq!(MallocLayout::of_version(42), None);
    }

    #[test]
    fn versions_of_banners() {
        let debian = "GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\n";
        assert_eq!(version_in(debian), Some(36));
        let fedora = "GNU C Library (GNU libc) development release version 2.40.9000.\n";
        assert_eq!(version_in(fedora), Some(40));
        assert_eq!(version_in("GNU C Library (GNU libc) something else"), None);
        assert_eq!(position(b"aGNGNU C Library (", BANNER), Some(3));
    }
}
