//! Objects that know how many handles there are to them, and the handles.

use super::super::seam::{KEEPS, ThreadId, at_home, current_id};
use releasepool::foreign::Foreign;
use releasepool::object::settle_scope;
use releasepool::{
    AutoreleasePool, Budget, HomeRef, Hot, HotRef, PoolManager, Ref, ThreadHandle, Weak,
    autorelease, autoreleasepool,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, fence};
use std::sync::{Arc, Mutex, Weak as StdWeak};

/// State that objects share with their program. Its atomics are relaxed, as they must not order what
/// the crate should. Its locks, which shuttle does not see, are never held while threads may switch.
#[derive(Default)]
pub struct Shared {
    made: AtomicUsize,
    died: AtomicUsize,
    /// How many objects are alive that only their home may destroy.
    at_home: AtomicUsize,
    /// False if destructors autorelease, so that the numbers of entries are not known.
    pub exact: bool,
    /// True if destructors may panic.
    panics: bool,
    /// The first failed check of an object. The crate may have caught its panic.
    pub failed: Mutex<Option<String>>,
    /// All threads so far, some of which have exited.
    handles: Mutex<Vec<ThreadHandle>>,
    /// Handles for any thread and any destructor.
    mail: Mutex<Vec<Thing>>,
    foreign: Mutex<Vec<Arc<ForeignThing>>>,
}

/// The message of a panic that is part of the program.
pub const ON_PURPOSE: &str = "on purpose";

impl Shared {
    pub fn new(exact: bool, panics: bool, threads: &[ThreadHandle]) -> Self {
        Self {
            exact,
            panics,
            handles: threads.to_vec().into(),
            ..Self::default()
        }
    }

    /// Returns how many objects are alive.
    pub fn alive(&self) -> usize {
        let died = self.died.load(Relaxed);
        self.made.load(Relaxed) - died
    }

    /// Returns how many of them only their home may destroy.
    pub fn at_home(&self) -> usize {
        self.at_home.load(Relaxed)
    }

    pub fn handle(&self, which: u8) -> ThreadHandle {
        let handles = self.handles.lock().unwrap();
        handles[usize::from(which) % handles.len()].clone()
    }

    pub fn add_current_thread(&self) {
        let handle = PoolManager::global().current_thread();
        let handle = handle.expect("the thread has not exited");
        self.handles.lock().unwrap().push(handle);
    }

    pub fn send(&self, thing: Option<Thing>) {
        thing.iter().for_each(Thing::show);
        self.mail.lock().unwrap().extend(thing);
    }

    pub fn receive(&self) -> Option<Thing> {
        self.mail.lock().unwrap().pop()
    }
}

/// Runs `f`, in which destructors may panic on purpose.
pub fn survive(f: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
        if panic.downcast_ref() != Some(&ON_PURPOSE) {
            resume_unwind(panic);
        }
    }
}

/// The facts about an object that are known from outside.
pub struct Known {
    handles: AtomicUsize,
    deaths: AtomicUsize,
    /// The thread that made the object.
    home: ThreadId,
    /// True if another thread may destroy the object.
    shown: AtomicBool,
    /// Weak, as values may be kept for ever.
    shared: StdWeak<Shared>,
}

impl Known {
    /// Notes a failure, and panics, unless `right`.
    fn check(&self, right: bool, wrong: &str) {
        if !right {
            if let Some(shared) = self.shared.upgrade() {
                let mut failed = shared.failed.lock().unwrap();
                failed.get_or_insert_with(|| wrong.to_owned());
            }
            panic!("{wrong}");
        }
    }

    /// Counts one handle more.
    pub fn hold(&self) {
        self.handles.fetch_add(1, Relaxed);
        self.check(self.is_alive(), "a handle to a dead object");
    }

    /// Counts one handle less; called before the reference is given up.
    pub fn let_go(&self) {
        self.handles.fetch_sub(1, Relaxed);
    }

    fn is_alive(&self) -> bool {
        self.deaths.load(Relaxed) == 0
    }
}

pub struct Object {
    pub known: Arc<Known>,
    /// Says what the destructor does.
    end: u8,
    stays: bool,
    /// Handles that die with the object.
    _inner: Vec<Thing>,
}

impl Object {
    pub fn new(shared: &Arc<Shared>, end: u8, inner: Vec<Thing>) -> Self {
        shared.made.fetch_add(1, Relaxed);
        inner.iter().for_each(Thing::show);
        Self {
            known: Arc::new(Known {
                handles: AtomicUsize::new(0),
                deaths: AtomicUsize::new(0),
                home: current_id(),
                shown: AtomicBool::new(false),
                shared: Arc::downgrade(shared),
            }),
            end,
            stays: false,
            _inner: inner,
        }
    }

