//! Counted objects.
//!
//! * [`count`]: the count word and its protocol
//! * [`header`]: what stands before every payload; classes; allocation
//! * [`destroy`]: the end of an object, in constant stack
//! * [`strong`], [`weak`]: `Ref` and `Weak`
//! * [`in_block`]: those whose memory is a block
//! * [`home`]: `HomeRef`, whose value never leaves its thread
//! * [`make`]: the ways to make a `Ref`; [`exclusive`]: to get the value back out
//! * [`unsizing`]: the macro `unsize!`
//! * [`traits`]: what `std::sync::Arc` implements, too

pub(crate) mod count;
pub(crate) mod destroy;
mod exclusive;
pub(crate) mod header;
pub(crate) mod home;
pub(crate) mod in_block;
mod make;
pub(crate) mod strong;
mod traits;
pub(crate) mod unsizing;
pub(crate) mod weak;
