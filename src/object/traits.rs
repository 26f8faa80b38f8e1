//! The traits that `std::sync::Arc` implements, too; most of them for all kinds of references.

use super::strong::Ref;
use std::any::Any;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
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

/// Implements the traits that every kind of reference forwards to its value.
macro_rules! traits_of_value {
    ($reference:ty) => {
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

        impl<T: ?Sized> std::fmt::Pointer for $reference {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Pointer::fmt(&std::ptr::from_ref::<T>(self), f)
            }
        }

        impl<T: ?Sized + Eq> Eq for $reference {}

        impl<T: ?Sized + std::hash::Hash> std::hash::Hash for $reference {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl<T: ?Sized + Ord> Ord for $reference {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                (**self).cmp(&**other)
            }
        }

        impl<T: ?Sized + PartialOrd> PartialOrd for $reference {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                (**self).partial_cmp(&**other)
            }
        }

        /// Compares the values. Compares them even if both references are to one object: `Arc`
        /// skips that for `T: Eq`, but on stable Rust only the standard library can.
        impl<T: ?Sized + PartialEq> PartialEq for $reference {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
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

impl<T: ?Sized + std::error::Error> std::error::Error for Ref<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}

// Implements for files, sockets and handles the traits that `std::sync::Arc` implements for them.

/// Reads from the file that all references share, as `&File` does.
impl Read for Ref<File> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&**self).read_vectored(bufs)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (&**self).read_to_end(buf)
    }

    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (&**self).read_to_string(buf)
    }
}

/// Writes to the file that all references share, as `&File` does.
impl Write for Ref<File> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&**self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&**self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&**self).flush()
    }
}

/// Moves the position that all references share, as `&File` does.
impl Seek for Ref<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }
}

#[cfg(any(unix, target_os = "wasi"))]
mod fd {
    use super::Ref;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    impl<T: ?Sized + AsFd> AsFd for Ref<T> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (**self).as_fd()
        }
    }

    impl<T: AsRawFd> AsRawFd for Ref<T> {
        fn as_raw_fd(&self) -> RawFd {
            (**self).as_raw_fd()
        }
    }
}

#[cfg(windows)]
mod handle {
    use super::Ref;
    use std::os::windows::io::{AsHandle, AsSocket, BorrowedHandle, BorrowedSocket};

    impl<T: ?Sized + AsHandle> AsHandle for Ref<T> {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            (**self).as_handle()
        }
    }

    impl<T: AsSocket> AsSocket for Ref<T> {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            (**self).as_socket()
        }
    }
}
