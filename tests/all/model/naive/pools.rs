//! Entries, frames and tokens.

use super::super::{Note, Refusal, WATERMARK};
use super::{Frame, Kind, Naive, Pool, Run, Token};

impl Naive {
    pub(super) fn autorelease(&mut self, manager: usize, object: usize) -> Run {
        let current = self.current(manager);
        if self.here().exited && self.here().roots.contains(&current) {
            return self.release(object);
        }
        self.pools[current].entries.push(object);
        Ok(())
    }

    fn current(&self, manager: usize) -> usize {
        let here = &self.threads[self.me];
        let frames = here.frames[manager].iter().rev();
        let innermost = frames.filter_map(|frame| frame.pool).next();
        innermost.unwrap_or(here.roots[manager])
    }

    pub(super) fn open(&mut self, manager: usize, kind: Kind) -> usize {
        let pool = self.pools.len();
        self.pools.push(Pool {
            thread: self.me,
            manager,
            open: true,
            ..Pool::default()
        });
        self.push_frame(manager, kind, pool);
        pool
    }

    fn push_frame(&mut self, manager: usize, kind: Kind, pool: usize) {
        self.here().frames[manager].push(Frame {
            kind,
            pool: Some(pool),
            former_closed: false,
        });
    }

    /// Removes a frame, and no other.
    fn remove_frame(&mut self, manager: usize, at: usize) {
        let frames = &mut self.here().frames[manager];
        frames.remove(at);
        if let Some(above) = frames.get_mut(at) {
            let notes = matches!(above.kind, Kind::Scope | Kind::Token);
            above.former_closed |= notes && above.pool.is_some();
        }
    }

    /// Removes guards' frames above a frame; returns whether a token's frame is next.
    fn cut(&mut self, manager: usize, at: usize) -> bool {
        let frame = &self.here().frames[manager][at];
        let stay = frame.pool.is_some() && frame.former_closed;
        let mut next = at + 1;
        while let Some(frame) = self.here().frames[manager].get(next) {
            match frame.kind {
                Kind::Guard if stay => next += 1,
                Kind::Guard => self.remove_frame(manager, next),
                kind => return kind == Kind::Token,
            }
        }
        false
    }

    /// Makes the pool current that was current before the scope whose frame is at `at`.
    fn restore(&mut self, manager: usize, at: usize, first: &mut Option<u32>) {
        while self.cut(manager, at) {
            self.pop_last(manager, None, first);
        }
    }

    /// Returns the number of a thread's open pools, without root pools.
    pub(super) fn open_pools(&self, thread: usize, manager: usize) -> usize {
        let of = |pool: &&Pool| (pool.thread, pool.manager) == (thread, manager);
        let pools = self.pools.iter().filter(of);
        pools.filter(|pool| pool.open).count()
    }

    /// Closes a pool. The frame of a scope stays, as a barrier without a pool.
    pub(super) fn close(&mut self, pool: usize) {
        self.pools[pool].open = false;
        let manager = self.pools[pool].manager;
        let frames = &mut self.here().frames[manager];
        let of = |frame: &Frame| frame.pool == Some(pool) && frame.kind != Kind::Drain;
        let Some(at) = frames.iter().position(of) else {
            return;
        };
        match frames[at].kind {
            Kind::Scope => frames[at].pool = None,
            _ => self.remove_frame(manager, at),
        }
    }

    pub(super) fn drain_and_close(&mut self, pool: usize) -> Run {
        let (_, first) = self.drain(pool);
        self.close(pool);
        self.resume(first)
    }

    pub(super) fn drain_and_note(&mut self, pool: usize) -> Run {
        let is_root = self.here().roots.contains(&pool);
        if is_root && self.here().exited {
            self.note(Note::Did(0));
            return Ok(());
        }
        let (released, first) = self.drain(pool);
        self.resume(first)?;
        self.note(Note::Did(released));
        Ok(())
    }

    pub(super) fn boundary(&mut self, manager: usize) -> Run {
        let root = self.here().roots[manager];
        let due = self.pools[root].entries.len() >= WATERMARK && self.current(manager) == root;
        if manager == 1 && due {
            return self.drain_and_note(root);
        }
        self.note(Note::Did(0));
        Ok(())
    }

    /// Drains a pool; returns the number of released entries, and the first panic.
    pub(super) fn drain(&mut self, pool: usize) -> (usize, Option<u32>) {
        let manager = self.pools[pool].manager;
        let outermost = self.here().releases == 0;
        self.here().releases += 1;
        self.push_frame(manager, Kind::Drain, pool);
        self.pools[pool].drains += 1;
        let (mut released, mut first) = (0, None);
        self.empty(pool, &mut released, &mut first);
        if outermost && self.deliver(&mut first) {
            self.empty(pool, &mut released, &mut first);
        }
        if outermost && std::mem::take(&mut self.here().asked[manager]) {
            let root = self.here().roots[manager];
            if root != pool {
                let (_, panic) = self.drain(root);
                self.keep_first(panic, &mut first);
            }
        }
        let of = |frame: &Frame| frame.pool == Some(pool) && frame.kind == Kind::Drain;
        // An exit may have made the root pool current.
        while let Some(at) = self.here().frames[manager].iter().rposition(of) {
            // Whoever pops a token pops those above it.
            let is_token = self.here().tokens[manager].contains(&pool);
            if !is_token {
                self.restore(manager, at, &mut first);
            }
            if self.pools[pool].entries.is_empty() {
                self.remove_frame(manager, at);
                break;
            }
            self.empty(pool, &mut released, &mut first);
        }
        self.pools[pool].drains -= 1;
        self.here().releases -= 1;
        (released, first)
    }

