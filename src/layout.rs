//! Fixed layouts, and numbers that describe them, for readers outside of the process.
//!
//! `releasepool-inspect` reads the memory of a process from outside, without its help. It finds the
//! crate's structures by a [note](crate::note) in the program's file, which has the offset of each
//! field that the tool reads. Each file that has such a structure describes it by [`entries!`], so
//! that the note follows a field that moves, and does not compile if the field is removed.
//!
//! The compiler gives the offset of a field, whatever the structure's `repr`. But it gives no
//! offsets of other crates' private fields, nor does it promise the numbers of an enum's variants.
//! So where a reader must follow a pointer or a list, described structures use [`Name`],
//! [`FixedVec`] and [`FixedArc`] instead of std's types; and enums have a `repr`.

use crate::sync::described;
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::{fmt, ptr, slice};

described! {
    /// A line of the note: a name and a value.
    #[derive(Clone, Copy)]
    pub(crate) struct Entry {
        pub(crate) name: &'static str,
        pub(crate) value: Value,
    }

    /// The value of an [`Entry`].
    #[derive(Clone, Copy)]
    pub(crate) enum Value {
        /// An offset, a size or another number.
        Number(u64),
        List(&'static [usize]),
        /// A text for people.
        Text(&'static str),
    }
}

/// Makes a list of entries: `part { name = value, }` becomes the entry `part.name`.
#[allow(unused_macros, reason = "only where there are readers")]
macro_rules! entries {
    ($($part:ident { $($name:ident = $value:expr,)* })*) => {
        &[$($(crate::layout::Entry {
            name: concat!(stringify!($part), ".", stringify!($name)),
            value: crate::layout::Value::Number($value as u64),
        },)*)*]
    };
}
described! {
    pub(crate) use entries;
}

// Names, lists and pointers with a fixed layout.

/// The bit of a [`Name`]'s length that says that the name owns the text.
const OWNED: usize = 1 << (usize::BITS - 1);

/// An optional text for reports, in two words: its address and its length.
///
/// The address is null if there is no text. The highest bit of the length says that the text is a
/// box that the name owns; otherwise the text is `'static`.
#[repr(C)]
pub(crate) struct Name {
    at: *mut u8,
    len: usize,
}

// SAFETY: a name owns its text, or the text is `'static`; and nothing changes the text.
unsafe impl Send for Name {}
// SAFETY: nothing changes the text, so threads may share it.
unsafe impl Sync for Name {}

impl Name {
    pub(crate) const NONE: Self = Self {
        at: ptr::null_mut(),
        len: 0,
    };

    #[inline]
    pub(crate) fn new(name: Option<Cow<'static, str>>) -> Self {
        match name {
            None => Self::NONE,
            Some(Cow::Borrowed(text)) => Self {
                at: text.as_ptr().cast_mut(),
                len: text.len(),
            },
            Some(Cow::Owned(text)) => Self::of_string(text),
        }
    }

    #[cold]
    #[inline(never)]
    fn of_string(text: String) -> Self {
        Self::owned(text.into_boxed_str())
    }

    pub(crate) fn owned(text: Box<str>) -> Self {
        let len = text.len() | OWNED;
        // The pointer of the box itself: a pointer from a shared borrow could not free it.
        let at = Box::into_raw(text).cast();
        Self { at, len }
    }

    pub(crate) fn get(&self) -> Option<&str> {
        if self.at.is_null() {
            return None;
        }
        // SAFETY: `new` or `owned` took the address and the length from a `str`, which is `'static`
        // or belongs to this name.
        let bytes = unsafe { slice::from_raw_parts(self.at, self.len & !OWNED) };
        // SAFETY: `new` or `owned` took the bytes from a `str`.
        Some(unsafe { std::str::from_utf8_unchecked(bytes) })
    }

    /// Returns a copy, which shares the text if it is `'static`.
    pub(crate) fn to_cow(&self) -> Option<Cow<'static, str>> {
        let text = self.get()?;
        if self.len & OWNED != 0 {
            return Some(Cow::Owned(text.to_owned()));
        }
        // SAFETY: the text is not owned, so `new` got it as a `&'static str`.
        Some(Cow::Borrowed(unsafe { &*ptr::from_ref(text) }))
    }
}

impl Drop for Name {
    #[inline]
    fn drop(&mut self) {
        if self.len & OWNED != 0 {
            // SAFETY: the text is owned, and dropped once.
            unsafe { free(self.at, self.len & !OWNED) };
        }
    }
}

/// Frees the text of a name.
///
/// # Safety
/// `at` and `len` are address and length of a text that a name owns, and that nothing uses again.
#[cold]
#[inline(never)]
unsafe fn free(at: *mut u8, len: usize) {
    let text = ptr::slice_from_raw_parts_mut(at, len);
    // SAFETY: `Name::owned` got the pointer from a box of that length, which is freed once, by the
    // contract.
    drop(unsafe { Box::from_raw(text as *mut str) });
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// A `Vec` that also stores the address and the number of its items in two words.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FixedVec<T> {
    /// The address of the items, for readers outside of the process.
    items: *const T,
    len: usize,
    vec: Vec<T>,
}

impl<T> FixedVec<T> {
    pub(crate) const fn new() -> Self {
        Self {
            items: ptr::null(),
            len: 0,
            vec: Vec::new(),
        }
    }

    /// Passes the vector to `f`, and then stores the address and number of its items.
    #[inline]
    pub(crate) fn change<R>(&mut self, f: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let result = f(&mut self.vec);
        self.items = self.vec.as_ptr();
        self.len = self.vec.len();
        result
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.vec.capacity()
    }

    pub(crate) fn into_inner(self) -> Vec<T> {
        self.vec
    }
}

impl<T> From<Vec<T>> for FixedVec<T> {
    fn from(vec: Vec<T>) -> Self {
        Self {
            items: vec.as_ptr(),
            len: vec.len(),
            vec,
        }
    }
}

impl<T> Deref for FixedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.vec
    }
}

