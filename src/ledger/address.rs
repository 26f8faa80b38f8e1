//! Addresses of objects, and maps by them.

use dashmap::DashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// The address of an object, stored as its complement: a tool that searches the memory of the
/// process for references must not take the ledger's addresses for references.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Hidden(usize);

impl Hidden {
    /// Stands for no object.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn new(address: usize) -> Self {
        Self(!address)
    }

    pub(crate) fn get(self) -> usize {
        !self.0
    }
}

impl Hash for Hidden {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.get());
    }
}

/// Hashes one address. Objects in one page of memory are neighbors in the index, too, so that
/// threads that create objects one after the other find the index's entries in the cache.
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
        // The table takes the bucket from the low bits of the hash, the shard from high bits, and
        // compares the seven highest bits.
        let tag = (address.wrapping_mul(ODD) >> 57) << 57;
        let mixed = (page >> 32) ^ ((page << 32) >> 7);
        self.0 = (mixed.wrapping_add(place) & (!0 >> 7)) | tag;
    }
}

/// A map by addresses.
pub(crate) type AddressMap<V> = DashMap<Hidden, V, BuildHasherDefault<AddressHasher>>;

/// Returns the hash of an address.
pub(super) fn hash(address: usize) -> u64 {
    let mut hasher = AddressHasher::default();
    hasher.write_usize(address);
    hasher.finish() >> 32
}
