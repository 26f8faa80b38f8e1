//! Pools by token, pools in place, and callbacks.

use crate::error::{
    Fault, Outcome, Status, attempt, fill, manager, needed, non_null, object, optional_text,
    or_default, status,
};
use crate::object::{borrowed, taken};
use crate::report::{TextFn, tell};
use releasepool::pool::{PoolToken, PopError};
use releasepool::raw::{
    TokenWords, close_pool, is_current, is_draining, is_without_pool, pool_of, token_of, words_of,
};
use releasepool::{
    AutoreleasePool, Budget, Drained, PoolManager, Ref, autorelease, callback_scope,
};
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::time::Duration;

/// A token; `rp_pool_token` in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Token {
    words: TokenWords,
}

/// A pool in place; `rp_pool` in C. All zeros once it is closed.
#[derive(Debug)]
#[repr(C)]
pub struct Pool {
    token: Token,
}

/// The result of a drain within a budget; `rp_drained` in C.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct DrainedFigures {
    released: usize,
    remaining: usize,
    nanoseconds: u64,
}

impl From<Drained> for DrainedFigures {
    fn from(drained: Drained) -> Self {
        Self {
            released: drained.released,
            remaining: drained.remaining,
            nanoseconds: u64::try_from(drained.elapsed.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// Returns the budget for at most `count` releases or, if `count` is 0, for `nanoseconds`; if both
/// are 0, the budget has no limit.
pub(crate) fn budget(count: usize, nanoseconds: u64) -> Budget {
    match (count, nanoseconds) {
        (0, 0) => Budget::All,
        (0, nanoseconds) => Budget::Time(Duration::from_nanos(nanoseconds)),
        (count, _) => Budget::Count(count),
    }
}

/// Opens a token pool of the manager.
pub(crate) fn push_to(manager: &PoolManager, name: Option<String>) -> Token {
    let token = match name {
        Some(name) => manager.push_named(name),
        None => manager.push(),
    };
    Token {
        words: words_of(token),
    }
}

/// Closes a token pool of the manager.
pub(crate) fn pop_from(manager: &PoolManager, token: Token) -> Outcome<usize> {
    manager.pop(token_of(token.words)).map_err(pop_fault)
}

/// A token that no pool has.
pub(crate) const NO_TOKEN: Token = Token { words: [0; 3] };

/// Opens a pool.
#[unsafe(no_mangle)]
pub extern "C" fn rp_pool_push() -> Token {
    attempt("rp_pool_push", || Ok(push_to(PoolManager::global(), None))).unwrap_or(NO_TOKEN)
}

/// Opens a pool with a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_push_named(name: *const c_char) -> Token {
    attempt("rp_pool_push_named", || {
        // SAFETY: releasepool.h requires a `name` that ends with a zero, or null.
        Ok(push_to(PoolManager::global(), unsafe {
            optional_text(name)
        }))
    })
    .unwrap_or(NO_TOKEN)
}

/// Closes a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_pop(token: Token, released: *mut usize) -> Status {
    let pop = || pop_from(PoolManager::global(), token);
    // SAFETY: releasepool.h requires a `released` that may be written, or null.
    unsafe { fill("rp_pool_pop", released, pop) }
}

/// Begins a callback.
#[unsafe(no_mangle)]
pub extern "C" fn rp_callback_begin() -> Token {
    attempt("rp_callback_begin", || {
        Ok(push_to(PoolManager::global(), Some("callback".into())))
    })
    .unwrap_or(NO_TOKEN)
}

/// Ends a callback.
#[unsafe(no_mangle)]
pub extern "C" fn rp_callback_end(token: Token) -> Status {
    status("rp_callback_end", || {
        pop_from(PoolManager::global(), token)?;
        // If no pool is open any more, drains the root pool and the backlog, and makes the releases
        // that other threads have sent.
        callback_scope(|_| ());
        Ok(())
    })
}

/// A function of C that gives up a reference to a foreign object.
pub type ReleaseFn = unsafe extern "C" fn(*mut c_void);

/// Owns one reference to an object that another runtime counts.
struct Adopted {
    object: NonNull<c_void>,
    release: ReleaseFn,
}

impl Drop for Adopted {
    fn drop(&mut self) {
        // SAFETY: releasepool.h requires a `release` that may be called wherever the pool releases
        // this entry.
        unsafe { (self.release)(self.object.as_ptr()) };
    }
}

/// Moves a reference to an object of another runtime into the current pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_autorelease_foreign(
    object: *mut c_void,
    release: Option<ReleaseFn>,
) -> Status {
    status("rp_autorelease_foreign", || {
        let object = non_null(object, "object")?;
        let release = needed(release, "release")?;
        autorelease(Ref::new(Adopted { object, release }));
        Ok(())
    })
}

/// Opens a pool in place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_open(pool: *mut Pool, name: *const c_char) -> Status {
    status("rp_pool_open", || {
        let place = non_null(pool, "pool")?;
        // SAFETY: releasepool.h requires a `name` that ends with a zero, or null.
        let token = push_to(PoolManager::global(), unsafe { optional_text(name) });
        // SAFETY: releasepool.h requires a `pool` that may be written.
        unsafe { place.write(Pool { token }) };
        Ok(())
    })
}

/// Returns the token of an argument.
///
/// # Safety
/// The pointer is null, or a pool that was opened in place or is all zeros.
unsafe fn token_in(at: *mut Pool) -> Outcome<PoolToken> {
    // SAFETY: by the contract, the pointer is null or leads to a pool.
    let token = unsafe { non_null(at, "pool")?.as_ref() }.token;
    if token.words == NO_TOKEN.words {
        return Err(Fault(Status::Stale, "the pool has been closed".into()));
    }
    Ok(token_of(token.words))
}

