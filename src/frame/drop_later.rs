//! Destruction of values by a reclaimer.

use super::call::OneShot;
use super::looper::Looper;
use super::proxy::LooperProxy;
use super::reclaim::WaitingValue;
use crate::object::later_value;
use crate::pool::manager::PoolManager;
use crate::pool::stack::budget::Budget;
use crate::sync::elapsed;
use crate::sync::thread::yield_now;
use crate::thread::current::{current, current_key, is_exiting, tally_handed_over};
use crate::thread::key::ThreadKey;
use crate::unwind::reporting;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

/// The error of [`Looper::try_drop_later`], with the value: the reclaimer has no room for it, or has
/// ended.
///
/// # Example
/// ```
/// use releasepool::{Full, Looper};
///
/// let reclaimer = Looper::reclaimer("reclaimer")?;
/// if let Err(Full(value)) = reclaimer.try_drop_later(vec![1, 2, 3]) {
///     drop(value); // no room: here, or keep it and try again
/// }
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reclaimer has no room for the value, or has ended; the value was not sent")]
pub struct Full<T>(pub T);

impl<T> Full<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Full(..)")
    }
}

/// The error of [`Looper::barrier`] on the looper's own thread, which cannot wait for itself.
///
/// # Example
/// ```
/// use releasepool::{Looper, OnReclaimer};
/// use std::sync::Arc;
///
/// let reclaimer = Arc::new(Looper::reclaimer("reclaimer")?);
/// assert_eq!(reclaimer.barrier(), Ok(()));
/// let there = reclaimer.clone();
/// let own = reclaimer.call(move || there.barrier());
/// assert_eq!(own.ok(), Some(Err(OnReclaimer)));
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a looper's own thread cannot wait until that looper has destroyed its values")]
pub struct OnReclaimer;

/// The values that wait for a reclaimer, at about one moment: see [`Looper::pending`].
///
/// # Example
/// ```
/// let reclaimer = releasepool::Looper::reclaimer("reclaimer")?;
/// reclaimer.drop_later_weighed(vec![0_u8; 4_096], 4_096);
/// println!("{}", reclaimer.pending()); // how many values, bytes, and of which types
/// reclaimer.barrier()?;
/// assert_eq!(reclaimer.pending().values, 0);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingDrops {
    /// How many values and references wait, the one whose destructor runs included.
    pub values: usize,
    /// The bytes of those values that their senders have [weighed](Looper::drop_later_weighed).
    pub bytes: u64,
    /// How long the reclaimer has been at work without a pause: no value has waited longer.
    pub busy: Duration,
    /// The types of the values that were passed to `drop_later`, and how many of each wait; the most
    /// frequent type first. Types after the first sixty or so are counted as "other types".
    pub types: Vec<(&'static str, usize)>,
}

