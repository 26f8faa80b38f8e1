//! The delayed posts of a loop, and its pending request for a frame.

use super::one_frame::{Frame, in_own_frame};
use crate::sync::{Numbers, elapsed};
use std::collections::VecDeque;
use std::time::Duration;

/// Names a delayed post, to [cancel](crate::FrameProxy::cancel) it. Unique in the process.
///
/// # Example
/// ```
/// use releasepool::{FrameConfig, FrameLoop};
/// use std::time::Duration;
///
/// let frames = FrameLoop::new(FrameConfig::new());
/// let proxy = frames.proxy();
/// let id = proxy.post_after(Duration::from_secs(5), || println!("are you still there?")).unwrap();
/// assert!(proxy.cancel(id));
/// assert!(!proxy.cancel(id), "it was cancelled already");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PostId {
    due: Duration,
    serial: u64,
}

impl PostId {
    fn key(self) -> (Duration, u64) {
        (self.due, self.serial)
    }
}

/// The closure of a delayed post.
pub(super) enum Delayed {
    Plain(Box<dyn FnOnce() + Send>),
    Framed(Box<dyn FnOnce(&mut Frame<'_>) + Send>),
}

impl Delayed {
    /// Runs the closure. A closure that takes a frame gets `frame`, or a frame of its own if
    /// `frame` is `None`.
    pub(super) fn run(self, frame: Option<&mut Frame<'_>>) {
        match (self, frame) {
            (Self::Plain(f), _) => f(),
            (Self::Framed(f), Some(frame)) => f(frame),
            (Self::Framed(f), None) => in_own_frame(f),
        }
    }
}

/// The serial numbers of posts. A post takes its number under the lock of a loop's timers, so the
/// numbers of one loop's posts increase in the order of the posts.
static NEXT: Numbers = Numbers::new();

/// Delayed posts, and whether a frame was requested. A lock guards both. The loop tests them before
/// it sleeps, so a thread that changes them wakes the loop afterwards.
#[derive(Default)]
pub(super) struct Timers {
    /// The delayed posts, ordered by due time (since the first use of the clock), then by serial number.
    delayed: DelayedPosts,
    frame_requested: bool,
}

/// Delayed posts in their order. Not a tree, which would allocate and free nodes under the lock: the
/// global allocator is foreign code.
pub(super) type DelayedPosts = VecDeque<(PostId, Delayed)>;

/// Adds a post to a list with room for it; returns its id, and whether it is now the first to be due.
pub(super) fn insert(posts: &mut DelayedPosts, delay: Duration, post: Delayed) -> (PostId, bool) {
    let id = PostId {
        due: elapsed().saturating_add(delay),
        serial: NEXT.next(),
    };
    let place = posts.partition_point(|(before, _)| before.key() < id.key());
    posts.insert(place, (id, post));
    (id, place == 0)
}

/// The limit of one round: posts that become due or are made after the round has begun wait for the
/// next round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cutoff {
    now: Duration,
    serial: u64,
}

impl Timers {
    /// Returns the delayed posts, to change their room or to [`insert`] one.
    pub(super) fn delayed(&mut self) -> &mut DelayedPosts {
        &mut self.delayed
    }

    /// Removes a post; returns its closure, which the caller must drop after unlocking.
    pub(super) fn cancel(&mut self, id: PostId) -> Option<Delayed> {
        let place = self
            .delayed
            .binary_search_by_key(&id.key(), |(id, _)| id.key());
        let (_, post) = self.delayed.remove(place.ok()?)?;
        Some(post)
    }

    /// Returns the limit of a round that begins now.
    pub(super) fn cutoff(&self) -> Cutoff {
        Cutoff {
            now: elapsed(),
            serial: NEXT.next(),
        }
    }

    /// Takes out the first post if it is due; only one, so that this post can still cancel later
    /// ones.
    pub(super) fn pop_due(&mut self, cutoff: Cutoff) -> Option<Delayed> {
        let (first, _) = self.delayed.front()?;
        if first.key() >= (cutoff.now, cutoff.serial) {
            return None;
        }
        let (_, post) = self.delayed.pop_front()?;
        Some(post)
    }

    /// Returns how long it is until the first post is due; zero if it is due, `None` if there is no
    /// post.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let (first, _) = self.delayed.front()?;
        Some(first.due.saturating_sub(elapsed()))
    }

    /// Requests a frame; returns whether this is the first request since the last frame.
    pub(super) fn request_frame(&mut self) -> bool {
        !std::mem::replace(&mut self.frame_requested, true)
    }

    /// Clears the request, when a frame begins.
    pub(super) fn clear_request(&mut self) {
        self.frame_requested = false;
    }

    /// Returns whether a frame is requested or a post is due.
    pub(super) fn has_work_now(&self) -> bool {
        self.frame_requested || self.next_due() == Some(Duration::ZERO)
    }

    /// Takes out all remaining posts, for the loop's end.
    pub(super) fn take_all(&mut self) -> impl ExactSizeIterator<Item = Delayed> + use<> {
        std::mem::take(&mut self.delayed)
            .into_iter()
            .map(|(_, post)| post)
    }
}
