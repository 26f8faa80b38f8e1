//! `Reclaimer`: a thread that destroys values for others; its bounds, and what it refuses.

use super::reclaimer_state::{ReclaimerState, WaitingValue, on_own_thread};
use crate::frame::looper::Looper;
use crate::frame::proxy::LoopProxy;
use crate::macros::{debug_fields, setters};
use crate::object::later_value;
use crate::pool::manager::PoolManager;
use crate::pool::stack::budget::Budget;
use crate::sync::thread::yield_now;
use crate::sync::{Lock, elapsed};
use crate::thread::current::{current, current_key, is_exiting, tally_handed_over};
use crate::thread::key::{ThreadKey, is_own};
use crate::thread::thread_handle::ThreadHandle;
use crate::unwind::reporting;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

/// A thread that destroys values for other threads, which have no time for it.
///
/// A graph of objects, a parsed document, a large map: whoever drops the last owner pays for all of
/// it. [`drop_later`](Self::drop_later) moves the value to the reclaimer's thread, which destroys
/// it there. The value need only be `Send`, and should have one owner. What else a thread can give
/// away:
///
/// | what | how |
/// |---|---|
/// | a tree that several owners share, whoever drops it last | [`Ref<Later<T>>`](super::Later) |
/// | a reference that others may still hold | [`ThreadHandle::release`], with [`thread`](Self::thread) |
/// | a whole pool of references, in one message | [`HandoffPool::drain_on`](crate::HandoffPool::drain_on) |
/// | many values at once | a `Vec` of them, and [`drop_later_weighed`](Self::drop_later_weighed) |
/// | a value that only one certain thread may destroy | [`HomeRef`](crate::HomeRef) |
///
/// For most programs the reclaimer of the process is enough, which
/// [`drop_later`](crate::drop_later) starts.
///
/// ```
/// use releasepool::Reclaimer;
/// use std::collections::BTreeMap;
/// use std::time::Duration;
/// let reclaimer = Reclaimer::new("reclaimer")?;
/// let index: BTreeMap<u32, String> = (0..1_000).map(|n| (n, n.to_string())).collect();
/// reclaimer.drop_later(index); // returns at once
/// assert!(reclaimer.finish(Duration::from_secs(10))); // the map has been destroyed
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # When not to use it
/// For values that are destroyed in less time than it takes to send them: 15 to 30 nanoseconds
/// while the reclaimer is busy, and some 12,000 if it sleeps and must be woken by a system call. A
/// box or a short string is cheaper to drop. For values whose destructors must have run when the
/// caller goes on, such as a lock's guard or a file that is opened again. For large arrays that are
/// not in a box: a value moves into the message, by way of the stack, so `Box` it where it is made;
/// a build that is not optimized has some four copies of it on the stack. For closures, use a
/// [`Looper`].
///
/// # Bounds, and deadlocks
/// A reclaimer accepts values up to the bounds of its [`ReclaimerBuilder`]. Beyond them,
/// [`WhenFull`] says what the sender does. So what waits is bounded in number, and in bytes if
/// senders weigh their values. Both choices can deadlock if the sender holds a lock that a
/// destructor takes. [`Wait`](WhenFull::Wait) can also deadlock if a destructor waits for the
/// sender, as by a join. [`try_drop_later`](Self::try_drop_later) cannot deadlock.
/// [`barrier`](Self::barrier), [`wait_idle`](Self::wait_idle), [`finish`](Self::finish) and a
/// reclaimer's drop wait for destructors, too: two reclaimers that drop each other wait for ever.
/// References that are [released](ThreadHandle::release) on its thread, and
/// [pools](crate::HandoffPool::drain_on), count towards the bound on values; a sender that finds no
/// room releases them itself, at once.
///
/// # Where the destructor runs
/// On the reclaimer's thread; but at once on the calling thread, if this is the reclaimer's own or
/// has begun its [exit](ThreadHandle::is_alive), if the reclaimer has ended, or if it is full and
/// [`WhenFull`] says so. In these cases a panic of the destructor comes out of the call. Otherwise
/// it is reported as an [event](crate::event), and the next values are destroyed all the same.
///
/// # Threads
/// Send and Sync: share it by reference or in an `Arc`. Its thread also runs closures that are
/// [posted](ThreadHandle::post) by its handle, between two rounds of destructors.
///
/// # The end
/// [`finish`](Self::finish), or dropping the reclaimer, waits until every value has been destroyed.
/// Rust runs no code at a process's end: values that wait for a reclaimer that nobody has ended are
/// then lost. In a child of `fork`, which has no thread but the one that called it, nobody destroys
/// what is sent to a reclaimer of the parent, and a sender that waits at the bound waits for ever:
/// spawn reclaimers after `fork`.
///
/// # Cost
/// A thread. A value takes one block of memory, together with its message, three or four
/// read-modify-writes, and a wake-up if the reclaimer sleeps. Lock-free unless the reclaimer sleeps
/// or the bound is reached.
pub struct Reclaimer {
    proxy: LoopProxy,
    state: Arc<ReclaimerState>,
    /// `None` once the reclaimer has ended and `finish` has joined its thread.
    looper: Lock<Option<Looper>>,
}