    /// Makes an object for a `HomeRef`.
    pub fn staying(shared: &Arc<Shared>, end: u8) -> Self {
        shared.at_home.fetch_add(KEEPS.into(), Relaxed);
        let mut object = Self::new(shared, end, Vec::new());
        object.known.shown.store(!KEEPS, Relaxed);
        object.stays = KEEPS;
        object
    }

    /// Allows other threads to destroy the object.
    pub fn shown(self) -> Self {
        self.known.shown.store(true, Relaxed);
        self
    }

    pub fn look(&self) {
        self.known
            .check(self.known.is_alive(), "a dead object is used");
    }

    fn carry_out(&self, shared: &Arc<Shared>) {
        // The last of a chain, of number 0, makes no other.
        let new = || Self::new(shared, self.end / 2, Vec::new());
        match self.end % 32 {
            // The thread may have exited.
            1..4 => shared
                .handle(self.end / 32)
                .release(Ref::new(new().shown())),
            4..7 => autoreleasepool(|pool| {
                pool.create(new()).look();
                let inner = AutoreleasePool::new();
                autorelease(Ref::new(new()));
                assert_eq!((pool.len(), inner.len()), (1, 1));
            }),
            7..9 => drop(shared.receive()),
            9 => shared.send(Some(Thing::hot(Ref::new(new())))),
            10 => drop(shared.receive().and_then(|thing| thing.another())),
            11 => _ = Hot::review(),
            12 => {
                let mut pool = AutoreleasePool::new();
                let things = [shared.receive(), shared.receive()];
                for object in things.iter().flatten().filter_map(Thing::to_ref) {
                    pool.autorelease(object).look();
                }
                // If the rest waits in the backlog, it may be that of a thread outside of the program.
                let all = if shared.exact {
                    Budget::All
                } else {
                    Budget::Count(1)
                };
                pool.drain_within(all);
            }
            13 => settle_scope(|| {
                drop(shared.receive());
                drop(AutoreleasePool::new());
            }),
            14 if !shared.exact => {
                let object = shared.receive().and_then(|thing| thing.to_ref());
                object.into_iter().for_each(autorelease);
            }
            15 if shared.panics && !std::thread::panicking() => {
                // This calls no panic hook, which would print.
                resume_unwind(Box::new(ON_PURPOSE));
            }
            _ => {}
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        let known = &self.known;
        let handles = known.handles.load(Relaxed);
        known.check(handles == 0, "destroyed while there are handles");
        let deaths = known.deaths.fetch_add(1, Relaxed);
        known.check(deaths == 0, "destroyed twice");
        let may_die_here = known.shown.load(Relaxed) || known.home == current_id();
        known.check(may_die_here, "destroyed away from home");
        let Some(shared) = known.shared.upgrade() else {
            // The program has failed.
            return;
        };
        shared.at_home.fetch_sub(self.stays.into(), Relaxed);
        shared.died.fetch_add(1, Relaxed);
        self.carry_out(&shared);
    }
}

/// An object that is not `Send`, so that it never leaves its thread.
pub struct Local {
    pub _object: Object,
    pub _not_send: std::marker::PhantomData<*mut ()>,
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
    pub known: Arc<Known>,
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
        Self::new(Handle::Home(at_home(object)), &known)
    }

    /// Makes the object hot, if it is not, and a row is free.
    pub fn hot(object: Ref<Object>) -> Self {
        let known = object.known.clone();
        // Any thread's review may destroy it.
        known.shown.store(true, Relaxed);
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

    /// Notes that another thread may see the object. One of a `HomeRef` stays at home even then.
    pub fn show(&self) {
        if !matches!(self.handle(), Handle::Home(_)) {
            self.known.shown.store(true, Relaxed);
        }
    }

    /// Uses the object, if this thread may.
    pub fn look(&self) {
        match self.handle() {
            Handle::Strong(object) => object.look(),
            Handle::Owner(object) => object.look(),
            Handle::Shared(object) => object.look(),
            Handle::Weak(_) => {}
            Handle::Home(object) => {
                let is_home = self.known.home == current_id();
                let right = object.get().is_some() == is_home;
                self.known.check(right, "accessible away from home");
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
    if upgraded.is_none() {
        // Nobody makes a handle to an object that has none, so one that has a handle now had one
        // before. The fence makes what preceded the last release visible.
        fence(Acquire);
        let handles = known.handles.load(Relaxed);
        known.check(handles == 0, "no upgrade while there are handles");
    }
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
    pub fn new(shared: &Shared, thing: Thing) -> NonNull<Self> {
        let foreign = Arc::new(Self(Mutex::new(Some(thing))));
        let at = NonNull::from(&*foreign);
        shared.foreign.lock().unwrap().push(foreign);
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
