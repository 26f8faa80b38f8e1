//! Counted objects and their destructors.

use super::super::super::{DEEPEST, Note, Plan, lock};
use super::super::{AutoreleasePool, Ref, Weak, autorelease, autoreleasepool};
use super::handle::Handle;
use super::world::{Children, World};
use super::{MINE, panic_of};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, ThreadId};

/// An object with a destructor. What it owns is dropped in the order of the fields.
pub struct Object {
    pub id: u32,
    plan: Plan,
    /// True if it panics even while the thread is panicking.
    always: bool,
    world: Arc<World>,
    children: Family,
    _links: Option<Ref<Link>>,
    me: Option<Weak<Object>>,
    _end: End,
}

/// A payload that contains objects.
pub trait Thing: Send + Sync {
    fn value(&self) -> &Object;
    fn value_mut(&mut self) -> &mut Object;
}

impl Thing for Object {
    fn value(&self) -> &Object {
        self
    }

    fn value_mut(&mut self) -> &mut Object {
        self
    }
}

#[derive(Default)]
struct Family(Arc<Children>);

impl Family {
    fn take(&self) -> Vec<Handle> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        // The vector drops the others if one of them panics.
        drop(self.take());
    }
}

thread_local! {
    /// The number of destructors that are running.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Counts down when a destructor has ended, including the children.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// A link of a chain that is too deep to be destroyed on the stack.
struct Link {
    world: Arc<World>,
    _next: Option<Ref<Link>>,
}

impl Link {
    fn chain(world: &Arc<World>, len: usize) -> Option<Ref<Self>> {
        world.links.fetch_add(len, Relaxed);
        (0..len).fold(None, |next, _| {
            let world = world.clone();
            Some(Ref::new(Self { world, _next: next }))
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.world.links.fetch_sub(1, Relaxed);
    }
}

impl Object {
    pub fn new(world: &Arc<World>, plan: Plan) -> Self {
        let children = Family::default();
        let links = match plan {
            Plan::Links(n) => Link::chain(world, 4 * n as usize),
            _ => None,
        };
        Self {
            id: world.register(&children.0),
            plan,
            always: false,
            world: world.clone(),
            children,
            _links: links,
            me: None,
            _end: End,
        }
    }

    pub fn knowing(mut self, me: Weak<Object>) -> Self {
        self.me = Some(me);
        self
    }

    pub fn adopt(&self, child: Handle) {
        self.children.0.lock().unwrap().push(child);
    }

    pub fn set_plan(&mut self, plan: Plan) {
        self.plan = plan;
    }

    fn carry_out(&self) {
        let world = &self.world;
        let create = |plan| Ref::new(Self::new(world, plan));
        if self.always {
            panic_of(self.id);
        }
        match self.plan {
            Plan::Nothing | Plan::Links(_) => {}
            Plan::Relay(left) => {
                let next = (left % 4).checked_sub(1);
                autorelease(create(next.map_or(Plan::Nothing, Plan::Relay)));
            }
            Plan::Nest => {
                let pool = AutoreleasePool::new();
                autorelease(create(Plan::Nothing));
                pool.create(Self::new(world, Plan::Nothing));
            }
            Plan::NestToken => {
                let token = world.manager(1).push();
                world.manager(1).autorelease(create(Plan::Nothing));
                world.manager(0).autorelease(create(Plan::Nothing));
                world.note_pop(world.manager(1).pop(token));
            }
            Plan::NestScope => autoreleasepool(|_| autorelease(create(Plan::Nothing))),
            Plan::NestPanic => {
                let pool = AutoreleasePool::new();
                for always in [false, true] {
                    let mut object = Self::new(world, Plan::Nothing);
                    object.always = always;
                    pool.create(object);
                }
            }
            Plan::DrainRoot(manager) => {
                let released = world.manager(manager).drain_root();
                world.note(Note::Did(released));
            }
            Plan::Pop(i) => _ = world.pop(i, 0),
            // At the very end of the thread nothing would pop the token.
            Plan::Push(manager) => _ = MINE.try_with(|_| world.push(manager)),
            Plan::Forget => {
                // At the very end of the thread there is no place to keep a forgotten guard.
                _ = MINE.try_with(|mine| {
                    mine.lost.borrow_mut().push(AutoreleasePool::new());
                    autorelease(create(Plan::Nothing));
                });
            }
            Plan::KeepOpen(manager) => {
                _ = MINE.try_with(|mine| {
                    let pool = world.manager(manager).pool();
                    mine.guards.borrow_mut().push(Some(pool));
                });
            }
            Plan::Panic => {
                if !thread::panicking() {
                    panic_of(self.id);
                }
            }
            Plan::Drop(i) => drop(world.take_handle(i)),
            Plan::Upgrade(i) => _ = world.upgrade(i),
            Plan::UpgradeSelf => {
                if let Some(me) = &self.me {
                    world.note(Note::Got(me.upgrade().is_some()));
                }
            }
            Plan::Send(to) => world.thread(to).release(create(Plan::Nothing)),
            Plan::RunInbox => {
                let ran = world.manager(0).run_inbox();
                world.note(Note::Did(ran));
            }
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.world.note(Note::Died(self.id));
        self.world.alive.fetch_sub(1, Relaxed);
        DEPTH.set(DEPTH.get() + 1);
        if DEPTH.get() > DEEPEST {
            self.world.to_attic(self.children.take());
        } else {
            self.carry_out();
        }
    }
}

/// Clones the object without its links.
impl Clone for Object {
    fn clone(&self) -> Self {
        let children = self.children.0.lock().unwrap().clone();
        let family = Family(Arc::new(children.into()));
        Self {
            id: self.world.register(&family.0),
            plan: self.plan,
            always: self.always,
            world: self.world.clone(),
            children: family,
            _links: None,
            me: self.me.clone(),
            _end: End,
        }
    }
}

/// An object that must not leave its thread.
pub struct Local {
    home: ThreadId,
    _value: Object,
    not_send: PhantomData<*mut ()>,
}

impl Local {
    pub fn new(value: Object) -> Self {
        Self {
            home: thread::current().id(),
            _value: value,
            not_send: PhantomData,
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        assert_eq!(self.home, thread::current().id(), "died away from home");
    }
}
