//! The constructors of `HomeRef`, which need a thread that has pools; and `PendingHome`, a value
//! that another thread has asked the home to make.

use crate::home::home_ref::HomeRef;
use crate::macros::debug_fields;
use crate::pool::drain::this_thread;
use crate::sync::{Lock, Sleeper, catch_unwind, elapsed};
use crate::thread::current::{current_key, current_or_closed};
use crate::thread::inbox::MessageKind;
use crate::thread::key::{ThreadKey, is_own};
use crate::thread::record::Record;
use crate::thread::thread_handle::{CHECK_INTERVAL, ThreadHandle};
use crate::unwind::{Payload, message_of};
use std::panic::RefUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

// These functions are not beside the type, as they need higher layers: pools, and posted closures.
impl<T> HomeRef<T> {
    /// Makes a new object with one reference, whose home is the calling thread. If the home has
    /// ended when the last reference is dropped, the value is kept for ever, and reported.
    ///
    /// Aborts when memory is exhausted (`handle_alloc_error`).
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new(value: T) -> Self {
        // SAFETY: `home()` returns the record of the calling thread, which has pools if the record
        // takes messages.
        unsafe { Self::make(value, home(), MessageKind::DestroyAtHome) }
    }

    /// Makes a new object like [`new`](Self::new), of a value that any thread may destroy: if its
    /// home has ended when the last reference is dropped, the thread that drops that reference
    /// destroys the value at once.
    ///
    /// ```
    /// use releasepool::HomeRef;
    /// let made = std::thread::spawn(|| HomeRef::new_or_anywhere(vec![1, 2, 3]));
    /// let made = made.join().unwrap();
    /// assert!(made.get().is_none());
    /// drop(made); // here
    /// ```
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_or_anywhere(value: T) -> Self
    where
        T: Send,
    {
        // SAFETY: `home()` returns the record of the calling thread, which has pools if the record
        // takes messages; `T` is Send.
        unsafe { Self::make(value, home(), MessageKind::DestroyAnywhere) }
    }

    /// Asks the thread `home` to make a value, and so to be its home: for a texture, say, that a
    /// worker needs, and that only the render thread can make.
    ///
    /// The closure runs where [posted closures](ThreadHandle::post) do: when that thread calls
    /// [`run_inbox`](crate::PoolManager::run_inbox), or in its [`FrameLoop`](crate::FrameLoop) or
    /// [`Looper`](crate::Looper); at once, if it is the calling thread. Never blocks.
    ///
    /// A thread is a home once it has pools, which
    /// [`current_thread`](crate::PoolManager::current_thread) makes. A thread that others have found in
    /// the [registry](crate::PoolManager::threads) may have none, which is the error
    /// [`NoPools`](NotMade::NoPools). [`PendingHome`] has an example.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn new_on<F>(home: &ThreadHandle, make: F) -> PendingHome<T>
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let shared = Arc::new(Shared {
            outcome: Lock::new(None),
            decided: Sleeper::default(),
        });
        let key = home.key();
        let pending = PendingHome {
            shared: shared.clone(),
            home: home.clone(),
        };
        if is_own(key) {
            shared.decide(make_at(key, make));
        } else if !home.0.had_pools() && home.is_alive() {
            shared.decide(Err(NotMade::NoPools));
        } else if home
            .post(move || shared.decide(make_at(key, make)))
            .is_err()
        {
            pending.shared.decide(Err(NotMade::HomeEnded));
        }
        pending
    }
}

/// Makes a value at its home. Returns an error on any other thread, such as one that runs the
/// orphaned closures of a home that has ended.
#[cfg_attr(feature = "leak-detection", track_caller)]
fn make_at<T: 'static>(home: ThreadKey, make: impl FnOnce() -> T) -> Result<HomeRef<T>, NotMade> {
    // Once a thread has exited, it has no current key, and is no home for new values.
    if current_key() != Some(home) {
        return Err(NotMade::HomeEnded);
    }
    let value = catch_unwind(make).map_err(|payload: Payload| {
        // An `Arc`, as a clone of it under a lock does not call the global allocator.
        NotMade::Panicked(message_of(payload).map(Arc::from))
    })?;
    Ok(HomeRef::new(value))
}

impl<T> PendingHome<T> {
    /// Returns a reference to the value, or the reason why there will be no value; `None` while
    /// neither is known.
    pub fn try_get(&self) -> Option<Result<HomeRef<T>, NotMade>> {
        let mut outcome = self.shared.outcome.lock();
        // A home makes the value before it closes its inbox, or never.
        if outcome.is_none() && !self.home.is_alive() {
            *outcome = Some(Err(NotMade::HomeEnded));
        }
        outcome.clone()
    }

    /// Waits for the value.
    ///
    /// # Errors
    /// [`NotMade`], if there will be no value; and at home, if the home has yet to make the value.
    ///
    /// # Deadlocks
    /// If the home waits for the calling thread, neither goes on: do not call this under a lock that
    /// the home takes. [`wait_within`](Self::wait_within) ends, and [`try_get`](Self::try_get) does not
    /// wait.
    pub fn wait(&self) -> Result<HomeRef<T>, NotMade> {
        loop {
            if let Some(outcome) = self.wait_within(Duration::MAX) {
                return outcome;
            }
        }
    }

