//! Auto traits and sizes of all handles: those of `Arc`, for each kind of payload.

use releasepool::{
    AutoreleasePool, BlockAllocator, Closed, HomeRef, Hot, HotRef, PoolManager, PoolRef, PoolToken,
    Ref, StackAllocator, StackBox, ThreadHandle, ThreadKey, Weak,
};
use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomPinned;
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

/// Asserts for each payload that our type implements a trait if and only if the standard one does.
macro_rules! agree {
    ($ours:ident, $theirs:ident, $bound:path) => {
        agree!(@ $ours, $theirs, $bound:
            u8, str, [u8], Cell<u8>, Rc<u8>, Guard, &'static mut u8, PhantomPinned,
            dyn Any, dyn Any + Send, dyn Any + Sync, dyn Any + Send + Sync,
            *const u8, String, Box<dyn Fn()>)
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

#[test]
fn the_implements_macro_is_right() {
    assert!(implements!(u8: Send) && !implements!(Rc<u8>: Send));
    assert!(implements!(Guard: Sync) && !implements!(Guard: Send));
    assert!(implements!(Cell<u8>: Send) && !implements!(Cell<u8>: Sync));
}

#[test]
fn ref_is_send_and_sync_as_arc_is() {
    agree!(Ref, Arc, Send);
    agree!(Ref, Arc, Sync);
    assert!(implements!(Ref<u8>: Send) && implements!(Ref<u8>: Sync));
    assert!(
        !implements!(Ref<Cell<u8>>: Send),
        "it is shared, so `Send` alone is not enough"
    );
    assert!(
        !implements!(Ref<Guard>: Send),
        "it may be dropped there, so `Sync` alone is not enough"
    );
}

#[test]
fn weak_is_send_and_sync_as_arcs_weak_is() {
    agree!(Weak, ArcWeak, Send);
    agree!(Weak, ArcWeak, Sync);
}

#[test]
fn pool_ref_is_send_and_sync_as_ref_is() {
    type Lent<T> = PoolRef<'static, T>;
    macro_rules! as_ref {
        ($($payload:ty),*) => { $(
            assert_eq!(implements!(Lent<$payload>: Send), implements!(Ref<$payload>: Send));
            assert_eq!(implements!(Lent<$payload>: Sync), implements!(Ref<$payload>: Sync));
        )* };
    }
    as_ref!(
        u8,
        str,
        Cell<u8>,
        Rc<u8>,
        Guard,
        dyn Any,
        dyn Any + Sync,
        dyn Any + Send + Sync
    );
    assert!(!implements!(Lent<Guard>: Send), "it can be retained there");
}

#[test]
fn ref_is_unwind_safe_and_unpin_as_arc_is() {
    agree!(Ref, Arc, UnwindSafe);
    agree!(Ref, Arc, RefUnwindSafe);
    agree!(Ref, Arc, Unpin);
}

#[test]
fn weak_is_unwind_safe_and_unpin_as_arcs_weak_is() {
    agree!(Weak, ArcWeak, UnwindSafe);
    agree!(Weak, ArcWeak, RefUnwindSafe);
    agree!(Weak, ArcWeak, Unpin);
}

#[test]
fn hot_objects_are_send_sync_and_unwind_safe_as_ref_is() {
    macro_rules! as_ref {
        ($($payload:ty),*) => { $(
            as_ref!(@ $payload: Send);
            as_ref!(@ $payload: Sync);
            as_ref!(@ $payload: UnwindSafe);
            as_ref!(@ $payload: RefUnwindSafe);
            as_ref!(@ $payload: Unpin);
        )* };
        (@ $payload:ty: $bound:path) => {
            assert_eq!(implements!(HotRef<$payload>: $bound), implements!(Ref<$payload>: $bound));
            assert_eq!(implements!(Hot<$payload>: $bound), implements!(Ref<$payload>: $bound));
        };
    }
    as_ref!(
        u8,
        str,
        Cell<u8>,
        Rc<u8>,
        Guard,
        PhantomPinned,
        dyn Any,
        dyn Any + Sync,
        dyn Any + Send + Sync
    );
    assert!(!implements!(Hot<u8>: Clone) && implements!(HotRef<Cell<u8>>: Clone));
    let word = size_of::<usize>();
    assert_eq!(size_of::<Option<HotRef<u8>>>(), 2 * word);
}

#[test]
fn home_ref_goes_anywhere_whatever_its_value_is() {
    macro_rules! anywhere {
        ($($payload:ty),*) => { $(
            assert!(implements!(HomeRef<$payload>: Send), stringify!($payload));
            assert!(implements!(HomeRef<$payload>: Sync), stringify!($payload));
            assert!(implements!(HomeRef<$payload>: Unpin), stringify!($payload));
            assert_eq!(
                implements!(HomeRef<$payload>: UnwindSafe),
                implements!(Ref<$payload>: UnwindSafe)
            );
            assert_eq!(
                implements!(HomeRef<$payload>: RefUnwindSafe),
                implements!(Ref<$payload>: RefUnwindSafe)
            );
        )* };
    }
    anywhere!(
        u8,
        Cell<u8>,
        Rc<u8>,
        Guard,
        *const u8,
        PhantomPinned,
        Box<dyn Fn()>,
        &'static mut u8
    );
    assert!(!implements!(HomeRef<Cell<u8>>: UnwindSafe) && implements!(HomeRef<u8>: UnwindSafe));
}

#[test]
fn pools_stay_on_their_thread_and_handles_do_not() {
    assert!(!implements!(AutoreleasePool: Send));
    assert!(!implements!(AutoreleasePool: Sync));
    assert!(implements!(PoolManager: Send) && implements!(PoolManager: Sync));
    assert!(implements!(BlockAllocator: Send) && implements!(BlockAllocator: Sync));
    assert!(implements!(BlockAllocator: UnwindSafe) && implements!(BlockAllocator: RefUnwindSafe));
    assert!(implements!(ThreadHandle: Send) && implements!(ThreadHandle: Sync));
    assert!(implements!(ThreadKey: Send) && implements!(ThreadKey: Sync));
    assert!(implements!(PoolToken: Send) && implements!(PoolToken: Sync));
    assert!(implements!(StackAllocator: Send) && !implements!(StackAllocator: Sync));
    assert!(implements!(Closed<u8>: Send) && !implements!(Closed<Rc<u8>>: Send));
}

#[test]
fn stack_box_stays_on_its_thread_and_is_otherwise_as_box_is() {
    type Stack<T> = StackBox<'static, T>;
    assert!(!implements!(Stack<u8>: Send));
    agree!(Stack, Box, Sync);
    agree!(Stack, Box, UnwindSafe);
    agree!(Stack, Box, RefUnwindSafe);
    agree!(Stack, Box, Unpin);
    assert_eq!(size_of::<Option<Stack<u8>>>(), 2 * size_of::<usize>());
}

#[test]
fn handles_are_one_word_with_a_null_niche() {
    const WORD: usize = size_of::<usize>();
    #[repr(align(4096))]
    struct Page;
    macro_rules! one_word {
        ($($t:ty),*) => { $(
            assert_eq!(size_of::<$t>(), WORD, stringify!($t));
            assert_eq!(size_of::<Option<$t>>(), WORD, stringify!($t));
        )* };
    }
    one_word!(
        Ref<u8>,
        Ref<()>,
        Ref<[u64; 100]>,
        Ref<Page>,
        Weak<u8>,
        Weak<()>
    );
    one_word!(
        HomeRef<u8>,
        HomeRef<()>,
        HomeRef<Page>,
        HomeRef<Box<dyn Any>>
    );
    one_word!(
        PoolRef<'static, u8>,
        PoolRef<'static, Page>,
        AutoreleasePool,
        PoolManager
    );
    one_word!(ThreadHandle);
    macro_rules! two_words {
        ($($t:ty),*) => { $(
            assert_eq!(size_of::<$t>(), 2 * WORD, stringify!($t));
            assert_eq!(size_of::<Option<$t>>(), 2 * WORD, stringify!($t));
        )* };
    }
    two_words!(
        Ref<str>,
        Ref<[u8]>,
        Ref<dyn Any>,
        Weak<str>,
        PoolRef<'static, dyn Any>
    );
}
