#![doc = include_str!("page_links.md")]
#![doc = include_str!("../docs/GUIDE.md")]

// A page that links to other pages begins with the targets of its links, as `lib.rs` does.
#[doc = include_str!("page_links.md")]
#[doc = include_str!("../docs/PROOF.md")]
pub mod proof {}
#[doc = include_str!("page_links.md")]
#[doc = include_str!("../docs/FIRST_HOUR.md")]
pub mod first_hour {}
#[doc = include_str!("../docs/SETUP.md")]
pub mod setup {}
#[doc = include_str!("../docs/FRAMES.md")]
pub mod frames {}
#[doc = include_str!("page_links.md")]
#[doc = include_str!("../docs/DESIGN.md")]
pub mod design {}
#[doc = include_str!("page_links.md")]
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
