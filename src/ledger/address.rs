//! Maps by address.

use dashmap::DashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes one address. Objects of one page of memory are neighbors in the index, too, so that
/// those which are created one after the other find it in the cache.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, address: usize) {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let address = address as u64;
        let page = (address >> 12).wrapping_mul(ODD);
        let place = (address >> 4) & 0xFF;
        // The table takes the bucket from the low bits, the shard from high ones, and compares the
        // seven highest.
        let tag = (address.wrapping_mul(ODD) >> 57) << 57;
        let mixed = (page >> 32) ^ ((page << 32) >> 7);
        self.0 = (mixed.wrapping_add(place) & (!0 >> 7)) | tag;
    }
}

/// A map by addresses.
pub(crate) type AddressMap<V> = DashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// Returns the hash of an address.
pub(super) fn hash(address: usize) -> u64 {
    let mut hasher = AddressHasher::default();
    hasher.write_usize(address);
    hasher.finish() >> 32
}
