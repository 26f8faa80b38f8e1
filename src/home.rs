//! Values that never leave their thread: those behind a [`HomeRef`](crate::HomeRef).
//!
//! Take [`HomeRef::new`](crate::HomeRef::new) first: it makes the calling thread the value's home.
//! [`HomeRef::new_on`](crate::HomeRef::new_on) asks another thread to make the value, and gives a
//! [`PendingHome`].

pub(crate) mod home_ref;
mod pending_home;

pub use home_ref::HomeWeak;
pub use pending_home::{NotMade, PendingHome};
