//! What memory costs: releasepool's blocks compared with other allocators.

mod allocators;
mod check;
mod checked;
mod comparisons;
mod contestants;
mod cross;
mod peak;
mod works;

pub use check::check;
pub use comparisons::rows;
pub use peak::{apart, print as print_peaks};
