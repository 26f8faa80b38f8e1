//! Threads, as others see them: `rp_thread`.

use crate::error::{Fault, Outcome, Status, boxed, free, needed, or_default, shared, status};
use crate::object::taken;
use releasepool::raw::{key_from_word, key_to_word};
use releasepool::{PoolManager, ThreadHandle};
use std::ffi::c_void;

/// Returns the calling thread.
fn own() -> Outcome<ThreadHandle> {
    handle(
        PoolManager::global().current_thread(),
        "the thread is ending",
    )
}

/// Returns an error on a thread that is ending, on which the library has no place for hooks and
/// loops.
pub(crate) fn not_ending() -> Outcome {
    own().map(drop)
}

/// A function of C and its argument. The header says that it may be called on any thread.
#[derive(Clone, Copy)]
pub(crate) struct Hook(
    pub(crate) unsafe extern "C" fn(*mut c_void),
    pub(crate) *mut c_void,
);

// SAFETY: the header says that the functions may be called on any thread with this argument.
unsafe impl Send for Hook {}
// SAFETY: as for `Send`; the header also says that they may be called on several threads at once.
unsafe impl Sync for Hook {}

impl Hook {
    /// Calls the function.
    pub(crate) fn call(self) {
        // SAFETY: the header says what the function must be.
        unsafe { self.0(self.1) };
    }
}

/// Returns the function of an argument.
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
        // SAFETY: the header says that the argument is a thread.
        let thread = unsafe { shared(at, "thread") }?;
        Ok(thread.clone())
    })
}

/// Gives a handle up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_free(at: *mut ThreadHandle) -> Status {
    // SAFETY: the header says that the handle is from a function of this file, and is given up.
    unsafe { free("rp_thread_free", at, "thread") }
}

/// Returns the key of a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_key(at: *const ThreadHandle) -> u64 {
    or_default("rp_thread_key", || {
        // SAFETY: the header says that the argument is a thread.
        let thread = unsafe { shared(at, "thread") }?;
        Ok(key_to_word(thread.key()))
    })
}

/// Returns whether a thread takes messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_is_alive(at: *const ThreadHandle) -> bool {
    or_default("rp_thread_is_alive", || {
        // SAFETY: the header says that the argument is a thread.
        let thread = unsafe { shared(at, "thread") }?;
        Ok(thread.is_alive())
    })
}

/// Sends a reference to a thread, which releases it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_release(at: *const ThreadHandle, object: *mut c_void) -> Status {
    status("rp_thread_release", || {
        // SAFETY: the header says that the argument is a thread, and that the caller owns a
        // reference.
        unsafe { shared(at, "thread")?.release(taken(object, "object")?) };
        Ok(())
    })
}

/// Has a thread call a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_thread_post(
    at: *const ThreadHandle,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Status {
    status("rp_thread_post", || {
        // SAFETY: the header says that the argument is a thread.
        let thread = unsafe { shared(at, "thread") }?;
        let f = hook(f, data)?;
        thread
            .post(move || f.call())
            .map_err(|error| Fault(Status::Closed, error.to_string()))
    })
}
