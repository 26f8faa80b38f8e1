//! One thread of a program, whatever the library: this file is a part of both.
//!
//! * [`world`]: state that all threads of a program share
//! * [`object`]: counted objects and their destructors
//! * [`handle`]: handles of all types, and operations on them
//! * this file: one thread

mod handle;
mod object;
pub mod world;

use super::super::{NOBODY, Note, Op, SCOPES, State, pick};
use super::{AutoreleasePool, Ref, autoreleasepool, root_and_open, unsize};
use handle::{AnyWeak, Handle};
use object::{Local, Object};
use std::cell::{Cell, OnceCell, RefCell};
use std::mem;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender};
use world::World;

/// State of one thread. Other code never runs while it is borrowed.
#[derive(Default)]
struct Mine {
    world: OnceCell<Arc<World>>,
    guards: RefCell<Vec<Option<AutoreleasePool>>>,
    /// Guards that were forgotten.
    lost: RefCell<Vec<AutoreleasePool>>,
    locals: RefCell<Vec<Option<Ref<Local>>>>,
}

thread_local! {
    static MINE: Mine = Mine::default();
}

/// Panics with the id of an object, as part of the program.
fn panic_of(id: u32) -> ! {
    // This calls no panic hook, which would print, or end a fuzzer.
    resume_unwind(Box::new(id.to_string()))
}

/// This thread-local is used before the crate, so it is dropped after the crate's own.
impl Drop for Mine {
    fn drop(&mut self) {
        let Some(world) = self.world.get() else {
            return;
        };
        world.note(Note::Late);
        for guard in self.lost.take() {
            world.caught(|| drop(guard));
        }
        for guard in self.guards.take().into_iter().flatten() {
            world.caught(|| drop(guard));
        }
        self.drop_locals(world);
        world.clear_attic();
    }
}

impl Mine {
    fn drop_locals(&self, world: &World) {
        let len = self.locals.borrow().len();
        for at in 0..len {
            let local = self.locals.borrow_mut()[at].take();
            world.caught(|| drop(local));
        }
    }

    fn take_guard(&self, i: u8) -> Option<(usize, AutoreleasePool)> {
        let mut guards = self.guards.borrow_mut();
        let at = pick(&guards, i)?;
        guards[at].take().map(|guard| (at, guard))
    }

    /// Calls `f` with a guard. `f` must not run a destructor.
    fn with_guard<R>(&self, i: u8, f: impl FnOnce(&mut AutoreleasePool) -> R) -> Option<R> {
        let mut guards = self.guards.borrow_mut();
        let at = pick(&guards, i)?;
        guards[at].as_mut().map(f)
    }

    fn take_local(&self, i: u8) -> Option<Ref<Local>> {
        let mut locals = self.locals.borrow_mut();
        let at = pick(&locals, i)?;
        locals[at].take()
    }
}

/// A thread of a program. It stays on the thread that made it.
struct Worker {
    world: Arc<World>,
    steps: Receiver<Op>,
    seen: Sender<State>,
    /// True if the thread leaves its guards open.
    keep: Cell<bool>,
    /// The number of calls of `state`.
    looks: Cell<usize>,
}

/// Runs the steps, and tells the state at the beginning, after each step, and at the end. The thread
/// has not used the library before. If it is the first, it also clears up; `quiesces` if then nothing
/// else may be left.
pub fn live(
    world: Arc<World>,
    me: usize,
    quiesces: bool,
    steps: Receiver<Op>,
    seen: Sender<State>,
) {
    MINE.with(|mine| assert!(mine.world.set(world.clone()).is_ok()));
    world.enter(me);
    let worker = Worker {
        world,
        steps,
        seen,
        keep: Cell::new(false),
        looks: Cell::new(0),
    };
    worker.tell();
    worker.run_scope(None, 0);
    if me == 0 {
        worker.clear();
        worker.tell();
        if quiesces {
            worker.do_step(&Op::Quiesce);
        }
    }
    worker.leave(worker.keep.get());
    worker.tell();
}