/// An `Option<Arc<T>>`, stored as the address of the `T`, or null.
#[repr(transparent)]
pub(crate) struct FixedArc<T>(*const T);

impl<T> FixedArc<T> {
    pub(crate) const NONE: Self = Self(ptr::null());

    pub(crate) fn as_deref(&self) -> Option<&T> {
        // SAFETY: null, or from `Arc::into_raw`, with a reference that `self` owns.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn get(&self) -> Option<Arc<T>> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: from `Arc::into_raw`; `self` keeps the reference, as this `Arc` is not dropped.
        let arc = ManuallyDrop::new(unsafe { Arc::from_raw(self.0) });
        Some(Arc::clone(&arc))
    }

    /// Stores an `Arc`; returns the previous one.
    #[must_use = "its destructor may be foreign code"]
    pub(crate) fn replace(&mut self, arc: Arc<T>) -> Option<Arc<T>> {
        let before = std::mem::replace(&mut self.0, Arc::into_raw(arc));
        // SAFETY: from `Arc::into_raw`; `self` has given up the reference, as it has another
        // pointer now.
        (!before.is_null()).then(|| unsafe { Arc::from_raw(before) })
    }
}

impl<T> From<Option<Arc<T>>> for FixedArc<T> {
    fn from(arc: Option<Arc<T>>) -> Self {
        Self(arc.map_or(ptr::null(), Arc::into_raw))
    }
}

impl<T> Drop for FixedArc<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: from `Arc::into_raw`, dropped once.
            drop(unsafe { Arc::from_raw(self.0) });
        }
    }
}

described! {
    use std::mem::offset_of;

    impl Name {
        /// The offset of the address; the length follows right after it.
        pub(crate) const AT: usize = offset_of!(Self, at);
    }

    impl<T> FixedVec<T> {
        /// The offset of the items' address.
        pub(crate) const ITEMS: usize = offset_of!(Self, items);
        /// The offset of the number of items.
        pub(crate) const LEN: usize = offset_of!(Self, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_text_borrowed_owned_empty_or_none() {
        let texts = [
            None,
            Some(Cow::Borrowed("frame")),
            Some(Cow::Borrowed("")),
            Some(Cow::Owned(String::with_capacity(100) + "loading")),
            Some(Cow::Owned(String::new())),
        ];
        for text in texts {
            let name = Name::new(text.clone());
            assert_eq!(name.get(), text.as_deref());
            assert_eq!(format!("{name:?}"), format!("{text:?}"));
            let copy = name.to_cow();
            drop(name);
            assert_eq!(copy, text);
            let is_static = matches!(text, Some(Cow::Borrowed(_)));
            assert_eq!(matches!(copy, Some(Cow::Borrowed(_))), is_static);
        }
    }

    #[test]
    fn an_arc_counts_as_ever() {
        let arc = Arc::new(5);
        let mut fixed = FixedArc::NONE;
        assert_eq!((fixed.get(), fixed.as_deref()), (None, None));
        assert_eq!(fixed.replace(arc.clone()), None);
        assert_eq!(Arc::strong_count(&arc), 2);
        assert_eq!(
            (fixed.get().as_ref(), fixed.as_deref()),
            (Some(&arc), Some(&5))
        );
        assert_eq!(Arc::strong_count(&arc), 2);
        assert_eq!(fixed.replace(Arc::new(6)), Some(arc.clone()));
        assert_eq!(Arc::strong_count(&arc), 1);
        assert_eq!(fixed.replace(arc.clone()), Some(Arc::new(6)));
        drop(fixed);
        assert_eq!(Arc::strong_count(&arc), 1);
    }
}
