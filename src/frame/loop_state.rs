//! The state that a loop shares with its proxies.
//!
//! A loop has no queue: a post is a message in the inbox of the loop's thread. The state adds a
//! [count of posts in flight](super::in_flight), as a loop may be closed before its thread ends,
//! and the timers: the delayed posts, and a pending request for a frame.

use super::in_flight::InFlightPosts;
use super::one_frame::{Frame, run_in};
use crate::event::{Event, EventKind};
use crate::object::destroy::in_destructor;
use crate::pool::api::guard::AutoreleasePool;
use crate::pool::api::scope::named_scope;
use crate::pool::drain::this_thread::{self, arm_if_idle};
use crate::pool::stack::budget::Budget;
use crate::sync::{Living, Lock, Numbers, catch_unwind, elapsed, global, shrink};
use crate::thread::current::current_label;
use crate::thread::inbox::{Message, MessageKind};
use crate::thread::thread_handle::ThreadHandle;
use crate::unwind::{report, reporting};
use std::collections::VecDeque;
use std::time::Duration;

/// The number of delayed posts for which an idle loop keeps room.
const POSTS: usize = 64;

global! {
    /// The loops of the process.
    pub(super) static LOOPS: Living<LoopState> = Living::new();
}

/// The kind of a loop that makes frames, for reports; the others are "looper" and "reclaimer".
pub(super) const FRAMES: &str = "frame loop";

/// The part of a frame loop or looper that its proxies share.
pub(crate) struct LoopState {
    pub(super) thread: ThreadHandle,
    pub(super) in_flight: InFlightPosts,
    pub(super) kind: &'static str,
    pub(super) timers: Lock<Timers>,
}

/// The closure of a delayed post.
pub(super) type Delayed = Box<dyn FnOnce() + Send>;

/// A closure that must run now.
pub(super) enum Task {
    Posted(Message),
    Delayed(Delayed),
}

impl Task {
    /// Runs the closure outside of any frame; a closure that takes a frame gets a frame of its own.
    pub(super) fn run(self) {
        match self {
            Self::Posted(message) => message.run(),
            Self::Delayed(f) => f(),
        }
    }

    pub(super) fn run_in(self, frame: &mut Frame<'_>) {
        match self {
            Self::Posted(message) => run_in(message, frame),
            Self::Delayed(f) => f(),
        }
    }
}

/// How many closures have run, and how many of them panicked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ran {
    pub(super) closures: usize,
    pub(super) panics: usize,
}

/// Functions that any thread may call.
impl LoopState {
    /// Makes the state of a loop of the calling thread, which is `thread`.
    pub(super) fn new(thread: ThreadHandle, kind: &'static str) -> Self {
        // Makes the thread's pools, so that the thread may be a home as soon as others know it.
        this_thread::with(|_| ());
        Self {
            thread,
            in_flight: InFlightPosts::default(),
            kind,
            timers: Lock::default(),
        }
    }

    /// Sends the message of a post; returns it if the loop refuses it.
    pub(super) fn push(&self, message: Message) -> Result<(), Message> {
        let Some(post_in_flight) = self.in_flight.begin_post() else {
            return Err(message);
        };
        let posted = self.thread.push_quietly(message)?;
        // Ends the post before the wake-up, as the wake hook is foreign code.
        drop(post_in_flight);
        posted.finish();
        Ok(())
    }

    /// Returns whether closing is over: posts have run, were dropped, or were left to the thread.
    pub(super) fn has_ended(&self) -> bool {
        self.timers.lock().has_ended
    }

    pub(super) fn wake(&self) {
        self.thread.0.waker.wake();
    }

    /// Refuses posts from now on, and wakes the loop, which finds itself closed and ends.
    pub(super) fn ask_to_close(&self) {
        self.in_flight.close();
        self.wake();
    }
}

/// Functions for the loop's own thread, except `change_delayed` and `shrink_delayed`.
impl LoopState {
    /// Sleeps until a message comes, a delayed post is due, a frame is requested, or the loop is
    /// closed. Does not sleep if drains have left releases.
    pub(super) fn sleep(&self) {
        // An inbox may stay armed after this function, so a message that arrives while the loop is
        // awake may cause one spurious wake-up. In a destructor, arms the inbox for posts only: the
        // loop cannot make releases inside a destructor, so releases need not wake it.
        while arm_if_idle(&self.thread.0, !in_destructor()) {
            // Checks timers and closing after arming: a thread that changes one of these after the
            // check wakes the loop after its change, so the sleep below ends at once.
            let due = {
                let timers = self.timers.lock();
                if timers.has_work_now() || self.in_flight.is_closed() {
                    break;
                }
                timers.next_due()
            };
            self.thread.0.waker.sleep(due);
        }
    }

