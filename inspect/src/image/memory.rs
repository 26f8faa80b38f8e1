//! Reads memory at addresses of the program that is inspected.

/// Reads the memory of the program that is inspected.
pub trait Memory: Sync {
    /// Fills `buffer` from `address` on, as far as there is memory; returns how many bytes from the
    /// start of `buffer` were filled.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;

    /// Returns the `len` bytes at `address` without a copy, if they are at hand in one piece.
    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        let _ = (address, len);
        None
    }

    /// Reads `len` bytes; `None` if some of them are not there.
    fn bytes(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        (self.read(address, &mut bytes) == len).then_some(bytes)
    }

    /// Reads 32 bits; `None` if there is no memory.
    fn half(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        (self.read(address, &mut bytes) == 4).then(|| u32::from_ne_bytes(bytes))
    }

    /// Reads a word; `None` if there is no memory.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes) == 8).then(|| u64::from_ne_bytes(bytes))
    }
}

/// Returns the whole words of some bytes of memory.
#[inline(always)]
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
}
