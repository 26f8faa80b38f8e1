//! Atomics for users' models, which follow the modes like this crate's own.
//!
//! Their orderings are never weakened, and `point` need not be called before them.

use super::atomic::{as_rmw, load_by_rmw, new_and_load, operations, rmw};
use super::explore::Halt;
use super::settings::{is_split, point, rmw_mode, spurious, user_point};
use std::panic::Location;

pub use loom::sync::atomic::fence;
pub use std::sync::atomic::Ordering;

/// Marks an operation as a place at which a seed may switch threads.
fn unchanged(at: &Location<'_>, what: &str, order: Ordering) -> Ordering {
    // The success ordering of the exchange has marked the place already.
    if what != "failure" {
        user_point(at);
    }
    order
}

/// Methods that use the atomic's own `load`, which marks its own place.
macro_rules! by_load {
    ($t:ty) => {
        /// Compares and exchanges, like std's `compare_exchange_weak`.
        #[track_caller]
        pub fn compare_exchange_weak(
            &self,
            current: $t,
            new: $t,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$t, $t> {
            if spurious() {
                return Err(self.load(failure));
            }
            self.compare_exchange(current, new, success, failure)
        }

        /// Updates the value by a function, like std's `fetch_update`.
        #[track_caller]
        pub fn fetch_update(
            &self,
            success: Ordering,
            failure: Ordering,
            mut f: impl FnMut($t) -> Option<$t>,
        ) -> Result<$t, $t> {
            let mut before = self.load(failure);
            while let Some(new) = f(before) {
                match self.compare_exchange(before, new, success, failure) {
                    Ok(before) => return Ok(before),
                    Err(now) => before = now,
                }
            }
            Err(before)
        }
    };
}

/// Defines an atomic. In the mode `Rmw`, its loads call this method with this argument.
macro_rules! atomic {
    ($name:ident, $t:ty, $load:ident($nothing:expr), $($method:ident)*) => {
        /// A drop-in for std's atomic, which models check in both [modes](super::Mode). It has no
        /// `const` constructor, and only works in models.
        #[derive(Debug)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            new_and_load!(pub $name $t, unchanged, $load($nothing));
            operations!(pub $name $t, unchanged);
            by_load!($t);
            rmw!(pub $name $t, unchanged, $($method)*);
        }

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(<$t>::default())
            }
        }

        impl From<$t> for $name {
            #[track_caller]
            fn from(value: $t) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident $t:ty),*) => {$(
        atomic!($name, $t, fetch_add(0), fetch_add fetch_sub fetch_and fetch_nand fetch_or
            fetch_xor fetch_max fetch_min);
    )*};
}

integers!(
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize
);
atomic!(AtomicBool, bool, fetch_or(false), fetch_and fetch_nand fetch_or fetch_xor);

/// A drop-in for std's atomic, which models check in both [modes](super::Mode). It has no `const`
/// constructor, and only works in models.
pub struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

impl<T> std::fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> AtomicPtr<T> {
    new_and_load!(pub AtomicPtr *mut T, unchanged, pointer);
    operations!(pub AtomicPtr *mut T, unchanged);
    by_load!(*mut T);
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
