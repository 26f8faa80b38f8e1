//! The model, which is made of vectors.
//!
//! * this file: the state, and the steps
//! * [`objects`]: objects, their destruction, and what their destructors do
//! * [`observe`]: the state that a thread observes
//! * [`pools`]: entries, frames and tokens
//! * [`threads`]: messages, and the exit of a thread
//!
//! Operations that may panic return [`Run`]: an error is a panic in flight, with the id of the
//! object that caused it.

mod objects;
mod observe;
mod pools;
mod threads;

use super::{NOBODY, Note, Op, Plan, SCOPES, pick};
use std::collections::VecDeque;

type Run<T = ()> = Result<T, u32>;

/// The type by which a handle refers to its object.
#[derive(Clone, Copy, PartialEq)]
enum View {
    Sized,
    Dyn,
    Slice,
    Str,
}

#[derive(Clone, Copy)]
struct Handle {
    object: usize,
    view: View,
}

/// A counted object, with any number of values.
struct Object {
    values: Vec<usize>,
    strong: usize,
    weak: usize,
}

/// A value with a destructor. Its index is its id.
struct Value {
    plan: Plan,
    /// True if it panics even while the thread is panicking.
    always: bool,
    children: Vec<usize>,
    /// The object that the value has a weak reference to.
    me: Option<usize>,
    links: usize,
}

#[derive(Default)]
struct Pool {
    thread: usize,
    manager: usize,
    entries: Vec<usize>,
    open: bool,
    drains: usize,
}

/// A frame of the stack of pools. The topmost frame that has a pool says which pool is current.
struct Frame {
    kind: Kind,
    /// `None` for a scope whose guard has been dropped.
    pool: Option<usize>,
    /// True if the pool that was current before this scope or token has been closed.
    former_closed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Guard,
    Token,
    Scope,
    Drain,
}

enum Message {
    Release(usize),
    Call(usize),
}

#[derive(Clone, Copy)]
struct Token {
    manager: usize,
    thread: usize,
    pool: usize,
}

#[derive(Default)]
struct Thread {
    /// The root pool of each manager.
    roots: [usize; 2],
    /// The frames above the root pools'.
    frames: [Vec<Frame>; 2],
    /// Open token pools, oldest first.
    tokens: [Vec<usize>; 2],
    guards: Vec<Option<usize>>,
    /// Guards that were forgotten.
    lost: Vec<usize>,
    /// Pools of the guards of the open scopes.
    scopes: Vec<usize>,
    locals: Vec<Option<usize>>,
    inbox: Vec<Message>,
    closed: bool,
    posted: VecDeque<usize>,
    /// True if `shutdown` has asked for this manager's root pool.
    asked: [bool; 2],
    /// The number of releases and drains that are running.
    releases: usize,
    /// The number of destructors that are running.
    depth: usize,
    /// The number of panics in flight.
    panics: usize,
    exited: bool,
    /// The number of calls of `state`.
    looks: usize,
}

#[derive(Default)]
pub struct Naive {
    objects: Vec<Object>,
    values: Vec<Value>,
    pools: Vec<Pool>,
    threads: Vec<Thread>,
    /// The number of threads that are sent messages: the others only clean up at the end.
    addressees: usize,
    /// The thread that runs the current step.
    me: usize,
    handles: Vec<Option<Handle>>,
    weaks: Vec<Option<Handle>>,
    pushed: Vec<Token>,
    /// Children that destructors nested too deeply have left.
    attic: VecDeque<usize>,
    orphans: Vec<usize>,
    orphaned_calls: Vec<usize>,
    links: usize,
    log: Vec<Note>,
}

impl Naive {
    /// Makes a model with this many threads, each with its root pools.
    pub fn new(threads: usize) -> Self {
        let mut this = Self {
            addressees: threads,
            ..Self::default()
        };
        (0..threads).for_each(|_| _ = this.add_thread());
        this
    }

    pub fn add_thread(&mut self) -> usize {
        let thread = self.threads.len();
        let mut new = Thread::default();
        for manager in 0..2 {
            new.roots[manager] = self.pools.len();
            self.pools.push(Pool {
                thread,
                manager,
                ..Pool::default()
            });
        }
        self.threads.push(new);
        thread
    }

    fn here(&mut self) -> &mut Thread {
        &mut self.threads[self.me]
    }

    fn note(&mut self, note: Note) {
        self.log.push(note);
    }

