//! todo
use super::{Image, Mapping, Memory, Module, Thread};
use crate::error::Error;
use std::path::Path;
/// todo
pub struct CoreImage {}
impl CoreImage {
    /// todo
    /// # Errors
    pub fn open(_: &Path, _: Option<&Path>) -> Result<CoreImage, Error> {
        Err(Error::NotSupported)
    }
}
impl Memory for CoreImage {
    fn read(&self, _: u64, _: &mut [u8]) -> usize {
        0
    }
}
impl Image for CoreImage {
    fn mappings(&self) -> &[Mapping] {
        &[]
    }
    fn threads(&self) -> &[Thread] {
        &[]
    }
    fn modules(&self) -> &[Module] {
        &[]
    }
    fn pid(&self) -> Option<u32> {
        None
    }
}