impl Reclaimer {
    /// Starts a reclaimer with the default bounds, on a thread of this name.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn new(name: &str) -> io::Result<Self> {
        Self::builder().spawn(name)
    }

    /// Returns the default settings: 100,000 values, 256 MiB of weighed bytes, and senders wait.
    pub fn builder() -> ReclaimerBuilder {
        ReclaimerBuilder::default()
    }

    /// Makes the reclaimer destroy `value`. See [bounds](#bounds-and-deadlocks).
    ///
    /// # Panics
    /// With the panic of the value's destructor, if that runs on the calling thread.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn drop_later<T: Send + 'static>(&self, value: T) {
        // SAFETY: the value is not used again.
        unsafe { self.send(&mut ManuallyDrop::new(value), 0) };
    }

    /// Makes the reclaimer destroy `value`, and counts `bytes` for the [bound on
    /// bytes](ReclaimerBuilder::bytes): an estimate of what the value owns. For many values at
    /// once, send a `Vec` of them: it takes one message, and one place of the bound on values.
    ///
    /// ```
    /// use releasepool::Reclaimer;
    /// let reclaimer = Reclaimer::new("reclaimer")?;
    /// let evicted: Vec<Box<[u8]>> = (0..100).map(|_| vec![0; 1_000].into()).collect();
    /// reclaimer.drop_later_weighed(evicted, 100 * 1_000);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Panics
    /// As [`drop_later`](Self::drop_later) does.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn drop_later_weighed<T: Send + 'static>(&self, value: T, bytes: usize) {
        // SAFETY: the value is not used again.
        unsafe { self.send(&mut ManuallyDrop::new(value), bytes as u64) };
    }

    /// Makes the reclaimer destroy `value`, if there is room for it. Never waits, and never
    /// destroys the value on another thread than the reclaimer's; so it is safe under any lock.
    ///
    /// # Errors
    /// Returns [`Full`] with the value if the bound is reached, the reclaimer has ended, the
    /// calling thread is the reclaimer's own, or the calling thread's exit has begun.
    ///
    /// ```
    /// use releasepool::{Reclaimer, reclaim::Full};
    /// let reclaimer = Reclaimer::new("reclaimer")?;
    /// if let Err(Full(text)) = reclaimer.try_drop_later(String::from("large")) {
    ///     println!("{text} stays here");
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn try_drop_later<T: Send + 'static>(&self, value: T) -> Result<(), Full<T>> {
        let mut value = ManuallyDrop::new(value);
        // SAFETY: the value is used again only if it was not taken.
        let refused = unsafe { self.send_value(&mut value, 0) }.err();
        match refused {
            None => return Ok(()),
            Some(Refusal::NoRoom) => self.state.go_away(&self.thread().0),
            Some(Refusal::Here) => {}
        }
        Err(Full(ManuallyDrop::into_inner(value)))
    }

    /// Waits until the reclaimer has destroyed all values, and released all references, that the
    /// calling thread, or a thread with which it has synchronized, has sent before. Then returns
    /// true; returns false at once on the reclaimer's own thread, which cannot wait for itself.
    ///
    /// ```
    /// use releasepool::Reclaimer;
    /// use std::sync::Arc;
    /// let reclaimer = Reclaimer::new("reclaimer")?;
    /// let shared = Arc::new(());
    /// reclaimer.drop_later(vec![shared.clone()]);
    /// assert!(reclaimer.barrier());
    /// assert_eq!(Arc::strong_count(&shared), 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Deadlocks
    /// Two reclaimers whose destructors call this for each other wait for ever.
    pub fn barrier(&self) -> bool {
        // A reclaimer that was told to end refuses the closure, and destroys all that waits before
        // it ends.
        !is_own(self.thread().key())
            && (self.proxy.call(destroy_all).is_ok() || self.state.room.has_ended_by(Duration::MAX))
    }

    /// Waits until no value or reference waits for the reclaimer, or for `timeout` at most. Returns
    /// whether none waits; false at once on the reclaimer's own thread.
    pub fn wait_idle(&self, timeout: Duration) -> bool {
        if is_own(self.thread().key()) {
            return false;
        }
        let until = elapsed().saturating_add(timeout);
        let is_idle = || self.thread().0.releases.waiting() == 0;
        let runs = || self.proxy.run_by(until, destroy_all);
        // A reclaimer that was told to end refuses the closure, and destroys all before it ends.
        while runs() || self.state.room.has_ended_by(until) {
            if is_idle() {
                return true;
            }
            // A sender may have counted its value, and not sent it yet.
            yield_now();
        }
        is_idle()
    }

    /// Tells the reclaimer to destroy all that waits and to end, and waits for its thread, for
    /// `deadline` at most. Returns whether the reclaimer has ended; if not, it goes on, and this
    /// can be called again. Once it has ended, senders destroy values themselves.
    ///
    /// On the reclaimer's own thread, this only tells it to end, and returns false. The panic of a
    /// destructor is reported as an [event](crate::event). Destructors of thread-locals on that thread
    /// run at its end, and are waited for beyond the deadline.
    ///
    /// ```
    /// use releasepool::Reclaimer;
    /// use std::time::Duration;
    /// let reclaimer = Reclaimer::new("reclaimer")?;
    /// reclaimer.drop_later(vec![String::from("a log that its destructor writes")]);
    /// if !reclaimer.finish(Duration::from_secs(10)) {
    ///     eprintln!("not destroyed yet: {}", reclaimer.pending());
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn finish(&self, deadline: Duration) -> bool {
        self.finish_by(elapsed().saturating_add(deadline))
    }

    /// Does what [`finish`](Self::finish) does, until `elapsed` reaches `until`.
    pub(super) fn finish_by(&self, until: Duration) -> bool {
        self.proxy.ask_to_close();
        if is_own(self.thread().key()) || !self.state.room.has_ended_by(until) {
            return false;
        }
        // Waits for the thread, which only has to destroy its thread-locals. Holds the lock
        // meanwhile, so that other callers wait for the thread, too.
        drop(self.looper.lock().take());
        true
    }

    /// Returns what waits for the reclaimer, for a dashboard or to slow senders down.
    pub fn pending(&self) -> PendingDrops {
        PendingDrops {
            values: self.thread().0.releases.waiting() as usize,
            bytes: self.state.bytes(),
            busy: self.state.busy(),
            types: self.state.types.waiting(),
        }
    }

    /// Returns the handle of the reclaimer's thread: to release references there, to hand pools
    /// over to it, or to set the thread's priority by a closure.
    pub fn thread(&self) -> &ThreadHandle {
        self.proxy.thread()
    }
}

