//! Traits of `Hot` and `HotRef`.

use super::hot_handle::{Hot, HotRef};
use std::borrow::Borrow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! implement {
    ($handle:ident) => {
        impl<T: ?Sized> Unpin for $handle<T> {}
        impl<T: ?Sized + RefUnwindSafe> UnwindSafe for $handle<T> {}
        impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for $handle<T> {}

        impl<T: ?Sized> Borrow<T> for $handle<T> {
            fn borrow(&self) -> &T {
                self
            }
        }

        impl<T: ?Sized> AsRef<T> for $handle<T> {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

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

        impl<T: ?Sized + Eq> Eq for $handle<T> {}

        impl<T: ?Sized + std::hash::Hash> std::hash::Hash for $handle<T> {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }
    };
}
implement!(Hot);
implement!(HotRef);
