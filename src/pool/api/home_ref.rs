//! The constructors of `HomeRef`, which need a thread that has pools.

use crate::object::thread_bound::HomeRef;
use crate::pool::drain::this_thread;
use crate::thread::current::current_or_closed;
use crate::thread::inbox::MessageKind;
use crate::thread::record::Record;
use std::sync::Arc;

// These functions are here, not beside the type: they need the thread's pools, which are in a layer
// above `object`.
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
}

/// Returns the calling thread's record. The record accepts messages only if the thread has pools,
/// whose exit runs the remaining messages on this thread.
fn home() -> Arc<Record> {
    // Makes the pools, if the thread has not exited. If it is exiting, its inbox is closed already,
    // or the exit of its pools will close it.
    this_thread::with(|_| ());
    current_or_closed()
}
