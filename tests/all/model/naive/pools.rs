//! Entries, frames and tokens.

use super::super::WATERMARK;
use super::objects::Held;
use super::{Entry, First, Frame, Here, Kind, Pool, PoolRef, Ref, State, Thread};
use std::marker::PhantomData;

#[derive(Clone)]
pub struct PoolManager {
    pub(super) here: Here,
    pub(super) manager: usize,
}

/// A guard, which stays on its thread.
pub struct AutoreleasePool {
    here: Here,
    pool: usize,
    not_send: PhantomData<*mut ()>,
}

#[derive(Clone, Copy)]
pub struct PoolToken {
    manager: usize,
    thread: usize,
    pool: usize,
}

/// Why a pool was not popped.
pub enum PopError {
    Stale,
    Draining,
    WrongThread { owner: usize },
    WrongManager,
}

pub fn autorelease<T: ?Sized + 'static>(object: Ref<T>) {
    Here::get().autorelease(0, Box::new(object));
}

pub fn autoreleasepool<R>(f: impl FnOnce(&mut AutoreleasePool) -> R) -> R {
    let mut scope = Scope(Some(AutoreleasePool::open(0, Kind::Scope)));
    f(scope.0.as_mut().expect("the scope goes on"))
}

/// The guard of a scope.
struct Scope(Option<AutoreleasePool>);

impl Drop for Scope {
    fn drop(&mut self) {
        let (here, mut first) = (Here::get(), First::default());
        let innermost = || {
            let is_scope = |frame: &Frame| frame.kind == Kind::Scope;
            here.with(|me| me.frames[0].iter().rposition(is_scope).unwrap())
        };
        here.restore(0, innermost(), &mut first);
        first.run(|| self.0 = None);
        // Destructors may have closed pools below.
        let at = innermost();
        here.with(|me| me.remove_frame(0, at));
        first.resume();
    }
}

impl AutoreleasePool {
    pub fn new() -> Self {
        Self::open(0, Kind::Guard)
    }

    fn open(manager: usize, kind: Kind) -> Self {
        let here = Here::get();
        let pool = here.open(manager, kind);
        let not_send = PhantomData;
        Self {
            here,
            pool,
            not_send,
        }
    }

    pub fn autorelease<T: ?Sized + 'static>(&self, object: Ref<T>) -> PoolRef<T> {
        let lent = PoolRef(object.clone());
        self.here.state().pools[self.pool]
            .entries
            .push(Box::new(object));
        lent
    }

    pub fn create<T: 'static>(&self, value: T) -> PoolRef<T> {
        self.autorelease(Ref::new(value))
    }

    pub fn drain(&mut self) -> usize {
        let (released, first) = self.here.drain(self.pool);
        first.resume();
        released
    }

    pub fn len(&self) -> usize {
        self.here.state().pools[self.pool].entries.len()
    }

    pub fn contains<T: ?Sized>(&self, object: &Ref<T>) -> bool {
        self.here.state().pools[self.pool].contains(object)
    }
}

impl Drop for AutoreleasePool {
    fn drop(&mut self) {
        let (_, first) = self.here.drain(self.pool);
        self.here.close(self.pool);
        first.resume();
    }
}

impl PoolManager {
    pub fn pool(&self) -> AutoreleasePool {
        AutoreleasePool::open(self.manager, Kind::Guard)
    }