    /// Returns the effects since the last call.
    pub fn take_log(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.log)
    }

    /// Returns the number of open scopes of a thread.
    pub fn scopes(&self, thread: usize) -> usize {
        self.threads[thread].scopes.len()
    }

    /// Returns true if threads that have ended left something to others.
    pub fn has_orphans(&self) -> bool {
        !self.orphans.is_empty() || !self.orphaned_calls.is_empty()
    }

    pub fn live_objects(&self) -> usize {
        self.objects
            .iter()
            .filter(|object| object.strong > 0)
            .count()
    }

    pub fn step(&mut self, me: usize, op: &Op) {
        self.me = me;
        let result = self.try_step(op);
        self.caught(result);
        self.clear_attic();
    }

    /// Notes a panic that leaves the step.
    fn caught(&mut self, result: Run) {
        if let Err(id) = result {
            self.here().panics -= 1;
            self.note(Note::Panicked(id));
        }
    }

    fn clear_attic(&mut self) {
        while let Some(object) = self.attic.pop_front() {
            let result = self.release(object);
            self.caught(result);
        }
    }

    /// Runs a step; does nothing if the step refers to nothing.
    fn try_step(&mut self, op: &Op) -> Run {
        match self.object_step(op) {
            Some(result) => result,
            None => self.pool_step(op).unwrap_or(Ok(())),
        }
    }

    fn object_step(&mut self, op: &Op) -> Option<Run> {
        match *op {
            Op::Create(plan) => self.create_handle(&[plan], View::Sized),
            Op::CreateCyclic(plan) => {
                self.create_handle(&[plan], View::Sized);
                let object = self.objects.len() - 1;
                self.objects[object].weak = 1;
                self.values.last_mut()?.me = Some(object);
            }
            Op::CreateCyclicPanics => {
                let object = self.new_object(Vec::new());
                self.objects[object].strong = 0;
                self.objects[object].weak = 1;
                self.weaks.push(Some(Handle {
                    object,
                    view: View::Sized,
                }));
                self.note(Note::Got(false));
                self.here().panics += 1;
                return Some(Err(NOBODY));
            }
            Op::CreateSlice(n, plan) => {
                self.create_handle(&vec![plan; n as usize % 4], View::Slice);
            }
            Op::CreateArray(plan) => self.create_handle(&[plan; 2], View::Slice),
            Op::CreateStr(_) => self.create_handle(&[], View::Str),
            Op::Unsize(i) => {
                let at = pick(&self.handles, i)?;
                Self::unsize(self.handles[at].as_mut()?);
            }
            Op::UnsizeWeak(i) => {
                let at = pick(&self.weaks, i)?;
                Self::unsize(self.weaks[at].as_mut()?);
            }
            Op::Clone(i) => {
                let handle = self.handle(i)?;
                self.objects[handle.object].strong += 1;
                self.handles.push(Some(handle));
            }
            Op::Drop(i) => {
                let handle = self.take_handle(i)?;
                return Some(self.release(handle.object));
            }
            Op::Adopt(parent, child) => {
                let (parent, child) = (self.handle(parent)?, self.handle(child)?);
                let &value = self.objects[parent.object].values.first()?;
                self.objects[child.object].strong += 1;
                self.values[value].children.push(child.object);
            }
            Op::Downgrade(i) => {
                let handle = self.handle(i)?;
                self.objects[handle.object].weak += 1;
                self.weaks.push(Some(handle));
            }
            Op::CloneWeak(i) => {
                let handle = self.weaks[pick(&self.weaks, i)?]?;
                self.objects[handle.object].weak += 1;
                self.weaks.push(Some(handle));
            }
            Op::Upgrade(i) => self.upgrade(i)?,
            Op::DropWeak(i) => {
                let at = pick(&self.weaks, i)?;
                let handle = self.weaks[at].take()?;
                self.objects[handle.object].weak -= 1;
            }
            Op::GetMut(i, plan) => {
                let handle = self.handle(i)?;
                let Object { strong, weak, .. } = self.objects[handle.object];
                let sole = strong == 1 && weak == 0;
                self.note(Note::Got(sole));
                if sole {
                    self.set_plans(handle.object, plan);
                }
            }
            Op::MakeMut(i, plan) => return self.make_mut(i, plan),
            Op::TryUnwrap(i) => {
                let at = pick(&self.handles, i)?;
                let handle = self.sized_handle(at)?;
                let sole = self.objects[handle.object].strong == 1;
                self.note(Note::Got(sole));
                if sole {
                    self.handles[at] = None;
                    self.objects[handle.object].strong = 0;
                    return Some(self.drop_values(handle.object));
                }
            }
            Op::IntoInner(i) => {
                let at = pick(&self.handles, i)?;
                let handle = self.sized_handle(at)?;
                self.handles[at] = None;
                self.objects[handle.object].strong -= 1;
                let last = self.objects[handle.object].strong == 0;
                self.note(Note::Got(last));
                if last {
                    return Some(self.drop_values(handle.object));
                }
            }
            Op::CreateLocal(plan) => {
                let object = self.create(plan);
                self.here().locals.push(Some(object));
            }
            Op::DropLocal(i) => {
                let object = self.take_local(i)?;
                return Some(self.release(object));
            }
            _ => return None,
        }
        Some(Ok(()))
    }

    fn pool_step(&mut self, op: &Op) -> Option<Run> {
        match *op {
            Op::CreateInPool(pool, plan) => {
                let pool = self.guard(pool)?;
                let object = self.create(plan);
                self.pools[pool].entries.push(object);
            }
            Op::Open(manager) => {
                let pool = self.open(manager as usize % 2, Kind::Guard);
                self.here().guards.push(Some(pool));
            }
            Op::Close(i) => {
                let pool = self.take_guard(i)?;
                return Some(self.drain_and_close(pool));
            }
            Op::Forget(i) => {
                let pool = self.take_guard(i)?;
                self.here().lost.push(pool);
            }
            Op::Drain(i) => {
                let pool = self.guard(i)?;
                return Some(self.drain_and_note(pool));
            }
            Op::Autorelease(pool, i) => {
                let pool = self.guard(pool)?;
                let object = self.take_handle(i)?.object;
                self.pools[pool].entries.push(object);
            }
            Op::AutoreleaseAndRetain(pool, i) => {
                let pool = self.guard(pool)?;
                let handle = self.take_handle(i)?;
                self.objects[handle.object].strong += 1;
                self.pools[pool].entries.push(handle.object);
                self.handles.push(Some(handle));
            }
            Op::Flood(pool, i, n) => {
                let pool = self.guard(pool)?;
                let object = self.handle(i)?.object;
                let n = 2 * n as usize;
                self.objects[object].strong += n;
                self.pools[pool].entries.extend(vec![object; n]);
            }
            Op::AutoreleaseImplicitly(manager, i) => {
                let object = self.take_handle(i)?.object;
                return Some(self.autorelease(manager as usize % 2, object));
            }
            Op::AutoreleaseLocal(manager, i) => {
                let object = self.take_local(i)?;
                return Some(self.autorelease(manager as usize % 2, object));
            }
            Op::Push(manager) => self.push(manager as usize % 2),
            Op::Pop(i) => return self.pop_and_note(i, 0),
            Op::PopForeign(i) => return self.pop_and_note(i, 1),
            Op::DrainRoot(manager) => {
                let root = self.here().roots[manager as usize % 2];
                return Some(self.drain_and_note(root));
            }
            Op::Boundary(manager) => return Some(self.boundary(manager as usize % 2)),
            Op::Enter if self.scopes(self.me) < SCOPES => {
                let pool = self.open(0, Kind::Scope);
                self.here().scopes.push(pool);
            }
            Op::Leave => {
                let pool = self.here().scopes.pop()?;
                return Some(self.leave_scope(pool));
            }
            Op::LeavePanicking => {
                let pool = self.here().scopes.pop()?;
                self.here().panics += 1;
                let result = self.leave_scope(pool);
                assert_eq!(result, Ok(()), "no panic gets out while another does");
                return Some(Err(NOBODY));
            }
            Op::Swap(i) => {
                let at = pick(&self.here().guards, i)?;
                let here = self.here();
                let (own, other) = (here.scopes.last_mut()?, here.guards[at].as_mut()?);
                std::mem::swap(own, other);
            }
            Op::Release(to, i) => {
                let object = self.take_handle(i)?.object;
                self.send(to, object);
            }
            Op::Post(to, i) => {
                let object = self.take_handle(i)?.object;
                return Some(self.post(to, object));
            }
            Op::RunInbox => return Some(self.run_inbox()),
            Op::Quiesce => return Some(self.quiesce()),
            Op::Shutdown(manager) => return Some(self.shutdown(manager as usize % 2)),
            _ => {}
        }
        Some(Ok(()))
    }

    fn unsize(handle: &mut Handle) {
        if handle.view == View::Sized {
            handle.view = View::Dyn;
        }
    }

    fn handle(&self, i: u8) -> Option<Handle> {
        self.handles[pick(&self.handles, i)?]
    }

    fn sized_handle(&self, at: usize) -> Option<Handle> {
        self.handles[at].filter(|handle| handle.view == View::Sized)
    }

    fn take_handle(&mut self, i: u8) -> Option<Handle> {
        let at = pick(&self.handles, i)?;
        self.handles[at].take()
    }

    fn take_local(&mut self, i: u8) -> Option<usize> {
        let at = pick(&self.here().locals, i)?;
        self.here().locals[at].take()
    }

    fn guard(&mut self, i: u8) -> Option<usize> {
        let guards = &self.threads[self.me].guards;
        guards[pick(guards, i)?]
    }

    fn take_guard(&mut self, i: u8) -> Option<usize> {
        let at = pick(&self.here().guards, i)?;
        self.here().guards[at].take()
    }
}
