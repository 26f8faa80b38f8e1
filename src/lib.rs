// Targets of the README's links in these docs. They come first, because rustdoc uses the first
// definition of a link.
#![doc = include_str!("readme_links.md")]
#![doc = include_str!("../README.md")]
#![deny(unsafe_op_in_unsafe_fn, missing_docs)]
// docs.rs marks what a feature adds.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(docsrs, doc(auto_cfg(hide(releasepool_shuttle, loom, doc))))]
#![debugger_visualizer(gdb_script_file = "../debuggers/releasepool.py")]

// Pages that link to other pages begin with the targets of these links, as the README does.
#[doc = include_str!("page_links.md")]
#[doc = include_str!("../docs/PROOF.md")]
pub mod proof {}
#[doc = include_str!("../docs/SETUP.md")]
pub mod setup {}
#[doc = include_str!("../docs/FRAMES.md")]
pub mod frames {}
#[doc = include_str!("page_links.md")]
#[doc = include_str!("../docs/DESIGN.md")]
pub mod design {}
#[doc = include_str!("../docs/PERFORMANCE.md")]
pub mod performance {}
#[doc = include_str!("../docs/PORTING.md")]
pub mod porting {}
#[doc = include_str!("../docs/FROM_ARC.md")]
pub mod from_arc {}
#[doc = include_str!("../docs/CHECKING.md")]
pub mod checking {}
#[doc = include_str!("page_links.md")]
#[doc = include_str!("../docs/DEBUGGING.md")]
pub mod debugging {}
mod arena;
mod block;
#[cfg(doctest)]
mod compile_fail_tests;
mod epoch;
pub mod event;
mod foreign;
pub mod frame;
mod hot;
mod layout;
#[cfg(feature = "leak-detection")]
pub mod leaks;
mod ledger;
#[cfg(feature = "metrics")]
pub mod metrics;
// Also compiled for the documentation, which is built without loom: the signatures name no type of
// loom, and rustdoc does not check function bodies.
#[cfg(any(doc, releasepool_shuttle, all(loom, feature = "loom")))]
#[cfg_attr(docsrs, doc(cfg(all(loom, feature = "loom"))))]
pub mod model;
sync::described! {
    mod note;
}
mod object;
mod pool;

mod manager;

#[doc(hidden)]
pub mod raw;
#[cfg(feature = "serde")]
mod serialize;
mod setters;
mod slot;
mod sync;
mod thread;
mod unsizing;
mod unwind;

pub use arena::stack_allocator::{StackAllocator, StackDump};
pub use arena::stack_box::StackBox;
pub use block::block_allocator::{BlockAllocator, BlockAllocatorBuilder};
pub use block::shared::{AllocError, BlockStats};
#[doc(inline)]
pub use frame::{
    Frame, FrameConfig, FrameLoop, FrameProxy, FrameReport, Full, Later, Looper, LooperProxy,
    OnReclaimer, PendingDrops, Pooled, PostId, ReclaimerConfig, WhenFull, callback_scope,
    drop_later, finish_drops, pooled,
};
pub use hot::hot_handle::{Hot, HotRef, HotTableFull};
pub use manager::PoolManager;
pub use manager::pending_home::{NotMade, PendingHome};
pub use manager::pool_manager::{InboxHook, PoolManagerBuilder};
pub use manager::shutdown::{EpochHolder, ShutdownReport};
pub use manager::snapshot::{Snapshot, ThreadSnapshot, Totals};
pub use object::destroy::{settle, settle_scope};
pub use object::home::{HomeRef, HomeWeak};
pub use object::strong::Ref;
pub use object::thin_target::ThinTarget;
pub use object::wake::Wake;
pub use object::weak::Weak;
pub use pool::api::foreign::{
    Foreign, ForeignRef, ForeignScope, NotOwner, RemoteRelease, foreign_scope,
};
pub use pool::api::guard::AutoreleasePool;
pub use pool::api::handoff::HandoffPool;
pub use pool::api::implicit::autorelease;
pub use pool::api::pool_ref::PoolRef;
pub use pool::api::scope::autoreleasepool;
pub use pool::api::token::{PoolToken, PopError};
pub use pool::stack::budget::{Budget, Drained};
pub use pool::stack::manager_shared::RootPolicy;
pub use pool::stack::pool_stack::PoolDump;
pub use slot::{OptionSlot, Slot, SlotCache};
pub use thread::key::ThreadKey;
pub use thread::thread_handle::{Closed, ThreadHandle};

/// Items that the crate's macros use.
#[doc(hidden)]
pub mod __private {
    pub use crate::unsizing::Coercible;
}
