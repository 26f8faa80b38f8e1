//! Token pools: pools for foreign code, which cannot hold a guard; for C, tokens are plain words.

use super::guard::AutoreleasePool;
use crate::event::span::wants_drains;
use crate::pool::drain::engine::{self, pop_down_to};
use crate::pool::drain::this_thread::find_or_add;
use crate::pool::drain::{drain_span, this_thread};
use crate::pool::stack::manager_shared::ManagerShared;
use crate::pool::stack::pool_life::PoolKind;
use crate::pool::stack::pool_stack::{PoolStack, PoolState};
use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::Numbers;
use crate::thread::key::{ThreadKey, own_key};
use crate::unwind::FirstPanic;
use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// Identifies one pool that [`PoolManager::push`](crate::PoolManager::push) has opened; plain data,
/// for foreign code.
///
/// A token is valid for one [`pop`](crate::PoolManager::pop), by the same manager on the same
/// thread; every other use is an error, and does nothing.
///
/// # Example
/// ```
/// use releasepool::pool::PopError;
/// use releasepool::{PoolManager, Ref, autorelease};
///
/// let manager = PoolManager::global();
/// let token = manager.push();
/// autorelease(Ref::new(5));
/// assert_eq!(manager.pop(token)?, 1);
/// assert_eq!(manager.pop(token), Err(PopError::Stale));
/// # Ok::<_, PopError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolToken {
    manager: u64,
    /// `None` if the thread's pools were made after its exit.
    thread: Option<ThreadKey>,
    index: u32,
    /// If `thread` is `None`: unique among 2³¹ consecutive tokens of the process without `thread`.
    generation: u32,
}

/// The reason why a pool was not popped. The call has then done nothing.
///
/// # Example
/// ```
/// use releasepool::pool::PopError;
/// use releasepool::PoolManager;
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

/// The source of generations for pools whose tokens have no thread's key.
static LATE: Numbers = Numbers::new();

/// Opens a token pool, which becomes the current pool. `site` is the place where the user made the
/// call.
pub(crate) fn push(manager: &Arc<ManagerShared>, site: &'static Location<'static>) -> PoolToken {
    this_thread::with(|pools| match pools {
        Some(pools) => push_on(pools, manager, site),
        None => this_thread::late_to_push(|pools| push_on(pools, manager, site)),
    })
}

fn push_on(
    pools: &ThreadPools,
    manager: &Arc<ManagerShared>,
    site: &'static Location<'static>,
) -> PoolToken {
    let stack = find_or_add(pools, manager);
    // SAFETY: pool states live as long as the thread's `ThreadPools`.
    let pool = unsafe { pools.open(stack, PoolKind::Token).as_ref() };
    pool.pushed_at.set(Some(site));
    let thread = pools.key();
    if thread.is_none() {
        // Sets the high bit, as the words of a token must not all be 0.
        pool.life.set_generation(LATE.next() as u32 | 1 << 31);
    }
    stack.push_token(pool);
    PoolToken {
        manager: manager.id,
        thread,
        index: pool.index,
        generation: pool.life.generation(),
    }
}

/// Opens a token pool with a name, which dumps and events include.
pub(crate) fn push_named(
    manager: &Arc<ManagerShared>,
    name: Cow<'static, str>,
    site: &'static Location<'static>,
) -> PoolToken {
    let token = push(manager, site);
    // Ignores an error: the global allocator is foreign code, and may have popped the pool.
    _ = with_pools_of(manager, token, |pools| {
        let (_, pool) = find(manager, token, pools)?;
        pool.set_name(Some(name));
        Ok(())
    });
    token
}

/// Passes `f` the pools of the calling thread, unless `token` names another manager or thread.
fn with_pools_of<R>(
    manager: &ManagerShared,
    token: PoolToken,
    f: impl FnOnce(&ThreadPools) -> Result<R, PopError>,
) -> Result<R, PopError> {
    if token.manager != manager.id {
        return Err(PopError::WrongManager);
    }
    match token.thread {
        Some(owner) if own_key() != Some(owner) => Err(PopError::WrongThread { owner }),
        // Without pools, the token is stale: the thread's exit has popped the pools left open.
        _ => this_thread::with_any(|pools| pools.map_or(Err(PopError::Stale), f)),
    }
}

/// Drains and closes a pool and all token pools inside it. Returns the number of entries released.
pub(crate) fn pop(manager: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    if wants_drains() {
        return pop_in_span(manager, token);
    }
    pop_now(manager, token)
}

/// Pops as [`pop`] does, in the span of a drain.
#[cold]
#[inline(never)]
fn pop_in_span(manager: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    with_pools_of(manager, token, |pools| {
        let (_, pool) = find(manager, token, pools)?;
        // `pop_now` looks the pool up again, as the subscriber is foreign code, which may pop the
        // pool.
        drain_span::around(pool, || pop_now(manager, token))
    })
}

fn pop_now(manager: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    with_pools_of(manager, token, |pools| {
        let (stack, pool) = find(manager, token, pools)?;
        let mut panics = FirstPanic::default();
        let released = pop_down_to(stack, pool, &mut panics);
        panics.resume();
        Ok(released)
    })
}

/// Drains and closes the pool of `token`, and no other. Returns the number of entries released.
pub(crate) fn close_alone(
    manager: &Arc<ManagerShared>,
    token: PoolToken,
) -> Result<usize, PopError> {
    with_pools_of(manager, token, |pools| {
        let (stack, pool) = find_open(manager, token, pools)?;
        if pool.life.is_draining() {
            return Err(PopError::Draining);
        }
        Ok(engine::close_alone(stack, pool).resume())
    })
}

