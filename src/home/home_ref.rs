//! `HomeRef`: a counted reference to a value that never leaves its thread.
//!
//! The object is an ordinary counted object. But its payload begins with the *front*: a message
//! (the node) and the record of the home. If a thread other than the home drops the last reference,
//! that thread sends the dead object itself home, without an allocation or an access to the value.
//!
//! ```text
//! [count word] [type info] [node] [record of the home] value...
//!                          ^ every HomeRef, and the message, point here
//! ```
//!
//! A message of `MessageKind::DestroyAtHome` runs only on its target, and never becomes an orphan.
//! If the target has closed its inbox, the object is [kept](HOMELESS). A message of
//! `MessageKind::DestroyAnywhere` is for values that may be destroyed on any thread.

use crate::event::{Event, EventKind};
use crate::ledger::{self, ReleasedBy};
use crate::object::destroy;
use crate::object::header::{
    ObjectKind, ObjectLayout, Thin, TypeShape, checked, header, write_value,
};
use crate::object::object_memory::{Global, Source};
use crate::object::payload::{One, Payload};
use crate::object::strong::Ref;
use crate::object::weak::Weak;
use crate::sync::cell::Cell;
use crate::sync::{Counter, PlainMap, const_fn, described, global, lazy};
use crate::thread::current::{current_label, tally_handed_over};
use crate::thread::inbox::{Inbox, Message, MessageKind, Node};
use crate::thread::key::{ThreadKey, is_own};
use crate::thread::record::Record;
use crate::thread::registry::REGISTRY;
use crate::unsizing::coercible;
use std::collections::BTreeMap;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A counted reference that any thread may hold, to a value that only its *home* accesses and
/// destroys: the thread that made it.
///
/// For what a graphics context, a user interface or a runtime wants back on its own thread:
/// textures, widgets, script objects. The value need be neither `Send` nor `Sync`; the reference is
/// always both. [`get`](Self::get) and [`with`](Self::with) give `&T`, so put what changes into a
/// `Cell` or `RefCell`. A `HomeRef` needs no pool and no [`Ref`] elsewhere in the program.
///
/// # When not to use it
/// If the value may be destroyed anywhere, use [`Ref`] or `Arc`; if it never leaves the thread,
/// `Rc`. The home must open pools now and then, or call
/// [`run_inbox`](crate::PoolManager::run_inbox): otherwise values that other threads have dropped
/// wait until the home ends. [Coming from
/// `send_wrapper`](crate::guide::from_arc#coming-from-send_wrapper-and-fragile) compares it.
///
/// # Where it is destroyed
/// * The last reference is dropped **at home**: at once, also in the teardown of the home.
/// * **Elsewhere**: in the home's next outermost drain, `run_inbox`, or exit. A destructor's panic
///   comes out of that drain, or is [reported](crate::event::EventKind::Panic) at the exit.
/// * Elsewhere, after **the home has ended**: a value made by [`new`](Self::new) is kept for ever,
///   [reported](crate::event::EventKind::HomeGone) and counted in snapshots; one made by
///   [`new_or_anywhere`](Self::new_or_anywhere) is destroyed at once.
///
/// # Cost
/// One word, two for trait objects and slices; an object is 40 bytes larger than that of a `Ref`.
/// `clone` and `drop` are one read-modify-write each; the last drop elsewhere adds three.
/// While the home lives, no drop allocates or waits. More than 2³¹ references abort the process.
///
/// ```
/// use releasepool::{AutoreleasePool, HomeRef};
/// let mut pool = AutoreleasePool::new();
/// let texture = HomeRef::new(std::rc::Rc::new("grass")); // an Rc is not Send
/// std::thread::spawn(move || assert!(texture.get().is_none())).join().unwrap(); // drops it there
/// pool.drain(); // destroys it
/// ```
#[doc(alias = "Fragile")]
#[doc(alias = "Sticky")]
#[doc(alias = "fragile")]
#[doc(alias = "send_wrapper")]
#[doc(alias = "MainThreadBound")]
#[doc(alias = "SendWrapper")]
#[doc(alias = "ThreadGuard")]
#[repr(transparent)]
pub struct HomeRef<T: ?Sized + 'static> {
    /// Never dropped as a `Ref`, as the last release of a `HomeRef` sends the object home.
    inner: ManuallyDrop<Ref<ThreadBound<T>>>,
}

/// The part of the payload that other threads access.
#[repr(C)]
struct MessageFront {
    /// The message, whose target is always the home; its kind says what happens if the home has
    /// ended.
    node: Node,
    /// The record with the inbox to which the object is sent. The sender takes the `Arc` out, to
    /// use the record when the object may already be freed. Nothing else accesses this field.
    home: Cell<Option<Arc<Record>>>,
}