// A panic leaves no reclaimer in an inconsistent state.
impl UnwindSafe for Reclaimer {}
impl RefUnwindSafe for Reclaimer {}

debug_fields! {
    Reclaimer: |this|
        thread = this.thread(), closed = this.proxy.is_closed(), pending = this.pending(), ..
}

/// What a sender does with a value for which a reclaimer has no room.
///
/// No choice is free of deadlocks: if the sender holds a lock that a destructor takes, then waiting
/// for room waits for that destructor, and a destructor that runs in the sender takes the lock a
/// second time. Where a lock may be held, use [`Reclaimer::try_drop_later`], which never waits and
/// runs no destructor.
///
/// # Example
/// ```
/// use releasepool::{Reclaimer, reclaim::WhenFull};
///
/// let builder = Reclaimer::builder().values(10_000).when_full(WhenFull::DestroyHere);
/// let reclaimer = builder.spawn("reclaimer")?;
/// reclaimer.drop_later(vec![1, 2, 3]); // there, or here if 10,000 values wait
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenFull {
    /// The sender sleeps until there is room. On the thread of another reclaimer, which must not
    /// wait, the value is destroyed at once instead.
    #[default]
    Wait,
    /// The sender destroys the value itself, at once.
    DestroyHere,
}

/// The settings of a [`Reclaimer`] that is about to be spawned: how much may wait for it.
///
/// A reclaimer is one thread, which destroys values in the order in which they came. Where one
/// thread is too slow, start several reclaimers and send each a share. All that the destruction of
/// one tree releases is destroyed on the same thread.
///
/// ```
/// use releasepool::{Reclaimer, reclaim::WhenFull};
/// let reclaimer = Reclaimer::builder()
///     .values(10_000)
///     .bytes(64 << 20)
///     .when_full(WhenFull::DestroyHere)
///     .spawn("reclaimer")?;
/// reclaimer.drop_later(vec![0; 1_000]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a builder makes nothing until `spawn`"]
pub struct ReclaimerBuilder {
    pub(super) values: u64,
    pub(super) bytes: u64,
    pub(super) when_full: WhenFull,
}

impl Default for ReclaimerBuilder {
    fn default() -> Self {
        Self {
            values: 100_000,
            bytes: 256 << 20,
            when_full: WhenFull::Wait,
        }
    }
}

