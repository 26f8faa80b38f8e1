//! Objects that die on the thread that has bound them: `rp_home`.

use crate::error::{Outcome, Status, non_null, or_default, pointer, status};
use crate::object::taken;
use releasepool::raw::{Object, home_from_raw, home_into_raw, key_to_word};
use releasepool::{HomeRef, Ref};
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;

/// A reference that only its home uses and gives up. The cell makes the type `!Sync`, so that the
/// compiler, too, keeps it from other threads.
struct Bound(Ref<Object>, Cell<()>);

/// Returns the reference of an argument, which is not dropped.
///
/// # Safety
/// The pointer is null, or owns a reference from a function of this file, which stays.
unsafe fn home(at: *mut c_void) -> Outcome<ManuallyDrop<HomeRef<Bound>>> {
    let at = non_null(at, "home")?;
    // SAFETY: by the contract, the pointer owns a reference, which stays, as the result is not
    // dropped.
    Ok(ManuallyDrop::new(unsafe { home_from_raw(at.cast()) }))
}

/// Binds a reference to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_home_new(object: *mut c_void) -> *mut c_void {
    pointer("rp_home_new", || {
        // SAFETY: releasepool.h requires as `object` a reference that the caller gives up.
        let r = unsafe { taken(object, "object") }?;
        let home = HomeRef::new(Bound(r, Cell::new(())));
        Ok(home_into_raw(home).as_ptr().cast())
    })
}

/// Adds a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_home_retain(at: *mut c_void) -> *mut c_void {
    pointer("rp_home_retain", || {
        // SAFETY: releasepool.h requires as `at` a home reference that the caller owns, and keeps.
        let home = unsafe { home(at) }?;
        Ok(home_into_raw(HomeRef::clone(&home)).as_ptr().cast())
    })
}

/// Gives up a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_home_release(at: *mut c_void) -> Status {
    status("rp_home_release", || {
        // SAFETY: releasepool.h requires as `at` a home reference that the caller gives up.
        drop(ManuallyDrop::into_inner(unsafe { home(at) }?));
        Ok(())
    })
}

/// Returns the object at home, and null elsewhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_home_get(at: *mut c_void) -> *mut c_void {
    pointer("rp_home_get", || {
        // SAFETY: releasepool.h requires as `at` a home reference that the caller owns, and keeps.
        let home = unsafe { home(at) }?;
        Ok(home.get().map_or(ptr::null_mut(), |bound| {
            Ref::as_ptr(&bound.0).cast_mut().cast()
        }))
    })
}

/// Returns the key of the home.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_home_key(at: *mut c_void) -> u64 {
    or_default("rp_home_key", || {
        // SAFETY: releasepool.h requires as `at` a home reference that the caller owns, and keeps.
        let home = unsafe { home(at) }?;
        Ok(key_to_word(home.home()))
    })
}
