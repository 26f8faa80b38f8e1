//! Places that hold one object, which all threads may load and replace.
//!
//! Take [`Slot`](crate::Slot) first; an [`OptionSlot`] may be empty, and a [`SlotCache`] keeps the last
//! loaded object of one reader.

mod raw;
pub(crate) mod slots;

pub use slots::{OptionSlot, SlotCache};
