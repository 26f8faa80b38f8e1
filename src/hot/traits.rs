//! Traits of `Hot` and `HotRef`.

use super::hot_handle::{Hot, HotRef};
use crate::object::traits::traits_of_value;
use std::fmt;

macro_rules! implement {
    ($handle:ident) => {
        traits_of_value!($handle<T>);

        impl<T: ?Sized> fmt::Pointer for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Pointer::fmt(&std::ptr::from_ref::<T>(self), f)
            }
        }

        /// Compares the values.
        impl<T: ?Sized + PartialEq> PartialEq for $handle<T> {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }
    };
}
implement!(Hot);
implement!(HotRef);