// No foreign code, which might panic, runs while the front is being changed.
impl std::panic::RefUnwindSafe for MessageFront {}

/// The payload of a `HomeRef`'s object.
#[repr(C)]
pub(super) struct ThreadBound<T: ?Sized> {
    front: MessageFront,
    value: T,
}

/// The payload is one value of type `ThreadBound<T>`; reports show it under the name of `T`.
impl<T> Payload for ThreadBound<T> {
    type ReportedAs = T;
    const HAS_DESTRUCTOR: bool = One::<Self>::HAS_DESTRUCTOR;
    const SHAPE: TypeShape = TypeShape {
        kind: ObjectKind::ThreadBound,
        ..One::<Self>::SHAPE
    };
    const LAYOUT: Option<ObjectLayout> = One::<Self>::LAYOUT;

    unsafe fn layout(thin: Thin) -> ObjectLayout {
        // SAFETY: the payload is one value of type `Self`; the rest is the contract.
        unsafe { One::<Self>::layout(thin) }
    }

    unsafe fn drop_value(thin: Thin) {
        // SAFETY: the payload is one value of type `Self`; the rest is the contract.
        unsafe { One::<Self>::drop_value(thin) };
    }
}

// SAFETY: elsewhere than at home, a `HomeRef` gives out no `&T` and drops no `T` unless `T: Send`
// (invariant 8 of `object`). Everything else that it accesses is atomic, never changes, or is
// changed only by the thread that made the last release.
unsafe impl<T: ?Sized> Send for HomeRef<T> {}
// SAFETY: a `&HomeRef` allows nothing that a clone does not, and clones may be sent.
unsafe impl<T: ?Sized> Sync for HomeRef<T> {}

impl<T> HomeRef<T> {
    /// Makes an object with one reference, whose home is the calling thread.
    ///
    /// # Safety
    /// `home` is the record of the calling thread. If the record takes messages, the thread has
    /// pools, whose exit runs all messages that were accepted. `kind` is `DestroyAtHome`; or
    /// `DestroyAnywhere`, if `T: Send`.
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub(crate) unsafe fn make(value: T, home: Arc<Record>, kind: MessageKind) -> Self {
        let Ok(thin) = Global.allocate::<ThreadBound<T>>(One::<ThreadBound<T>>::OBJECT);
        let payload = thin.cast();
        let node = Node::new(kind, home.key());
        let home = Cell::new(Some(home));
        let front = MessageFront { node, home };
        // SAFETY: the payload was just allocated for a `ThreadBound<T>`.
        unsafe { write_value(payload, ThreadBound { front, value }) };
        // SAFETY: a new object with its value; the handle owns its one reference.
        Self::from_inner(unsafe { Ref::adopt(payload) })
    }
}

impl<T: ?Sized> HomeRef<T> {
    /// Turns the inner reference into a handle, which releases as a `HomeRef` does.
    fn from_inner(inner: Ref<ThreadBound<T>>) -> Self {
        let inner = ManuallyDrop::new(inner);
        Self { inner }
    }

    /// Returns the inner reference.
    pub(super) fn inner(&self) -> &Ref<ThreadBound<T>> {
        &self.inner
    }

    /// Turns the handle into its inner reference, which must not be dropped.
    pub(super) fn into_inner(self) -> Ref<ThreadBound<T>> {
        // SAFETY: the reference is taken out of a handle that is not dropped.
        unsafe { ManuallyDrop::take(&mut ManuallyDrop::new(self).inner) }
    }

    /// Returns the thin address of the object.
    fn thin(&self) -> Thin {
        Ref::thin(&self.inner)
    }

