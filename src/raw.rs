//! Functions and types for the C interface only: no part of the public interface, and subject to
//! change.
//!
//! All objects of C and C++ are [`Ref<Object>`](Object) here, so the rest of the library serves them
//! as it serves Rust's.

pub use crate::foreign::by_hand::{ForeignPlace, alloc_by_hand, end_by_hand, free_by_hand};
pub use crate::foreign::class::{
    Destructor, ForeignClass, ForeignClassSpec, ForeignMemory, HEADER_BYTES,
};
pub use crate::pool::api::token::{TokenWords, key_from_word, key_to_word, token_of, words_of};

mod quick;
pub use quick::ThreadContext;

use crate::home::home_ref::HomeRef;
use crate::object::count::Misuse;
use crate::object::strong::Ref;
use crate::object::{destroy, header};
use crate::pool::api::token;
use crate::pool::drain::this_thread;
use crate::pool::{PoolToken, PopError};
use crate::thread::key;
use crate::{AutoreleasePool, PoolManager, unwind};
use std::any::Any;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;

/// The payload of an object of foreign code: nothing that Rust reads. [`ForeignClass`] shows how such an
/// object is made.
///
/// Foreign code promises, by passing an object to a function that sends it to another thread, that
/// the object may be used and destroyed there.
#[repr(C)]
#[derive(Debug)]
pub struct Object([u8; 0]);

/// True if C++ headers must not change a count inline, but call the library, so that the checks and
/// the ledger see each change.
pub const COUNTED_BY_CALLS: bool = cfg!(any(
    debug_assertions,
    feature = "checks",
    feature = "leak-detection"
));

/// The amount that one strong reference adds to the count word.
pub const ONE_STRONG: u64 = 1 << 32;

/// The count word of a new object.
pub const UNIQUE: u64 = 1;

/// The *held* bit of the count word, which says that the value exists.
pub const HELD: u64 = 1;

/// Takes over a strong reference.
///
/// # Safety
/// `thin` is a live object, and the caller gives up one strong reference to it.
#[inline(always)]
pub unsafe fn adopt(thin: NonNull<u8>) -> Ref<Object> {
    // SAFETY: forwards the contract; an `Object` has no bytes.
    unsafe { Ref::adopt(thin.cast()) }
}

/// Completes a release that may have been the last one.
///
/// # Safety
/// The caller has subtracted [`ONE_STRONG`] from the count word of the object, with release
/// ordering, and the result is negative as a signed number.
#[inline]
pub unsafe fn last_release(thin: NonNull<u8>) {
    // SAFETY: by the contract, the result is one for which `Count::release` returns true.
    unsafe { destroy::last_release(thin) };
}

/// Aborts because a retain has found too many references, or none.
///
/// # Safety
/// The memory of the object exists.
#[cold]
pub unsafe fn abort_retain(thin: NonNull<u8>) -> ! {
    // SAFETY: forwards the contract.
    unsafe { header::abort_misuse(thin, Misuse::TooManyStrong) }
}

/// Returns the message of a panic, if it is a text, and drops the panic's payload.
pub fn panic_message(payload: Box<dyn Any + Send>) -> Option<String> {
    unwind::message_of(payload)
}

/// Returns the object's [own name](ForeignClass::name_objects_by) if it has one, else the name of
/// its type.
///
/// # Safety
/// The object is alive.
pub unsafe fn type_name(thin: NonNull<u8>) -> &'static str {
    // SAFETY: forwards the contract.
    unsafe { header::name_of(thin) }.get()
}

/// Closes a token pool of the global manager, and no other pool; returns the number of entries released.
///
/// # Errors
/// Those of [`PoolManager::pop`], but none if only a pool inside this one is being drained.
pub fn close_pool(token: PoolToken) -> Result<usize, PopError> {
    token::close_alone(PoolManager::global().shared(), token)
}

/// Returns a guard for a token pool of the global manager, to use the pool, but not to close it.
///
/// # Errors
/// Those of [`PoolManager::pop`], but none if the pool is being drained.
///
/// # Safety
/// The result is not used once the pool is closed, and never dropped.
#[inline]
pub unsafe fn pool_of(token: PoolToken) -> Result<ManuallyDrop<AutoreleasePool>, PopError> {
    // SAFETY: forwards the contract.
    unsafe { token::pool_of(PoolManager::global().shared(), token) }
}

