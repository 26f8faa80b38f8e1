//! Pools by token, pools in place, and callbacks.

use crate::error::{
    Fault, Outcome, Status, attempt, needed, non_null, object, optional_text, put, status,
};
use crate::manager::{manager, pop_fault};
use crate::object::{borrowed, taken};
use crate::report::{TextFn, tell};
use releasepool::raw::{TokenWords, own_key, pool_from_raw, pool_into_raw, token_of, words_of};
use releasepool::{
    AutoreleasePool, Budget, Drained, PoolManager, Ref, autorelease, callback_scope,
};
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;

/// A token; `rp_pool_token` in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Token {
    words: TokenWords,
}

/// A pool in place; `rp_pool` in C.
#[derive(Debug)]
#[repr(C)]
pub struct Pool {
    state: Option<NonNull<c_void>>,
    thread: u64,
    /// 1 while a function drains or closes the pool.
    is_draining: u64,
}

/// Marks a pool as being drained.
struct Draining(NonNull<Pool>);

impl Draining {
    /// Returns an error if the pool is being drained further up the call stack.
    ///
    /// # Safety
    /// The pool was opened in place, on this thread, and stays until the result is dropped.
    unsafe fn begin(at: NonNull<Pool>) -> Outcome<Self> {
        // SAFETY: by the contract, the pool exists, and only this thread uses it.
        unsafe {
            if (*at.as_ptr()).is_draining != 0 {
                return Err(Fault(
                    Status::Draining,
                    "the pool is being drained further up the call stack".into(),
                ));
            }
            (*at.as_ptr()).is_draining = 1;
        }
        Ok(Self(at))
    }
}

impl Drop for Draining {
    fn drop(&mut self) {
        // SAFETY: the pool exists by the contract of `begin`.
        unsafe { (*self.0.as_ptr()).is_draining = 0 };
    }
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

/// Returns the stricter of two limits, of which 0 stands for none. Time is looked at only if there
/// is no limit in numbers.
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
        // SAFETY: the header says that the name is null or ends with a zero.
        Ok(push_to(PoolManager::global(), unsafe {
            optional_text(name)
        }))
    })
    .unwrap_or(NO_TOKEN)
}

/// Closes a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_pop(token: Token, released: *mut usize) -> Status {
    status("rp_pool_pop", || {
        let n = pop_from(PoolManager::global(), token)?;
        // SAFETY: the header says that the place is null or may be written.
        unsafe { put(released, n) };
        Ok(())
    })
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
        // SAFETY: the header says that the function may be called where the pool releases its entries.
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
pub unsafe extern "C" fn rp_pool_open(place: *mut Pool, name: *const c_char) -> Status {
    status("rp_pool_open", || {
        let place = non_null(place, "pool")?;
        // SAFETY: the header says that the name is null or ends with a zero.
        let pool = match unsafe { optional_text(name) } {
            Some(name) => AutoreleasePool::named(name),
            None => AutoreleasePool::new(),
        };
        let pool = Pool {
            state: Some(pool_into_raw(pool)),
            thread: own_key(),
            is_draining: 0,
        };
        // SAFETY: the header says that the place may be written.
        unsafe { place.write(pool) };
        Ok(())
    })
}

/// Returns the pool of an argument.
///
/// # Safety
/// The pointer is null, or a pool that was opened in place or is all zeros.
pub(crate) unsafe fn pool(at: *mut Pool) -> Outcome<ManuallyDrop<AutoreleasePool>> {
    // SAFETY: the contract of this function.
    let pool = unsafe { non_null(at, "pool")?.as_ref() };
    let Some(state) = pool.state else {
        return Err(Fault(Status::Stale, "the pool has been closed".into()));
    };
    if pool.thread != own_key() {
        return Err(Fault(
            Status::WrongThread,
            "the pool belongs to another thread: use it on the thread that opened it".into(),
        ));
    }
    // SAFETY: opened on this thread, and closing it clears `state`.
    Ok(unsafe { pool_from_raw(state) })
}

