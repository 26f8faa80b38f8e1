//! The functions and types that users call. `Ref::autorelease` is defined in this folder because it
//! needs pools, and the folder of `Ref` is in a layer below `pool`.
//!
//! * [`guard`], [`scope`], [`token`]: pools that are opened and closed by a guard, a closure or a token
//! * [`handoff`]: pools for another thread to release
//! * [`pool_ref`], [`implicit`]: references that pools lend or take
//! * [`pin`]: slots' use of the calling thread's pools

pub(crate) mod guard;

pub(crate) mod handoff;
pub(crate) mod implicit;
pub(crate) mod pin;
pub(crate) mod pool_ref;
pub(crate) mod scope;
pub(crate) mod token;
