//! Objects and weak references.

use crate::class::class;
use crate::error::{Fault, Outcome, Status, object, or_default, pointer, status};
use releasepool::raw::{self, ForeignClass, Object, adopt};
use releasepool::{Ref, Weak, autorelease, drop_later, reclaim::finish_drops};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;

/// Returns a reference that is not dropped, for a call that only borrows the object.
///
/// # Safety
/// The object is alive during the call.
pub(crate) unsafe fn borrowed(thin: NonNull<u8>) -> ManuallyDrop<Ref<Object>> {
    // SAFETY: the result is never dropped, so no reference is given up.
    ManuallyDrop::new(unsafe { adopt(thin) })
}

/// Takes over the reference of an argument.
///
/// # Safety
/// The pointer is null or a live object, of which the caller gives up a reference.
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(crate) unsafe fn taken<T>(pointer: *mut T, argument: &str) -> Outcome<Ref<Object>> {
    let thin = object(pointer, argument)?;
    // SAFETY: forwards the contract.
    Ok(unsafe { Ref::from_raw(thin.cast().as_ptr()) })
}

/// Takes over the reference of an argument; null stands for none.
///
/// # Safety
/// The contract of [`taken`].
pub(crate) unsafe fn taken_or_none<T>(pointer: *mut T) -> Outcome<Option<Ref<Object>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: forwards the contract.
    unsafe { taken(pointer, "object") }.map(Some)
}

/// Turns a reference into a pointer that owns it.
pub(crate) fn given(r: Ref<Object>) -> *mut c_void {
    Ref::into_raw(r).cast_mut().cast()
}

/// Returns the error for an object of this class that got no memory.
pub(crate) fn no_memory(class: &ForeignClass) -> Fault {
    Fault(
        Status::NoMemory,
        format!("there is no memory for a {}", class.name()),
    )
}

fn create(at: *const ForeignClass) -> Outcome<NonNull<u8>> {
    // SAFETY: releasepool.h requires a class as `type`, which is `at` here.
    let class = unsafe { class(at) }?;
    if !class.has_own_header() {
        return Err(Fault(
            Status::Invalid,
            format!("objects of {} embed their header", class.name()),
        ));
    }
    let thin = class.create().ok_or_else(|| no_memory(class))?;
    // SAFETY: `thin` is a new object whose payload has this size; nothing refers to it yet.
    unsafe { thin.write_bytes(0, class.payload_bytes()) };
    Ok(thin)
}

/// Makes an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_new(class: *const ForeignClass) -> *mut c_void {
    pointer("rp_new", || Ok(create(class)?.as_ptr().cast()))
}

/// Makes an object and autoreleases it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_new_autoreleased(class: *const ForeignClass) -> *mut c_void {
    pointer("rp_new_autoreleased", || {
        let thin = create(class)?;
        // SAFETY: `thin` is a new object, and its only reference goes to the pool.
        autorelease(unsafe { adopt(thin) });
        Ok(thin.as_ptr().cast())
    })
}

/// Adds a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_retain(at: *mut c_void) -> *mut c_void {
    pointer("rp_retain", || {
        let thin = object(at, "object")?;
        // SAFETY: releasepool.h requires a live object as `at`.
        unsafe { Ref::<Object>::increment_strong_count(thin.cast().as_ptr()) };
        Ok(at)
    })
}

/// Gives up a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_release(at: *mut c_void) -> Status {
    status("rp_release", || {
        let thin = object(at, "object")?;
        // SAFETY: releasepool.h requires as `at` a reference that the caller gives up.
        unsafe { Ref::<Object>::decrement_strong_count(thin.cast().as_ptr()) };
        Ok(())
    })
}

/// Makes the reclaimer of the process give up a reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_release_later(at: *mut c_void) -> Status {
    status("rp_release_later", || {
        // SAFETY: releasepool.h requires as `at` a reference that the caller gives up.
        drop_later(unsafe { taken(at, "object") }?);
        Ok(())
    })
}