    /// Sleeps until there is something to do; returns whether the loop is still open.
    pub(super) fn wait_for_work(&self) -> bool {
        self.sleep();
        !self.in_flight.is_closed()
    }

    /// Makes the next message call the wake hook; calls it at once if there is something to do
    /// already. For loops that a foreign event loop drives.
    pub(super) fn arm(&self) {
        // Arms the inbox for releases even in a destructor: the thread can make releases after the
        // destructor, and nothing else would arm the inbox.
        if !arm_if_idle(&self.thread.0, true) || self.timers.lock().has_work_now() {
            self.wake();
        }
    }

    /// Returns whether there is a reason for a frame: a closure, or a request. Releases need no
    /// frame.
    pub(super) fn needs_frame(&self) -> bool {
        // A loop on a thread that is ending cannot sleep any more: it makes frames instead.
        collect_closures() > 0 || self.timers.lock().has_work_now() || !self.thread.is_alive()
    }

    /// Passes to `each` the delayed posts that are due and the closures that are in the inbox when
    /// this is called. Reports panics.
    pub(super) fn run_waiting(&self, mut each: impl FnMut(Task)) -> Ran {
        let mut ran = Ran::default();
        // Posted closures never run inside a destructor.
        if in_destructor() {
            return ran;
        }
        let waiting = collect_closures();
        let mut run = |task| {
            ran.closures += 1;
            if let Err(payload) = catch_unwind(|| each(task)) {
                ran.panics += 1;
                report(payload);
            }
        };
        self.pop_due().for_each(|f| run(Task::Delayed(f)));
        this_thread::with(|pools| {
            // One of the closures may run the inbox itself, so fewer than `waiting` may come.
            let next = || pools?.run_posted(|call| run(Task::Posted(call)));
            std::iter::from_fn(next).take(waiting).for_each(drop);
        });
        ran
    }

    /// Returns, in order, the delayed posts that are due now. The iterator takes each post out only
    /// at its turn, so that an earlier post can cancel a later one.
    fn pop_due(&self) -> impl Iterator<Item = Delayed> + '_ {
        // A post that becomes due or is made after the round has begun waits for the next round.
        let cutoff = PostId::after(Duration::ZERO);
        std::iter::from_fn(move || {
            let post = self.timers.lock().pop_due(cutoff);
            self.shrink_delayed();
            post
        })
    }

    pub(super) fn change_delayed(&self, f: &mut dyn FnMut(&mut DelayedPosts)) {
        f(&mut self.timers.lock().delayed);
    }

    pub(super) fn shrink_delayed(&self) {
        shrink(POSTS, |f| self.change_delayed(f));
    }

    /// Refuses posts from now on, passes the accepted posts that are due to `each`, and drops the
    /// others with an event. Inside a destructor or drain passes nothing to `each`: accepted posts
    /// that are due stay with the thread.
    pub(super) fn close(&self, each: impl FnMut(Task)) {
        self.in_flight.close();
        self.in_flight.wait_until_empty();
        if in_destructor() {
            self.leave_to_thread();
        } else {
            self.run_waiting(each);
        }
        let left = std::mem::take(&mut self.timers.lock().delayed);
        if !left.is_empty() {
            let event = Event::new(EventKind::PostsDropped, current_label());
            event.count(left.len()).emit();
            for post in left {
                reporting(|| drop(post));
            }
        }
        self.timers.lock().has_ended = true;
    }

    /// Moves the delayed posts that are due to the front of the thread's posted closures: the
    /// thread's next loop, `run_inbox` or end runs them.
    fn leave_to_thread(&self) {
        let message = |post| {
            self.thread.0.calls.announce(1);
            self.thread.closure(MessageKind::LoopClosure, post)
        };
        // A thread that has exited has no loop, so no post can be due on it.
        this_thread::with(|pools| pools.map(|pools| pools.put_first(self.pop_due().map(message))));
    }
}

/// Takes posted closures out of the inbox; returns how many have been taken out and not run yet.
/// Releases stay in their inbox: they come after the closures, and within a budget.
fn collect_closures() -> usize {
    this_thread::with(|pools| {
        pools.map_or(0, |pools| {
            pools.collect_posted();
            pools.posted()
        })
    })
}

