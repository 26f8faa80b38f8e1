//! Token pools: pools for foreign code, which cannot hold a guard.

pub(crate) mod token_words;

use crate::event::span::wants_drains;
use crate::event::{Event, EventKind};
use crate::pool::drain::prune::find_or_add;
use crate::pool::drain::{drain_span, engine, this_thread};
use crate::pool::stack::budget::{ENDLESS, Limit};
use crate::pool::stack::manager_shared::ManagerShared;
use crate::pool::stack::pool_life::PoolKind;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::thread::current::current_label;
use crate::thread::key::ThreadKey;
use crate::unwind::{FirstPanic, resume_or_report};
use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

/// Identifies one pool that [`PoolManager::push`](crate::PoolManager::push) has opened; plain data,
/// for foreign code.
///
/// A token is valid for one [`pop`](crate::PoolManager::pop), by the same manager on the same
/// thread; every other use is an error, and does nothing.
///
/// # Example
/// ```
/// use releasepool::{PoolManager, PopError, Ref, autorelease};
///
/// let manager = PoolManager::global();
/// let token = manager.push();
/// autorelease(Ref::new(5));
/// assert_eq!(manager.pop(token)?, 1);
/// assert_eq!(manager.pop(token), Err(PopError::Stale));
/// # Ok::<_, PopError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PoolToken {
    manager: u64,
    /// `None` if the thread had already exited, so that no pool was opened.
    thread: Option<ThreadKey>,
    index: u32,
    generation: u32,
}

/// The reason why a pool was not popped. The call has then done nothing.
///
/// # Example
/// ```
/// use releasepool::{PoolManager, PopError};
///
/// let token = PoolManager::global().push();
/// let popped = std::thread::spawn(move || PoolManager::global().pop(token)).join().unwrap();
/// assert!(matches!(popped, Err(PopError::WrongThread { .. })), "only the thread that pushed it");
/// PoolManager::global().pop(token)?;
/// # Ok::<_, PopError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PopError {
    /// The pool has been popped already.
    #[error("the pool of this token has been popped already: pop each token once")]
    Stale,
    /// The pool belongs to another thread; only the thread that pushed a pool can pop it.
    #[error("the pool of this token belongs to thread {owner}: pop it on that thread")]
    WrongThread {
        /// The thread that pushed the pool.
        owner: ThreadKey,
    },
    /// The pool belongs to another manager; only the manager that pushed a pool can pop it.
    #[error(
        "the pool of this token belongs to another manager: pop it by the manager that pushed it"
    )]
    WrongManager,
    /// This pool, or a token pool inside it, is already being drained further up the call stack:
    /// the caller runs inside a destructor that the drain has called.
    #[error(
        "the pool of this token is already being drained further up the call stack: pop it after \
         that drain, not in a destructor"
    )]
    Draining,
}

/// Opens a token pool, which becomes the current pool.
pub(crate) fn push(manager: &Arc<ManagerShared>) -> PoolToken {
    this_thread::with(|pools| {
        let Some(pools) = pools else {
            return PoolToken {
                manager: manager.id,
                thread: None,
                index: 0,
                generation: 0,
            };
        };
        let stack = find_or_add(pools, manager);
        // SAFETY: pool states live as long as the thread's `ThreadPools`.
        let pool = unsafe { pools.open(stack, PoolKind::Token).as_ref() };
        stack.push_token(pool);
        PoolToken {
            manager: manager.id,
            thread: pools.key(),
            index: pool.index,
            generation: pool.life.generation(),
        }
    })
}

/// Opens a token pool with a name, which dumps and events include.
pub(crate) fn push_named(manager: &Arc<ManagerShared>, name: Cow<'static, str>) -> PoolToken {
    let token = push(manager);
    this_thread::with(|pools| {
        let found = pools.and_then(|pools| find(manager, token, pools).ok());
        if let Some((_, pool)) = found {
            pool.set_name(Some(name));
        }
    });
    token
}

/// Drains and closes a pool and all token pools inside it. Returns the number of entries released.
pub(crate) fn pop(manager: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    if token.manager != manager.id {
        return Err(PopError::WrongManager);
    }
    if wants_drains() {
        return pop_in_span(manager, token);
    }
    pop_now(manager, token)
}

/// Pops as [`pop`] does, in the span of a drain.
#[cold]
#[inline(never)]
fn pop_in_span(manager: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    let in_span = this_thread::with(|pools| {
        let pools = pools.filter(|pools| token.thread.is_some() && pools.key() == token.thread)?;
        let (_, pool) = find(manager, token, pools).ok()?;
        // `pop_now` looks the pool up again, as the subscriber is foreign code, which may pop the
        // pool.
        Some(drain_span::around_pop(pool, || pop_now(manager, token)))
    });
    in_span.unwrap_or_else(|| pop_now(manager, token))
}