impl fmt::Display for PendingDrops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (values, bytes, busy) = (self.values, self.bytes, self.busy);
        write!(f, "{values} waiting, {bytes} bytes, busy for {busy:?}")?;
        for (i, (name, n)) in self.types.iter().enumerate() {
            write!(f, "{} {n} of {name}", if i == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

/// Why a value was not sent: it stays where it is.
enum Refusal {
    /// The calling thread must destroy it, whatever the bounds.
    Here,
    NoRoom,
}

/// Destruction of values, for threads that have no time for it.
///
/// A graph of objects, a parsed document, a large map: whoever drops the last owner pays for all of
/// it. These functions move the value to the looper's thread, which destroys it between its
/// [commands](Self::post). The value need only be `Send`, and should have one owner. For a counted reference that others may still
/// share, use [`ThreadHandle::release`](crate::ThreadHandle::release); for a value that only one
/// certain thread may destroy, [`HomeRef`](crate::HomeRef); for many small values at once,
/// [`HandoffPool::push_value`](crate::HandoffPool::push_value).
///
/// # When not to use them
/// For values that are destroyed in less time than it takes to send them: 15 to 30 nanoseconds while
/// the looper is busy, and some 12,000 if it sleeps and must be woken by a system call. A box or a short
/// string is cheaper to drop. For values whose destructors must have run when the caller goes
/// on, such as a lock's guard or a file that is opened again. For large arrays that are not in a box: a value
/// moves into the message, by way of the stack, so `Box` it where it is made; a build that is not optimized has
/// some four copies of it on the stack.
///
/// # Bounds, and deadlocks
/// A [reclaimer](Self::reclaimer) accepts values up to the bounds of its
/// [`ReclaimerConfig`](crate::ReclaimerConfig); a looper that was [spawned](Self::spawn) up to the
/// default bounds. Beyond them, [`WhenFull`](crate::WhenFull) says what the sender does: so memory is
/// bounded, however fast the senders are. Both choices can deadlock if the sender holds a lock that a
/// destructor takes, and waiting can if a destructor or command of the looper waits for the sender, as by
/// joining its thread; [`try_drop_later`](Self::try_drop_later) cannot. [`barrier`](Self::barrier) and
/// [`wait_idle`](Self::wait_idle) wait for destructors, too.
///
/// # Where the destructor runs
/// On the looper's thread; but on the calling thread, at once, if that is the looper's own, if its
/// [exit](crate::ThreadHandle::is_alive) has begun, if the looper has ended, or if the reclaimer is
/// full and [`WhenFull`](crate::WhenFull) says so. Its panic is reported as an [event](crate::event), and the values after it are destroyed all the
/// same; on the calling thread, it comes out of the call.
///
/// # The end
/// [`shutdown`](Self::shutdown), or dropping the looper, waits until every value has been destroyed.
/// Rust runs no code at a process's end: values that wait for a looper that nobody has shut down are
/// then lost. In a child of `fork`, which has no thread but the one that called it, nobody destroys what is sent to a
/// looper of the parent, and a sender that waits at the bound waits for ever: spawn loopers after `fork`.
///
/// # Cost
/// One block of memory for value and message, three or four read-modify-writes, and a wake-up if the looper
/// sleeps. Lock-free unless the looper sleeps or the bound is reached.
impl Looper {
    /// Has the looper's thread destroy `value`. See [bounds](#bounds-and-deadlocks).
    ///
    /// ```
    /// use releasepool::Looper;
    /// use std::collections::BTreeMap;
    /// let reclaimer = Looper::reclaimer("reclaimer")?;
    /// let index: BTreeMap<u32, String> = (0..1_000).map(|n| (n, n.to_string())).collect();
    /// reclaimer.drop_later(index);   // returns at once
    /// reclaimer.shutdown().unwrap(); // waits until the map has been destroyed
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    /// With the panic of the value's destructor, if that runs on the calling thread.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn drop_later<T: Send + 'static>(&self, value: T) {
        self.proxy.drop_later(value);
    }

    /// Has the looper's thread destroy `value`, and counts `bytes` for the
    /// [bound on bytes](crate::ReclaimerConfig::bytes): an estimate of what the value owns.
    ///
    /// # Panics
    /// As [`drop_later`](Self::drop_later) does.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn drop_later_weighed<T: Send + 'static>(&self, value: T, bytes: usize) {
        self.proxy.drop_later_weighed(value, bytes);
    }

    /// Has the looper's thread destroy `value`, if there is room for it. Never waits, and never
    /// destroys the value on another thread than the looper's; so it is safe under any lock.
    ///
    /// # Errors
    /// Returns [`Full`] with the value if the bound is reached, the looper has ended, the calling thread is
    /// the looper's own, or its exit has begun.
    ///
    /// ```
    /// use releasepool::{Full, Looper};
    /// let reclaimer = Looper::reclaimer("reclaimer")?;
    /// if let Err(Full(text)) = reclaimer.try_drop_later(String::from("large")) {
    ///     println!("{text} stays here");
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_drop_later<T: Send + 'static>(&self, value: T) -> Result<(), Full<T>> {
        self.proxy.try_drop_later(value)
    }

    /// Waits until the looper has destroyed all values, and released all references, that the calling
    /// thread, or a thread that it has synchronized with, had sent before.
    ///
    /// The looper does this before the commands that are posted later. Two loopers whose commands call this for
    /// each other wait for ever.
    ///
    /// # Errors
    /// [`OnReclaimer`] on the looper's own thread.
    ///
    /// ```
    /// use releasepool::Looper;
    /// use std::sync::Arc;
    /// let reclaimer = Looper::reclaimer("reclaimer")?;
    /// let shared = Arc::new(());
    /// reclaimer.drop_later(vec![shared.clone()]);
    /// reclaimer.barrier().unwrap();
    /// assert_eq!(Arc::strong_count(&shared), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn barrier(&self) -> Result<(), OnReclaimer> {
        if current_key() == Some(self.thread().key()) {
            return Err(OnReclaimer);
        }
        // Not refused: a looper that is being shut down cannot be borrowed.
        _ = self.call(destroy_all);
        Ok(())
    }

    /// Waits until no value or reference waits for the looper, or for `timeout` at most. Returns whether
    /// none waits; false at once on the looper's own thread.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        if current_key() == Some(self.thread().key()) {
            return false;
        }
        // Not refused, as in `barrier`.
        self.proxy.is_idle_within(timeout)
    }

    /// Returns what waits for the looper, for a dashboard or to slow senders down.
    pub fn pending(&self) -> PendingDrops {
        self.proxy.pending()
    }
}

