//! The traits that `std::sync::Arc` implements, too; most of them for all references.

use super::strong::Ref;
use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::pin::Pin;

impl Ref<dyn Any + Send + Sync> {
    /// Converts the reference to a `Ref<T>`, if the value is a `T`.
    ///
    /// # Errors
    /// The reference itself, if the value is of another type.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Ref<T>, Self> {
        if (*self).is::<T>() {
            // SAFETY: the same object and reference; `is` says that it is a `T`.
            Ok(unsafe { Ref::adopt(Ref::into_payload(self).cast()) })
        } else {
            Err(self)
        }
    }
}

/// Implements the traits that all references implement alike, by those of the value.
macro_rules! traits_of_value {
    ($reference:ty) => {
        impl<T: ?Sized> Unpin for $reference {}
        impl<T: ?Sized + std::panic::RefUnwindSafe> std::panic::UnwindSafe for $reference {}
        impl<T: ?Sized + std::panic::RefUnwindSafe> std::panic::RefUnwindSafe for $reference {}

        impl<T: ?Sized> std::borrow::Borrow<T> for $reference {
            fn borrow(&self) -> &T {
                self
            }
        }

        impl<T: ?Sized> AsRef<T> for $reference {
            fn as_ref(&self) -> &T {
                self
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $reference {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $reference {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + Eq> Eq for $reference {}

        impl<T: ?Sized + std::hash::Hash> std::hash::Hash for $reference {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl<T: ?Sized + PartialOrd> PartialOrd for $reference {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                (**self).partial_cmp(&**other)
            }

            fn lt(&self, other: &Self) -> bool {
                **self < **other
            }

            fn le(&self, other: &Self) -> bool {
                **self <= **other
            }

            fn gt(&self, other: &Self) -> bool {
                **self > **other
            }

            fn ge(&self, other: &Self) -> bool {
                **self >= **other
            }
        }

        impl<T: ?Sized + Ord> Ord for $reference {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                (**self).cmp(&**other)
            }
        }
    };
}
pub(crate) use traits_of_value;

traits_of_value!(Ref<T>);

impl<T: Default> Default for Ref<T> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Default for Ref<[T]> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn default() -> Self {
        Self::from([])
    }
}

impl Default for Ref<str> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn default() -> Self {
        Self::from("")
    }
}

impl Default for Ref<CStr> {
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn default() -> Self {
        Self::from(c"")
    }
}

impl<T: ?Sized> Default for Pin<Ref<T>>
where
    Ref<T>: Default,
{
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn default() -> Self {
        // SAFETY: the value stays in its allocation until it is dropped there, as with `Ref::pin`.
        unsafe { Self::new_unchecked(Ref::default()) }
    }
}

impl<T: ?Sized> fmt::Pointer for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Self::as_ptr(self), f)
    }
}

/// Compares the values. Compares them even if both references are to one object: `Arc` skips that
/// for `T: Eq`, but on stable Rust only the standard library can.
impl<T: ?Sized + PartialEq> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }

    #[allow(clippy::partialeq_ne_impl, reason = "the value's own, as with `Arc`")]
    fn ne(&self, other: &Self) -> bool {
        **self != **other
    }
}

impl<T: ?Sized + std::error::Error> std::error::Error for Ref<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}