/// Closes a pool in place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_close(at: *mut Pool) -> Status {
    status("rp_pool_close", || {
        // SAFETY: the header says that the pool was opened in place.
        let pool = unsafe { pool(at) }?;
        // SAFETY: `pool` has found a pool of this thread. A close ends the mark, as destructors that
        // the drop calls find the pool closed, and may open it again.
        drop(unsafe { Draining::begin(NonNull::new_unchecked(at)) }?);
        // SAFETY: as above.
        unsafe { (*at).state = None };
        drop(ManuallyDrop::into_inner(pool));
        Ok(())
    })
}

/// Moves a reference into this pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_add(at: *mut Pool, object: *mut c_void) -> Status {
    status("rp_pool_add", || {
        // SAFETY: the header says that the pool was opened in place, and that the caller owns a
        // reference.
        let (pool, r) = unsafe { (pool(at)?, taken(object, "object")?) };
        pool.autorelease(r);
        Ok(())
    })
}

/// Drains a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_drain(at: *mut Pool, released: *mut usize) -> Status {
    status("rp_pool_drain", || {
        // SAFETY: the header says that the pool was opened in place; `pool` finds it.
        let (mut pool, _draining) =
            unsafe { (pool(at)?, Draining::begin(NonNull::new_unchecked(at))?) };
        let n = pool.drain();
        // SAFETY: the header says that the place is null or may be written.
        unsafe { put(released, n) };
        Ok(())
    })
}

/// Drains a pool within a budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_drain_within(
    at: *mut Pool,
    count: usize,
    nanoseconds: u64,
    drained: *mut DrainedFigures,
) -> Status {
    status("rp_pool_drain_within", || {
        // SAFETY: as in `rp_pool_drain`.
        let (mut pool, _draining) =
            unsafe { (pool(at)?, Draining::begin(NonNull::new_unchecked(at))?) };
        let figures = pool.drain_within(budget(count, nanoseconds));
        // SAFETY: the header says that the place is null or may be written.
        unsafe { put(drained, figures.into()) };
        Ok(())
    })
}

/// Returns the number of entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_len(at: *mut Pool) -> usize {
    // SAFETY: the header says that the pool was opened in place.
    attempt("rp_pool_len", || Ok(unsafe { pool(at) }?.len())).unwrap_or(0)
}

/// Returns whether the pool has an entry for the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_contains(at: *mut Pool, of: *const c_void) -> bool {
    attempt("rp_pool_contains", || {
        // SAFETY: the header says that the pool was opened in place, and that the object is alive.
        let (pool, r) = unsafe { (pool(at)?, borrowed(object(of.cast_mut(), "object")?)) };
        Ok(pool.contains(&r))
    })
    .unwrap_or(false)
}

/// Returns whether a pool of the calling thread has an entry for the object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_is_in_pools(of: *const c_void) -> bool {
    attempt("rp_is_in_pools", || {
        // SAFETY: the header says that the object is alive.
        let r = unsafe { borrowed(object(of.cast_mut(), "object")?) };
        Ok(PoolManager::global().contains(&r))
    })
    .unwrap_or(false)
}

/// Lists the entries of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_pool_dump(
    at: *mut Pool,
    to: Option<TextFn>,
    data: *mut c_void,
) -> Status {
    status("rp_pool_dump", || {
        // SAFETY: the header says that the pool was opened in place.
        let text = unsafe { pool(at) }?.dump().to_string();
        // SAFETY: the header says what the function must be.
        unsafe { tell(to, &text, data) }
    })
}

/// Drains the calling thread's root pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_drain_root(at: *const PoolManager, released: *mut usize) -> Status {
    status("rp_drain_root", || {
        // SAFETY: the header says that the argument is null or a manager.
        let n = unsafe { manager(at) }.drain_root();
        // SAFETY: the header says that the place is null or may be written.
        unsafe { put(released, n) };
        Ok(())
    })
}
