//! Messages, and the exit of a thread.

use super::super::{Note, Op};
use super::{Message, Naive, Run};

impl Naive {
    /// Registers a thread with both managers, which may release orphans.
    pub fn begin(&mut self, me: usize) {
        self.me = me;
        for manager in 0..2 {
            let root = self.here().roots[manager];
            let (_, first) = self.drain(root);
            let result = self.resume(first);
            self.caught(result);
        }
    }

    /// Returns the thread of an index. The threads that only clean up are sent no messages.
    fn addressee(&self, to: u8) -> usize {
        to as usize % self.addressees
    }

    pub(super) fn send(&mut self, to: u8, object: usize) {
        let to = self.addressee(to);
        if self.threads[to].closed {
            self.orphans.push(object);
        } else {
            self.threads[to].inbox.push(Message::Release(object));
        }
    }

    pub(super) fn post(&mut self, to: u8, object: usize) -> Run {
        let to = self.addressee(to);
        let closed = self.threads[to].closed;
        self.note(Note::Got(!closed));
        if closed {
            return self.release(object);
        }
        self.threads[to].inbox.push(Message::Call(object));
        Ok(())
    }

    /// Releases what was sent to this thread, and the orphans; returns true if there was anything.
    pub(super) fn deliver(&mut self, first: &mut Option<u32>) -> bool {
        let mut any = false;
        for message in std::mem::take(&mut self.here().inbox) {
            match message {
                Message::Call(object) => self.here().posted.push_back(object),
                Message::Release(object) => {
                    any = true;
                    let result = self.release(object);
                    self.guarded(result, first);
                }
            }
        }
        for object in std::mem::take(&mut self.orphans) {
            any = true;
            let result = self.release(object);
            self.guarded(result, first);
        }
        any
    }

    fn deliver_alone(&mut self, first: &mut Option<u32>) {
        self.here().releases += 1;
        self.deliver(first);
        self.here().releases -= 1;
    }

    pub(super) fn run_inbox(&mut self) -> Run {
        let mut ran = 0;
        if self.here().releases == 0 && !self.here().exited {
            let mut first = None;
            self.deliver_alone(&mut first);
            for _ in 0..self.here().posted.len() {
                let Some(object) = self.here().posted.pop_front() else {
                    break;
                };
                ran += 1;
                let result = self.release(object);
                self.guarded(result, &mut first);
            }
            self.resume(first)?;
        }
        self.note(Note::Did(ran));
        Ok(())
    }

    fn try_quiesce(&mut self) -> Option<u32> {
        let mut first = None;
        self.deliver_alone(&mut first);
        for object in std::mem::take(&mut self.orphaned_calls) {
            let result = self.release(object);
            self.guarded(result, &mut first);
        }
        first
    }

    pub(super) fn quiesce(&mut self) -> Run {
        let first = self.try_quiesce();
        let done = !self.has_orphans();
        self.resume(first)?;
        self.note(Note::Got(done));
        Ok(())
    }

    pub(super) fn shutdown(&mut self, manager: usize) -> Run {
        let root = self.here().roots[manager];
        let mut first = self.try_quiesce();
        let (mut released, panic) = self.drain(root);
        if panic.is_some() {
            // The panic left `drain_root`, which then returns no number.
            released = 0;
        }
        self.keep_first(panic, &mut first);
        let me = self.me;
        let mut holders = 0;
        for at in 0..self.threads.len() {
            let thread = &mut self.threads[at];
            if thread.exited {
                continue;
            }
            thread.asked[manager] |= at != me;
            let root = thread.roots[manager];
            let has_mail = !thread.inbox.is_empty() || !thread.posted.is_empty();
            let has_entries = !self.pools[root].entries.is_empty();
            let holds = has_mail || has_entries || self.open_pools(at, manager) > 0;
            holders += usize::from(holds);
        }
        let orphans = self.orphans.len() + self.orphaned_calls.len();
        self.resume(first)?;
        self.note(Note::Shutdown(released, holders, orphans));
        Ok(())
    }