/// See [destruction of values](Looper#impl-Looper-1).
impl LooperProxy {
    /// Has the looper's thread destroy `value`: see [`Looper::drop_later`].
    ///
    /// # Panics
    /// With the panic of the value's destructor, if that runs on the calling thread.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn drop_later<T: Send + 'static>(&self, value: T) {
        // SAFETY: the value is not used again.
        unsafe { self.send(&mut ManuallyDrop::new(value), 0) };
    }

    /// Has the looper's thread destroy `value`, and counts `bytes` for the bound on bytes: see
    /// [`Looper::drop_later_weighed`].
    ///
    /// # Panics
    /// As [`drop_later`](Self::drop_later) does.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn drop_later_weighed<T: Send + 'static>(&self, value: T, bytes: usize) {
        // SAFETY: the value is not used again.
        unsafe { self.send(&mut ManuallyDrop::new(value), bytes as u64) };
    }

    /// Has the looper's thread destroy `value`, if there is room for it: see
    /// [`Looper::try_drop_later`].
    ///
    /// # Errors
    /// As [`Looper::try_drop_later`].
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_drop_later<T: Send + 'static>(&self, value: T) -> Result<(), Full<T>> {
        let mut value = ManuallyDrop::new(value);
        // SAFETY: the value is used again only if it was not taken.
        let refused = unsafe { self.send_value(&mut value, 0) }.err();
        if let Some(Refusal::NoRoom) = refused {
            self.reclaim.go_away(&self.thread().0);
        }
        match refused {
            None => Ok(()),
            Some(_) => Err(Full(ManuallyDrop::into_inner(value))),
        }
    }

    /// Returns what waits for the looper: see [`Looper::pending`].
    pub fn pending(&self) -> PendingDrops {
        PendingDrops {
            values: self.thread().0.releases.waiting() as usize,
            bytes: self.reclaim.bytes(),
            busy: self.reclaim.busy(),
            types: self.reclaim.types.waiting(),
        }
    }

    /// Waits until no value or reference waits for the looper, for `timeout` at most, or until the looper
    /// refuses commands. Returns whether none waits.
    pub(super) fn is_idle_within(&self, timeout: Duration) -> bool {
        let until = elapsed().saturating_add(timeout);
        let is_idle = || self.thread().0.releases.waiting() == 0;
        loop {
            let left = until.saturating_sub(elapsed());
            let done = Arc::new(OneShot::new());
            let there = done.clone();
            let posted = self.post(move || {
                destroy_all();
                there.put(());
            });
            if posted.is_err() || done.take_within(Some(left)).is_none() {
                return is_idle();
            }
            if is_idle() {
                return true;
            }
            // A sender may have counted its value, and not sent it yet.
            yield_now();
        }
    }

    /// Sends a value to the looper; where that is not possible, destroys it. The value is not moved but
    /// into the message: see [`later_value::message`].
    ///
    /// # Safety
    /// Takes the value: the caller does not use it again.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(super) unsafe fn send<T: Send + 'static>(&self, value: &mut ManuallyDrop<T>, bytes: u64) {
        let record = &self.thread().0;
        loop {
            // SAFETY: the value is used again only if it was not taken.
            match unsafe { self.send_value(value, bytes) } {
                Ok(()) => return,
                Err(Refusal::Here) => break,
                Err(Refusal::NoRoom) => {}
            }
            if !self.reclaim.wait_for_room(record, bytes) {
                self.reclaim.go_away(record);
                break;
            }
        }
        // SAFETY: the value was not taken; by the contract this is its last use.
        unsafe { ManuallyDrop::drop(value) };
    }

    /// Sends a value to the looper.
    ///
    /// # Safety
    /// Takes the value, unless it is refused: else the caller does not use it again.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    unsafe fn send_value<T: Send + 'static>(
        &self,
        value: &mut ManuallyDrop<T>,
        bytes: u64,
    ) -> Result<(), Refusal> {
        let record = &self.thread().0;
        if must_stay(record.key()) || record.is_closed() {
            return Err(Refusal::Here);
        }
        let Some(waiting) = self.reclaim.admit::<T>(record, bytes) else {
            return Err(Refusal::NoRoom);
        };
        // SAFETY: taken, by the contract, or put back below.
        let message = unsafe { later_value::message(value, waiting, record.key()) };
        match record.send_admitted(message) {
            Ok(()) => {
                tally_handed_over(1);
                Ok(())
            }
            Err(back) => {
                // SAFETY: made above, with these types and this value, and given back.
                let waiting = unsafe { later_value::take_back::<T, WaitingValue>(back, value) };
                self.reclaim.retract(waiting);
                Err(Refusal::Here)
            }
        }
    }
}

/// Returns whether a value for the reclaimer `target` must be destroyed on the calling thread.
fn must_stay(target: ThreadKey) -> bool {
    match current_key() {
        Some(own) => own == target || is_exiting(),
        None => current().is_none(),
    }
}

/// Destroys all that waits for the calling thread. Reports panics: they do not concern the thread that
/// waits for this.
fn destroy_all() {
    reporting(|| PoolManager::global().drain_backlog(Budget::All));
}
