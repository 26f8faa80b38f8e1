//! The crate, driven by the same steps.

use super::naive::pick;
use super::{DRAINING, NOTE, Op, Plan, STALE, STALE_POP, State};
use crate::support::Log;
use releasepool::{
    AutoreleasePool, PoolManager, PoolToken, PopError, Ref, Weak, autorelease, autoreleasepool,
};
use std::cell::{Cell, RefCell};
use std::mem;

/// What objects find when they die: the thread's.
struct World {
    managers: [PoolManager; 2],
    log: Log,
    made: Cell<u32>,
    /// Tokens that the program itself has pushed, with their manager.
    pushed: RefCell<Vec<(PoolToken, usize)>>,
}

thread_local! {
    static WORLD: Cell<Option<&'static World>> = const { Cell::new(None) };
}

fn world() -> &'static World {
    WORLD.get().unwrap()
}

struct Object {
    id: u32,
    plan: Plan,
    children: RefCell<Vec<Ref<Object>>>,
}

fn create(plan: Plan) -> Ref<Object> {
    let made = &world().made;
    let id = made.replace(made.get() + 1);
    Ref::new(Object {
        id,
        plan,
        children: RefCell::default(),
    })
}

fn pop(i: usize) -> Option<Result<usize, PopError>> {
    let pushed = world().pushed.borrow();
    if pushed.is_empty() {
        return None;
    }
    let (token, manager) = pushed[i % pushed.len()];
    drop(pushed);
    Some(world().managers[manager].pop(token))
}

impl Drop for Object {
    fn drop(&mut self) {
        let World { managers, log, .. } = world();
        let note = |n: usize| log.note(NOTE + n as u32);
        log.note(self.id);
        match self.plan {
            Plan::Nothing => {}
            Plan::Relay(left) => {
                autorelease(create(
                    left.checked_sub(1).map_or(Plan::Nothing, Plan::Relay),
                ));
            }
            Plan::Nest => {
                let pool = AutoreleasePool::new();
                autorelease(create(Plan::Nothing));
                pool.autorelease(create(Plan::Nothing));
            }
            Plan::NestToken => {
                let token = managers[1].push();
                managers[1].autorelease(create(Plan::Nothing));
                managers[0].autorelease(create(Plan::Nothing));
                note(managers[1].pop(token).unwrap());
            }
            Plan::DrainRoot => note(managers[0].drain_root()),
            Plan::Pop(i) => match pop(i) {
                None => {}
                Some(Ok(n)) => note(n),
                Some(Err(PopError::Stale)) => log.note(STALE),
                Some(Err(PopError::Draining)) => log.note(DRAINING),
                Some(Err(error)) => panic!("{error}"),
            },
            Plan::Forget => {
                mem::forget(AutoreleasePool::new());
                autorelease(create(Plan::Nothing));
            }
        }
    }
}

#[derive(Default)]
pub struct Real {
    handles: Vec<Option<Ref<Object>>>,
    weaks: Vec<Option<Weak<Object>>>,
    guards: Vec<Option<AutoreleasePool>>,
    result: Option<usize>,
}

impl Real {
    pub fn new(managers: [PoolManager; 2], log: Log) -> Self {
        // Objects may die at the thread's very end, and find it still.
        let world = World {
            managers,
            log,
            made: Cell::new(0),
            pushed: RefCell::default(),
        };
        WORLD.set(Some(Box::leak(Box::new(world))));
        Self::default()
    }

