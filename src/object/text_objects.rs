//! Texts: `str`, `CStr`, `OsStr` and `Path`, whose objects are slices of bytes with another type
//! name.

use super::header::{SliceInfo, TypeInfo, allocate_slice};
use super::make::copied;
use super::strong::Ref;
use super::unique::Renew;
use std::any::type_name;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::slice;

/// The type info of `Ref<str>`: the type info of bytes, with the name replaced.
pub(super) const STR: &TypeInfo = &SliceInfo::<u8>::named(type_name::<str>);
const C_STR: &TypeInfo = &SliceInfo::<u8>::named(type_name::<CStr>);
const OS_STR: &TypeInfo = &SliceInfo::<u8>::named(type_name::<OsStr>);
const PATH: &TypeInfo = &SliceInfo::<u8>::named(type_name::<Path>);

/// Implements the conversions of one type of text, and the trait that `Ref::make_mut` needs.
///
/// Each of these types consists of its bytes: a pointer to a text is an address and a number of
/// bytes, which for a `CStr` includes the nul. `tests::texts_are_their_bytes` checks that.
macro_rules! text {
    ($text:ty, $owned:ty, $type_info:expr) => {
        impl From<&$text> for Ref<$text> {
            #[cfg_attr(feature = "leak-detection", track_caller)]
            fn from(value: &$text) -> Self {
                let start = std::ptr::from_ref(value).cast::<u8>();
                // SAFETY: a text is its bytes.
                let bytes = unsafe { slice::from_raw_parts(start, size_of_val(value)) };
                // SAFETY: bytes are `Copy`.
                let bytes = unsafe { copied(bytes, $type_info) };
                // SAFETY: the pointer is not null.
                let text = unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut $text) };
                // SAFETY: a new object with the bytes of a text of this type, and one reference.
                unsafe { Self::adopt(text) }
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
                let bytes = allocate_slice::<u8>(len, $type_info);
                // SAFETY: the pointer is not null.
                unsafe { NonNull::new_unchecked(bytes.as_ptr() as *mut $text) }
            }
        }
    };
}

text!(str, String, STR);
text!(CStr, CString, C_STR);
text!(OsStr, OsString, OS_STR);
text!(Path, PathBuf, PATH);

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
            // SAFETY: a pointer to `text`, by the caller, of which this many bytes are.
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
