//! Objects that know how many handles there are to them, and the handles.

use crate::program::World;
use releasepool::{
    AutoreleasePool, Foreign, HomeRef, Hot, HotRef, Ref, ThreadHandle, Weak, autorelease,
    autoreleasepool,
};
use shuttle::thread::{ThreadId, current};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// What is known of an object from outside. shuttle does not see these atomics, so a handle and its
/// count change in one step.
pub struct Known {
    handles: AtomicUsize,
    pub deaths: AtomicUsize,
    /// The only thread that may destroy the object.
    pub home: Option<ThreadId>,
}

impl Known {
    /// Counts one handle more.
    pub fn hold(&self) {
        self.handles.fetch_add(1, Relaxed);
        assert_eq!(self.deaths.load(Relaxed), 0, "a handle to a dead object");
    }

    /// Counts one handle less; called before the reference is given up.
    pub fn let_go(&self) {
        self.handles.fetch_sub(1, Relaxed);
    }
}

/// What an object's destructor does.
#[derive(Clone, Copy)]
pub enum End {
    Quiet,
    /// Makes an object and releases it on a thread, which may have exited.
    Send(usize),
    /// Opens pools, fills them, and closes them.
    Nest,
}

pub struct Object {
    pub known: Arc<Known>,
    end: End,
    /// Handles that die with the object.
    _inner: Vec<Thing>,
    /// Weak, as the values of `HomeRef`s may be kept for ever.
    world: std::sync::Weak<World>,
}

impl Object {
    pub fn new(world: &Arc<World>, end: End, home: Option<ThreadId>, inner: Vec<Thing>) -> Self {
        let known = Arc::new(Known {
            handles: AtomicUsize::new(0),
            deaths: AtomicUsize::new(0),
            home,
        });
        world.objects.lock().unwrap().push(known.clone());
        Self {
            known,
            end,
            _inner: inner,
            world: Arc::downgrade(world),
        }
    }

    pub fn look(&self) {
        assert_eq!(self.known.deaths.load(Relaxed), 0, "a dead object is used");
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let handles = self.known.handles.load(Relaxed);
        assert_eq!(handles, 0, "destroyed while there are handles");
        let deaths = self.known.deaths.fetch_add(1, Relaxed);
        assert_eq!(deaths, 0, "destroyed twice");
        if let Some(home) = self.known.home {
            assert_eq!(home, current().id(), "destroyed away from home");
        }
        let world = self.world.upgrade().expect("the program has not ended");
        let new = || Self::new(&world, End::Quiet, None, Vec::new());
        match self.end {
            End::Quiet => {}
            End::Send(to) => world.handle(to).release(Ref::new(new())),
            End::Nest => autoreleasepool(|pool| {
                pool.create(new()).look();
                let inner = AutoreleasePool::new();
                autorelease(Ref::new(new()));
                assert_eq!((pool.len(), inner.len()), (1, 1));
            }),
        }
    }
}

enum Handle {
    Strong(Ref<Object>),
    Home(HomeRef<Object>),
    Owner(Hot<Object>),
    Shared(HotRef<Object>),
    Weak(Weak<Object>),
}

/// A handle, which is counted unless it is weak.
pub struct Thing {
    handle: Option<Handle>,
    known: Arc<Known>,
}

impl Thing {
    fn new(handle: Handle, known: &Arc<Known>) -> Self {
        if !matches!(handle, Handle::Weak(_)) {
            known.hold();
        }
        let (handle, known) = (Some(handle), known.clone());
        Self { handle, known }
    }

    pub fn strong(object: Ref<Object>) -> Self {
        let known = object.known.clone();
        Self::new(Handle::Strong(object), &known)
    }

    pub fn at_home(object: Object) -> Self {
        let known = object.known.clone();
        Self::new(Handle::Home(HomeRef::new(object)), &known)
    }

    /// Makes the object hot, if it is not, and a row is free.
    pub fn hot(object: Ref<Object>) -> Self {
        let known = object.known.clone();
        match Hot::try_new(object) {
            Ok(hot) => Self::new(Handle::Owner(hot), &known),
            Err(full) => Self::new(Handle::Strong(full.into_inner()), &known),
        }
    }

