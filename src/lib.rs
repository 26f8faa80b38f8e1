//! Counted objects and autorelease pools that are safe and fast on every thread.
#![deny(unsafe_op_in_unsafe_fn, missing_docs)]

pub mod event;
mod object;
mod sync;
mod thread;
mod unwind;

pub use object::destroy::settle;
pub use object::strong::Ref;
pub use object::weak::Weak;
pub use thread::handle::{Closed, ThreadHandle};
pub use thread::key::ThreadKey;

/// For the crate's own macros.
#[doc(hidden)]
pub mod __private {
    pub use crate::object::unsizing::Handle;
}