/// Returns a guard for the pool of `token`, to use the pool, but not to close it.
///
/// # Safety
/// The result is not used once the pool is closed, and never dropped.
pub(crate) unsafe fn pool_of(
    manager: &Arc<ManagerShared>,
    token: PoolToken,
) -> Result<ManuallyDrop<AutoreleasePool>, PopError> {
    with_pools_of(manager, token, |pools| {
        let (_, pool) = find_open(manager, token, pools)?;
        let state = NonNull::from(pool);
        Ok(ManuallyDrop::new(AutoreleasePool { state }))
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
    let (stack, pool) = find_open(manager, token, pools)?;
    if stack.token_is_draining(pool) {
        return Err(PopError::Draining);
    }
    Ok((stack, pool))
}

/// Returns the token's pool and the pool's stack, if the pool is open. `pools` belongs to the token's
/// thread.
#[inline]
fn find_open<'p>(
    manager: &Arc<ManagerShared>,
    token: PoolToken,
    pools: &'p ThreadPools,
) -> Result<(&'p PoolStack, &'p PoolState), PopError> {
    let stack = pools.find(manager).ok_or(PopError::Stale)?;
    let pool = pools.pool(token.index).ok_or(PopError::Stale)?;
    // A pool is a token pool once in each generation. So the stacks differ only if the token was
    // made of words that no token has had.
    if !pool.life.is_token_of(token.generation) || !ptr::eq(pool.stack.get(), stack) {
        return Err(PopError::Stale);
    }
    Ok((stack, pool))
}

/// A token as plain words.
pub type TokenWords = [u64; 3];

/// Returns the words of a token.
pub fn words_of(token: PoolToken) -> TokenWords {
    let thread = token.thread.map_or(0, key_to_word);
    let pool = u64::from(token.index) << 32 | u64::from(token.generation);
    [token.manager, thread, pool]
}

/// Returns the token of these words. If no token has these words, no `pop` accepts the result.
pub fn token_of([manager, thread, pool]: TokenWords) -> PoolToken {
    PoolToken {
        manager,
        thread: (thread != 0).then(|| key_from_word(thread)),
        index: (pool >> 32) as u32,
        generation: pool as u32,
    }
}

/// Returns a thread's key as a word, which is not 0.
pub fn key_to_word(key: ThreadKey) -> u64 {
    u64::from(key.generation()) << 32 | u64::from(key.index())
}

/// Returns the key of a word.
pub fn key_from_word(word: u64) -> ThreadKey {
    ThreadKey::new(word as u32, (word >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoolManager;

    #[test]
    fn pushed_pool_has_its_name() {
        let manager = ManagerShared::global();
        let token = push_named(&manager, "loading".into(), Location::caller());
        this_thread::with(|pools| {
            let found = find(&manager, token, pools.unwrap());
            assert_eq!(found.unwrap().1.name(), "loading");
        });
        assert_eq!(pop(&manager, token), Ok(0));
        let unnamed = push(&manager, Location::caller());
        this_thread::with(|pools| {
            let found = find(&manager, unnamed, pools.unwrap());
            assert_ne!(found.unwrap().1.name(), "loading");
        });
        assert_eq!(pop(&manager, unnamed), Ok(0));
    }

    #[test]
    fn a_pool_state_that_has_used_up_its_generations_is_never_reused() {
        let manager = ManagerShared::global();
        let first = push(&manager, Location::caller());
        assert_eq!(pop(&manager, first), Ok(0));
        let with_state = |f: fn(&PoolState)| {
            this_thread::with(|pools| f(pools.and_then(|pools| pools.pool(first.index)).unwrap()));
        };
        with_state(|state| state.life.use_up_generations());
        let last = push(&manager, Location::caller());
        assert_eq!((last.index, last.generation), (first.index, u32::MAX));
        assert_eq!(pop(&manager, last), Ok(0));
        assert_eq!(pop(&manager, last), Err(PopError::Stale));
        assert_ne!(push(&manager, Location::caller()).index, first.index);
    }

    #[test]
    fn a_token_survives_the_way_through_words() {
        let manager = PoolManager::new();
        let token = manager.push();
        assert_eq!(token_of(words_of(token)), token);
        assert_eq!(manager.pop(token_of(words_of(token))), Ok(0));
        assert!(manager.pop(token_of([0; 3])).is_err());
        // The words of two tokens mixed.
        let token = manager.push();
        let global = PoolManager::global().push();
        let [_, thread, pool] = words_of(token);
        let mixed = token_of([words_of(global)[0], thread, pool]);
        if words_of(global)[2] != pool {
            assert!(PoolManager::global().pop(mixed).is_err());
            assert!(crate::raw::close_pool(mixed).is_err());
        }
        assert_eq!(manager.pop(token), Ok(0));
        assert_eq!(PoolManager::global().pop(global), Ok(0));
        let key = ThreadKey::new(3, 5);
        let token = PoolToken {
            manager: 1,
            thread: Some(key),
            index: 7,
            generation: 9,
        };
        assert_eq!(words_of(token), [1, 5 << 32 | 3, 7 << 32 | 9]);
        assert_eq!(token_of(words_of(token)), token);
    }
}
