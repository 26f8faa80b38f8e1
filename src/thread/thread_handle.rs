//! Sending work to a thread.

use super::inbox::{ClosureHead, Message, MessageKind, Node, PushOutcome};
use super::key::ThreadKey;
use super::record::Record;
use crate::event::{Event, EventKind};
use crate::macros::debug_fields;
use crate::sync::{boxed, unbox};
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// How long a thread sleeps before it checks that the thread, home or loop for which it waits still
/// exists. What it waits for wakes it; not all ends do, such as those of forgotten loops.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A handle of a thread that uses this crate, for other threads.
///
/// Handles are cheap to clone and may outlive their thread: a message to a thread that has ended is
/// refused or goes to the orphans, and never reaches a later thread. Two handles are equal if they
/// name the same thread.
///
/// [`PoolManager::current_thread`](crate::PoolManager::current_thread),
/// [`thread`](crate::PoolManager::thread) and [`thread_by_id`](crate::PoolManager::thread_by_id)
/// return a handle, or `None` if there is no such thread or it is ending;
/// [`LoopProxy::thread`](crate::frame::LoopProxy::thread) and
/// [`Reclaimer::thread`](crate::Reclaimer::thread) return the handle of their thread.
///
/// # Example
/// ```
/// use releasepool::{PoolManager, Ref};
///
/// let manager = PoolManager::global();
/// let here = manager.current_thread().unwrap();
/// let object = Ref::new(5);
/// std::thread::spawn(move || here.release(object)).join().unwrap();
/// manager.drain_root(); // the object is destroyed here, where it was made
/// ```
#[derive(Clone)]
pub struct ThreadHandle(pub(crate) Arc<Record>);

/// The error of a post to a thread or loop that has shut down; contains the closure, which was not
/// accepted.
///
/// # Example
/// ```
/// use releasepool::thread::Closed;
/// use releasepool::PoolManager;
///
/// let ended = std::thread::spawn(|| PoolManager::global().current_thread().unwrap());
/// let ended = ended.join().unwrap();
/// if let Err(Closed(closure)) = ended.post(|| println!("run by somebody")) {
///     closure(); // here instead
/// }
/// ```
#[derive(thiserror::Error)]
#[error("the thread or its loop has shut down; the closure was not accepted")]
pub struct Closed<F>(pub F);

debug_fields! { [F] Closed<F>: |_this| .. }

/// A closure in a message: one without an argument, or one that takes a frame.
pub(crate) trait Carried: Send + 'static {
    fn run(self);
}

impl<F: FnOnce() + Send + 'static> Carried for F {
    fn run(self) {
        self();
    }
}

/// The allocation of a message that carries a closure.
#[repr(C)]
struct ClosureMessage<F> {
    head: ClosureHead,
    f: F,
}

impl<F: Carried> ClosureMessage<F> {
    /// Frees the message and returns the closure.
    ///
    /// # Safety
    /// `node` is the node of a `ClosureMessage<F>` that the caller owns.
    unsafe fn take(node: NonNull<Node>) -> F {
        // SAFETY: the node begins the `repr(C)` allocation, which `boxed` made (invariant 4 of
        // `thread`); the caller owns it.
        unsafe { unbox(node.cast::<Self>()) }.f
    }

    /// Frees the message and calls the closure.
    ///
    /// # Safety
    /// `node` is the node of a `ClosureMessage<F>` that the caller owns.
    unsafe fn run(node: NonNull<Node>) {
        // SAFETY: the contract of this function is that of `take`.
        let f = unsafe { Self::take(node) };
        f.run();
    }
}

impl ThreadHandle {
    /// Returns the thread's key, which is unique for the life of the process.
    pub fn key(&self) -> ThreadKey {
        self.0.key()
    }

    /// Returns the name that the thread was given when it was spawned.
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Returns whether the thread still accepts messages. The thread may end right after this
    /// returns.
    pub fn is_alive(&self) -> bool {
        !self.0.is_closed()
    }

