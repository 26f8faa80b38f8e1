//! Slots: `rp_slot`.

use crate::error::{Status, boxed, fill, free, object, pointer, shared, status};
use crate::object::{borrowed, given, taken_or_none};
use crate::pool::{Pool, pool};
use releasepool::raw::Object;
use releasepool::slot::OptionSlot;
use releasepool::{PoolRef, Ref};
use std::ffi::c_void;
use std::ptr;

/// A slot, which may be empty.
pub type Slot = OptionSlot<Object>;

fn given_or_null(r: Option<Ref<Object>>) -> *mut c_void {
    r.map_or(ptr::null_mut(), given)
}

/// Makes a slot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_new(object: *mut c_void) -> *mut Slot {
    boxed("rp_slot_new", || {
        // SAFETY: releasepool.h requires as `object` a reference that the caller gives up, or null.
        let r = unsafe { taken_or_none(object) }?;
        Ok(Slot::new(r))
    })
}

/// Gives a slot up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_free(at: *mut Slot) -> Status {
    // SAFETY: releasepool.h requires a slot of `rp_slot_new` as `at`, which the caller gives up.
    unsafe { free("rp_slot_free", at, "slot") }
}

/// Returns a new reference to the slot's object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_load(at: *const Slot) -> *mut c_void {
    pointer("rp_slot_load", || {
        // SAFETY: releasepool.h requires `at` to be a slot that was not freed.
        Ok(given_or_null(unsafe { shared(at, "slot") }?.load_full()))
    })
}

/// Returns the slot's object, lent until the pool is drained.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_load_in(at: *const Slot, in_pool: *mut Pool) -> *mut c_void {
    pointer("rp_slot_load_in", || {
        // SAFETY: releasepool.h requires `at` to be a slot that was not freed, and a pool opened in
        // place as `in_pool`.
        let (slot, pool) = unsafe { (shared(at, "slot")?, pool(in_pool)?) };
        let lent = slot.load(&pool);
        Ok(lent.map_or(ptr::null_mut(), |lent| {
            PoolRef::as_ptr(lent).cast_mut().cast()
        }))
    })
}

/// Replaces the slot's object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_store(at: *const Slot, object: *mut c_void) -> Status {
    status("rp_slot_store", || {
        // SAFETY: releasepool.h requires `at` to be a slot that was not freed, and as `object` a
        // reference that the caller gives up, or null.
        unsafe { shared(at, "slot")?.store(taken_or_none(object)?) };
        Ok(())
    })
}

/// Replaces the slot's object, and returns the old one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_swap(at: *const Slot, object: *mut c_void) -> *mut c_void {
    pointer("rp_slot_swap", || {
        // SAFETY: releasepool.h requires `at` to be a slot that was not freed, and as `object` a
        // reference that the caller gives up, or null.
        let before = unsafe { shared(at, "slot")?.swap(taken_or_none(object)?) };
        Ok(given_or_null(before))
    })
}

/// Replaces the slot's object if it is the expected one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_slot_compare_exchange(
    at: *const Slot,
    expected: *const c_void,
    new: *mut c_void,
    exchanged: *mut bool,
) -> Status {
    let exchange = || {
        // SAFETY: releasepool.h requires `at` to be a slot that was not freed.
        let slot = unsafe { shared(at, "slot") }?;
        // SAFETY: releasepool.h requires a live object, or null, as `expected`.
        let expected = unsafe {
            match expected.is_null() {
                true => None,
                false => Some(borrowed(object(expected.cast_mut(), "expected")?)),
            }
        };
        // SAFETY: releasepool.h requires as `new` a reference that the caller gives up, or null.
        let r = unsafe { taken_or_none(new) }?;
        let done = slot.compare_exchange(expected.as_ref().map(|r| &***r), r);
        // A reference that is not exchanged stays the caller's.
        Ok(done.map(drop).map_err(given_or_null).is_ok())
    };
    // SAFETY: releasepool.h requires an `exchanged` that may be written, or null.
    unsafe { fill("rp_slot_compare_exchange", exchanged, exchange) }
}