    fn empty(&mut self, pool: usize, released: &mut usize, first: &mut Option<u32>) {
        while let Some(object) = self.pools[pool].entries.pop() {
            *released += 1;
            let result = self.release(object);
            self.guarded(result, first);
        }
    }

    /// Keeps the first of several panics; the others are reported.
    pub(super) fn guarded(&mut self, result: Run, first: &mut Option<u32>) {
        if let Err(id) = result {
            self.here().panics -= 1;
            self.keep_first(Some(id), first);
        }
    }

    pub(super) fn keep_first(&mut self, panic: Option<u32>, first: &mut Option<u32>) {
        match panic {
            Some(id) if first.is_some() => self.note(Note::Reported(id)),
            Some(id) => *first = Some(id),
            None => {}
        }
    }

    /// Resumes a panic that was caught, unless the thread is already panicking.
    pub(super) fn resume(&mut self, first: Option<u32>) -> Run {
        match first {
            None => Ok(()),
            Some(id) if self.here().panics > 0 => {
                self.note(Note::Reported(id));
                Ok(())
            }
            Some(id) => {
                self.here().panics += 1;
                Err(id)
            }
        }
    }

    /// Ends the innermost scope, whose guard is that of `pool`.
    pub(super) fn leave_scope(&mut self, pool: usize) -> Run {
        let mut first = None;
        let innermost = |this: &mut Self| {
            let is_scope = |frame: &Frame| frame.kind == Kind::Scope;
            this.here().frames[0].iter().rposition(is_scope).unwrap()
        };
        let at = innermost(self);
        self.restore(0, at, &mut first);
        let result = self.drain_and_close(pool);
        self.guarded(result, &mut first);
        // Destructors may have closed pools below.
        let at = innermost(self);
        self.remove_frame(0, at);
        self.resume(first)
    }

    pub(super) fn push(&mut self, manager: usize) {
        let token = self.new_token(manager);
        self.pushed.push(token);
    }

    pub(super) fn new_token(&mut self, manager: usize) -> Token {
        let pool = self.open(manager, Kind::Token);
        self.here().tokens[manager].push(pool);
        Token {
            manager,
            thread: self.me,
            pool,
        }
    }

    pub(super) fn pop_and_note(&mut self, i: u8, shift: usize) -> Option<Run> {
        let n = self.pushed.len().max(1);
        let &token = self.pushed.get(i as usize % n)?;
        Some(match self.pop(token, (token.manager + shift) % 2) {
            Ok(popped) => {
                self.note(Note::Popped(popped));
                Ok(())
            }
            Err(id) => Err(id),
        })
    }

    pub(super) fn pop(&mut self, token: Token, manager: usize) -> Run<Result<usize, Refusal>> {
        if token.manager != manager {
            return Ok(Err(Refusal::WrongManager));
        }
        let pool = token.pool;
        if token.thread != self.me {
            return Ok(Err(Refusal::WrongThread));
        }
        let tokens = &self.threads[self.me].tokens[manager];
        let Some(at) = tokens.iter().position(|&token| token == pool) else {
            return Ok(Err(Refusal::Stale));
        };
        let drains = |&token: &usize| self.pools[token].drains > 0;
        if tokens[at..].iter().any(drains) {
            return Ok(Err(Refusal::Draining));
        }
        let mut first = None;
        let released = self.pop_down_to(manager, pool, &mut first);
        self.resume(first)?;
        Ok(Ok(released))
    }

    /// Drains and closes token pools, newest first, until `pool` is closed.
    fn pop_down_to(&mut self, manager: usize, pool: usize, first: &mut Option<u32>) -> usize {
        let mut released = 0;
        while self.pools[pool].open {
            released += self.pop_last(manager, Some(pool), first);
        }
        released
    }

    /// Pops the last token pool, unless destructors push others. Ends its scope if it is `end`.
    fn pop_last(&mut self, manager: usize, end: Option<usize>, first: &mut Option<u32>) -> usize {
        let last = *self.here().tokens[manager].last().unwrap();
        let (released, panic) = self.drain(last);
        if self.here().tokens[manager].last() == Some(&last) {
            self.here().tokens[manager].pop();
            let of = |frame: &Frame| frame.pool == Some(last);
            let at = self.here().frames[manager].iter().position(of);
            if let Some(at) = at.filter(|_| end == Some(last)) {
                self.cut(manager, at);
            }
            self.close(last);
        }
        self.keep_first(panic, first);
        released
    }
}