    pub fn step(&mut self, op: &Op) {
        self.result = None;
        match *op {
            Op::Create(plan) => self.handles.push(Some(create(plan))),
            Op::Clone(i) => {
                let Some(object) = self.handle(i).cloned() else {
                    return;
                };
                self.handles.push(Some(object));
            }
            Op::Drop(i) => drop(self.take_handle(i)),
            Op::Adopt(parent, child) => {
                let Some(parent) = self.handle(parent) else {
                    return;
                };
                let child = self.handle(child).unwrap().clone();
                parent.children.borrow_mut().push(child);
            }
            Op::Downgrade(i) => {
                let Some(weak) = self.handle(i).map(Ref::downgrade) else {
                    return;
                };
                self.weaks.push(Some(weak));
            }
            Op::Upgrade(i) => {
                let Some(at) = pick(&self.weaks, i) else {
                    return;
                };
                let weak = self.weaks[at].as_ref().unwrap();
                self.result = Some(weak.strong_count());
                if let Some(object) = weak.upgrade() {
                    self.handles.push(Some(object));
                }
            }
            Op::DropWeak(i) => {
                if let Some(at) = pick(&self.weaks, i) {
                    self.weaks[at] = None;
                }
            }
            Op::Open(manager) => self.guards.push(Some(world().managers[manager].pool())),
            Op::Close(i) => {
                if let Some(at) = pick(&self.guards, i) {
                    self.guards[at] = None;
                }
            }
            Op::Forget(i) => {
                if let Some(at) = pick(&self.guards, i) {
                    mem::forget(self.guards[at].take());
                }
            }
            Op::Drain(i) => {
                if let Some(at) = pick(&self.guards, i) {
                    self.result = Some(self.guards[at].as_mut().unwrap().drain());
                }
            }
            Op::Autorelease(pool, i) => {
                let Some(pool) = pick(&self.guards, pool) else {
                    return;
                };
                let Some(object) = self.take_handle(i) else {
                    return;
                };
                let id = object.id;
                let lent = self.guards[pool].as_ref().unwrap().autorelease(object);
                assert_eq!(lent.id, id);
            }
            Op::AutoreleaseImplicitly(manager, i) => {
                let Some(object) = self.take_handle(i) else {
                    return;
                };
                world().managers[manager].autorelease(object);
            }
            Op::Push(manager) => {
                let token = world().managers[manager].push();
                world().pushed.borrow_mut().push((token, manager));
            }
            Op::Pop(i) => {
                self.result = pop(i).map(|popped| match popped {
                    Ok(released) => released,
                    Err(PopError::Stale) => STALE_POP,
                    Err(error) => panic!("{error}"),
                });
            }
            Op::DrainRoot(manager) => self.result = Some(world().managers[manager].drain_root()),
            Op::Scope(_) => unreachable!("it is run by `scope`"),
        }
    }

    pub fn scope(&mut self, inside: impl FnOnce(&mut Self)) {
        autoreleasepool(|_| inside(self));
        self.result = None;
    }

    pub fn end(&mut self) {
        self.handles.iter_mut().for_each(|handle| *handle = None);
        self.guards.iter_mut().for_each(|guard| *guard = None);
    }

    pub fn state(&self) -> State {
        let World { managers, log, .. } = world();
        let me = managers[0].current_thread().unwrap().key();
        let now = [0, 1].map(|manager| managers[manager].snapshot().thread(me).unwrap().clone());
        let counts = |object: &Ref<Object>| {
            let contains = self
                .guards
                .iter()
                .flatten()
                .map(|pool| pool.contains(object));
            (
                Ref::strong_count(object),
                Ref::weak_count(object),
                contains.collect(),
            )
        };
        State {
            log: log.ids(),
            handles: self
                .handles
                .iter()
                .map(|handle| handle.as_ref().map(counts))
                .collect(),
            weaks: (self.weaks.iter())
                .map(|weak| weak.as_ref().map(Weak::strong_count))
                .collect(),
            guards: (self.guards.iter())
                .map(|guard| guard.as_ref().map(AutoreleasePool::len))
                .collect(),
            roots: now.each_ref().map(|thread| thread.root_entries),
            open: now.each_ref().map(|thread| thread.open_pools),
            result: self.result,
        }
    }

    fn handle(&self, i: usize) -> Option<&Ref<Object>> {
        self.handles[pick(&self.handles, i)?].as_ref()
    }

    fn take_handle(&mut self, i: usize) -> Option<Ref<Object>> {
        let at = pick(&self.handles, i)?;
        self.handles[at].take()
    }
}