    /// Drops what the program holds of a thread that is about to end, or leaves its pools open.
    pub fn leave(&mut self, me: usize, keep: bool) {
        self.me = me;
        let mut at = 0;
        while at < self.here().guards.len() {
            if let Some(pool) = self.here().guards[at].take() {
                if keep {
                    self.here().lost.push(pool);
                } else {
                    let result = self.drain_and_close(pool);
                    self.caught(result);
                }
            }
            at += 1;
        }
        if !keep {
            self.drop_locals();
        }
        self.clear_attic();
    }

    /// Drops all handles, and breaks all cycles.
    pub fn clear(&mut self, me: usize) {
        self.me = me;
        let mut at = 0;
        while at < self.handles.len() {
            if let Some(handle) = self.handles[at].take() {
                let result = self.release(handle.object);
                self.caught(result);
            }
            at += 1;
        }
        for weak in std::mem::take(&mut self.weaks).into_iter().flatten() {
            self.objects[weak.object].weak -= 1;
        }
        for value in 0..self.values.len() {
            for child in std::mem::take(&mut self.values[value].children) {
                let result = self.release(child);
                self.caught(result);
            }
        }
        self.clear_attic();
        // A closure must run here, not after the thread's end: the next thread in its slot must not
        // run it.
        self.step(me, &Op::RunInbox);
    }

    fn drop_locals(&mut self) {
        for at in 0..self.here().locals.len() {
            if let Some(object) = self.here().locals[at].take() {
                let result = self.release(object);
                self.caught(result);
            }
        }
    }

    /// Ends a thread.
    pub fn exit(&mut self, me: usize) {
        self.me = me;
        loop {
            if self.empty_all() {
                continue;
            }
            if std::mem::replace(&mut self.here().closed, true) {
                break;
            }
            self.empty_inbox();
        }
        let posted = std::mem::take(&mut self.here().posted);
        self.orphaned_calls.extend(posted);
        self.here().exited = true;
        self.here().frames = Default::default();
        self.note(Note::Late);
        for pool in std::mem::take(&mut self.here().lost) {
            let result = self.drain_and_close(pool);
            self.caught(result);
        }
        for pool in std::mem::take(&mut self.here().guards)
            .into_iter()
            .flatten()
        {
            let result = self.drain_and_close(pool);
            self.caught(result);
        }
        self.drop_locals();
        self.clear_attic();
    }

    fn empty_all(&mut self) -> bool {
        let mut any = false;
        for manager in 0..2 {
            while let Some(&pool) = self.here().tokens[manager].last() {
                // A drain that releases no entry may answer `shutdown`, and so fill other pools.
                any = true;
                self.empty_at_exit(pool);
                if self.here().tokens[manager].last() == Some(&pool) {
                    self.here().tokens[manager].pop();
                    self.close(pool);
                }
            }
            let root = self.here().roots[manager];
            if !self.pools[root].entries.is_empty() {
                any = true;
                self.empty_at_exit(root);
            }
        }
        any
    }

    fn empty_at_exit(&mut self, pool: usize) {
        let (_, first) = self.drain(pool);
        self.report(first);
    }

    fn report(&mut self, first: Option<u32>) {
        if let Some(id) = first {
            self.note(Note::Reported(id));
        }
    }

    fn empty_inbox(&mut self) {
        let mut first = None;
        self.here().releases += 1;
        for message in std::mem::take(&mut self.here().inbox) {
            match message {
                Message::Call(object) => self.here().posted.push_back(object),
                Message::Release(object) => {
                    // Forgotten pools are no longer current.
                    self.here().frames = Default::default();
                    let result = self.release(object);
                    self.guarded(result, &mut first);
                }
            }
        }
        self.here().releases -= 1;
        self.report(first);
    }
}