/// Runs `f` in a pool of its own, then drains that pool and the backlog within `budget`. Panics are
/// reported, not propagated.
pub(super) fn run_in_pool(name: &'static str, budget: Budget, f: impl FnOnce()) {
    let scope = |pool: &mut AutoreleasePool| {
        f();
        pool.drain_coarsely(budget);
    };
    reporting(|| named_scope(name, scope));
}

/// Names a delayed post, to [cancel](crate::frame::LoopProxy::cancel) it. Unique in the process.
///
/// # Example
/// ```
/// use releasepool::{FrameLoop, frame::FrameConfig};
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
    /// Returns the id of a post that is made now and due after `delay`. A post takes its id under the lock
    /// of a loop's timers, so the serial numbers of one loop's posts increase in the order of the posts.
    fn after(delay: Duration) -> Self {
        static NEXT: Numbers = Numbers::new();
        Self {
            due: elapsed().saturating_add(delay),
            serial: NEXT.next(),
        }
    }

    fn key(self) -> (Duration, u64) {
        (self.due, self.serial)
    }
}

/// Delayed posts, and whether a frame was requested. A lock guards both. The loop tests them before
/// it sleeps, so a thread that changes them wakes the loop afterwards.
#[derive(Default)]
pub(super) struct Timers {
    /// The delayed posts, ordered by due time (since the first use of the clock), then by serial number.
    delayed: DelayedPosts,
    pub(super) frame_requested: bool,
    /// True once closing is over: posts have run, were dropped, or were left to the thread.
    has_ended: bool,
}

/// Delayed posts in their order. Not a tree, which would allocate and free nodes under the lock: the
/// global allocator is foreign code.
pub(super) type DelayedPosts = VecDeque<(PostId, Delayed)>;

/// Adds a post to a list with room for it; returns its id, and whether it is now the first to be due.
pub(super) fn insert(posts: &mut DelayedPosts, delay: Duration, post: Delayed) -> (PostId, bool) {
    let id = PostId::after(delay);
    let place = posts.partition_point(|(before, _)| before.key() < id.key());
    posts.insert(place, (id, post));
    (id, place == 0)
}

impl Timers {
    /// Removes a post; returns its closure, which the caller must drop after unlocking.
    pub(super) fn cancel(&mut self, id: PostId) -> Option<Delayed> {
        let place = self
            .delayed
            .binary_search_by_key(&id.key(), |(id, _)| id.key());
        let (_, post) = self.delayed.remove(place.ok()?)?;
        Some(post)
    }

    /// Takes out the first post if it comes before `cutoff`; only that one, as it may cancel later
    /// ones when it runs.
    fn pop_due(&mut self, cutoff: PostId) -> Option<Delayed> {
        let (first, _) = self.delayed.front()?;
        if first.key() >= cutoff.key() {
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

    /// Returns whether a frame is requested or a post is due.
    fn has_work_now(&self) -> bool {
        self.frame_requested || self.next_due() == Some(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::proxy::LoopProxy;
    use crate::sync::thread::spawn;
    use crate::thread::current::current;
    use std::sync::Arc;

    #[test]
    fn only_a_frame_loop_takes_requests_for_frames() {
        for kind in ["looper", FRAMES] {
            let state = LoopState::new(ThreadHandle(current().unwrap()), kind);
            let proxy = LoopProxy(Arc::new(state));
            proxy.request_frame();
            assert_eq!(proxy.0.needs_frame(), kind == FRAMES);
        }
    }

    fn looper() -> Arc<LoopState> {
        Arc::new(LoopState::new(ThreadHandle(current().unwrap()), "looper"))
    }

    #[test]
    fn the_room_for_delayed_posts_shrinks_as_they_are_cancelled_or_run() {
        let proxy = LoopProxy(looper());
        let post = |_| proxy.post_after(Duration::ZERO, || ()).unwrap();
        let ids: Vec<_> = (0..1_500).map(post).collect();
        let is_small = || {
            let posts = &proxy.0.timers.lock().delayed;
            posts.capacity() <= 64 || posts.len() >= posts.capacity() / 4
        };
        assert!(ids[500..].iter().all(|id| proxy.cancel(*id) && is_small()));
        let ran = proxy.0.run_waiting(|_| assert!(is_small()));
        assert_eq!((ran.closures, ran.panics), (500, 0));
    }

    #[test]
    fn a_loop_that_is_closed_while_it_sleeps_makes_no_other_round() {
        for _ in 0..if cfg!(miri) { 2 } else { 100 } {
            let state = looper();
            let there = state.clone();
            let closer = spawn("closer", move || there.ask_to_close()).unwrap();
            assert!(!state.wait_for_work());
            closer.join().unwrap();
        }
    }
}