impl Worker {
    fn tell(&self) {
        // The receiver is gone if the test has failed.
        _ = self.seen.send(self.state());
    }

    fn run_scope(&self, mut own: Option<&mut AutoreleasePool>, depth: usize) -> Option<Op> {
        loop {
            let op = match self.steps.recv() {
                // A program's last step.
                Ok(Op::Exit(keep)) => {
                    self.keep.set(keep);
                    continue;
                }
                Ok(op) => op,
                // All scopes end with the program.
                Err(_) if depth > 0 => Op::Leave,
                Err(_) => return None,
            };
            match op {
                Op::Enter if depth < SCOPES => {
                    self.world.caught(|| {
                        autoreleasepool(|pool| {
                            self.tell();
                            let last = self.run_scope(Some(pool), depth + 1);
                            if last == Some(Op::LeavePanicking) {
                                panic_of(NOBODY);
                            }
                        });
                    });
                    self.world.clear_attic();
                }
                Op::Leave | Op::LeavePanicking if depth > 0 => return Some(op),
                Op::Swap(i) => {
                    let own = own.as_deref_mut();
                    let swap =
                        |own| MINE.with(|mine| mine.with_guard(i, |other| mem::swap(own, other)));
                    own.and_then(swap);
                }
                _ => self.do_step(&op),
            }
            self.tell();
        }
    }

    fn do_step(&self, op: &Op) {
        self.world.caught(|| _ = self.step(op));
        self.world.clear_attic();
    }

    /// Runs a step; returns `None` if the step refers to nothing.
    fn step(&self, op: &Op) -> Option<()> {
        MINE.with(|mine| {
            self.object_step(mine, op)
                .or_else(|| self.pool_step(mine, op))
        })
    }

