//! loom's atomics, with the modes and weakened orderings of [`settings`](super::settings).

use super::explore::Halt;
use super::settings::{is_split, ordering, point, rmw_mode, spurious};
use std::panic::Location;

pub(crate) use std::sync::atomic::Ordering;

/// Makes a fence, like std's `fence`; does nothing if a model has weakened the ordering to
/// `Relaxed`.
#[track_caller]
pub(crate) fn fence(order: Ordering) {
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
pub(super) fn as_rmw(order: Ordering) -> Ordering {
    match order {
        Ordering::SeqCst => Ordering::AcqRel,
        o => o,
    }
}

/// Defines the operations that all kinds of atomics have. `$ordering` is called before each
/// operation with its place, its part and its ordering, and returns the ordering to use.
macro_rules! operations {
    ($vis:vis $std:ident $t:ty, $ordering:path) => {
        /// Stores the value, like std's `store`.
        #[allow(dead_code, reason = "not every atomic needs it")]
        #[track_caller]
        $vis fn store(&self, value: $t, order: Ordering) {
            let _halt = Halt;
            self.store_in_mode(value, $ordering(Location::caller(), "store", order));
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

        /// Does what a read-modify-write at a place that a mutant splits does: another thread may
        /// come between the load and the store.
        #[track_caller]
        fn split(&self, change: impl FnOnce($t) -> Option<$t>) -> Result<$t, $t> {
            let before = self.load_in_mode(Ordering::Acquire);
            point();
            let after = change(before).ok_or(before)?;
            self.store_in_mode(after, Ordering::Release);
            Ok(before)
        }

        rmw!($vis $std $t, $ordering, swap);

        /// Compares and exchanges, like std's `compare_exchange`.
        #[allow(dead_code, reason = "not every atomic needs it")]
        #[track_caller]
        $vis fn compare_exchange(
            &self,
            current: $t,
            new: $t,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$t, $t> {
            let _halt = Halt;
            let at = Location::caller();
            let success = $ordering(at, "rmw", success);
            let failure = $ordering(at, "failure", failure);
            if is_split(at) {
                return self.split(|before| (before == current).then_some(new));
            }
            self.0.compare_exchange(current, new, success, failure)
        }
    };
}

macro_rules! compare_exchange_weak {
    ($t:ty) => {
        #[allow(dead_code, reason = "not every atomic needs it")]
        #[track_caller]
        pub(crate) fn compare_exchange_weak(
            &self,
            current: $t,
            new: $t,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$t, $t> {
            if spurious() {
                return Err(self
                    .0
                    .load(ordering(Location::caller(), "failure", failure)));
            }
            self.compare_exchange(current, new, success, failure)
        }
    };
}

/// Defines read-modify-writes of one operand; `$std` is std's atomic that computes the same.
macro_rules! rmw {
    ($vis:vis $std:ident $t:ty, $ordering:path, $($name:ident)*) => {$(
        /// Does what std's function of this name does.
        #[allow(dead_code, reason = "not every atomic needs it")]
        #[track_caller]
        $vis fn $name(&self, value: $t, order: Ordering) -> $t {
            let _halt = Halt;
            let at = Location::caller();
            let order = $ordering(at, "rmw", order);
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

/// Defines the constructor and `load`. In the mode `Rmw`, `load` calls the method `$load` with an
/// argument that changes nothing; that of a `pointer` makes an exchange.
macro_rules! new_and_load {
    ($vis:vis $name:ident $t:ty, $ordering:path, $($load:tt)*) => {
        /// Creates the atomic, like std's `new`.
        #[track_caller]
        $vis fn new(value: $t) -> Self {
            Self(loom::sync::atomic::$name::new(value))
        }

        /// Loads the value, like std's `load`.
        #[track_caller]
        $vis fn load(&self, order: Ordering) -> $t {
            let _halt = Halt;
            self.load_in_mode($ordering(Location::caller(), "load", order))
        }

        #[track_caller]
        fn load_in_mode(&self, order: Ordering) -> $t {
            if rmw_mode() {
                load_by_rmw!(self.0, order, $($load)*)
            } else {
                self.0.load(order)
            }
        }
    };
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

pub(super) use {load_by_rmw, new_and_load, operations, rmw};

macro_rules! integer {
    ($name:ident, $t:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        impl $name {
            new_and_load!(pub(crate) $name $t, ordering, fetch_add(0));
            operations!(pub(crate) $name $t, ordering);
            compare_exchange_weak!($t);
            rmw!(pub(crate) $name $t, ordering, fetch_add fetch_sub fetch_or);
        }

        impl FreeWitness for $name {
            #[track_caller]
            fn freed(&mut self) {
                self.0.with_mut(|_| ());
            }
        }
    };
}

integer!(AtomicU64, u64);
integer!(AtomicUsize, usize);

pub(crate) struct AtomicPtr<T>(loom::sync::atomic::AtomicPtr<T>);

impl<T> std::fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> AtomicPtr<T> {
    new_and_load!(pub(crate) AtomicPtr *mut T, ordering, pointer);
    operations!(pub(crate) AtomicPtr *mut T, ordering);
    compare_exchange_weak!(*mut T);
}

impl<T> FreeWitness for AtomicPtr<T> {
    #[track_caller]
    fn freed(&mut self) {
        self.0.with_mut(|_| ());
    }
}