    /// Returns the value at home, and `None` elsewhere.
    ///
    /// ```
    /// let five = releasepool::HomeRef::new(5);
    /// assert_eq!(five.get(), Some(&5));
    /// std::thread::scope(|s| {
    ///     s.spawn(|| assert_eq!(five.get(), None));
    /// });
    /// ```
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // Only the home may access the value (invariant 8 of `object`).
        is_own(self.home()).then(|| &self.inner.value)
    }

    /// Calls `f` with the value and returns its result, at home only.
    ///
    /// For code that runs at home by design, such as a closure that was posted to the home.
    /// [`get`](Self::get) does not panic elsewhere: `object.get().map(f)`.
    ///
    /// # Panics
    /// Elsewhere than at home; the message names the type and both threads. Also if `f` panics.
    ///
    /// ```
    /// use releasepool::HomeRef;
    /// use std::cell::Cell;
    /// let score = HomeRef::new(Cell::new(1));
    /// score.with(|score| score.set(score.get() + 1));
    /// assert_eq!(score.with(Cell::get), 2);
    /// let elsewhere = std::thread::spawn(move || score.with(Cell::get));
    /// assert!(elsewhere.join().is_err());
    /// ```
    #[inline]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        match self.get() {
            Some(value) => f(value),
            // SAFETY: `self` keeps the object alive.
            None => unsafe { panic_elsewhere(self.thin()) },
        }
    }

    /// Returns the key of the home, which may have ended.
    #[inline]
    pub fn home(&self) -> ThreadKey {
        // SAFETY: `self` keeps the object alive.
        unsafe { front(self.thin()) }.node.target
    }

    /// Returns whether both refer to the same object.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.thin() == other.thin()
    }

    /// Returns a weak reference, which does not keep the value alive. May be called on any thread.
    ///
    /// One read-modify-write. Aborts at more than 2³⁰ weak references.
    #[inline]
    #[must_use = "a weak reference does nothing unless it is kept"]
    pub fn downgrade(this: &Self) -> HomeWeak<T> {
        HomeWeak(Ref::downgrade(this.inner()))
    }
}

/// *Retain*: returns another reference to the same object, on any thread. One relaxed
/// read-modify-write; aborts at more than 2³¹ references.
impl<T: ?Sized> Clone for HomeRef<T> {
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    fn clone(&self) -> Self {
        Self::from_inner(Ref::clone(&self.inner))
    }
}

/// *Release*. See [where it is destroyed](HomeRef#where-it-is-destroyed).
impl<T: ?Sized> Drop for HomeRef<T> {
    #[inline]
    fn drop(&mut self) {
        let thin = self.thin();
        ledger::released(thin, 1, ReleasedBy::Handle);
        // SAFETY: the reference of `self` keeps the object alive; it is given up here.
        let may_be_last = unsafe { checked(thin, header(thin).count.release()) };
        if may_be_last {
            // SAFETY: `Count::release` returned true.
            unsafe { last_release(thin) };
        }
    }
}

/// Writes the home, and the value if the calling thread is the home.
impl<T: ?Sized + fmt::Debug> fmt::Debug for HomeRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("HomeRef");
        f.field("home", &self.home());
        match self.get() {
            Some(value) => f.field("value", &value).finish(),
            None => f.finish_non_exhaustive(),
        }
    }
}

/// Panics because the value was accessed elsewhere than at home.
///
/// # Safety
/// `thin` is an object of a `HomeRef`, which is alive.
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn panic_elsewhere(thin: Thin) -> ! {
    // SAFETY: the object is alive by the contract.
    let (home, name) = unsafe { (front(thin).node.target, header(thin).type_info.type_name()) };
    let home = match REGISTRY.get(home) {
        Some(record) => format!("thread {}", record.label()),
        None => format!("thread {home}, which has ended"),
    };
    panic!(
        "the value of a HomeRef<{name}> was accessed on thread {}, but its home is {home}; \
         post a closure to its home, or use `HomeRef::get`, which returns `None` elsewhere",
        current_label(),
    )
}

/// Returns the front of an object.
///
/// # Safety
/// `thin` is the payload of an object of a `HomeRef`, whose memory is not freed during `'a`.
#[inline]
unsafe fn front<'a>(thin: Thin) -> &'a MessageFront {
    // SAFETY: the front is the first field of the `repr(C)` payload.
    unsafe { thin.cast::<MessageFront>().as_ref() }
}

/// Completes the drop of a handle that may have been the last reference.
///
/// # Safety
/// `thin` is an object of a `HomeRef`, for which the caller's `Count::release` returned true. The
/// caller gives the object up.
#[inline(never)]
unsafe fn last_release(thin: Thin) {
    // SAFETY: `release` returned true: either the object is dead and belongs to this thread, or
    // more than 2³¹ other references keep it.
    if !unsafe { header(thin) }.count.was_last() {
        return;
    }
    // SAFETY: `was_last` says that the dead object is this thread's (invariant 5 of `object`).
    if is_own(unsafe { front(thin) }.node.target) {
        // SAFETY: the contract of this function is that of `destroy::last_release`.
        unsafe { destroy::last_release(thin) };
    } else {
        // SAFETY: this thread made the last release, and is not the home.
        unsafe { send_home(thin) };
    }
}

