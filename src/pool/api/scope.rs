//! `autoreleasepool`: a pool that is open while a closure runs.

use super::guard::AutoreleasePool;
use crate::pool::drain::close::{can_just_pop, close, free_state};
use crate::pool::drain::engine::leave;
use crate::pool::stack::budget::Limit;
use crate::pool::stack::pool_life::Then;
use crate::pool::stack::pool_stack::PoolState;
use crate::unwind::FirstPanic;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Runs `f` with a new pool, which is drained when `f` returns: `@autoreleasepool`.
///
/// Afterwards the pool that was current before the call is current again, whatever `f` did with the
/// guard, and whichever pools `f` has opened and not closed. Token pools that `f` has
/// [pushed](crate::PoolManager::push) and not popped are popped at the end, as by the pop of an
/// outer token, and an [event](crate::event::EventKind::TokenLeft) says where they were pushed;
/// other guards' pools keep their entries.
///
/// If a destructor calls this function, objects that the pool releases may be destroyed only after
/// the function has returned, as [`settle`](crate::object::settle) explains. A job of a
/// work-stealing runtime such as rayon may run inside a destructor that waits. Such a job should
/// use a [`callback_scope`](crate::callback_scope) or a
/// [`settle_scope`](crate::object::settle_scope) instead of this function, or around it.
///
/// # Panics
/// If `f` panics, or a destructor does, as in [`AutoreleasePool::drain`].
///
/// ```
/// use releasepool::{PoolRef, autoreleasepool};
/// let kept = autoreleasepool(|pool| {
///     let sum = pool.create(1 + 1);
///     PoolRef::retain(sum)
/// });
/// assert_eq!(*kept, 2);
/// ```
pub fn autoreleasepool<R>(f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    scoped(None, f)
}

/// Runs `f` with a new pool of this name, as [`autoreleasepool`] does.
pub(crate) fn named_scope<R>(name: &'static str, f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    scoped(Some(name), f)
}

#[inline]
fn scoped<R>(name: Option<&'static str>, f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    let mut pool = ManuallyDrop::new(AutoreleasePool::new());
    let own = pool.state;
    pool.state().life.enter_scope();
    if let Some(name) = name {
        pool.state().set_name(Some(name.into()));
    }
    let pool = &raw mut *pool;
    let _scope = PoolScope { own, pool };
    // SAFETY: `pool` points to a local variable, which `_scope` does not access before `f` is done.
    f(unsafe { &mut *pool })
}

/// The scope of [`autoreleasepool`]. When it is dropped, the pool that was current before the scope
/// is current again.
struct PoolScope {
    /// The pool that the scope has opened. Its state exists until the scope ends, even if its guard
    /// is dropped earlier.
    own: NonNull<PoolState>,
    /// The guard, which `f` may replace. It is behind a pointer: if `f` could change this struct,
    /// the compiler would not keep `own` in a register.
    pool: *mut AutoreleasePool,
}

impl Drop for PoolScope {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `pool` points to the local variable of `scoped`, which outlives this scope and is
        // never dropped itself.
        let pool = unsafe { (*self.pool).state };
        // SAFETY: the scope has not ended (fact 1 of `guard`).
        let state = unsafe { self.own.as_ref() };
        // SAFETY: the scope's own pool keeps its stack (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        if pool == self.own && can_just_pop(state, stack, state.life.is_plain_scope()) {
            // The guard and the scope end together.
            let _ = state.life.leave_scope();
            stack.pop(state);
        } else {
            end_scope(pool, self.own);
        }
    }
}

/// Ends a scope whose guard now owns `pool`, and drops the guard. `own` is the pool that the scope
/// has opened.
#[inline(never)]
fn end_scope(pool: NonNull<PoolState>, own: NonNull<PoolState>) {
    // SAFETY: the scope has not ended (fact 1 of `guard`).
    let state = unsafe { own.as_ref() };
    // SAFETY: the scope's own pool keeps its stack (fact 2 of `guard`).
    let is_innermost = unsafe { &*state.stack.get() }.is_topmost(&state.life.frame);
    if pool == own && is_innermost {
        let _ = state.life.leave_scope();
        close(own);
    } else {
        end_disordered(pool, own);
    }
}

/// Ends a scope in which `f` has left pools open, or has replaced the guard by that of another pool.
// Out of line, so that the usual end of a scope need not save the registers that this code uses.
#[cold]
#[inline(never)]
fn end_disordered(pool: NonNull<PoolState>, own: NonNull<PoolState>) {
    let mut panics = FirstPanic::default();
    // SAFETY: the scope has not ended (fact 1 of `guard`).
    let state = unsafe { own.as_ref() };
    // SAFETY: the scope's own pool keeps its stack (fact 2 of `guard`).
    leave(
        unsafe { &*state.stack.get() },
        &state.life.frame,
        Limit::NONE,
        &mut panics,
    );
    if pool == own {
        let _ = state.life.leave_scope();
        panics.guard(|| close(own));
    } else {
        panics.guard(|| drop(AutoreleasePool { state: pool }));
        end_replaced(own);
    }
    panics.resume();
}

/// Ends a scope whose guard was replaced by a guard of another pool, after that guard was dropped.
fn end_replaced(own: NonNull<PoolState>) {
    let then;
    {
        // SAFETY: the scope ends only here (fact 1 of `guard`).
        let state = unsafe { own.as_ref() };
        // SAFETY: the scope's own pool keeps its stack (fact 2 of `guard`).
        let stack = unsafe { &*state.stack.get() };
        then = state.life.leave_scope();
        let frame = &state.life.frame;
        stack.close_frame(frame);
        match then {
            Then::Recycle => frame.own(state.as_life()),
            // `f` moved the guard elsewhere; that guard closes the pool later.
            Then::Keep => _ = frame.leave_chain(),
        }
    }
    if then == Then::Recycle {
        // SAFETY: nothing refers to the pool (rule 1 of `pool_life`); the references above have ended.
        unsafe { free_state(own) };
    }
}
