//! `unsize!`: coercions that the compiler does only for the standard library's pointers.

use std::ptr::NonNull;

/// A handle whose target can be coerced; sealed. For [`unsize!`](crate::unsize).
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`unsize!` cannot coerce a `{Self}`",
    label = "not a `Ref`, `Weak`, `PoolRef`, `HomeRef`, `HomeWeak` or `Pin<Ref>`",
    note = "`unsize!` takes the handle itself, not a reference to one; `Arc` and `Box` coerce without it"
)]
pub trait Coercible: sealed::Sealed + Sized {
    /// The type to which the handle points.
    type Target: ?Sized + 'static;
    /// The handle of the same kind to a `U`.
    type Of<U: ?Sized + 'static>;

    /// Coerces the target.
    ///
    /// # Safety
    /// `coerce` is an unsizing coercion of raw pointers, or the identity.
    unsafe fn coerce<U: ?Sized + 'static>(
        self,
        coerce: impl FnOnce(*mut Self::Target) -> *mut U,
    ) -> Self::Of<U>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// Applies a coercion to a non-null pointer.
///
/// # Safety
/// The contract of [`Coercible::coerce`].
pub(crate) unsafe fn coerced<T: ?Sized, U: ?Sized>(
    ptr: NonNull<T>,
    coerce: impl FnOnce(*mut T) -> *mut U,
) -> NonNull<U> {
    // SAFETY: a coercion does not change the address, which is not null.
    unsafe { NonNull::new_unchecked(coerce(ptr.as_ptr())) }
}

/// Implements [`Coercible`] for a handle with one type parameter, and perhaps a lifetime. Takes
/// names for the handle and for the coercion of pointers, and an expression for the coerced handle.
macro_rules! coercible {
    ($handle:ident $(<$life:lifetime>)?, |$this:ident, $coerce:ident| $coerced:expr) => {
        impl<$($life,)? T: ?Sized> $crate::unsizing::sealed::Sealed for $handle<$($life,)? T> {}

        impl<$($life,)? T: ?Sized + 'static> $crate::unsizing::Coercible for $handle<$($life,)? T> {
            type Target = T;
            type Of<U: ?Sized + 'static> = $handle<$($life,)? U>;

            unsafe fn coerce<U: ?Sized + 'static>(
                self,
                $coerce: impl FnOnce(*mut T) -> *mut U,
            ) -> $handle<$($life,)? U> {
                let $this = self;
                $coerced
            }
        }
    };
}
pub(crate) use coercible;

/// Coerces a [`Ref`](crate::Ref), [`Weak`](crate::Weak), [`PoolRef`](crate::PoolRef),
/// [`HomeRef`](crate::HomeRef), [`HomeWeak`](crate::home::HomeWeak), [`Hot`](crate::Hot),
/// [`HotRef`](crate::HotRef), [`StackBox`](crate::memory::StackBox) or `Pin<Ref<T>>` to a trait
/// object or a slice.
///
/// `Arc` coerces implicitly; on stable Rust only the standard library's pointers can do so. The
/// macro allows the same coercions, and costs nothing. The object keeps its address and counts.
///
/// ```
/// use releasepool::{Ref, unsize};
/// use std::fmt::Display;
/// let shown: Ref<dyn Display> = unsize!(Ref::new(7) => dyn Display);
/// assert_eq!(shown.to_string(), "7");
/// let bytes = unsize!(Ref::new([1u8, 2, 3]) => [u8]);
/// assert_eq!(bytes.len(), 3);
/// ```
///
/// Where the macro is missing, the compiler says E0308, *mismatched types*:
///
/// ```compile_fail,E0308
/// use releasepool::Ref;
/// let shown: Ref<dyn std::fmt::Display> = Ref::new(7); // expected `Ref<dyn Display>`
/// ```
///
/// The macro makes only coercions that the compiler could make itself; this one is an error:
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// struct Silent;
/// let shown = unsize!(Ref::new(Silent) => dyn std::fmt::Display);
/// ```
#[doc(alias("CoerceUnsized", "E0308", "dyn"))]
#[macro_export]
macro_rules! unsize {
    ($handle:expr => $target:ty) => {{
        let handle = $handle;
        // This is a coercion, not a cast, so only unsizing compiles. There is no `#[allow]`: lints
        // are not reported in another crate's macro, and `allow` is an error if they are forbidden.
        let unsized_handle = unsafe {
            // SAFETY: the closure is a coercion.
            $crate::__private::Coercible::coerce(handle, |pointer| -> *mut $target { pointer })
        };
        unsized_handle
    }};
}
