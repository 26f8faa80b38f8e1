//! Closures that other threads have posted to this thread: it collects them from its inbox, and
//! runs them in order.

use crate::pool::stack::thread_pools::ThreadPools;
use crate::sync::catch_unwind;
use crate::thread::inbox::{Message, MessageKind, Queue};
use crate::unwind::report;

impl ThreadPools {
    /// Collects the closures that have been posted so far.
    pub(crate) fn collect_posted(&self) {
        if let Some(record) = self.record() {
            self.posted.append(record.calls.inbox().take());
        }
    }

    /// Puts these closures, which count as sent already, before the closures that have been posted
    /// so far.
    pub(crate) fn put_first(&self, closures: impl Iterator<Item = Message>) {
        // Made before any closure is taken out: the global allocator, which is foreign code, may run
        // those that have been posted.
        let all = Queue::new();
        all.append(closures);
        if all.len() > 0 {
            self.collect_posted();
            all.append(std::iter::from_fn(|| self.posted.pop()));
            self.posted.append(std::iter::from_fn(|| all.pop()));
        }
    }

    /// Closes the inbox for closures, so that later posts are refused, and collects the closures in
    /// it.
    pub(in crate::pool) fn close_posted(&self) {
        if let Some(record) = self.record() {
            self.posted.append(record.calls.inbox().close());
        }
    }

    /// Passes the oldest collected closure to `run`. Returns the result of `run`, or `None` if
    /// there was no closure. `run` must not unwind.
    pub(crate) fn run_posted<R>(&self, run: impl FnOnce(Message) -> R) -> Option<R> {
        let call = self.posted.pop()?;
        let record = self.record()?;
        Some(self.running(&record.calls, 1, || run(call)))
    }

    /// Runs the closures that loops have accepted, oldest first, and leaves the others. Reports
    /// panics. Returns whether there were any closures of loops.
    pub(crate) fn run_posts_of_loops(&self) -> bool {
        let Some(record) = self.record() else {
            return false;
        };
        self.collect_posted();
        let mut any = false;
        let others = Queue::new();
        while let Some(call) = self.posted.pop() {
            if matches!(
                call.kind(),
                MessageKind::LoopClosure | MessageKind::FrameClosure
            ) {
                any = true;
                let run = || catch_unwind(|| call.run()).err();
                self.running(&record.calls, 1, run)
                    .into_iter()
                    .for_each(report);
            } else {
                others.append(std::iter::once(call));
            }
        }
        self.posted.append(std::iter::from_fn(|| others.pop()));
        any
    }

    /// Returns how many closures have been collected and not begun.
    pub(crate) fn posted(&self) -> usize {
        self.posted.len()
    }
}
