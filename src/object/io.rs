//! Implements for files, sockets and handles the traits that `std::sync::Arc` implements for them.

use super::strong::Ref;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};

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

    fn read_exact(&mut self, buf: &mut [u8]) -> io::Result<()> {
        (&**self).read_exact(buf)
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

    fn write_all(&mut self, buf: &[u8]) -> io::Result<()> {
        (&**self).write_all(buf)
    }

    fn write_fmt(&mut self, args: std::fmt::Arguments<'_>) -> io::Result<()> {
        (&**self).write_fmt(args)
    }
}

/// Moves the position that all references share, as `&File` does.
impl Seek for Ref<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }

    fn rewind(&mut self) -> io::Result<()> {
        (&**self).rewind()
    }

    fn stream_position(&mut self) -> io::Result<u64> {
        (&**self).stream_position()
    }

    fn seek_relative(&mut self, offset: i64) -> io::Result<()> {
        (&**self).seek_relative(offset)
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