/// Returns whether the calling thread has no pool of the global manager open, and drains none: what
/// the thread autoreleases then goes to its root pool, as a stray. False after the thread's exit.
pub fn is_without_pool() -> bool {
    this_thread::with(|pools| pools.is_some_and(|pools| pools.first.is_idle()))
}

/// Returns whether the pool is being drained further up the call stack.
pub fn is_draining(pool: &AutoreleasePool) -> bool {
    pool.is_draining()
}

/// Returns whether what the calling thread autoreleases goes to this pool.
pub fn is_current(pool: &AutoreleasePool) -> bool {
    pool.is_current()
}

/// Turns a reference with a home into a pointer that stands for the reference.
pub fn home_into_raw<T: 'static>(home: HomeRef<T>) -> NonNull<u8> {
    // SAFETY: a `HomeRef` of a sized type is, through transparent types, one pointer.
    unsafe { mem::transmute::<HomeRef<T>, NonNull<u8>>(home) }
}

/// Turns a pointer back into a reference with a home.
///
/// # Safety
/// The pointer is from [`home_into_raw`] with this type, and stands for a reference, which moves
/// into the result.
pub unsafe fn home_from_raw<T: 'static>(home: NonNull<u8>) -> HomeRef<T> {
    // SAFETY: a `HomeRef` of a sized type is, through transparent types, one pointer; the reference
    // moves, by the contract.
    unsafe { mem::transmute::<NonNull<u8>, HomeRef<T>>(home) }
}

