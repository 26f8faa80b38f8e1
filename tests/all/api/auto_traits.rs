//! Auto traits and sizes of all handles: those of `Arc`, for each kind of payload.

use releasepool::home::HomeWeak;
use releasepool::memory::StackBox;
use releasepool::thread::Closed;
use releasepool::{
    AutoreleasePool, HomeRef, Hot, HotRef, PoolManager, PoolRef, Ref, ThreadHandle, Weak,
};
use std::any::Any;
use std::cell::Cell;
use std::marker::{PhantomData, PhantomPinned};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync::{Arc, MutexGuard, Weak as ArcWeak};

/// Evaluates to true if a type implements a trait: an inherent constant, if its bounds hold, takes
/// precedence over that of a trait.
macro_rules! implements {
    ($t:ty: $bound:path) => {{
        #[allow(dead_code)]
        trait Otherwise {
            const YES: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Asked<T: ?Sized>(#[allow(dead_code)] std::marker::PhantomData<T>);
        #[allow(dead_code)]
        impl<T: ?Sized + $bound> Asked<T> {
            const YES: bool = true;
        }
        Asked::<$t>::YES
    }};
}
pub(super) use implements;

/// Asserts for each payload that the first type implements a trait if and only if the second one
/// does.
macro_rules! agree {
    ($ours:ident, $theirs:ident: $($bound:path),*) => {
        $(agree!(@ $ours, $theirs, $bound:
            u8, str, [u8], Cell<u8>, Rc<u8>, Guard, &'static mut u8, PhantomPinned,
            dyn Any, dyn Any + Send, dyn Any + Sync, dyn Any + Send + Sync,
            *const u8, String, Box<dyn Fn()>);)*
    };
    (@ $ours:ident, $theirs:ident, $bound:path: $($payload:ty),*) => {
        $(assert_eq!(
            implements!($ours<$payload>: $bound),
            implements!($theirs<$payload>: $bound),
            "{}<{}>: {}",
            stringify!($ours), stringify!($payload), stringify!($bound),
        );)*
    };
}

/// `Sync`, but not `Send`.
type Guard = MutexGuard<'static, u8>;

type Lent<T> = PoolRef<'static, T>;
type Stack<T> = StackBox<'static, T>;

/// Goes anywhere, whatever `T` is.
struct Anywhere<T: ?Sized>(PhantomData<fn(&T)>);

#[test]
fn the_implements_macro_is_right() {
    assert!(implements!(u8: Send) && !implements!(Rc<u8>: Send));
    assert!(implements!(Guard: Sync) && !implements!(Guard: Send));
    assert!(implements!(Cell<u8>: Send) && !implements!(Cell<u8>: Sync));
}

#[test]
fn references_have_the_auto_traits_of_their_counterparts() {
    agree!(Ref, Arc: Send, Sync, UnwindSafe, RefUnwindSafe, Unpin);
    agree!(Weak, ArcWeak: Send, Sync, UnwindSafe, RefUnwindSafe, Unpin);
    agree!(HotRef, Ref: Send, Sync, UnwindSafe, RefUnwindSafe, Unpin);
    agree!(Hot, Ref: Send, Sync, UnwindSafe, RefUnwindSafe, Unpin);
    agree!(Lent, Ref: Send, Sync);
    agree!(HomeRef, Anywhere: Send, Sync, Unpin);
    agree!(HomeWeak, Anywhere: Send, Sync, Unpin);
    agree!(HomeRef, Ref: UnwindSafe, RefUnwindSafe);
    agree!(Stack, Box: Sync, UnwindSafe, RefUnwindSafe, Unpin);
    assert!(!implements!(Closed<Rc<u8>>: Send) && !implements!(Hot<u8>: Clone));
}

/// Asserts that these types, and options of them, are as many words large.
macro_rules! words {
    ($words:literal: $($t:ty),*) => { $(
        assert_eq!(size_of::<$t>(), $words * size_of::<usize>(), stringify!($t));
        assert_eq!(size_of::<Option<$t>>(), $words * size_of::<usize>(), stringify!($t));
    )* };
}

#[test]
fn handles_are_one_or_two_words_with_a_null_niche() {
    #[repr(align(4096))]
    struct Page;
    words! { 1: Ref<u8>, Ref<()>, Ref<[u64; 100]>, Ref<Page>, Weak<u8>, Weak<()>, HomeRef<u8>, HomeRef<()>,
    HomeRef<Page>, HomeRef<Box<dyn Any>>, Lent<u8>, Lent<Page>, AutoreleasePool, PoolManager, ThreadHandle }
    words! { 2: Ref<str>, Ref<[u8]>, Ref<dyn Any>, Weak<str>, Lent<dyn Any>, HotRef<u8>, Stack<u8> }
}
