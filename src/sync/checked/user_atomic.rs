//! Atomics for users' models, which follow the modes as those of this crate do.
//!
//! Their orderings are never weakened, and `point` need not be called before them.

use super::atomic::as_rmw;
use super::explore::Halt;
use super::settings::{rmw_mode, spurious, user_point};
use std::panic::Location;

pub use loom::sync::atomic::fence;
pub use std::sync::atomic::Ordering;

/// Methods of each kind of atomic.
macro_rules! operations {
    ($t:ty) => {
        /// As std's.
        #[track_caller]
        pub fn store(&self, value: $t, order: Ordering) {
            let _halt = Halt;
            user_point(Location::caller());
            if rmw_mode() {
                // A plain store has no order with the read-modify-writes that loads are.
                self.0.swap(value, order);
            } else {
                self.0.store(value, order);
            }
        }

        /// As std's.
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

        /// As std's.
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

        forward!($t: swap(value: $t, order: Ordering) -> $t);
        forward!($t: compare_exchange(current: $t, new: $t, success: Ordering, failure: Ordering)
            -> Result<$t, $t>);
    };
}

/// A method that does what loom's does.
macro_rules! forward {
    ($t:ty: $name:ident($($argument:ident: $of:ty),*) -> $result:ty) => {
        /// As std's.
        #[track_caller]
        pub fn $name(&self, $($argument: $of),*) -> $result {
            let _halt = Halt;
            user_point(Location::caller());
            self.0.$name($($argument),*)
        }
    };
}

/// An atomic whose loads are by this method, with this argument, in the mode `Rmw`.
macro_rules! atomic {
    ($name:ident, $t:ty, $load:ident($nothing:expr), $($method:ident)*) => {
        /// An atomic as std's, which models check in both [modes](super::Mode). It has no `const`
        /// constructor, and only works in models.
        #[derive(Debug)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            /// Creates one.
            #[track_caller]
            pub fn new(value: $t) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            /// As std's.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $t {
                let _halt = Halt;
                user_point(Location::caller());
                if rmw_mode() {
                    self.0.$load($nothing, as_rmw(order))
                } else {
                    self.0.load(order)
                }
            }

            operations!($t);
            $(forward!($t: $method(value: $t, order: Ordering) -> $t);)*
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

/// An atomic as std's, which models check in both [modes](super::Mode). It has no `const`
/// constructor, and only works in models.
pub struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

impl<T> std::fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> AtomicPtr<T> {
    /// Creates one.
    #[track_caller]
    pub fn new(value: *mut T) -> Self {
        Self(loom::sync::atomic::AtomicPtr::new(value))
    }

    /// As std's.
    #[track_caller]
    pub fn load(&self, order: Ordering) -> *mut T {
        let _halt = Halt;
        user_point(Location::caller());
        if rmw_mode() {
            // An exchange that never succeeds, as nothing ever stores this address.
            let never = std::ptr::without_provenance_mut(usize::MAX - 1);
            match self.0.compare_exchange(never, never, as_rmw(order), order) {
                Ok(value) | Err(value) => value,
            }
        } else {
            self.0.load(order)
        }
    }

    operations!(*mut T);
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