    fn handle(&self) -> &Handle {
        self.handle.as_ref().expect("only `take` takes it")
    }

    /// Returns the handle, which is no longer counted.
    fn take(&mut self) -> Option<Handle> {
        let handle = self.handle.take()?;
        if !matches!(handle, Handle::Weak(_)) {
            self.known.let_go();
        }
        Some(handle)
    }

    /// Uses the object, if this thread may.
    pub fn look(&self) {
        match self.handle() {
            Handle::Strong(object) => object.look(),
            Handle::Owner(object) => object.look(),
            Handle::Shared(object) => object.look(),
            Handle::Weak(_) => {}
            Handle::Home(object) => {
                let is_home = self.known.home == Some(current().id());
                assert_eq!(object.is_home(), is_home, "accessible away from home");
                object.get().into_iter().for_each(Object::look);
            }
        }
    }

    /// Returns another handle of the same kind; for a weak one a strong one, if the object is alive.
    pub fn another(&self) -> Option<Self> {
        let handle = match self.handle() {
            Handle::Strong(object) => Handle::Strong(object.clone()),
            Handle::Home(object) => Handle::Home(object.clone()),
            Handle::Owner(object) => Handle::Shared(object.get()),
            Handle::Shared(object) => Handle::Shared(object.clone()),
            Handle::Weak(object) => Handle::Strong(upgrade(object, &self.known)?),
        };
        Some(Self::new(handle, &self.known))
    }

    pub fn downgrade(&self) -> Option<Self> {
        let weak = match self.handle() {
            Handle::Strong(object) => Ref::downgrade(object),
            Handle::Owner(object) => Hot::downgrade(object),
            Handle::Shared(object) => HotRef::downgrade(object),
            Handle::Home(_) | Handle::Weak(_) => return None,
        };
        Some(Self::new(Handle::Weak(weak), &self.known))
    }

    /// Returns a counted reference to the object, if this handle can lead to one.
    pub fn to_ref(&self) -> Option<Ref<Object>> {
        match self.handle() {
            Handle::Strong(object) => Some(object.clone()),
            Handle::Owner(object) => Some(Hot::to_ref(object)),
            Handle::Shared(object) => Some(HotRef::to_ref(object)),
            Handle::Weak(object) => upgrade(object, &self.known),
            Handle::Home(_) => None,
        }
    }

    /// Gives the handle up by a release on another thread.
    pub fn release_on(mut self, to: &ThreadHandle) {
        match self.take() {
            Some(Handle::Strong(object)) => to.release(object),
            other => drop(other),
        }
    }
}

fn upgrade(weak: &Weak<Object>, known: &Known) -> Option<Ref<Object>> {
    let upgraded = weak.upgrade();
    // Nobody makes a handle to an object that has none, so one that has a handle now had one before.
    let refused = upgraded.is_none() && known.handles.load(Relaxed) > 0;
    assert!(!refused, "no upgrade while there are handles");
    upgraded
}

impl Drop for Thing {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// A foreign object with one reference, whose release drops a handle.
pub struct ForeignThing(Mutex<Option<Thing>>);

impl ForeignThing {
    /// Makes one. The program keeps its memory, so a second release fails.
    pub fn new(world: &World, thing: Thing) -> NonNull<Self> {
        let foreign = Arc::new(Self(Mutex::new(Some(thing))));
        let at = NonNull::from(&*foreign);
        world.foreign.lock().unwrap().push(foreign);
        at
    }

    /// Gives up the reference, and returns the handle.
    ///
    /// # Safety
    /// The program has not ended.
    pub unsafe fn take(this: NonNull<Self>) -> Thing {
        // SAFETY: the program keeps all foreign objects until its end.
        let thing = unsafe { this.as_ref() }.0.lock().unwrap().take();
        thing.expect("a foreign object is released once")
    }
}

// SAFETY: has one reference, which `release` gives up.
unsafe impl Foreign for ForeignThing {
    unsafe fn retain(_: NonNull<Self>) {
        unreachable!("nobody retains")
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: nothing holds a reference at the program's end.
        drop(unsafe { Self::take(this) });
    }
}
