//! Texts: `str`, `CStr`, `OsStr` and `Path`, whose objects are slices of bytes with another type
//! name.

use super::object_memory::{BlockSource, Global, Source, allocate_slice_in};
use super::slices::copied;
use super::strong::Ref;
use super::unique::Renew;
use crate::memory::block::block_allocator::BlockAllocator;
use crate::memory::block::shared::AllocError;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::slice;

/// Implements the conversions of one type of text, and the trait that `Ref::make_mut` needs.
///
/// Each of these types consists of its bytes: a pointer to a text is an address and a number of
/// bytes, which for a `CStr` includes the nul. `tests::texts_are_their_bytes` checks that.
macro_rules! text {
    ($text:ty, $owned:ty) => {
        impl Ref<$text> {
            /// Makes a copy of a text.
            #[inline]
            #[cfg_attr(feature = "leak-detection", track_caller)]
            fn copy_in<S: Source>(text: &$text, source: S) -> Result<Self, S::Error> {
                let start = std::ptr::from_ref(text).cast::<u8>();
                // SAFETY: a text is its bytes.
                let bytes = unsafe { slice::from_raw_parts(start, size_of_val(text)) };
                // SAFETY: bytes are `Copy`.
                let bytes = unsafe { copied::<u8, $text, S>(bytes, source) }?;
                // SAFETY: the pointer is not null.
                let text = unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut $text) };
                // SAFETY: a new object with the bytes of a text of this type; the new handle owns
                // its one reference.
                Ok(unsafe { Self::adopt(text) })
            }
        }

        impl From<&$text> for Ref<$text> {
            #[cfg_attr(feature = "leak-detection", track_caller)]
            fn from(value: &$text) -> Self {
                let Ok(text) = Self::copy_in(value, Global);
                text
            }
        }

        impl From<&mut $text> for Ref<$text> {
            #[cfg_attr(feature = "leak-detection", track_caller)]
            fn from(value: &mut $text) -> Self {
                (&*value).into()
            }
        }

        impl From<$owned> for Ref<$text> {
            #[cfg_attr(feature = "leak-detection", track_caller)]
            fn from(value: $owned) -> Self {
                let text: &$text = &value;
                text.into()
            }
        }

        impl Renew for $text {
            #[cfg_attr(feature = "leak-detection", track_caller)]
            fn renew(this: &Ref<Self>) -> Ref<Self> {
                Ref::from(&**this)
            }

            #[cfg_attr(feature = "leak-detection", track_caller)]
            unsafe fn same(this: NonNull<Self>) -> NonNull<Self> {
                let len = (this.as_ptr() as *const [u8]).len();
                let Ok(bytes) = allocate_slice_in::<u8, $text, _>(len, Global);
                // SAFETY: the pointer is not null.
                unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut $text) }
            }
        }
    };
}

text!(str, String);
text!(CStr, CString);
text!(OsStr, OsString);
text!(Path, PathBuf);

impl Ref<str> {
    /// Makes a copy of a text, in a block if it fits one.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) fn str_from(text: &str, source: BlockSource<'_>) -> Self {
        Self::copy_in(text, source).unwrap_or_else(|error| error.fail())
    }

    /// Makes a copy of a text, with memory from `blocks`: [`Ref::new_in`] for texts.
    ///
    /// The object has 24 bytes before the text, so texts of up to 64,744 bytes fit into blocks.
    ///
    /// # Panics
    /// If the hard cap is reached. Aborts when memory is exhausted.
    ///
    /// ```
    /// use releasepool::memory::BlockAllocator;
    /// use releasepool::Ref;
    /// let blocks = BlockAllocator::new();
    /// let word = Ref::new_str_in("word", &blocks);
    /// assert_eq!((&*word, blocks.stats().live_blocks), ("word", 1));
    /// ```
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_str_in(text: &str, blocks: &BlockAllocator) -> Self {
        Self::str_from(text, BlockSource::Own(blocks))
    }

    /// Makes a copy of a text like [`Ref::new_str_in`], but returns an error if there is no memory.
    ///
    /// # Errors
    /// Those of [`Ref::try_new_in`].
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_new_str_in(text: &str, blocks: &BlockAllocator) -> Result<Self, AllocError> {
        Self::copy_in(text, BlockSource::Own(blocks))
    }
}

/// Views a text as its bytes; the object stays the same.
impl From<Ref<str>> for Ref<[u8]> {
    fn from(value: Ref<str>) -> Self {
        let text = Ref::into_payload(value);
        // SAFETY: the pointer is not null.
        let bytes = unsafe { NonNull::new_unchecked(text.as_ptr() as *mut [u8]) };
        // SAFETY: the same object and reference; every `str` is a `[u8]`.
        unsafe { Self::adopt(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_their_bytes() {
        fn check<T: ?Sized>(text: &T, bytes: *const [u8], expected: &[u8]) {
            assert_eq!((size_of_val(text), align_of_val(text)), (expected.len(), 1));
            // SAFETY: the caller passes a pointer to `text`, which has this many bytes.
            let seen = unsafe { &*bytes };
            assert_eq!(seen, expected);
        }
        check("text", "text" as *const str as *const [u8], b"text");
        check(c"text", c"text" as *const CStr as *const [u8], b"text\0");
        let (os, path) = (OsStr::new("text"), Path::new("text"));
        check(os, std::ptr::from_ref(os) as *const [u8], b"text");
        check(path, std::ptr::from_ref(path) as *const [u8], b"text");
    }
}
