//! Counted objects.
//!
//! * [`count`]: the count word and its protocol
//! * [`header`]: what stands before every payload; classes; allocation
//! * [`destroy`]: the end of an object, in constant stack
//! * [`strong`], [`weak`]: `Ref` and `Weak`
//! * [`block_allocated`]: those whose memory is a block
//! * [`thread_bound`]: `HomeRef`, whose value never leaves its thread
//! * [`make`]: the ways to make a `Ref`; [`unique`]: to get the value back out
//! * [`traits`]: what `std::sync::Arc` implements, too

pub(crate) mod block_allocated;
pub(crate) mod count;
pub(crate) mod destroy;
pub(crate) mod header;
mod make;
pub(crate) mod strong;
pub(crate) mod thread_bound;
mod traits;
mod unique;
pub(crate) mod weak;
