//! Pools as plain pointers, for the C interface.

use super::guard::AutoreleasePool;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Turns a pool into a pointer, which stands for the pool until [`pool_from_raw`] closes it.
pub fn pool_into_raw(pool: AutoreleasePool) -> NonNull<c_void> {
    ManuallyDrop::new(pool).state.cast()
}

/// Returns the pool of a pointer. To close the pool, drop the content of the result.
///
/// # Safety
/// The pointer is from [`pool_into_raw`], on this thread, and the pool has not been closed.
#[inline(always)]
pub unsafe fn pool_from_raw(pool: NonNull<c_void>) -> ManuallyDrop<AutoreleasePool> {
    let state = pool.cast();
    ManuallyDrop::new(AutoreleasePool { state })
}