fn pop_now(manager: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    this_thread::with(|pools| {
        let Some(owner) = token.thread else {
            return if pools.is_none() {
                Ok(0)
            } else {
                Err(PopError::Stale)
            };
        };
        let Some(pools) = pools.filter(|pools| pools.key() == Some(owner)) else {
            return Err(PopError::WrongThread { owner });
        };
        let (stack, pool) = find(manager, token, pools)?;
        Ok(pop_down_to(stack, pool))
    })
}

/// Returns the token's pool and the pool's stack, if the pool can be popped. `pools` belongs to the
/// token's thread.
#[inline]
fn find<'p>(
    manager: &Arc<ManagerShared>,
    token: PoolToken,
    pools: &'p ThreadPools,
) -> Result<(&'p PoolStack, &'p PoolState), PopError> {
    let stack = pools.find(manager).ok_or(PopError::Stale)?;
    let pool = pools.pool(token.index).ok_or(PopError::Stale)?;
    if !is_open(pool, token.generation) {
        return Err(PopError::Stale);
    }
    // A pool is opened once in each generation, so the token's manager opened this one.
    debug_assert!(ptr::eq(pool.stack.get(), stack));
    if stack.token_is_draining(pool) {
        return Err(PopError::Draining);
    }
    Ok((stack, pool))
}

/// Returns whether the token pool of this generation is still open.
fn is_open(pool: &PoolState, generation: u32) -> bool {
    pool.life.generation() == generation && pool.life.is(PoolKind::Token)
}

/// Drains and closes token pools, newest first, until `pool` is closed. Returns the number of
/// entries released.
fn pop_down_to(stack: &PoolStack, pool: &PoolState) -> usize {
    let generation = pool.life.generation();
    let mut panics = FirstPanic::default();
    let mut released = 0;
    let mut rounds = 0;
    while let Some(last) = stack.last_token() {
        if last.entries.is_empty() && !stack.thread_pools().has_duties(stack) {
            let found = ptr::eq(last, pool);
            stack.close_token(last);
            if found {
                break;
            }
            continue;
        }
        let outcome = engine::drain(last, Limit::NONE);
        released += outcome.released;
        rounds += 1;
        // Destructors may have pushed other pools, which this closes first.
        let closing = stack.last_token().is_some_and(|now| ptr::eq(now, last));
        if closing {
            stack.close_token(last);
        }
        // Reports the panic last: a report runs foreign code, which may pop and push pools and so
        // reuse this pool's state.
        if let Some(payload) = outcome.panic {
            panics.note(payload);
        }
        let found = ptr::eq(last, pool);
        if rounds == ENDLESS && !found {
            let event = Event::new(EventKind::EndlessDrain, current_label());
            event.pool("token").count(rounds as usize).emit();
        }
        if closing && found || !is_open(pool, generation) {
            break;
        }
    }
    if let Some(payload) = panics.into_first() {
        resume_or_report(payload);
    }
    released
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::stack::manager_shared::ManagerSettings;

    #[test]
    fn pushed_pool_has_its_name() {
        let manager = ManagerShared::global();
        let token = push_named(&manager, "loading".into());
        this_thread::with(|pools| {
            let found = find(&manager, token, pools.unwrap());
            assert_eq!(found.unwrap().1.name(), "loading");
        });
        assert_eq!(pop(&manager, token), Ok(0));
        let unnamed = push(&manager);
        this_thread::with(|pools| {
            let found = find(&manager, unnamed, pools.unwrap());
            assert_ne!(found.unwrap().1.name(), "loading");
        });
        assert_eq!(pop(&manager, unnamed), Ok(0));
    }

    #[test]
    fn a_pool_state_that_has_used_up_its_generations_is_never_reused() {
        let manager = Arc::new(ManagerShared::new(ManagerSettings::default()));
        let first = push(&manager);
        assert_eq!(pop(&manager, first), Ok(0));
        let with_state = |f: fn(&PoolState)| {
            this_thread::with(|pools| f(pools.and_then(|pools| pools.pool(first.index)).unwrap()));
        };
        with_state(|state| state.life.use_up_generations());
        let last = push(&manager);
        assert_eq!((last.index, last.generation), (first.index, u32::MAX));
        assert_eq!(pop(&manager, last), Ok(0));
        assert_eq!(pop(&manager, last), Err(PopError::Stale));
        assert_ne!(push(&manager).index, first.index);
    }
}