    /// Sends a closure to the thread.
    ///
    /// The closure runs when the thread calls
    /// [`PoolManager::run_inbox`](crate::PoolManager::run_inbox), or in a
    /// [`FrameLoop`](crate::FrameLoop), [`Looper`](crate::Looper) or [`Reclaimer`](crate::Reclaimer) of
    /// that thread; never inside a drain. The closures of one sender run in the order in which it posted them.
    ///
    /// Costs one allocation and four read-modify-writes. Lock-free, unless the thread sleeps in a
    /// loop and this message has to wake it. If the thread accepts the closure and then ends before
    /// running it, the closure is not lost: it waits with the orphans for
    /// [`quiesce`](crate::PoolManager::quiesce) or [`shutdown`](crate::PoolManager::shutdown).
    ///
    /// ```
    /// use releasepool::PoolManager;
    /// let manager = PoolManager::global();
    /// let here = manager.current_thread().unwrap();
    /// std::thread::spawn(move || here.post(|| println!("loaded")).unwrap()).join().unwrap();
    /// assert_eq!(manager.run_inbox(), 1); // prints on this thread
    /// ```
    ///
    /// # Errors
    /// [`Closed`], with the closure, once the thread has ended.
    pub fn post<F: FnOnce() + Send + 'static>(&self, f: F) -> Result<(), Closed<F>> {
        let push = |message| self.push_quietly(message);
        self.post_by(MessageKind::Closure, f, push)?.finish();
        Ok(())
    }

    /// Sends a closure by `push`, which gives a refused message back. `kind` is one of the kinds of
    /// closures.
    pub(crate) fn post_by<F: Carried, R>(
        &self,
        kind: MessageKind,
        f: F,
        push: impl FnOnce(Message) -> Result<R, Message>,
    ) -> Result<R, Closed<F>> {
        push(self.closure(kind, f)).map_err(|back| {
            // SAFETY: the function `closure` made this message, and it was given back, so we own
            // it.
            Closed(unsafe { ClosureMessage::<F>::take(back.into_raw()) })
        })
    }

    /// Sends a message that runs a closure, without waking the thread. The caller must call
    /// [`Posted::finish`] in a place where foreign code may run. Allocates nothing. Returns the message
    /// if the thread has ended.
    pub(crate) fn push_quietly(&self, message: Message) -> Result<Posted<'_>, Message> {
        let waiting = self.0.calls.announce(1);
        let sent = self.0.calls.push(message)?;
        let record = &*self.0;
        Ok(Posted {
            record,
            sent,
            waiting,
        })
    }

    /// Makes a message that runs `f` on the thread of this handle.
    pub(crate) fn closure<F: Carried>(&self, kind: MessageKind, f: F) -> Message {
        // Enters the calling thread, so that it has a registry slot of its own: a sender that got the
        // receiver's slot later could not run this closure as an orphan.
        drop(super::current::current());
        let head = ClosureHead::new(kind, self.key(), ClosureMessage::<F>::run);
        let call = boxed(ClosureMessage { head, f });
        // SAFETY: the only pointer to the new message, which `run` frees; the closure is `Send`.
        unsafe { Message::from_raw(call.cast()) }
    }
}

/// A sent closure whose receiver may have to be woken.
#[must_use]
pub(crate) struct Posted<'r> {
    record: &'r Record,
    sent: PushOutcome,
    /// The number of closures that waited before this one.
    waiting: u64,
}

impl Posted<'_> {
    /// Wakes the thread if it sleeps, and emits an event if too many closures wait. Both may run
    /// foreign code.
    pub(crate) fn finish(self) {
        if self.sent == PushOutcome::WakeOwner {
            self.record.waker.wake();
        }
        if self.record.posts_are_worth_an_event(self.waiting + 1) {
            let event = Event::new(EventKind::PostsWatermark, self.record.label());
            event.count(self.waiting as usize + 1).emit();
        }
    }
}

impl PartialEq for ThreadHandle {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ThreadHandle {}

impl Hash for ThreadHandle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

debug_fields! {
    ThreadHandle: |this| key = this.key(), name = this.name(), alive = this.is_alive(), ..
}
