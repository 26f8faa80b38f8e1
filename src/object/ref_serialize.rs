//! `Serialize` and `Deserialize` for references, in the form of the values that they refer to.
//!
//! As with `Arc`, sharing is not kept: an object that is serialized twice becomes two objects.

use super::strong::Ref;
use super::weak::Weak;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

impl<T: ?Sized + Serialize> Serialize for Ref<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// Serializes as `Some` of the value, or as `None` if the value is gone.
impl<T: ?Sized + Serialize> Serialize for Weak<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.upgrade().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ref<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ref<[T]> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// Implements `Deserialize` for a type of text, by way of its owned form.
macro_rules! deserialize_text {
    ($($text:ty, $owned:ty;)*) => {$(
        impl<'de> Deserialize<'de> for Ref<$text> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$owned>::deserialize(deserializer).map(Self::from)
            }
        }
    )*};
}

deserialize_text! {
    str, String;
    CStr, CString;
    Path, PathBuf;
}

// serde implements `Deserialize` for `OsString` under the same condition.
#[cfg(any(unix, windows))]
deserialize_text! {
    std::ffi::OsStr, std::ffi::OsString;
}