/// Sends a dead object to its home. If the home has ended, keeps the object, or destroys it on this
/// thread if any thread may do so.
///
/// # Safety
/// `thin` is an object of a `HomeRef`. The calling thread made the last release, gives the object
/// up, and is not its home.
unsafe fn send_home(thin: Thin) {
    // No other thread has accessed the fields of the front that are written below: others read only
    // `node.target`, which never changes. So this thread need not acquire other threads' uses of
    // the object; the thread that destroys the object does, in `Count::begin_destruction`.
    // SAFETY: a dead object has its memory until it is destroyed (invariant 2 of `object`).
    let Some(home) = unsafe { front(thin) }.home.take() else {
        unreachable!("an object is sent once")
    };
    // SAFETY: this thread owns the dead object (invariant 5 of `object`), whose payload begins with
    // the message. By the contract of `make`, its value may be sent if the kind is `DestroyAnywhere`,
    // and the target runs all messages that it accepts.
    let message = unsafe { Message::from_raw(thin.cast()) };
    match home.send(message) {
        Ok(()) => tally_handed_over(1),
        Err(back) if back.kind() == MessageKind::DestroyAtHome => HOMELESS.keep(back, home),
        // SAFETY: the dead object is ours again, and any thread may destroy it.
        Err(back) => unsafe { destroy::last_release(dead_object(back)) },
    }
}

/// Takes the dead object out of a message of `MessageKind::DestroyAtHome` or `DestroyAnywhere`; the
/// message's node is the beginning of the object's payload. The caller then owns the dead object.
pub(crate) fn dead_object(message: Message) -> Thin {
    debug_assert!(matches!(
        message.kind(),
        MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere
    ));
    message.into_raw().cast()
}

/// Dead objects that outlived their home. They stay reachable, so that leak checkers do not report
/// them.
pub(crate) struct HomelessObjects {
    objects: Inbox,
    kept: Counter,
}

global! {
    pub(crate) static HOMELESS: HomelessObjects = HomelessObjects::new();
}

lazy! {
    /// Type and home of each object that is kept, by its address.
    static KEPT: PlainMap<usize, (&'static str, Arc<Record>)> = PlainMap::new();
}

impl HomelessObjects {
    const_fn! {
        fn new() -> Self {
            Self { objects: Inbox::new(), kept: Counter::new() }
        }
    }

    /// Keeps a dead object forever, and reports it.
    #[cold]
    fn keep(&self, object: Message, home: Arc<Record>) {
        let thin: Thin = object.as_raw().cast();
        // SAFETY: we own the dead object, and nothing frees it.
        let name = unsafe { header(thin) }.type_info.type_name();
        KEPT.insert(thin.addr().get(), (name, home.clone()));
        self.kept.add_shared(1);
        let Ok(_) = self.objects.push(object) else {
            unreachable!("the inbox of homeless objects is never closed")
        };
        let event = Event::new(EventKind::HomeGone, current_label());
        let event = event.home(home.label()).of_type(name);
        event.created_at(ledger::site_of(thin)).emit();
    }

    /// Takes all objects out. They are dead, and the caller owns them.
    #[allow(dead_code, reason = "for models, which must not leak")]
    pub(crate) fn take(&self) -> impl Iterator<Item = Thin> {
        let forget = |thin: &Thin| KEPT.remove(&thin.addr().get());
        self.objects.take().map(dead_object).inspect(forget)
    }
}

/// Returns the number of objects that outlived their home, for reports.
pub(crate) fn homeless_count() -> u64 {
    HOMELESS.kept.get()
}

/// Returns the numbers of the objects that outlived their home, by type and home.
pub(crate) fn homeless() -> BTreeMap<(&'static str, String), usize> {
    let mut groups = BTreeMap::new();
    for (_, (name, home)) in KEPT.all() {
        *groups.entry((name, home.label())).or_default() += 1;
    }
    groups
}

described! {
    use crate::layout::{Entry, entries};
    use std::mem::offset_of;

    pub(crate) const NOTE: &[Entry] = entries! {
        kept {
            objects = offset_of!(HomelessObjects, objects),
            count = offset_of!(HomelessObjects, kept),
        }
    };
}

// `HomeWeak`, and the coercions of `HomeRef` and `HomeWeak`.

/// A counted reference to a value with a home, which keeps only the memory alive, not the value.
///
/// It is to [`HomeRef`] what [`Weak`] is to [`Ref`]: a child's reference to its parent, so that the
/// two do not keep each other alive, or an observer on another thread. It gives no access to the
/// value; [`upgrade`](Self::upgrade) returns a `HomeRef`, which gives access at home.
///
/// # Threads
/// Any thread may hold, clone, upgrade and drop a `HomeWeak`, whatever `T` is. If an upgrade
/// returned the last `HomeRef`, the drop of this `HomeRef` sends the value
/// [home](HomeRef#where-it-is-destroyed). Dropping a `HomeWeak` never destroys the value; the
/// thread that drops the last reference of any kind frees the memory.
///
/// # When not to use it
/// If no reference leaves the thread, use `std::rc::Weak`; if the value also has only one owner,
/// use an index.
///
/// # Cost
/// One word, two for trait objects and slices. `clone` and `drop` are one read-modify-write each,
/// an upgrade at least one. More than 2³⁰ weak references at once abort the process.
///
/// ```
/// use releasepool::home::HomeWeak;
/// use releasepool::HomeRef;
/// use std::cell::RefCell;
///
/// struct Node {
///     parent: HomeWeak<Node>,
///     children: RefCell<Vec<HomeRef<Node>>>,
/// }
/// let node = |parent| HomeRef::new(Node { parent, children: RefCell::default() });
/// let root = node(HomeWeak::new());
/// let child = node(HomeRef::downgrade(&root));
/// root.with(|root| root.children.borrow_mut().push(child.clone()));
///
/// assert!(child.with(|child| child.parent.upgrade()).is_some());
/// drop(root);
/// assert!(child.with(|child| child.parent.upgrade()).is_none());
/// ```
#[repr(transparent)]
pub struct HomeWeak<T: ?Sized + 'static>(Weak<ThreadBound<T>>);

// SAFETY: a `HomeWeak` gives no access to the value; upgrading it makes a `HomeRef`, which any
// thread may have. Freeing the memory accesses no value.
unsafe impl<T: ?Sized> Send for HomeWeak<T> {}
// SAFETY: a `&HomeWeak` allows nothing that a clone does not, and clones may be sent.
unsafe impl<T: ?Sized> Sync for HomeWeak<T> {}

impl<T> HomeWeak<T> {
    /// Returns a reference to no object, which can never be upgraded. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self(Weak::new())
    }
}

