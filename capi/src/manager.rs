//! Managers: `rp_manager`. A null pointer stands for the global one.

use crate::error::{
    Fault, Status, attempt, boxed, fill, free, manager, non_null, optional_text, status,
};
use crate::object::taken;
use crate::pool::{DrainedFigures, NO_TOKEN, Token, budget, pop_from, push_to};
use crate::thread::{hook, not_ending};
use releasepool::PoolManager;
use releasepool::pool::InboxHook;
use releasepool::pool::RootPolicy;
use releasepool::raw::own_key;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// Makes a manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_manager_new(name: *const c_char) -> *mut PoolManager {
    boxed("rp_manager_new", || {
        let mut builder = PoolManager::builder();
        // SAFETY: releasepool.h requires a `name` that ends with a zero, or null.
        if let Some(name) = unsafe { optional_text(name) } {
            builder = builder.name(name);
        }
        Ok(builder.build())
    })
}

/// Gives a manager up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_manager_free(at: *mut PoolManager) -> Status {
    // SAFETY: releasepool.h requires a manager of `rp_manager_new` as `at`, which the caller gives
    // up.
    unsafe { free("rp_manager_free", at, "manager") }
}

/// Opens a pool of a manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_manager_push(at: *const PoolManager, name: *const c_char) -> Token {
    let pushed = attempt("rp_manager_push", || {
        // SAFETY: releasepool.h requires a manager, or null, as `at`, and a `name` that ends with a
        // zero, or null.
        Ok(unsafe { push_to(manager(at), optional_text(name)) })
    });
    pushed.unwrap_or(NO_TOKEN)
}

/// Closes a pool of a manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_manager_pop(
    at: *const PoolManager,
    token: Token,
    released: *mut usize,
) -> Status {
    // SAFETY: releasepool.h requires a manager, or null, as `at`, and a `released` that may be
    // written, or null.
    unsafe { fill("rp_manager_pop", released, || pop_from(manager(at), token)) }
}

/// Moves a reference into the manager's current pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_manager_autorelease(
    at: *const PoolManager,
    object: *mut c_void,
) -> Status {
    status("rp_manager_autorelease", || {
        // SAFETY: releasepool.h requires a manager, or null, as `at`, and as `object` a reference
        // that the caller gives up.
        unsafe { manager(at).autorelease(taken(object, "object")?) };
        Ok(())
    })
}

/// Works off the calling thread's backlog.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_drain_backlog(
    at: *const PoolManager,
    count: usize,
    nanoseconds: u64,
    drained: *mut DrainedFigures,
) -> Status {
    let budget = budget(count, nanoseconds);
    // SAFETY: releasepool.h requires a manager, or null, as `at`.
    let drain = || Ok(unsafe { manager(at) }.drain_backlog(budget).into());
    // SAFETY: releasepool.h requires a `drained` that may be written, or null.
    unsafe { fill("rp_drain_backlog", drained, drain) }
}

/// Sets the watermark of root pools, and whether `rp_boundary` drains beyond it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_manager_set_root_watermark(
    at: *const PoolManager,
    entries: usize,
    drains: bool,
) -> Status {
    status("rp_manager_set_root_watermark", || {
        // SAFETY: releasepool.h requires a manager, or null, as `at`.
        let manager = unsafe { manager(at) };
        manager.set_root_watermark(entries);
        manager.set_root_policy(if drains {
            RootPolicy::Drain
        } else {
            RootPolicy::Report
        });
        Ok(())
    })
}

/// Drains a root pool that has grown beyond its watermark.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_boundary(at: *const PoolManager, released: *mut usize) -> Status {
    // SAFETY: releasepool.h requires a manager, or null, as `at`, and a `released` that may be
    // written, or null.
    unsafe {
        fill("rp_boundary", released, || {
            Ok(manager(at).drain_root_beyond_watermark())
        })
    }
}

/// Runs what was posted to the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_run_inbox(ran: *mut usize) -> Status {
    let run = || Ok(PoolManager::global().run_inbox());
    // SAFETY: releasepool.h requires a `ran` that may be written, or null.
    unsafe { fill("rp_run_inbox", ran, run) }
}

/// The hook of an inbox, and the thread that may remove it; `rp_inbox_hook` in C.
#[derive(Debug)]
pub struct SetHook {
    _hook: InboxHook,
    thread: u64,
}

/// Sets the hook of the calling thread's inbox.
#[unsafe(no_mangle)]
pub extern "C" fn rp_inbox_hook_set(
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> *mut SetHook {
    boxed("rp_inbox_hook_set", || {
        let hook = hook(f, data)?;
        // Setting a hook on a thread that is ending panics.
        not_ending()?;
        Ok(SetHook {
            _hook: PoolManager::global().set_inbox_hook(move || hook.call()),
            thread: own_key(),
        })
    })
}

/// Removes the hook of the calling thread's inbox.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_inbox_hook_clear(at: *mut SetHook) -> Status {
    status("rp_inbox_hook_clear", || {
        let at = non_null(at, "hook")?;
        // SAFETY: releasepool.h requires `at` to be a hook of `rp_inbox_hook_set` that was not
        // removed; nothing writes to `thread`.
        if unsafe { (*at.as_ptr()).thread } != own_key() {
            return Err(Fault(
                Status::WrongThread,
                "the hook belongs to another thread: remove it on the thread that has set it"
                    .into(),
            ));
        }
        // SAFETY: releasepool.h requires that the caller gives up the hook `at`, which `boxed` has
        // made.
        drop(unsafe { Box::from_raw(at.as_ptr()) });
        Ok(())
    })
}

/// Makes the releases that belong to no thread, and waits for threads that are making some.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_quiesce(at: *const PoolManager, nanoseconds: u64) -> Status {
    status("rp_quiesce", || {
        // SAFETY: releasepool.h requires a manager, or null, as `at`.
        if unsafe { manager(at) }.quiesce(Duration::from_nanos(nanoseconds)) {
            Ok(())
        } else {
            let message = "something is still waiting to be released".into();
            Err(Fault(Status::TimedOut, message))
        }
    })
}

/// Releases everything, or says what holds it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_shutdown(at: *const PoolManager, nanoseconds: u64) -> Status {
    status("rp_shutdown", || {
        // SAFETY: releasepool.h requires a manager, or null, as `at`.
        let ended = unsafe { manager(at) }.shutdown(Duration::from_nanos(nanoseconds));
        ended
            .map(|_| ())
            .map_err(|report| Fault(Status::TimedOut, report.to_string()))
    })
}