/// Returns the calling thread's key as a word; 0 if the thread has never been in the registry. The
/// thread keeps its key after its exit.
#[inline]
pub fn own_key() -> u64 {
    key::own_key().map_or(0, key_to_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::cell::Cell;
    use crate::{AutoreleasePool, PoolManager};
    use std::alloc::Layout;
    use std::collections::BTreeSet;
    use std::ffi::c_void;

    fn spec(bytes: usize, destroy: Option<Destructor>) -> ForeignClassSpec {
        ForeignClassSpec {
            name: || "Texture",
            layout: Layout::from_size_align(HEADER_BYTES + bytes, 8).unwrap(),
            payload_offset: HEADER_BYTES,
            is_embedded: false,
            destroy,
            memory: ForeignMemory::Library,
        }
    }

    pub(super) fn class(bytes: usize, destroy: Option<Destructor>) -> &'static ForeignClass {
        ForeignClass::leak(spec(bytes, destroy)).unwrap()
    }

    crate::sync::local! {
        /// The digit 1, followed by the bytes of the objects that have ended, as decimal digits.
        static ORDER: Cell<u64> = Cell::new(1);
    }
    crate::sync::local! {
        /// The class of the objects that `go_on` makes.
        static CHAIN: Cell<Option<&'static ForeignClass>> = Cell::new(None);
    }

    /// Returns a new object with this byte in its payload.
    fn digit(class: &'static ForeignClass, n: u8) -> Ref<Object> {
        let thin = class.create().unwrap();
        // SAFETY: a new object with one reference, and at least one byte.
        unsafe {
            thin.write(n);
            adopt(thin)
        }
    }

    unsafe extern "C" fn note_digit(payload: *mut c_void) {
        // SAFETY: `digit` has written the byte.
        let n = unsafe { payload.cast::<u8>().read() };
        ORDER.with(|order| order.set(order.get() * 10 + u64::from(n)));
    }

    /// Notes the digit; if it is not 0, autoreleases an object with the next lower digit.
    unsafe extern "C" fn go_on(payload: *mut c_void) {
        // SAFETY: `digit` has written the byte.
        let n = unsafe { payload.cast::<u8>().read() };
        // SAFETY: `note_digit` needs only the byte, which `digit` has written.
        unsafe { note_digit(payload) };
        if n > 0 {
            crate::autorelease(digit(CHAIN.with(Cell::get).unwrap(), n - 1));
        }
    }

    /// Drains the pool, which has `released` entries to release; returns the new value of `ORDER`.
    fn drained(pool: &mut AutoreleasePool, released: usize) -> u64 {
        ORDER.with(|order| order.set(1));
        assert_eq!(pool.drain(), released);
        ORDER.with(Cell::get)
    }

    unsafe extern "C" fn note_zero(_: *mut c_void) {
        ORDER.with(|order| order.set(order.get() * 10));
    }

    #[test]
    fn neighbors_of_one_class_end_newest_first_unless_others_hold_them() {
        for bytes in [8, 600, 10_000] {
            let (class, other) = (class(bytes, Some(note_digit)), class(8, Some(note_zero)));
            let mut pool = AutoreleasePool::new();
            let add = |pool: &AutoreleasePool, digits: &[u8]| {
                for &n in digits {
                    pool.autorelease(digit(class, n));
                }
            };
            let (before, ended) = tallies();
            let held = digit(class, 4);
            let weak = Ref::downgrade(&held);
            add(&pool, &[1, 2, 3]);
            pool.autorelease(held.clone());
            assert!(pool.dump().to_string().contains("Texture count 2"));
            add(&pool, &[5, 6]);
            pool.autorelease(digit(other, 7));
            add(&pool, &[8, 9]);
            assert_eq!(drained(&mut pool, 9), 198_065_321);
            assert_eq!(tallies(), (before + 9, ended + 8));
            assert!(weak.upgrade().is_some());
            add(&pool, &[5, 6]);
            pool.autorelease(held.clone());
            drop(held);
            assert!(weak.upgrade().is_some());
            assert_eq!(drained(&mut pool, 3), 1_465);
            assert!(weak.upgrade().is_none());
        }
    }

    #[test]
    fn a_drain_releases_what_neighbors_of_one_class_autorelease() {
        let class = class(8, Some(go_on));
        CHAIN.with(|chain| chain.set(Some(class)));
        let mut pool = AutoreleasePool::new();
        for n in [2, 0, 1, 0, 0] {
            pool.autorelease(digit(class, n));
        }
        assert_eq!(drained(&mut pool, 8), 100_100_210);
    }

    /// Returns how many objects the thread has created and destroyed.
    pub(super) fn tallies() -> (u64, u64) {
        let snapshot = PoolManager::global().snapshot();
        let key = PoolManager::global().current_thread().unwrap().key();
        let totals = snapshot.thread(key).unwrap().totals;
        (totals.created, totals.destroyed)
    }

    #[test]
    fn objects_without_a_destructor_are_counted_and_freed() {
        let mut pool = AutoreleasePool::new();
        for class in [class(0, None), class(32, None)] {
            let (created, destroyed) = tallies();
            for _ in 0..1_000 {
                // SAFETY: a new object with one reference.
                pool.autorelease(unsafe { adopt(class.create().unwrap()) });
            }
            assert_eq!(tallies(), (created + 1_000, destroyed));
            pool.drain();
            assert_eq!(tallies(), (created + 1_000, destroyed + 1_000));
        }
    }

    #[test]
    fn a_class_needs_room_for_its_header() {
        let spec = spec(64 - HEADER_BYTES, None);
        for (payload_offset, align, fits) in [
            (HEADER_BYTES, 8, true),
            (64, 8, true),
            (HEADER_BYTES - 8, 8, false),
            (20, 8, false),
            (72, 8, false),
            (HEADER_BYTES, 4, false),
        ] {
            let class = ForeignClass::leak(ForeignClassSpec {
                layout: Layout::from_size_align(64, align).unwrap(),
                payload_offset,
                ..spec
            });
            assert_eq!(class.is_some(), fits, "{payload_offset}, {align}");
        }
        #[cfg(target_pointer_width = "64")]
        {
            let layout = Layout::from_size_align(64, 1 << 33).unwrap();
            let spec = ForeignClassSpec { layout, ..spec };
            assert!(ForeignClass::leak(spec).is_none());
        }
        let by_hand = |payload_offset| {
            ForeignClass::leak(ForeignClassSpec {
                payload_offset,
                is_embedded: true,
                destroy: Some(note_zero),
                memory: ForeignMemory::Destructor,
                ..spec
            })
        };
        assert!(by_hand(HEADER_BYTES).is_none());
        assert!(by_hand(HEADER_BYTES + 8).is_some());
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes long")]
    fn the_blocks_of_released_objects_are_used_again() {
        let class = class(1_000, None);
        let make_and_release = |_| {
            let thin = class.create().unwrap();
            // SAFETY: a new object with one reference.
            drop(unsafe { adopt(thin) });
            thin
        };
        // A chunk has fewer than 64 blocks of this size.
        let places: BTreeSet<_> = (0..200).map(make_and_release).collect();
        assert!(places.len() < 200, "{}", places.len());
    }
}
