//! Processes of Linux on x86-64 and AArch64.

mod copy;
mod filter;
mod open;
mod pages;
mod proc;
mod stop;
mod sys;

pub(super) use open::take;

/// See [`ProgramImage::program_id`](super::ProgramImage::program_id).
pub(super) fn program_id(pid: u32) -> Option<[u8; 16]> {
    proc::program_id(&proc::open(pid).ok()?)
}
