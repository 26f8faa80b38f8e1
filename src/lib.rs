// Targets of the README's links in these docs. They come first, because rustdoc uses the first
// definition of a link.
#![doc = include_str!("readme_links.md")]
#![doc = include_str!("../README.md")]
#![deny(unsafe_op_in_unsafe_fn, missing_docs)]
// docs.rs marks what a feature adds.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(docsrs, doc(auto_cfg(hide(releasepool_shuttle, loom, doc))))]
#![debugger_visualizer(gdb_script_file = "../debuggers/releasepool.py")]

#[cfg(doctest)]
mod compile_fail_tests;
mod epoch;
pub mod event;
pub mod foreign;
pub mod frame;
pub mod guide;
pub mod home;
pub mod hot;
mod layout;
#[cfg(feature = "leak-detection")]
pub mod leaks;
mod ledger;
mod macros;
pub mod memory;
#[cfg(feature = "metrics")]
pub mod metrics;
// `model` is also compiled for the documentation, which is built without loom: its signatures name
// no type of loom, and rustdoc does not check function bodies.
#[cfg(any(doc, releasepool_shuttle, all(loom, feature = "loom")))]
#[cfg_attr(docsrs, doc(cfg(all(loom, feature = "loom"))))]
pub mod model;
sync::described! {
    mod note;
}
pub mod object;
pub mod pool;
#[doc(hidden)]
pub mod raw;
pub mod reclaim;
pub mod report;
#[cfg(feature = "serde")]
mod serialize;
pub mod slot;
mod sync;
pub mod task;
pub mod thread;
mod unsizing;
mod unwind;

pub use frame::frame_loop::FrameLoop;
pub use frame::looper::Looper;
pub use home::home_ref::HomeRef;
pub use hot::hot_handle::{Hot, HotRef};
pub use object::strong::Ref;
pub use object::weak::Weak;
pub use pool::api::guard::AutoreleasePool;
pub use pool::api::handoff::HandoffPool;
pub use pool::api::implicit::autorelease;
pub use pool::api::pool_ref::PoolRef;
pub use pool::api::scope::autoreleasepool;
pub use pool::manager::PoolManager;
pub use pool::stack::budget::{Budget, Drained};
pub use reclaim::later::drop_later;
pub use reclaim::reclaimer::Reclaimer;
pub use report::exit::finish;
pub use slot::slots::Slot;
pub use task::pooled::{callback_scope, pooled};
pub use thread::thread_handle::ThreadHandle;

/// Items that the crate's macros use.
#[doc(hidden)]
pub mod __private {
    pub use crate::unsizing::Coercible;
}