/// Waits until the reclaimer of the process has nothing left, and ends it.
#[unsafe(no_mangle)]
pub extern "C" fn rp_finish_releases(nanoseconds: u64) -> Status {
    status("rp_finish_releases", || {
        if finish_drops(Duration::from_nanos(nanoseconds)) {
            return Ok(());
        }
        let message = "some objects are still waiting to be destroyed".into();
        Err(Fault(Status::TimedOut, message))
    })
}

/// Moves a reference into the current pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_autorelease(at: *mut c_void) -> *mut c_void {
    pointer("rp_autorelease", || {
        // SAFETY: releasepool.h requires as `at` a reference that the caller gives up.
        autorelease(unsafe { taken(at, "object") }?);
        Ok(at)
    })
}

/// Returns the number of strong references.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_strong_count(at: *const c_void) -> usize {
    or_default("rp_strong_count", || {
        // SAFETY: releasepool.h requires a live object as `at`.
        let r = unsafe { borrowed(object(at.cast_mut(), "object")?) };
        Ok(Ref::strong_count(&r))
    })
}

/// Returns the number of weak references.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_weak_count(at: *const c_void) -> usize {
    or_default("rp_weak_count", || {
        // SAFETY: releasepool.h requires a live object as `at`.
        let r = unsafe { borrowed(object(at.cast_mut(), "object")?) };
        Ok(Ref::weak_count(&r))
    })
}

/// Returns whether the object is of the class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_is_of(at: *const c_void, of: *const ForeignClass) -> bool {
    or_default("rp_is_of", || {
        let thin = object(at.cast_mut(), "object")?;
        // SAFETY: releasepool.h requires a live object as `at`, and a class as `of`.
        Ok(unsafe { class(of)?.has(thin) })
    })
}

/// Makes a weak reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_weak_new(at: *mut c_void) -> *mut c_void {
    pointer("rp_weak_new", || {
        // SAFETY: releasepool.h requires a live object as `at`.
        let r = unsafe { borrowed(object(at, "object")?) };
        Ok(Ref::downgrade(&r).into_raw().cast_mut().cast())
    })
}

/// Returns a weak reference that is not dropped.
///
/// # Safety
/// The pointer is null or owns a weak reference, which stays.
unsafe fn borrowed_weak(at: *mut c_void) -> Outcome<ManuallyDrop<Weak<Object>>> {
    let thin = object(at, "weak")?;
    // SAFETY: the result is never dropped, so no reference is given up.
    Ok(ManuallyDrop::new(unsafe {
        Weak::from_raw(thin.cast().as_ptr())
    }))
}

/// Adds a weak reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_weak_retain(at: *mut c_void) -> *mut c_void {
    pointer("rp_weak_retain", || {
        // SAFETY: releasepool.h requires as `at` a weak reference that the caller owns, and keeps.
        let weak = unsafe { borrowed_weak(at) }?;
        Ok(Weak::clone(&weak).into_raw().cast_mut().cast())
    })
}

/// Gives up a weak reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_weak_release(at: *mut c_void) -> Status {
    status("rp_weak_release", || {
        // SAFETY: releasepool.h requires as `at` a weak reference that the caller gives up.
        drop(ManuallyDrop::into_inner(unsafe { borrowed_weak(at) }?));
        Ok(())
    })
}

/// Returns a new reference to the object, if it is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_weak_load(at: *mut c_void) -> *mut c_void {
    pointer("rp_weak_load", || {
        // SAFETY: releasepool.h requires as `at` a weak reference that the caller owns, and keeps.
        let weak = unsafe { borrowed_weak(at) }?;
        Ok(weak.upgrade().map_or(std::ptr::null_mut(), given))
    })
}

/// Completes a release that has found no other reference.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_last_release(at: *mut c_void) {
    let _ = status("rp_last_release", || {
        let thin = object(at, "object")?;
        // SAFETY: releasepool.h requires that the caller has subtracted one reference from the
        // count word of `at`, and found no other.
        unsafe { raw::last_release(thin) };
        Ok(())
    });
}

/// Aborts: the caller's retain found too many references, or none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_abort_retain(at: *mut c_void) -> ! {
    match NonNull::new(at) {
        // SAFETY: releasepool.h requires an object as `at` whose memory still exists.
        Some(thin) => unsafe { raw::abort_retain(thin.cast()) },
        None => std::process::abort(),
    }
}
