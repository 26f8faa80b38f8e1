//! The trace that `--trace` asks for.
//!
//! The library tells `tracing` of its frames and drains if its feature of that name is on. Cargo
//! builds all packages of one command with the same features of the library, so if this package
//! turned it on, the library's tests and benchmarks would have it, too. So the package
//! `releasepool-share-traced` builds the same source with it, and `--trace` runs that.

#[cfg(not(feature = "trace"))]
mod off;
#[cfg(feature = "trace")]
mod on;

#[cfg(not(feature = "trace"))]
pub use off::{Trace, elsewhere};
#[cfg(feature = "trace")]
pub use on::{Trace, elsewhere};