    pub fn autorelease<T: ?Sized + 'static>(&self, object: Ref<T>) {
        Here::get().autorelease(self.manager, Box::new(object));
    }

    pub fn contains<T: ?Sized>(&self, object: &Ref<T>) -> bool {
        let (here, manager) = (Here::get(), self.manager);
        let state = here.state();
        let of = |pool: &&Pool| (pool.thread, pool.manager) == (here.me, manager);
        state
            .pools
            .iter()
            .filter(of)
            .any(|pool| pool.contains(object))
    }

    pub fn push(&self) -> PoolToken {
        let (here, manager) = (Here::get(), self.manager);
        let pool = here.open(manager, Kind::Token);
        here.with(|me| me.tokens[manager].push(pool));
        PoolToken {
            manager,
            thread: here.me,
            pool,
        }
    }

    pub fn pop(&self, token: PoolToken) -> Result<usize, PopError> {
        let (here, manager, pool) = (Here::get(), self.manager, token.pool);
        if token.manager != manager {
            return Err(PopError::WrongManager);
        }
        if token.thread != here.me {
            let owner = token.thread;
            return Err(PopError::WrongThread { owner });
        }
        let tokens = here.with(|me| me.tokens[manager].clone());
        let Some(at) = tokens.iter().position(|&token| token == pool) else {
            return Err(PopError::Stale);
        };
        let drains = |&token: &usize| here.state().pools[token].drains > 0;
        if tokens[at..].iter().any(drains) {
            return Err(PopError::Draining);
        }
        // Drains and closes token pools, newest first, until this one is closed.
        let (mut released, mut first) = (0, First::default());
        while here.state().pools[pool].open {
            released += here.pop_last(manager, Some(pool), &mut first);
        }
        first.resume();
        Ok(released)
    }

    pub fn drain_root(&self) -> usize {
        let here = Here::get();
        let (root, exited) = here.with(|me| (me.roots[self.manager], me.exited));
        if exited {
            return 0;
        }
        let (released, first) = here.drain(root);
        first.resume();
        released
    }

    /// Manager 1 drains its root pool here if it has reached the watermark.
    pub fn drain_root_beyond_watermark(&self) -> usize {
        let here = Here::get();
        let is_due = {
            let state = here.state();
            let me = &state.threads[here.me];
            let root = me.roots[self.manager];
            state.pools[root].entries.len() >= WATERMARK && me.current(self.manager) == root
        };
        if self.manager == 1 && is_due {
            return self.drain_root();
        }
        0
    }
}

impl Pool {
    fn contains(&self, object: &dyn Held) -> bool {
        let is_it = |entry: &Entry| entry.address() == object.address();
        self.entries.iter().any(is_it)
    }
}

impl Thread {
    fn current(&self, manager: usize) -> usize {
        let frames = self.frames[manager].iter().rev();
        let innermost = frames.filter_map(|frame| frame.pool).next();
        innermost.unwrap_or(self.roots[manager])
    }

    fn push_frame(&mut self, manager: usize, kind: Kind, pool: usize) {
        self.frames[manager].push(Frame {
            kind,
            pool: Some(pool),
            former_closed: false,
        });
    }

    /// Removes a frame, and no other.
    fn remove_frame(&mut self, manager: usize, at: usize) {
        let frames = &mut self.frames[manager];
        frames.remove(at);
        if let Some(above) = frames.get_mut(at) {
            let notes = matches!(above.kind, Kind::Scope | Kind::Token);
            above.former_closed |= notes && above.pool.is_some();
        }
    }

    /// Removes guards' frames above a frame; returns whether a token's frame is next.
    fn cut(&mut self, manager: usize, at: usize) -> bool {
        let frame = &self.frames[manager][at];
        let stay = frame.pool.is_some() && frame.former_closed;
        let mut next = at + 1;
        while let Some(frame) = self.frames[manager].get(next) {
            match frame.kind {
                Kind::Guard if stay => next += 1,
                Kind::Guard => self.remove_frame(manager, next),
                kind => return kind == Kind::Token,
            }
        }
        false
    }
}

impl State {
    /// Returns the number of a thread's open pools, without root pools.
    pub(super) fn open_pools(&self, thread: usize, manager: usize) -> usize {
        let of = |pool: &&Pool| (pool.thread, pool.manager) == (thread, manager);
        let pools = self.pools.iter().filter(of);
        pools.filter(|pool| pool.open).count()
    }
}

impl Here {
    fn autorelease(&self, manager: usize, entry: Entry) {
        let mut state = self.state();
        let me = &state.threads[self.me];
        let current = me.current(manager);
        if me.exited && me.roots.contains(&current) {
            drop(state);
            drop(entry);
        } else {
            state.pools[current].entries.push(entry);
        }
    }