    fn object_step(&self, mine: &Mine, op: &Op) -> Option<()> {
        let world = &self.world;
        let new = |plan| Object::new(world, plan);
        match *op {
            Op::Create(plan) => world.keep(Handle::Sized(Ref::new(new(plan)))),
            Op::CreateCyclic(plan) => {
                let object = Ref::new_cyclic(|me| new(plan).knowing(me.clone()));
                world.keep(Handle::Sized(object));
            }
            Op::CreateCyclicPanics => {
                drop(Ref::<Object>::new_cyclic(|me| {
                    world.weaks().push(Some(AnyWeak::Sized(me.clone())));
                    world.note(Note::Got(me.upgrade().is_some()));
                    panic_of(NOBODY)
                }));
            }
            Op::CreateSlice(n, plan) => {
                let objects: Vec<_> = (0..n % 4).map(|_| new(plan)).collect();
                world.keep(Handle::Slice(objects.into()));
            }
            Op::CreateArray(plan) => {
                let objects = Ref::new([new(plan), new(plan)]);
                world.keep(Handle::Slice(unsize!(objects => [Object])));
            }
            Op::CreateStr(n) => world.keep(Handle::Str("x".repeat(n as usize).into())),
            Op::Unsize(i) => {
                let at = pick(&world.handles(), i)?;
                let handle = world.handles()[at].take()?;
                world.handles()[at] = Some(handle.unsized_too());
            }
            Op::UnsizeWeak(i) => {
                let at = pick(&world.weaks(), i)?;
                let weak = world.weaks()[at].take()?;
                world.weaks()[at] = Some(weak.unsized_too());
            }
            Op::Clone(i) => {
                let handle = world.handle(i)?;
                world.keep(handle);
            }
            Op::Drop(i) => drop(world.take_handle(i)?),
            Op::Adopt(parent, child) => {
                let (parent, child) = (world.handle(parent)?, world.handle(child)?);
                let value = parent.first()?;
                value.adopt(child);
            }
            Op::Downgrade(i) => {
                let weak = world.handle(i)?.downgrade();
                world.weaks().push(Some(weak));
            }
            Op::CloneWeak(i) => {
                let mut weaks = world.weaks();
                let weak = weaks[pick(&weaks, i)?].clone();
                weaks.push(weak);
            }
            Op::Upgrade(i) => world.upgrade(i)?,
            Op::DropWeak(i) => {
                let mut weaks = world.weaks();
                let at = pick(&weaks, i)?;
                weaks[at] = None;
            }
            Op::GetMut(i, plan) => {
                let mut handles = world.handles();
                let at = pick(&handles, i)?;
                let got = handles[at].as_mut()?.set_plan_if_sole(plan);
                world.note(Note::Got(got));
            }
            Op::MakeMut(i, plan) => {
                let at = pick(&world.handles(), i)?;
                let mut handle = world.handles()[at].take()?;
                handle.make_mut(plan);
                world.handles()[at] = Some(handle);
            }
            Op::TryUnwrap(i) => {
                let at = pick(&world.handles(), i)?;
                let handle = world.handles()[at].take()?;
                let back = match handle {
                    Handle::Sized(object) => match Ref::try_unwrap(object) {
                        Ok(value) => {
                            world.note(Note::Got(true));
                            drop(value);
                            return Some(());
                        }
                        Err(object) => {
                            world.note(Note::Got(false));
                            Handle::Sized(object)
                        }
                    },
                    other => other,
                };
                world.handles()[at] = Some(back);
            }
            Op::IntoInner(i) => {
                let at = pick(&world.handles(), i)?;
                let handle = world.handles()[at].take()?;
                if let Handle::Sized(object) = handle {
                    let value = Ref::into_inner(object);
                    world.note(Note::Got(value.is_some()));
                    drop(value);
                } else {
                    world.handles()[at] = Some(handle);
                }
            }
            Op::CreateLocal(plan) => {
                let local = Ref::new(Local::new(new(plan)));
                mine.locals.borrow_mut().push(Some(local));
            }
            Op::DropLocal(i) => drop(mine.take_local(i)?),
            _ => return None,
        }
        Some(())
    }

    fn pool_step(&self, mine: &Mine, op: &Op) -> Option<()> {
        let world = &self.world;
        match *op {
            Op::CreateInPool(pool, plan) => mine.with_guard(pool, |pool| {
                let id = world.next_id();
                assert_eq!(pool.create(Object::new(world, plan)).id, id);
            })?,
            Op::Open(manager) => {
                let pool = world.manager(manager).pool();
                mine.guards.borrow_mut().push(Some(pool));
            }
            Op::Close(i) => drop(mine.take_guard(i)?),
            Op::Forget(i) => mine.lost.borrow_mut().push(mine.take_guard(i)?.1),
            Op::Drain(i) => {
                let (at, mut pool) = mine.take_guard(i)?;
                let result = world.catching(|| pool.drain());
                mine.guards.borrow_mut()[at] = Some(pool);
                world.note(match result {
                    Ok(released) => Note::Did(released),
                    Err(id) => Note::Panicked(id),
                });
            }
            Op::Autorelease(pool, i) | Op::AutoreleaseAndRetain(pool, i) => {
                let lent = mine.with_guard(pool, |pool| {
                    let handle = world.take_handle(i)?;
                    let id = handle.first().map(|value| value.id);
                    let lent = handle.autorelease_in(pool);
                    assert_eq!(lent.first().map(|value| value.id), id);
                    Some(lent)
                })??;
                if matches!(op, Op::AutoreleaseAndRetain(..)) {
                    world.keep(lent);
                }
            }
            Op::Flood(pool, i, n) => {
                mine.with_guard(pool, |pool| {
                    let handle = world.handle(i)?;
                    for _ in 0..2 * n as usize {
                        handle.clone().autorelease_in(pool);
                    }
                    Some(())
                })??;
            }
            Op::AutoreleaseImplicitly(manager, i) => {
                let handle = world.take_handle(i)?;
                handle.autorelease(world.manager(manager));
            }
            Op::AutoreleaseLocal(manager, i) => {
                let local = mine.take_local(i)?;
                world.manager(manager).autorelease(local);
            }
            Op::Push(manager) => world.push(manager),
            Op::Pop(i) => world.pop(i, 0)?,
            Op::PopForeign(i) => world.pop(i, 1)?,
            Op::DrainRoot(manager) => {
                let released = world.manager(manager).drain_root();
                world.note(Note::Did(released));
            }
            Op::DrainRootBeyondWatermark(manager) => {
                let released = world.manager(manager).drain_root_beyond_watermark();
                world.note(Note::Did(released));
            }
            Op::Release(to, i) => world.take_handle(i)?.release_on(world.thread(to)),
            Op::Post(to, i) => {
                let handle = world.take_handle(i)?;
                let refused = world.thread(to).post(move || drop(handle)).err();
                world.note(Note::Got(refused.is_none()));
                drop(refused);
            }
            Op::RunInbox => {
                let ran = world.manager(0).run_inbox();
                world.note(Note::Did(ran));
            }
            Op::Quiesce => world.quiesce(),
            Op::Shutdown(manager) => world.shutdown(manager),
            // `run_scope` does these, or they do nothing.
            _ => {}
        }
        Some(())
    }

