//! Entries, frames and tokens.

use super::super::{Note, Refusal, WATERMARK};
use super::{Frame, Naive, Pool, Run, Token};

impl Naive {
    pub(super) fn autorelease(&mut self, manager: usize, object: usize) -> Run {
        if self.here().exited {
            return self.release(object);
        }
        let current = self.current(manager);
        self.pools[current].entries.push(object);
        Ok(())
    }

    fn current(&self, manager: usize) -> usize {
        let frames = self.threads[self.me].frames[manager].iter().rev();
        let mut pools = frames.filter_map(|frame| match frame {
            Frame::Pool(pool) | Frame::Barrier(Some(pool)) => Some(*pool),
            Frame::Barrier(None) => None,
        });
        pools.next().expect("the root is there")
    }

    pub(super) fn open(&mut self, manager: usize) -> usize {
        let pool = self.pools.len();
        self.pools.push(Pool {
            thread: self.me,
            manager,
            open: true,
            ..Pool::default()
        });
        self.here().frames[manager].push(Frame::Pool(pool));
        pool
    }

    /// Returns the number of a thread's open pools, without root pools.
    pub(super) fn open_pools(&self, thread: usize, manager: usize) -> usize {
        let of = |pool: &&Pool| (pool.thread, pool.manager) == (thread, manager);
        let pools = self.pools.iter().filter(of);
        pools.filter(|pool| pool.open).count()
    }

    pub(super) fn close(&mut self, pool: usize) {
        self.pools[pool].open = false;
        let manager = self.pools[pool].manager;
        let frames = &mut self.here().frames[manager];
        let Some(at) = frames.iter().position(|frame| *frame == Frame::Pool(pool)) else {
            return;
        };
        let barrier = |frame: &Frame| matches!(frame, Frame::Barrier(_));
        let end = frames[at..].iter().position(barrier);
        frames.drain(at..end.map_or(frames.len(), |n| at + n));
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
        self.here().frames[manager].push(Frame::Barrier(Some(pool)));
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
        self.pools[pool].drains -= 1;
        self.lower_barrier(manager);
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

    /// Removes the last barrier, and the pools that were left open above it.
    fn lower_barrier(&mut self, manager: usize) {
        let frames = &mut self.here().frames[manager];
        let at = frames
            .iter()
            .rposition(|frame| matches!(frame, Frame::Barrier(_)));
        frames.truncate(at.unwrap());
    }

    pub(super) fn enter_scope(&mut self) -> usize {
        self.here().frames[0].push(Frame::Barrier(None));
        self.open(0)
    }

    pub(super) fn leave_scope(&mut self, pool: usize) -> Run {
        let result = self.drain_and_close(pool);
        self.lower_barrier(0);
        result
    }

    pub(super) fn push(&mut self, manager: usize) {
        let token = self.new_token(manager);
        self.pushed.push(token);
    }

    pub(super) fn new_token(&mut self, manager: usize) -> Token {
        let pool = (!self.here().exited).then(|| self.open(manager));
        self.here().tokens[manager].extend(pool);
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
        let exited = self.here().exited;
        let Some(pool) = token.pool else {
            return Ok(if exited { Ok(0) } else { Err(Refusal::Stale) });
        };
        if token.thread != self.me || exited {
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
        let (mut released, mut first) = (0, None);
        loop {
            let last = *self.here().tokens[manager].last().unwrap();
            let (n, panic) = self.drain(last);
            released += n;
            self.keep_first(panic, &mut first);
            // Destructors may have pushed other tokens.
            if self.here().tokens[manager].last() == Some(&last) {
                self.here().tokens[manager].pop();
                self.close(last);
                if last == pool {
                    break;
                }
            }
        }
        self.resume(first)?;
        Ok(Ok(released))
    }
}