    fn open(&self, manager: usize, kind: Kind) -> usize {
        let mut state = self.state();
        let pool = state.pools.len();
        state.pools.push(Pool {
            thread: self.me,
            manager,
            open: true,
            ..Pool::default()
        });
        state.threads[self.me].push_frame(manager, kind, pool);
        pool
    }

    /// Makes the pool current that was current before the scope whose frame is at `at`.
    fn restore(&self, manager: usize, at: usize, first: &mut First) {
        while self.with(|me| me.cut(manager, at)) {
            self.pop_last(manager, None, first);
        }
    }

    /// Closes a pool. The frame of a scope stays, as a barrier without a pool.
    pub(super) fn close(&self, pool: usize) {
        let mut state = self.state();
        state.pools[pool].open = false;
        let manager = state.pools[pool].manager;
        let me = &mut state.threads[self.me];
        let of = |frame: &Frame| frame.pool == Some(pool) && frame.kind != Kind::Drain;
        let Some(at) = me.frames[manager].iter().position(of) else {
            return;
        };
        match me.frames[manager][at].kind {
            Kind::Scope => me.frames[manager][at].pool = None,
            _ => me.remove_frame(manager, at),
        }
    }

    /// Counts a release or a drain until the result is dropped.
    pub(super) fn releases(&self) -> impl Drop + use<> {
        struct Releases(Here);
        impl Drop for Releases {
            fn drop(&mut self) {
                self.0.with(|me| me.releases -= 1);
            }
        }
        self.with(|me| me.releases += 1);
        Releases(self.clone())
    }

    /// Drains a pool; returns the number of released entries, and the first panic.
    pub(super) fn drain(&self, pool: usize) -> (usize, First) {
        let manager = self.state().pools[pool].manager;
        let outermost = self.with(|me| me.releases == 0);
        let _releases = self.releases();
        self.with(|me| me.push_frame(manager, Kind::Drain, pool));
        self.state().pools[pool].drains += 1;
        let (mut released, mut first) = (0, First::default());
        self.empty(pool, &mut released, &mut first);
        if outermost && self.deliver(&mut first) {
            self.empty(pool, &mut released, &mut first);
        }
        if outermost && self.with(|me| std::mem::take(&mut me.asked[manager])) {
            let root = self.with(|me| me.roots[manager]);
            if root != pool {
                let (_, panic) = self.drain(root);
                first.keep(panic);
            }
        }
        let of = |frame: &Frame| frame.pool == Some(pool) && frame.kind == Kind::Drain;
        // An exit may have made the root pool current.
        while let Some(at) = self.with(|me| me.frames[manager].iter().rposition(of)) {
            // Whoever pops a token pool pops those above it.
            if !self.with(|me| me.tokens[manager].contains(&pool)) {
                self.restore(manager, at, &mut first);
            }
            if self.state().pools[pool].entries.is_empty() {
                self.with(|me| me.remove_frame(manager, at));
                break;
            }
            self.empty(pool, &mut released, &mut first);
        }
        self.state().pools[pool].drains -= 1;
        (released, first)
    }

    fn empty(&self, pool: usize, released: &mut usize, first: &mut First) {
        loop {
            let Some(entry) = self.state().pools[pool].entries.pop() else {
                return;
            };
            *released += 1;
            first.run(|| drop(entry));
        }
    }

    /// Pops the last token pool, unless destructors push others. Ends its scope if it is `end`.
    fn pop_last(&self, manager: usize, end: Option<usize>, first: &mut First) -> usize {
        let last = self.with(|me| *me.tokens[manager].last().unwrap());
        let (released, panic) = self.drain(last);
        let is_last = self.with(|me| {
            let is_last = me.tokens[manager].last() == Some(&last);
            if is_last {
                me.tokens[manager].pop();
                let of = |frame: &Frame| frame.pool == Some(last);
                let at = me.frames[manager].iter().position(of);
                if let Some(at) = at.filter(|_| end == Some(last)) {
                    me.cut(manager, at);
                }
            }
            is_last
        });
        if is_last {
            self.close(last);
        }
        first.keep(panic);
        released
    }
}
