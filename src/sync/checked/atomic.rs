//! loom's atomics, with the modes and weakened orderings of [`settings`](super::settings): the crate's own,
//! and those of users' models.

use super::explore::Halt;
use super::settings::{is_split, ordering, point, rmw_mode, spurious};
use std::panic::Location;

pub use std::sync::atomic::Ordering;

/// Makes a fence, like std's `fence`; does nothing if a model has weakened the ordering to
/// `Relaxed`.
#[track_caller]
pub fn fence(order: Ordering) {
    let _halt = Halt;
    let order = ordering(Location::caller(), "fence", order);
    if order != Ordering::Relaxed {
        loom::sync::atomic::fence(order);
    }
}

/// Makes freeing the memory of an atomic a checked write.
pub(crate) trait FreeWitness {
    fn freed(&mut self);
}

/// Returns the ordering of a read-modify-write that stands for a load with `order`.
fn as_rmw(order: Ordering) -> Ordering {
    match order {
        Ordering::SeqCst => Ordering::AcqRel,
        o => o,
    }
}

/// Defines the constructor and the operations that all kinds of atomics have. In the mode `Rmw`,
/// `load` calls the method `$load` with an argument that changes nothing; the `load` of a `pointer`
/// makes a compare-exchange that never succeeds.
macro_rules! operations {
    ($name:ident $t:ty, $($load:tt)*) => {
        /// Creates the atomic, like std's `new`.
        #[track_caller]
        pub fn new(value: $t) -> Self {
            Self(loom::sync::atomic::$name::new(value))
        }

        /// Loads the value, like std's `load`.
        #[track_caller]
        pub fn load(&self, order: Ordering) -> $t {
            let _halt = Halt;
            self.load_in_mode(ordering(Location::caller(), "load", order))
        }

        #[track_caller]
        fn load_in_mode(&self, order: Ordering) -> $t {
            if rmw_mode() {
                load_by_rmw!(self.0, order, $($load)*)
            } else {
                self.0.load(order)
            }
        }

        /// Stores the value, like std's `store`.
        #[track_caller]
        pub fn store(&self, value: $t, order: Ordering) {
            let _halt = Halt;
            self.store_in_mode(value, ordering(Location::caller(), "store", order));
        }

        #[track_caller]
        fn store_in_mode(&self, value: $t, order: Ordering) {
            if rmw_mode() {
                // Exchanges, as loom does not order a plain store with the read-modify-writes that
                // replace loads.
                self.0.swap(value, order);
            } else {
                self.0.store(value, order);
            }
        }

        /// Does a read-modify-write that a mutant has split: another thread may come between the
        /// load and the store.
        #[track_caller]
        fn split(&self, change: impl FnOnce($t) -> Option<$t>) -> Result<$t, $t> {
            let before = self.load_in_mode(Ordering::Acquire);
            point();
            let after = change(before).ok_or(before)?;
            self.store_in_mode(after, Ordering::Release);
            Ok(before)
        }

        rmw!($name $t, swap);

        /// Compares and exchanges, like std's `compare_exchange`.
        #[track_caller]
        pub fn compare_exchange(
            &self,
            current: $t,
            new: $t,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$t, $t> {
            let _halt = Halt;
            let at = Location::caller();
            let success = ordering(at, "rmw", success);
            let failure = ordering(at, "failure", failure);
            if is_split(at) {
                return self.split(|before| (before == current).then_some(new));
            }
            self.0.compare_exchange(current, new, success, failure)
        }

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
                let failure = ordering(Location::caller(), "failure", failure);
                return Err(self.0.load(failure));
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

/// Defines read-modify-writes of one operand; `$std` is std's atomic that computes the same.
macro_rules! rmw {
    ($std:ident $t:ty, $($name:ident)*) => {$(
        /// Does what std's function of this name does.
        #[track_caller]
        pub fn $name(&self, value: $t, order: Ordering) -> $t {
            let _halt = Halt;
            let at = Location::caller();
            let order = ordering(at, "rmw", order);
            if is_split(at) {
                let compute = |before| {
                    let atomic = std::sync::atomic::$std::new(before);
                    atomic.$name(value, Ordering::Relaxed);
                    Some(atomic.into_inner())
                };
                let (Ok(before) | Err(before)) = self.split(compute);
                return before;
            }
            self.0.$name(value, order)
        }
    )*};
}

macro_rules! load_by_rmw {
    ($atomic:expr, $order:ident, pointer) => {{
        // Loads by an exchange that never succeeds, as nothing ever stores this address.
        let never = std::ptr::without_provenance_mut(usize::MAX - 1);
        match $atomic.compare_exchange(never, never, as_rmw($order), $order) {
            Ok(value) | Err(value) => value,
        }
    }};
    ($atomic:expr, $order:ident, $load:ident($nothing:expr)) => {
        $atomic.$load($nothing, as_rmw($order))
    };
}

macro_rules! atomic {
    ($name:ident $t:ty, $load:ident($nothing:expr), $($method:ident)*) => {
        /// A drop-in for std's atomic, which models check in both [modes](crate::model::Mode). It
        /// has no `const` constructor, and only works in models.
        #[derive(Debug)]
        pub struct $name(loom::sync::atomic::$name);

        impl $name {
            operations!($name $t, $load($nothing));
            rmw!($name $t, $($method)*);
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
        atomic!($name $t, fetch_add(0), fetch_add fetch_sub fetch_and fetch_nand fetch_or
            fetch_xor fetch_max fetch_min);

        impl FreeWitness for $name {
            #[track_caller]
            fn freed(&mut self) {
                self.0.with_mut(|_| ());
            }
        }
    )*};
}

integers!(
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicIsize isize
);
atomic!(AtomicBool bool, fetch_or(false), fetch_and fetch_nand fetch_or fetch_xor);

/// A drop-in for std's atomic, which models check in both [modes](crate::model::Mode). It has no
/// `const` constructor, and only works in models.
pub struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

impl<T> std::fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> AtomicPtr<T> {
    operations!(AtomicPtr *mut T, pointer);
}

impl<T> FreeWitness for AtomicPtr<T> {
    #[track_caller]
    fn freed(&mut self) {
        self.0.with_mut(|_| ());
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
