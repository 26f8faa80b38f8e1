//! Counts the posts to a loop that are in flight, so that the loop can be closed.
//!
//! A thread's inbox stays open as long as the thread lives, but a loop on that thread may be closed
//! earlier. A closure that the loop has accepted must run, and one that it refuses must be given
//! back. So each post is counted while its message is being pushed, and closing the loop waits
//! until the count is zero.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread::yield_now;

const CLOSED: usize = 1;
const ONE_POST: usize = 2;

/// The number of posts in flight, and a bit that says whether the loop is closed.
#[derive(Debug, Default)]
pub(super) struct InFlightPosts(AtomicUsize);

/// A guard that counts a post as in flight. While it exists, no foreign code may run, not even the
/// global allocator: such code may close the loop, which would then wait for this post for ever.
#[must_use]
pub(super) struct InFlightPost<'g>(&'g InFlightPosts);

impl InFlightPosts {
    /// Begins a post; `None` if the loop is closed.
    pub(super) fn begin_post(&self) -> Option<InFlightPost<'_>> {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            // No post begins after closing, so closing waits only for posts that are in flight
            // already.
            if state & CLOSED != 0 {
                return None;
            }
            // Relaxed: the end of the post publishes the message.
            match self.0.compare_exchange_weak(
                state,
                state + ONE_POST,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(InFlightPost(self)),
                Err(now) => state = now,
            }
        }
    }

    /// Refuses posts from now on. Idempotent.
    pub(super) fn close(&self) {
        // Relaxed: a caller that closes another thread's loop wakes that thread afterwards.
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Returns whether posts are refused. May miss that another thread has just closed the loop.
    pub(super) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Waits, after [`close`](Self::close), until no post is in flight; the caller then sees all
    /// accepted messages. Each post in flight has only a few instructions to go.
    pub(super) fn wait_until_empty(&self) {
        // Acquire: pairs with the Release at the end of each post. Model: frame_post_close.
        while self.0.load(Ordering::Acquire) != CLOSED {
            yield_now();
        }
    }
}

impl Drop for InFlightPost<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `wait_until_empty`, which makes the message visible.
        // Model: frame_post_close.
        self.0.0.fetch_sub(ONE_POST, Ordering::Release);
    }
}