    /// Drops what the program holds of this thread, which is about to end, or leaves its pools
    /// open.
    fn leave(&self, keep: bool) {
        MINE.with(|mine| {
            let mut at = 0;
            while at < mine.guards.borrow().len() {
                let guard = mine.guards.borrow_mut()[at].take();
                if keep {
                    mine.lost.borrow_mut().extend(guard);
                } else {
                    self.world.caught(|| drop(guard));
                }
                at += 1;
            }
            if !keep {
                mine.drop_locals(&self.world);
            }
        });
        self.world.clear_attic();
    }

    /// Drops all handles, and breaks all cycles.
    fn clear(&self) {
        let world = &self.world;
        let mut at = 0;
        while at < world.handles().len() {
            let handle = world.handles()[at].take();
            world.caught(|| drop(handle));
            at += 1;
        }
        let weaks = mem::take(&mut *world.weaks());
        drop(weaks);
        world.break_cycles();
        world.clear_attic();
        // A closure must run here, not after the thread's end: the next thread in its slot must not
        // run it.
        self.do_step(&Op::RunInbox);
    }

    /// Returns the state that the thread observes.
    fn state(&self) -> State {
        let world = &self.world;
        let pools = [0, 1].map(|manager| root_and_open(world.manager(manager)));
        let handles = world.handles();
        let all: Vec<_> = handles.iter().flatten().collect();
        let looks = self.looks.replace(self.looks.get() + 1);
        let looked_at = all.get(looks % all.len().max(1));
        MINE.with(|mine| {
            let guards = mine.guards.borrow();
            let contains = |handle: &&Handle| {
                let guards = guards.iter().flatten().map(|pool| handle.is_in(pool));
                let managers = [0, 1].map(|m| handle.is_in_any_of(world.manager(m)));
                (guards.collect(), managers)
            };
            State {
                log: world.take_log(),
                handles: (handles.iter())
                    .map(|handle| handle.as_ref().map(Handle::counts))
                    .collect(),
                contains: looked_at.map(contains),
                weaks: (world.weaks().iter())
                    .map(|weak| weak.as_ref().map(AnyWeak::counts))
                    .collect(),
                guards: (guards.iter())
                    .map(|guard| guard.as_ref().map(AutoreleasePool::len))
                    .collect(),
                locals: (mine.locals.borrow().iter())
                    .map(|local| local.as_ref().map(Ref::strong_count))
                    .collect(),
                pools,
                links: world.links.load(Relaxed),
            }
        })
    }
}
