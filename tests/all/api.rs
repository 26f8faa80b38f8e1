//! Auto traits of the public types, and their counterparts in `Arc`.

mod auto_traits;
mod every_type;
mod from_arc;
