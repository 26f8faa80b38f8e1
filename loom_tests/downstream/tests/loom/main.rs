//! Models of the mailbox, of the queue and of a slot: loom runs each in every interleaving, including the code of
//! releasepool. docs/CHECKING.md has the command.

#[cfg(not(loom))]
compile_error!("loom is off, so nothing would be checked: give --cfg=loom, and unset RUSTFLAGS");

mod failures;
mod letters;
mod queue;
mod slot;
