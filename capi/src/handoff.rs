//! Pools for another thread to release: `rp_handoff`.

use crate::error::{Outcome, Status, boxed, fill, free, non_null, or_default, shared, status};
use crate::object::taken;
use releasepool::{HandoffPool, ThreadHandle};
use std::ffi::c_void;

/// Returns the pool of an argument.
///
/// # Safety
/// The pointer is null, or from [`rp_handoff_new`], not freed, and used by this call alone during
/// `'p`.
unsafe fn pool<'p>(at: *mut HandoffPool) -> Outcome<&'p mut HandoffPool> {
    // SAFETY: by the contract, the pointer is null or leads to a pool that only this call uses.
    Ok(unsafe { &mut *non_null(at, "handoff")?.as_ptr() })
}

/// Makes a pool.
#[unsafe(no_mangle)]
pub extern "C" fn rp_handoff_new() -> *mut HandoffPool {
    boxed("rp_handoff_new", || Ok(HandoffPool::new()))
}

/// Drains a pool and gives it up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_handoff_free(at: *mut HandoffPool) -> Status {
    // SAFETY: releasepool.h requires a pool of `rp_handoff_new` as `at`, which the caller gives up.
    unsafe { free("rp_handoff_free", at, "handoff") }
}

/// Moves a reference into a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_handoff_add(at: *mut HandoffPool, object: *mut c_void) -> Status {
    status("rp_handoff_add", || {
        // SAFETY: releasepool.h requires a pool as `at` that no other thread uses now, and as
        // `object` a reference that the caller gives up.
        unsafe { pool(at)?.autorelease(taken(object, "object")?) };
        Ok(())
    })
}

/// Returns the number of entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_handoff_len(at: *mut HandoffPool) -> usize {
    // SAFETY: releasepool.h requires a pool as `at` that no other thread uses now.
    or_default("rp_handoff_len", || Ok(unsafe { pool(at) }?.len()))
}

/// Makes a thread release all entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_handoff_drain_on(
    at: *mut HandoffPool,
    to: *const ThreadHandle,
    sent: *mut usize,
) -> Status {
    // SAFETY: releasepool.h requires a pool as `at` that no other thread uses now, and a handle of
    // a thread as `to`.
    let drain = || Ok(unsafe { pool(at)?.drain_on(shared(to, "thread")?) });
    // SAFETY: releasepool.h requires a `sent` that may be written, or null.
    unsafe { fill("rp_handoff_drain_on", sent, drain) }
}

/// Releases all entries on the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_handoff_drain(at: *mut HandoffPool, released: *mut usize) -> Status {
    // SAFETY: releasepool.h requires a pool as `at` that no other thread uses now, and a `released`
    // that may be written, or null.
    unsafe { fill("rp_handoff_drain", released, || Ok(pool(at)?.drain())) }
}
