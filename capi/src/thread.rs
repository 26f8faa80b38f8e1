//! Handles of threads, for other threads: `rp_thread`.

use crate::error::{Fault, Outcome, Status, boxed, free, needed, or_default, shared, status};
use crate::object::taken;
use releasepool::raw::{key_from_word, key_to_word};
use releasepool::{PoolManager, ThreadHandle};
use std::ffi::c_void;

/// Returns a handle of the calling thread, or an error if the thread is ending.
fn own() -> Outcome<ThreadHandle> {
    handle(
        PoolManager::global().current_thread(),
        "the thread is ending",
    )
}

/// Returns an error on a thread that is ending: the library cannot keep hooks and loops for it.
pub(crate) fn not_ending() -> Outcome {
    own().map(drop)
}

/// A function of C that any thread may call, and its argument.
#[derive(Clone, Copy)]
pub(crate) struct Hook(
    pub(crate) unsafe extern "C" fn(*mut c_void),
    pub(crate) *mut c_void,
);

// SAFETY: releasepool.h requires a function that any thread may call with this argument.
unsafe impl Send for Hook {}
// SAFETY: threads that send messages call the hook, so releasepool.h requires a function that
// several threads may call at once.
unsafe impl Sync for Hook {}

impl Hook {
    /// Calls the function.
    pub(crate) fn call(self) {
        // SAFETY: releasepool.h requires a function that may be called with this argument, on any
        // thread.
        unsafe { self.0(self.1) };
    }
}

/// Returns `f` with its argument `data`, or an error if `f` is null.
pub(crate) fn hook(
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Outcome<Hook> {
    Ok(Hook(needed(f, "f")?, data))
}

fn handle(found: Option<ThreadHandle>, why: &str) -> Outcome<ThreadHandle> {
    found.ok_or_else(|| Fault(Status::Unavailable, why.into()))
}

/// Returns a handle of the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn rp_thread_current() -> *mut ThreadHandle {
    boxed("rp_thread_current", own)
}

/// Returns a handle of the thread with this key.
#[unsafe(no_mangle)]
pub extern "C" fn rp_thread_find(key: u64) -> *mut ThreadHandle {
    boxed("rp_thread_find", || {
        let found = PoolManager::global().thread(key_from_word(key));
        handle(found, "no thread has this key any more")
    })
}

/// Returns another handle of the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_clone(at: *const ThreadHandle) -> *mut ThreadHandle {
    boxed("rp_thread_clone", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed.
        let thread = unsafe { shared(at, "thread") }?;
        Ok(thread.clone())
    })
}

/// Gives a handle up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_free(at: *mut ThreadHandle) -> Status {
    // SAFETY: releasepool.h requires as `at` a handle that a function of this file returned, and
    // that the caller gives up.
    unsafe { free("rp_thread_free", at, "thread") }
}

/// Returns the key of a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_key(at: *const ThreadHandle) -> u64 {
    or_default("rp_thread_key", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed.
        let thread = unsafe { shared(at, "thread") }?;
        Ok(key_to_word(thread.key()))
    })
}

/// Returns whether a thread takes messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_is_alive(at: *const ThreadHandle) -> bool {
    or_default("rp_thread_is_alive", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed.
        let thread = unsafe { shared(at, "thread") }?;
        Ok(thread.is_alive())
    })
}

/// Sends a reference to a thread, which releases it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_release(at: *const ThreadHandle, object: *mut c_void) -> Status {
    status("rp_thread_release", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed, and as `object` a
        // reference that the caller gives up.
        unsafe { shared(at, "thread")?.release(taken(object, "object")?) };
        Ok(())
    })
}

/// Makes a thread call a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_post(
    at: *const ThreadHandle,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Status {
    status("rp_thread_post", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed.
        let thread = unsafe { shared(at, "thread") }?;
        let f = hook(f, data)?;
        thread
            .post(move || f.call())
            .map_err(|error| Fault(Status::Closed, error.to_string()))
    })
}