impl<T: ?Sized> HomeWeak<T> {
    /// Returns a `HomeRef` if the value is still alive, on any thread.
    ///
    /// Lock-free. A call that is concurrent with the last release returns either a valid reference
    /// or `None`; a later call returns `None`, even if the value is still on its way home and not
    /// destroyed yet. Aborts at more than 2³¹ strong references.
    #[inline]
    #[cfg_attr(feature = "leak-detection", track_caller)]
    pub fn upgrade(&self) -> Option<HomeRef<T>> {
        Some(HomeRef::from_inner(self.0.upgrade()?))
    }

    /// Returns the number of strong references; 0 after the last release.
    ///
    /// It orders nothing, as [`Ref::strong_count`](crate::Ref::strong_count): 0 does not mean that
    /// the value has been destroyed, and after a result of 1, any thread may get a reference again.
    pub fn strong_count(&self) -> usize {
        self.0.strong_count()
    }

    /// Returns the number of weak references; 0 after the last strong release. It orders nothing, as
    /// [`Ref::strong_count`](crate::Ref::strong_count).
    pub fn weak_count(&self) -> usize {
        self.0.weak_count()
    }

    /// Returns whether both refer to the same object, or both to none.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl<T: ?Sized> Clone for HomeWeak<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for HomeWeak<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for HomeWeak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(HomeWeak)")
    }
}

/// Turns a coercion of pointers to a value into the coercion of pointers to its payload.
///
/// A pointer to a value and a pointer to its payload have the same metadata. The casts keep
/// metadata and address, so the pointer that `coerce` gets points to the front. `coerce` reads
/// nothing there: an unsizing only adds or changes metadata.
fn of_payload<T: ?Sized, U: ?Sized>(
    coerce: impl FnOnce(*mut T) -> *mut U,
) -> impl FnOnce(*mut ThreadBound<T>) -> *mut ThreadBound<U> {
    |payload| coerce(payload as *mut T) as *mut ThreadBound<U>
}

coercible!(HomeRef, |this, coerce| {
    // SAFETY: the contract allows `coerce`, and `of_payload` neither reads the payload nor changes its
    // address.
    HomeRef::from_inner(unsafe { this.into_inner().coerce(of_payload(coerce)) })
});

coercible!(HomeWeak, |this, coerce| {
    // SAFETY: the contract allows `coerce`, and `of_payload` neither reads the payload nor changes
    // its address.
    HomeWeak(unsafe { this.0.coerce(of_payload(coerce)) })
});
