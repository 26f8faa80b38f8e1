//! Messages, and the exit of a thread.

use super::super::lock;
use super::{Call, First, Here, Message, Pool, PoolManager, Ref, State, THREADS, Thread};
use std::mem;
use std::sync::{Arc, Mutex};

thread_local! {
    static EXIT: Exit = const { Exit };
}

struct Exit;

impl Drop for Exit {
    fn drop(&mut self) {
        Here::get().exit();
    }
}

/// Begins a model; each of its threads gets its number by `current_thread`.
pub fn managers() -> [PoolManager; 2] {
    let here = Here {
        state: Arc::<Mutex<State>>::default(),
        me: usize::MAX,
    };
    [0, 1].map(|manager| PoolManager {
        here: here.clone(),
        manager,
    })
}

/// Returns whether threads that have ended left something to others.
pub fn has_orphans(manager: &PoolManager) -> bool {
    let state = manager.here.state();
    !state.orphans.is_empty() || !state.orphaned_calls.is_empty()
}

/// Returns how many entries the calling thread's root pool has, and how many other pools are open.
pub fn root_and_open(manager: &PoolManager) -> [usize; 2] {
    let here = Here::get();
    let state = here.state();
    let root = state.threads[here.me].roots[manager.manager];
    let open = state.open_pools(here.me, manager.manager);
    [state.pools[root].entries.len(), open]
}

pub fn quiesce(manager: &PoolManager) -> bool {
    let first = Here::get().quiesce();
    let done = !has_orphans(manager);
    first.resume();
    done
}

/// Returns the released entries, how many threads hold something, and the orphans.
pub fn shutdown(manager: &PoolManager) -> [usize; 3] {
    let (here, manager) = (Here::get(), manager.manager);
    let mut first = here.quiesce();
    let root = here.with(|me| me.roots[manager]);
    let (mut released, panic) = here.drain(root);
    if panic.0.is_some() {
        // The panic left `drain_root`, which then returns no number.
        released = 0;
    }
    first.keep(panic);
    let mut state = here.state();
    let mut holders = 0;
    for at in 0..state.threads.len() {
        let open = state.open_pools(at, manager);
        let State { threads, pools, .. } = &mut *state;
        let thread = &mut threads[at];
        if thread.exited {
            continue;
        }
        thread.asked[manager] |= at != here.me;
        let has_mail = !thread.inbox.is_empty() || !thread.posted.is_empty();
        let has_entries = !pools[thread.roots[manager]].entries.is_empty();
        holders += usize::from(has_mail || has_entries || open > 0);
    }
    let orphans = state.orphans.len() + state.orphaned_calls.len();
    drop(state);
    first.resume();
    [released, holders, orphans]
}

#[derive(Clone)]
pub struct ThreadHandle(Here);

impl ThreadHandle {
    pub fn key(&self) -> usize {
        self.0.me
    }

    pub fn release<T: ?Sized + Send + Sync + 'static>(&self, object: Ref<T>) {
        let mut state = self.0.state();
        let thread = &mut state.threads[self.0.me];
        if thread.closed {
            state.orphans.push(Box::new(object));
        } else {
            thread.inbox.push(Message::Release(Box::new(object)));
        }
    }

    pub fn post<F: FnOnce() + Send + 'static>(&self, call: F) -> Result<(), F> {
        self.0.with(|thread| {
            if thread.closed {
                return Err(call);
            }
            thread.inbox.push(Message::Call(Box::new(call)));
            Ok(())
        })
    }
}

impl PoolManager {
    pub fn current_thread(&self) -> Option<ThreadHandle> {
        let here = THREADS.get().unwrap_or_else(|| {
            let state = self.here.state.clone();
            let me = lock(&state).add_thread();
            let here = Here { state, me };
            THREADS.add(here.clone());
            EXIT.with(|_| ());
            here
        });
        Some(ThreadHandle(here))
    }

    pub fn run_inbox(&self) -> usize {
        let here = Here::get();
        if here.with(|me| me.releases > 0 || me.exited) {
            return 0;
        }
        let mut first = First::default();
        here.deliver_alone(&mut first);
        let mut ran = 0;
        for _ in 0..here.with(|me| me.posted.len()) {
            let Some(call) = here.with(|me| me.posted.pop_front()) else {
                break;
            };
            ran += 1;
            first.run(call);
        }
        first.resume();
        ran
    }
}

impl State {
    fn add_thread(&mut self) -> usize {
        let thread = self.threads.len();
        let roots = [0, 1].map(|manager| {
            self.pools.push(Pool {
                thread,
                manager,
                ..Pool::default()
            });
            self.pools.len() - 1
        });
        self.threads.push(Thread {
            roots,
            ..Thread::default()
        });
        thread
    }
}

impl Here {
    /// Releases what was sent to this thread, and the orphans; returns true if there was anything.
    pub(super) fn deliver(&self, first: &mut First) -> bool {
        let mut any = false;
        for message in self.with(|me| mem::take(&mut me.inbox)) {
            any |= matches!(message, Message::Release(_));
            self.receive(message, first);
        }
        let orphans = mem::take(&mut self.state().orphans);
        for object in orphans {
            any = true;
            first.run(|| drop(object));
        }
        any
    }

    fn receive(&self, message: Message, first: &mut First) {
        match message {
            Message::Call(call) => self.with(|me| me.posted.push_back(call)),
            Message::Release(object) => first.run(|| drop(object)),
        }
    }

    fn deliver_alone(&self, first: &mut First) {
        let _releases = self.releases();
        self.deliver(first);
    }

    fn quiesce(&self) -> First {
        let mut first = First::default();
        self.deliver_alone(&mut first);
        let calls = mem::take(&mut self.state().orphaned_calls);
        calls.into_iter().for_each(|call: Call| first.run(call));
        first
    }

    fn exit(&self) {
        loop {
            if self.empty_all() {
                continue;
            }
            if self.with(|me| mem::replace(&mut me.closed, true)) {
                break;
            }
            self.empty_inbox();
        }
        let mut state = self.state();
        let me = &mut state.threads[self.me];
        me.exited = true;
        me.frames = Default::default();
        let posted = mem::take(&mut me.posted);
        state.orphaned_calls.extend(posted);
    }

    fn empty_all(&self) -> bool {
        let mut any = false;
        for manager in 0..2 {
            let last = || self.with(|me| me.tokens[manager].last().copied());
            while let Some(pool) = last() {
                // A drain that releases no entry may answer `shutdown`, and so fill other pools.
                any = true;
                self.drain(pool).1.report();
                if last() == Some(pool) {
                    self.with(|me| me.tokens[manager].pop());
                    self.close(pool);
                }
            }
            let root = self.with(|me| me.roots[manager]);
            let is_empty = self.state().pools[root].entries.is_empty();
            if !is_empty {
                any = true;
                self.drain(root).1.report();
            }
        }
        any
    }

    fn empty_inbox(&self) {
        let (mut first, _releases) = (First::default(), self.releases());
        for message in self.with(|me| mem::take(&mut me.inbox)) {
            if matches!(message, Message::Release(_)) {
                // Forgotten pools are no longer current.
                self.with(|me| me.frames = Default::default());
            }
            self.receive(message, &mut first);
        }
        first.report();
    }
}