    /// Waits for the value, for `limit` at most; returns `None` if the home has not made it by then.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_within(&self, limit: Duration) -> Option<Result<HomeRef<T>, NotMade>> {
        let until = elapsed().saturating_add(limit);
        let left = || until.saturating_sub(elapsed());
        loop {
            // In this order, no wake-up is missed, and a value that was made in time is found.
            match (self.shared.decided.ticket(), left(), self.try_get()) {
                (_, _, Some(outcome)) => return Some(outcome),
                _ if is_own(self.home.key()) => return Some(Err(NotMade::AtHome)),
                (_, Duration::ZERO, _) => return None,
                (seen, left, _) => self.shared.decided.sleep(seen, left.min(CHECK_INTERVAL)),
            }
        }
    }

    /// Returns the thread that makes the value.
    pub fn home(&self) -> &ThreadHandle {
        &self.home
    }
}

// A panic leaves nothing half done: under the lock, one assignment sets the outcome.
impl<T> RefUnwindSafe for Shared<T> {}

debug_fields! { [T] PendingHome<T>: |this| home = this.home, .. }

/// Returns the calling thread's record. The record accepts messages only if the thread has pools,
/// whose exit runs the remaining messages on this thread.
fn home() -> Arc<Record> {
    // Makes the pools, if the thread has not exited. If it is exiting, its inbox is closed already,
    // or the exit of its pools will close it.
    this_thread::with(|_| ());
    current_or_closed()
}

/// Why a [`PendingHome`] has no value.
///
/// # Example
/// ```
/// use releasepool::home::NotMade;
/// use releasepool::HomeRef;
///
/// let thread = std::thread::spawn(|| releasepool::PoolManager::global().current_thread().unwrap());
/// let ended = thread.join().unwrap();
/// let pending = HomeRef::new_on(&ended, || 5);
/// assert_eq!(pending.wait().err(), Some(NotMade::HomeEnded));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotMade {
    /// The home ended before it made the value.
    #[error("the home thread ended before it made the value")]
    HomeEnded,
    /// The thread that was to be the home has no pools: it has never opened one, run its inbox or
    /// called [`current_thread`](crate::PoolManager::current_thread). So it may never make the
    /// value, and could not destroy the value.
    #[error("the thread has no pools, so it cannot be a home: open one there, or call run_inbox")]
    NoPools,
    /// The closure that makes the value panicked. Contains the panic's message, if that is a text.
    #[error(
        "the closure that makes the value panicked{}{}",
        if _0.is_some() { ": " } else { "" },
        _0.as_deref().unwrap_or_default()
    )]
    Panicked(Option<Arc<str>>),
    /// The home itself waits for the value, which it makes in its next
    /// [`run_inbox`](crate::PoolManager::run_inbox) or round of its loop. Not final.
    #[error("the home cannot wait for a value that it makes itself: call run_inbox there")]
    AtHome,
}

/// A value that a [home](HomeRef) has been asked to make, by [`HomeRef::new_on`].
///
/// Any thread may hold a `PendingHome`, look whether the value is there, or wait for it, and then
/// gets an ordinary [`HomeRef`]. A drop of the `PendingHome` does not cancel: the home makes the
/// value, and destroys it if nobody has a `HomeRef`. The `PendingHome` holds a `HomeRef` itself, so
/// drop the `PendingHome` when you have your own.
///
/// # When not to use it
/// If the calling thread is the home, use [`HomeRef::new`]. For a result that need not stay on its
/// thread, use [`LoopProxy::call`](crate::frame::LoopProxy::call) or a channel.
///
/// # Cost
/// Two allocations besides the value: for the outcome and for a message. A wait sleeps, and checks
/// every 20 milliseconds that the home still exists. Send and Sync, whatever `T` is.
///
/// # Example
/// ```
/// use releasepool::{HomeRef, Looper};
/// use std::rc::Rc;
///
/// let looper = Looper::spawn("home")?;
/// let pending = HomeRef::new_on(looper.thread(), || Rc::new(5)); // need not be Send
/// let there = pending.wait()?;
/// assert!(there.get().is_none(), "this thread is not its home");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct PendingHome<T: 'static> {
    shared: Arc<Shared<T>>,
    home: ThreadHandle,
}

/// The state that the home shares with the thread that asked for the value.
struct Shared<T: 'static> {
    outcome: Lock<Outcome<T>>,
    decided: Sleeper,
}

/// `None` until `Shared::decide` or `PendingHome::try_get` sets the outcome, which is then final.
type Outcome<T> = Option<Result<HomeRef<T>, NotMade>>;

impl<T> Shared<T> {
    /// Decides the outcome, unless it is decided already.
    fn decide(&self, result: Result<HomeRef<T>, NotMade>) {
        // `_late`, a result that came too late, is dropped after unlocking: that runs foreign code.
        let _late = {
            let mut outcome = self.outcome.lock();
            match &*outcome {
                None => outcome.replace(result),
                Some(_) => Some(result),
            }
        };
        self.decided.wake();
    }
}
