//! `InboxHook`: wakes a foreign event loop when something is sent to its thread.

use crate::manager::PoolManager;
use crate::pool::drain::arming::rearm;
use crate::thread::current::current;
use crate::thread::record::Record;
use crate::thread::waker::HookPlace;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// A guard: as long as it lives, messages to its thread call a hook. Dropping it removes the hook.
///
/// See [`PoolManager::set_inbox_hook`].
///
/// # Example
/// ```
/// use releasepool::PoolManager;
/// use std::sync::mpsc;
///
/// let manager = PoolManager::global();
/// let (wake, woken) = mpsc::channel();
/// let hook = manager.set_inbox_hook(move || _ = wake.send(()));
/// let here = manager.current_thread().unwrap();
/// std::thread::spawn(move || here.post(|| println!("in the UI thread")).is_ok());
/// woken.recv()?; // the foreign loop wakes up
/// manager.run_inbox();
/// drop(hook);
/// # Ok::<_, mpsc::RecvError>(())
/// ```
#[must_use = "dropping it removes the hook"]
pub struct InboxHook {
    record: Arc<Record>,
    place: HookPlace,
    /// The guard stays on its thread.
    _thread: PhantomData<*mut ()>,
}

impl PoolManager {
    /// Calls `hook` when another thread sends something to the calling thread, whose event loop is
    /// foreign: GLib's main context, winit, a `LocalSet` of tokio. The hook wakes that loop, which
    /// then calls [`run_inbox`](Self::run_inbox).
    ///
    /// So the thread can be a home for [`HomeRef`](crate::HomeRef)s and a target for
    /// [`ThreadHandle::post`](crate::ThreadHandle::post) and
    /// [`release`](crate::ThreadHandle::release), though it sleeps in a loop that knows nothing of
    /// them. The inbox belongs to the thread, and all managers share it.
    ///
    /// The hook is called for the first message after each `run_inbox`, and at once if something
    /// waits already when it is set or when `run_inbox` ends; the [backlog](Self::drain_backlog), which `run_inbox`
    /// leaves alone, does not count. It may be called once too often, never
    /// too seldom, as long as each call leads to a later `run_inbox` on this thread, outside of
    /// destructors.
    ///
    /// # Threads
    /// The hook runs on the sending thread, perhaps on several at once, under no lock. It must only
    /// wake the loop: it must not wait for this thread, and should not drain pools, as it may run in
    /// the middle of the sender's drain. Its panic is reported as an [event](crate::event).
    ///
    /// # Several hooks on one thread
    /// The one that was set last is called: this one, or that of a
    /// [`FrameLoop`](crate::FrameLoop::set_wake_hook). When it is removed, the one before it is
    /// called again, in whatever order they are removed. A [`FrameLoop`](crate::FrameLoop) needs no
    /// inbox hook: its wake hook hears of all messages, too.
    ///
    /// # Panics
    /// While the thread's thread-locals are destroyed.
    ///
    /// ```
    /// use releasepool::{HomeRef, PoolManager};
    /// use std::{cell::RefCell, sync::mpsc, thread};
    ///
    /// // This thread's event loop, which knows nothing of releasepool, and can be woken.
    /// let (wake, events) = mpsc::channel();
    /// let manager = PoolManager::global();
    /// let _hook = manager.set_inbox_hook(move || _ = wake.send("look at the inbox"));
    ///
    /// let window = HomeRef::new(RefCell::new("window"));
    /// thread::spawn(move || drop(window)); // its last reference: comes home to be destroyed
    /// events.recv().unwrap();
    /// manager.run_inbox(); // destroys the window
    /// ```
    pub fn set_inbox_hook(&self, hook: impl Fn() + Send + Sync + 'static) -> InboxHook {
        let Some(record) = current() else {
            panic!("a hook cannot be set while its thread ends");
        };
        let mut place = HookPlace::default();
        place.set(&record.waker, Some(Arc::new(hook)));
        rearm(&record);
        InboxHook {
            record,
            place,
            _thread: PhantomData,
        }
    }
}

/// Removes the hook. It may still be running on other threads.
impl Drop for InboxHook {
    fn drop(&mut self) {
        self.place.set(&self.record.waker, None);
        rearm(&self.record);
    }
}

// A panic leaves no hook in a broken state.
impl UnwindSafe for InboxHook {}
impl RefUnwindSafe for InboxHook {}

impl fmt::Debug for InboxHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thread = self.record.label();
        f.debug_struct("InboxHook")
            .field("thread", &thread)
            .finish()
    }
}
