//! Who may post, and when nobody can any more.
//!
//! The inbox of a thread stays open for as long as the thread lives; a loop on it may
//! be closed before. What the loop has accepted must run, and what it refuses must
//! come back. So a poster is counted while it is in the middle, and closing waits
//! until nobody is.

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread::yield_now;

const CLOSED: usize = 1;
const POSTER: usize = 2;

/// The number of posters in the middle, and whether it is closed.
#[derive(Debug)]
pub(super) struct InFlightPosts(AtomicUsize);

/// A poster is in the middle; no foreign code runs meanwhile.
#[must_use]
pub(super) struct InFlightPost<'g>(&'g InFlightPosts);

impl InFlightPosts {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// `None` if it is closed.
    pub(super) fn begin_post(&self) -> Option<InFlightPost<'_>> {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            // Nobody enters once it is closed, so closing waits only for those who are
            // inside already.
            if state & CLOSED != 0 {
                return None;
            }
            // Relaxed: what was posted is passed on by the leaving.
            match self.0.compare_exchange_weak(
                state,
                state + POSTER,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(InFlightPost(self)),
                Err(now) => state = now,
            }
        }
    }

    /// From now on nobody enters. Idempotent.
    pub(super) fn close(&self) {
        // Relaxed: who shuts it for another thread rings that thread's bell.
        self.0.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// Whether it has been shut; if it was by another thread just now, that may be
    /// missed.
    pub(super) fn is_closed(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CLOSED != 0
    }

    /// Waits, after [`close`](Self::close), until nobody is in the middle any more. What
    /// they have posted can be seen then. They have a few instructions to go.
    pub(super) fn wait_until_empty(&self) {
        // Acquire: pairs with the Release of each leaving. Model: frame_post_close.
        while self.0.load(Ordering::Acquire) != CLOSED {
            yield_now();
        }
    }
}

impl Drop for InFlightPost<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of `wait_until_empty`, so that what was
        // posted is seen. Model: frame_post_close.
        self.0.0.fetch_sub(POSTER, Ordering::Release);
    }
}