impl ReclaimerBuilder {
    /// Starts a reclaimer with these settings, on a thread of this name.
    ///
    /// # Errors
    /// If the operating system cannot start a thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn spawn(self, name: &str) -> io::Result<Reclaimer> {
        let state = Arc::new(ReclaimerState::new(self));
        let there = state.clone();
        let looper = Looper::start(name, Some(self.values), move |looper| {
            let round = |thread: &ThreadHandle, round: &mut dyn FnMut()| {
                there.note_busy(true);
                round();
                there.room.made();
                there.note_busy(thread.0.releases.waiting() != 0);
            };
            on_own_thread(&there, || looper.serve(round));
        })?;
        Ok(Reclaimer {
            proxy: looper.proxy(),
            state,
            looper: Lock::new(Some(looper)),
        })
    }

    setters! {
        /// Sets how many values and references may wait. A value is accepted if fewer wait; a pool
        /// that is [handed over](crate::HandoffPool::drain_on) is then accepted as a whole. With 0,
        /// senders destroy everything themselves. Of two senders at the same time, both may be
        /// refused although there is room for one.
        pub values(values: usize) => values = values as u64;

        /// Sets how many bytes may wait, of the values that senders have
        /// [weighed](Reclaimer::drop_later_weighed). A value is accepted if fewer bytes wait, so
        /// one that is larger than the bound is accepted when nothing else waits. With 0, senders
        /// destroy weighed values themselves. A value of more than a tebibyte counts as one of a
        /// tebibyte.
        pub bytes(bytes: u64) => bytes = bytes;

        /// Sets what senders do when there is no room.
        pub when_full(when_full: WhenFull) => when_full = when_full;
    }
}

/// The error of [`Reclaimer::try_drop_later`] and [`try_drop_later`](super::try_drop_later), with
/// the value: the reclaimer has no room for it, or has ended.
///
/// # Example
/// ```
/// use releasepool::{Reclaimer, reclaim::Full};
///
/// let reclaimer = Reclaimer::new("reclaimer")?;
/// if let Err(Full(value)) = reclaimer.try_drop_later(vec![1, 2, 3]) {
///     drop(value); // no room: here, or keep it and try again
/// }
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(thiserror::Error)]
#[error("the reclaimer has no room for the value, or has ended; the value was not sent")]
pub struct Full<T>(pub T);

impl<T> Full<T> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

debug_fields! { [T] Full<T>: |_this| .. }

/// The values that wait for a reclaimer, at about one moment: see [`Reclaimer::pending`].
///
/// # Example
/// ```
/// let reclaimer = releasepool::Reclaimer::new("reclaimer")?;
/// reclaimer.drop_later_weighed(vec![0_u8; 4_096], 4_096);
/// println!("{}", reclaimer.pending()); // how many values, bytes, and of which types
/// reclaimer.barrier();
/// assert_eq!(reclaimer.pending().values, 0);
/// # Ok::<_, std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PendingDrops {
    /// How many values and references wait, the one whose destructor runs included.
    pub values: usize,
    /// The bytes of those values that their senders have [weighed](Reclaimer::drop_later_weighed).
    pub bytes: u64,
    /// How long the reclaimer has been at work without a pause: no value has waited longer.
    pub busy: Duration,
    /// The types of the values that were passed to `drop_later`, and how many of each wait; the
    /// most frequent type first. Types after the first sixty or so are counted as "other types".
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
    /// The calling thread must destroy the value, whatever the bounds.
    Here,
    NoRoom,
}

impl Reclaimer {
    /// Sends a value to the reclaimer; where that is not possible, destroys it. The value moves
    /// once, into the message: see [`later_value::message`].
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
            if !self.state.wait_for_room(record, bytes) {
                self.state.go_away(record);
                break;
            }
        }
        // SAFETY: the value was not taken; by the contract this is its last use.
        unsafe { ManuallyDrop::drop(value) };
    }

    /// Sends a value to the reclaimer.
    ///
    /// # Safety
    /// Takes the value if this returns `Ok`: the caller then does not use it again.
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
        let Some(waiting) = self.state.admit::<T>(record, bytes) else {
            return Err(Refusal::NoRoom);
        };
        // SAFETY: the caller gives up the value, by the contract, or gets it back below.
        let message = unsafe { later_value::message(value, waiting, record.key()) };
        match record.send_admitted(message) {
            Ok(()) => {
                tally_handed_over(1);
                Ok(())
            }
            Err(back) => {
                // SAFETY: `back` is the message made above, with these types and this value.
                let waiting = unsafe { later_value::take_back::<T, WaitingValue>(back, value) };
                self.state.retract(waiting);
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

/// Destroys all that waits for the calling thread, a reclaimer's. Reports panics: they do not
/// concern the thread that waits for this call.
fn destroy_all() {
    reporting(|| PoolManager::global().drain_backlog(Budget::All));
}
