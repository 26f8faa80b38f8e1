//! Pools that are named by tokens: for foreign code, which cannot hold a guard.

use super::drain;
use super::manager_shared::ManagerShared;
use super::pool_stack::{PoolKind, PoolStack, PoolState};
use super::prune::find_or_add;
use super::this_thread;
use crate::event::{Event, EventKind};
use crate::thread::current::current_label;
use crate::thread::key::ThreadKey;
use crate::unwind::{FirstPanic, resume_or_report};
use std::ptr;
use std::sync::Arc;

/// Names one pool that was pushed by
/// [`PoolManager::push`](crate::PoolManager::push); plain data, for foreign code.
///
/// It is good for one [`pop`](crate::PoolManager::pop), by the same manager on the
/// same thread; every other use is an error, and never harms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolToken {
    manager: u64,
    /// `None` if the thread had already exited: nothing was pushed.
    thread: Option<ThreadKey>,
    index: u32,
    generation: u32,
}

/// Why a pool was not popped. Nothing has happened then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PopError {
    /// The pool has been popped already.
    #[error("the pool of this token has been popped already")]
    Stale,
    /// Pools are popped by the thread that pushed them.
    #[error("the pool of this token belongs to thread {owner}")]
    WrongThread {
        /// The thread that pushed it.
        owner: ThreadKey,
    },
    /// Pools are popped by the manager that pushed them.
    #[error("the pool of this token belongs to another manager")]
    WrongManager,
    /// A drain of this pool, or of a token pool inside it, is going on, and the
    /// caller is one of the destructors that it runs.
    #[error("the pool of this token is being drained by a caller of this call")]
    Draining,
}

/// Opens a pool, which is current from now on.
pub(crate) fn push(namespace: &Arc<ManagerShared>) -> PoolToken {
    this_thread::with(|local| {
        let manager = namespace.id;
        let Some(local) = local else {
            return PoolToken {
                manager,
                thread: None,
                index: 0,
                generation: 0,
            };
        };
        let stack = find_or_add(local, namespace);
        // SAFETY: heads live as long as the block.
        let head = unsafe { local.open(stack, PoolKind::Token).as_ref() };
        stack.push_token(head);
        PoolToken {
            manager,
            thread: local.key(),
            index: head.index,
            generation: head.generation.get(),
        }
    })
}

/// Drains and closes a pool and all token pools inside it; gives the number of
/// entries released.
pub(crate) fn pop(namespace: &Arc<ManagerShared>, token: PoolToken) -> Result<usize, PopError> {
    if token.manager != namespace.id {
        return Err(PopError::WrongManager);
    }
    this_thread::with(|local| {
        let Some(owner) = token.thread else {
            return if local.is_none() {
                Ok(0)
            } else {
                Err(PopError::Stale)
            };
        };
        let Some(local) = local.filter(|local| local.key() == Some(owner)) else {
            return Err(PopError::WrongThread { owner });
        };
        let stack = local.find(namespace).ok_or(PopError::Stale)?;
        let head = local.pool(token.index).ok_or(PopError::Stale)?;
        if !is_open(head, token.generation) {
            return Err(PopError::Stale);
        }
        // As of its generation it has been opened once, by this manager.
        debug_assert!(ptr::eq(head.stack.get(), stack));
        if stack.token_is_draining(head) {
            return Err(PopError::Draining);
        }
        Ok(pop_down_to(stack, head))
    })
}

/// Whether the token pool of this generation has not been closed.
fn is_open(head: &PoolState, generation: u32) -> bool {
    head.generation.get() == generation && head.kind.get() == PoolKind::Token
}

fn pop_down_to(stack: &PoolStack, head: &PoolState) -> usize {
    let generation = head.generation.get();
    let mut panics = FirstPanic::default();
    let mut released = 0;
    let mut rounds = 0;
    while let Some(last) = stack.last_token() {
        if last.entries.is_untouched() && !stack.thread_pools().has_duties(stack) {
            let found = ptr::eq(last, head);
            stack.close_token(last);
            if found {
                break;
            }
            continue;
        }
        let outcome = drain::drain(last, None);
        released += outcome.released;
        rounds += 1;
        // Destructors may have pushed others, which go first.
        let closing = stack.last_token().is_some_and(|now| ptr::eq(now, last));
        if closing {
            stack.close_token(last);
        }
        // Only now: foreign code hears of it, which may pop and push, and so may put
        // another pool in the place of this one.
        if let Some(payload) = outcome.panic {
            panics.note(payload);
        }
        let found = ptr::eq(last, head);
        if rounds == drain::WARN_AT && !found {
            let event = Event::new(EventKind::EndlessDrain, current_label());
            event.pool("token").count(rounds as usize).emit();
        }
        if closing && found || !is_open(head, generation) {
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
    use crate::pool::manager_shared::ManagerSettings;

    #[test]
    fn a_place_whose_generations_are_used_up_is_never_used_again() {
        let namespace = Arc::new(ManagerShared::new(ManagerSettings::default()));
        let first = push(&namespace);
        assert_eq!(pop(&namespace, first), Ok(0));
        let head = |f: fn(&PoolState)| {
            this_thread::with(|local| f(local.and_then(|local| local.pool(first.index)).unwrap()));
        };
        head(|head| head.generation.set(u32::MAX));
        let last = push(&namespace);
        assert_eq!((last.index, last.generation), (first.index, u32::MAX));
        assert_eq!(pop(&namespace, last), Ok(0));
        assert_eq!(pop(&namespace, last), Err(PopError::Stale));
        assert_ne!(push(&namespace).index, first.index);
    }
}
