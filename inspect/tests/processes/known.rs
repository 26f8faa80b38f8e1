//! A program whose statics and heap have known values.

use releasepool_inspect::image::{Memory, ProgramImage};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A static in `.bss`, which the process itself sets.
#[used]
pub static MARKER: AtomicU64 = AtomicU64::new(0);
/// A static in `.data`, which has a value in the file and is then changed.
#[used]
static CHANGED: AtomicU64 = AtomicU64::new(0x5eed);
/// A static in `.data`, on pages that the process may never have touched.
#[used]
pub static UNTOUCHED: [AtomicU64; 8192] = [const { AtomicU64::new(0x0dd) }; 8192];
/// A static in `.rodata` or `.data.rel.ro`.
#[used]
pub static TEXT: &str = "a text that no other has";
#[used]
static TEXT_PLACE: AtomicUsize = AtomicUsize::new(0);
/// The address at which the process has put something.
#[used]
pub static PLACE: AtomicUsize = AtomicUsize::new(0);

/// Gives the statics their values, leaks a vector, and starts a thread.
#[inline(never)]
pub fn fill() {
    MARKER.store(0xfeed_f00d, Ordering::Relaxed);
    CHANGED.fetch_add(1, Ordering::Relaxed);
    TEXT_PLACE.store(TEXT.as_ptr().addr(), Ordering::Relaxed);
    let words: Vec<u64> = (0..100_000).map(|word| word * 3).collect();
    PLACE.store(words.leak().as_ptr().addr(), Ordering::Relaxed);
    std::thread::spawn(|| {
        loop {
            std::thread::park();
        }
    });
}

/// Returns the address of one of these statics, or of `fill`.
pub fn address(image: &ProgramImage, name: &str) -> u64 {
    let name = format!("{}::{name}", module_path!());
    let found = image.symbols().find(&name);
    found.unwrap_or_else(|| panic!("no symbol {name}")).0
}

/// Returns the value of one of these statics.
pub fn word(image: &ProgramImage, name: &str) -> u64 {
    image.word(address(image, name)).unwrap()
}

/// Checks the values of the statics, and the text, which is in the program's file only.
pub fn check(image: &ProgramImage) {
    assert_eq!(word(image, "MARKER"), 0xfeed_f00d);
    assert_eq!(word(image, "CHANGED"), 0x5eee);
    let text = image.bytes(word(image, "TEXT_PLACE"), TEXT.len());
    assert_eq!(text.as_deref(), Some(TEXT.as_bytes()));
}
