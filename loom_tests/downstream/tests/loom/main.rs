//! Models of the mailbox, and of a slot: loom runs every interleaving of each, with
//! releasepool's own code beneath. The command stands in docs/CHECKING.md.

#[cfg(not(loom))]
compile_error!("loom is off, so nothing would be checked: give --cfg=loom, and unset RUSTFLAGS");

mod failures;
mod letters;
mod slot;
