//! State that all threads of a program share. Other code never runs while a lock is held.

use super::super::super::{Note, Refusal, Threads, lock, pick};
use super::super::{PoolManager, PoolToken, PopError, ThreadHandle, managers, quiesce, shutdown};
use super::handle::{AnyWeak, Handle};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Weak as StdWeak};
use std::thread::ThreadId;

/// Children of an object, which it shares with the world, so that cycles can be broken.
pub type Children = Mutex<Vec<Handle>>;

pub struct World {
    managers: [PoolManager; 2],
    log: Mutex<Vec<Note>>,
    made: AtomicU32,
    /// How many values are alive.
    pub alive: AtomicUsize,
    handles: Mutex<Vec<Option<Handle>>>,
    weaks: Mutex<Vec<Option<AnyWeak>>>,
    /// Tokens, each with its manager and its thread.
    pushed: Mutex<Vec<(PoolToken, usize, ThreadHandle)>>,
    /// The children of each object, by id.
    families: Mutex<Vec<StdWeak<Children>>>,
    /// Children that destructors nested too deeply have left.
    attic: Mutex<VecDeque<Handle>>,
    /// The threads that are sent messages.
    threads: Vec<Mutex<Option<ThreadHandle>>>,
    pub(super) links: AtomicUsize,
}

/// The program of each thread: the library has no other way to find it.
static THREADS: Threads<StdWeak<World>> = Threads::new();

/// Notes the panic of an object that was only reported; the library calls this.
pub fn reported(message: Option<&str>) {
    if let Some(world) = THREADS.get().and_then(|world| world.upgrade()) {
        let id = message.and_then(|text| text.parse().ok());
        world.note(Note::Reported(id.expect("only objects panic here")));
    }
}

impl World {
    /// Makes the state for this many threads that are sent messages.
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            managers: managers(),
            threads: (0..threads).map(|_| Mutex::default()).collect(),
            log: Mutex::default(),
            made: AtomicU32::new(0),
            alive: AtomicUsize::new(0),
            handles: Mutex::default(),
            weaks: Mutex::default(),
            pushed: Mutex::default(),
            families: Mutex::default(),
            attic: Mutex::default(),
            links: AtomicUsize::new(0),
        })
    }

    /// Registers the calling thread.
    pub(super) fn enter(self: &Arc<Self>, me: usize) {
        THREADS.add(Arc::downgrade(self));
        let handle = self.managers[0].current_thread();
        if let Some(slot) = self.threads.get(me) {
            *lock(slot) = handle;
        }
        // Both managers must know the thread. This may release orphans.
        for manager in &self.managers {
            self.caught(|| assert_eq!(manager.drain_root(), 0));
        }
    }

    /// Removes a thread that has ended.
    pub fn forget_thread(&self, id: ThreadId) {
        THREADS.remove(id);
    }

    pub fn manager(&self, manager: u8) -> &PoolManager {
        &self.managers[manager as usize % 2]
    }

    pub(super) fn thread(&self, to: u8) -> ThreadHandle {
        let slot = &self.threads[to as usize % self.threads.len()];
        lock(slot).clone().expect("all threads have begun")
    }

    pub fn note(&self, note: Note) {
        lock(&self.log).push(note);
    }

    pub fn take_log(&self) -> Vec<Note> {
        std::mem::take(&mut lock(&self.log))
    }

    /// Runs `f`; returns the id of the object that panicked. A panic of the test itself goes on.
    pub(super) fn catching<R>(&self, f: impl FnOnce() -> R) -> Result<R, u32> {
        catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
            let id = payload.downcast_ref::<String>();
            match id.and_then(|id| id.parse().ok()) {
                Some(id) => id,
                None => resume_unwind(payload),
            }
        })
    }

    /// Runs `f`, and notes its panic.
    pub(super) fn caught(&self, f: impl FnOnce()) {
        if let Err(id) = self.catching(f) {
            self.note(Note::Panicked(id));
        }
    }

    pub(super) fn to_attic(&self, handles: Vec<Handle>) {
        lock(&self.attic).extend(handles);
    }

    pub(super) fn clear_attic(&self) {
        loop {
            let Some(handle) = lock(&self.attic).pop_front() else {
                return;
            };
            self.caught(|| drop(handle));
        }
    }

    /// Returns the id of the object that is made next.
    pub(super) fn next_id(&self) -> u32 {
        self.made.load(Relaxed)
    }

    pub(super) fn register(&self, children: &Arc<Children>) -> u32 {
        lock(&self.families).push(Arc::downgrade(children));
        self.alive.fetch_add(1, Relaxed);
        self.made.fetch_add(1, Relaxed)
    }

    pub(super) fn break_cycles(&self) {
        let mut at = 0;
        loop {
            let Some(family) = lock(&self.families).get(at).cloned() else {
                return;
            };
            at += 1;
            let Some(family) = family.upgrade() else {
                continue;
            };
            let children = std::mem::take(&mut *lock(&family));
            for child in children {
                self.caught(|| drop(child));
            }
        }
    }

    pub(super) fn handles(&self) -> MutexGuard<'_, Vec<Option<Handle>>> {
        lock(&self.handles)
    }

    pub(super) fn weaks(&self) -> MutexGuard<'_, Vec<Option<AnyWeak>>> {
        lock(&self.weaks)
    }

    pub(super) fn keep(&self, handle: Handle) {
        self.handles().push(Some(handle));
    }

    pub(super) fn handle(&self, i: u8) -> Option<Handle> {
        let handles = self.handles();
        handles[pick(&handles, i)?].clone()
    }

    pub(super) fn take_handle(&self, i: u8) -> Option<Handle> {
        let mut handles = self.handles();
        let at = pick(&handles, i)?;
        handles[at].take()
    }

    pub(super) fn upgrade(&self, i: u8) -> Option<()> {
        let weaks = self.weaks();
        let handle = weaks[pick(&weaks, i)?].as_ref()?.upgrade();
        self.note(Note::Got(handle.is_some()));
        if let Some(handle) = handle {
            self.keep(handle);
        }
        Some(())
    }

    pub(super) fn push(&self, manager: u8) {
        let token = self.manager(manager).push();
        let me = self.managers[0].current_thread().unwrap();
        lock(&self.pushed).push((token, manager as usize % 2, me));
    }

    pub(super) fn pop(&self, i: u8, shift: usize) -> Option<()> {
        let pushed = lock(&self.pushed);
        let n = pushed.len().max(1);
        let (token, manager, owner) = pushed.get(i as usize % n)?.clone();
        drop(pushed);
        let popped = self.managers[(manager + shift) % 2].pop(token);
        if let Err(PopError::WrongThread { owner: said }) = popped {
            assert_eq!(said, owner.key(), "the owner of a token");
        }
        self.note_pop(popped);
        Some(())
    }

    pub(super) fn note_pop(&self, popped: Result<usize, PopError>) {
        self.note(Note::Popped(popped.map_err(|error| match error {
            PopError::Stale => Refusal::Stale,
            PopError::Draining => Refusal::Draining,
            PopError::WrongThread { .. } => Refusal::WrongThread,
            PopError::WrongManager => Refusal::WrongManager,
            #[allow(unreachable_patterns, reason = "the crate may have others later")]
            _ => unreachable!(),
        })));
    }

    pub(super) fn quiesce(&self) {
        let done = quiesce(&self.managers[0]);
        self.note(Note::Got(done));
    }

    pub(super) fn shutdown(&self, manager: u8) {
        let [released, holders, orphans] = shutdown(self.manager(manager));
        self.note(Note::Shutdown(released, holders, orphans));
    }
}