/// Turns the error of a pop into a fault.
pub(crate) fn pop_fault(error: PopError) -> Fault {
    let status = match error {
        PopError::Stale => Status::Stale,
        PopError::WrongThread { .. } => Status::WrongThread,
        PopError::WrongManager => Status::WrongManager,
        PopError::Draining => Status::Draining,
        _ => Status::Invalid,
    };
    Fault(status, error.to_string())
}

fn fault(error: PopError) -> Fault {
    let text = match error {
        PopError::Stale => "the pool has been closed, or the scope around it has closed it",
        PopError::WrongThread { .. } => {
            "the pool belongs to another thread: use it on the thread that opened it"
        }
        PopError::Draining => "the pool is being drained further up the call stack",
        _ => return pop_fault(error),
    };
    Fault(pop_fault(error).0, text.into())
}

/// Returns the pool of an argument.
///
/// # Safety
/// The pointer is null, or a pool that was opened in place or is all zeros. The result is not used once
/// the pool is closed.
pub(crate) unsafe fn pool(at: *mut Pool) -> Outcome<ManuallyDrop<AutoreleasePool>> {
    // SAFETY: forwards the contract.
    unsafe { pool_of(token_in(at)?) }.map_err(fault)
}

/// Returns the pool of an argument, to drain it.
///
/// # Safety
/// The contract of [`pool`].
unsafe fn idle_pool(at: *mut Pool) -> Outcome<ManuallyDrop<AutoreleasePool>> {
    // SAFETY: forwards the contract.
    let pool = unsafe { pool(at) }?;
    if is_draining(&pool) {
        return Err(fault(PopError::Draining));
    }
    Ok(pool)
}

/// Closes a pool in place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_close(pool: *mut Pool) -> Status {
    status("rp_pool_close", || {
        // SAFETY: releasepool.h requires a pool opened in place as `pool`. The destructors that the
        // drain calls find the pool closed, and may open one in its place.
        let token = unsafe {
            _ = idle_pool(pool)?;
            ptr::replace(pool, Pool { token: NO_TOKEN }).token
        };
        close_pool(token_of(token.words)).map_err(fault)?;
        Ok(())
    })
}

/// Moves a reference into this pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_add(at: *mut Pool, object: *mut c_void) -> Status {
    status("rp_pool_add", || {
        // SAFETY: releasepool.h requires a pool opened in place as `at`, and as `object` a
        // reference that the caller gives up.
        let (pool, r) = unsafe { (pool(at)?, taken(object, "object")?) };
        pool.autorelease(r);
        Ok(())
    })
}

/// Drains a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_drain(at: *mut Pool, released: *mut usize) -> Status {
    // SAFETY: releasepool.h requires a pool opened in place as `at`, which nothing can close while
    // it is drained, and a `released` that may be written, or null.
    unsafe { fill("rp_pool_drain", released, || Ok(idle_pool(at)?.drain())) }
}

/// Drains a pool within a budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_drain_within(
    at: *mut Pool,
    count: usize,
    nanoseconds: u64,
    drained: *mut DrainedFigures,
) -> Status {
    let budget = budget(count, nanoseconds);
    // SAFETY: releasepool.h requires a pool opened in place as `at`; nothing can close it while it
    // is drained.
    let drain = || Ok(unsafe { idle_pool(at) }?.drain_within(budget).into());
    // SAFETY: releasepool.h requires a `drained` that may be written, or null.
    unsafe { fill("rp_pool_drain_within", drained, drain) }
}

/// Returns the number of entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_len(at: *mut Pool) -> usize {
    // SAFETY: releasepool.h requires a pool opened in place as `at`.
    or_default("rp_pool_len", || Ok(unsafe { pool(at) }?.len()))
}

/// Returns whether the pool has an entry for the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_contains(at: *mut Pool, of: *const c_void) -> bool {
    or_default("rp_pool_contains", || {
        // SAFETY: releasepool.h requires a pool opened in place as `at`, and a live object as `of`.
        let (pool, r) = unsafe { (pool(at)?, borrowed(object(of.cast_mut(), "object")?)) };
        Ok(pool.contains(&r))
    })
}

/// Returns whether what the calling thread autoreleases goes to this pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_is_current(at: *mut Pool) -> bool {
    or_default("rp_pool_is_current", || {
        // SAFETY: releasepool.h requires a pool opened in place as `at`.
        Ok(is_current(&*unsafe { pool(at) }?))
    })
}

/// Returns whether a pool of the calling thread has an entry for the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_is_in_pools(of: *const c_void) -> bool {
    or_default("rp_is_in_pools", || {
        // SAFETY: releasepool.h requires a live object as `of`.
        let r = unsafe { borrowed(object(of.cast_mut(), "object")?) };
        Ok(PoolManager::global().contains(&r))
    })
}

/// Returns whether no pool of the calling thread is open, nor being drained.
#[unsafe(no_mangle)]
pub extern "C" fn rp_is_without_pool() -> bool {
    is_without_pool()
}

/// Lists the entries of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_dump(
    at: *mut Pool,
    to: Option<TextFn>,
    data: *mut c_void,
) -> Status {
    status("rp_pool_dump", || {
        // SAFETY: releasepool.h requires a pool opened in place as `at`.
        let text = unsafe { pool(at) }?.dump().to_string();
        // SAFETY: releasepool.h requires a `to` that may be called here with `data`.
        unsafe { tell(to, &text, data) }
    })
}

/// Drains the calling thread's root pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_drain_root(at: *const PoolManager, released: *mut usize) -> Status {
    // SAFETY: releasepool.h requires a manager, or null, as `at`, and a `released` that may be
    // written, or null.
    unsafe { fill("rp_drain_root", released, || Ok(manager(at).drain_root())) }
}
