//! `HomeRef`: a counted reference to a value that never leaves its thread.
//!
//! The object is a counted one like all others; what its references count down is the
//! same word, and its end is the same code. But its payload begins with a message. A last
//! reference that is dropped elsewhere than at home sends the dead object itself: nothing
//! is allocated, and nothing of the value is touched.
//!
//! ```text
//! [count word] [class] [node] [home's record] value...
//!                      ^ every HomeRef, and the message, point here
//! ```
//!
//! A message of `MessageKind::DestroyAtHome` is run by its target alone: it is never orphaned. If the
//! target has closed its inbox, the object goes to those that are [kept](HOMELESS). One that
//! may be destroyed anywhere is of `MessageKind::DestroyAnywhere`.

use super::count::Count;
use super::destroy;
use super::header::{
    SizedInfo, Thin, TypeInfo, allocate_named, checked, header, note_read, write_value,
};
use crate::event::{Event, EventKind};
use crate::sync::cell::Cell;
use crate::sync::{Counter, const_fn, global};
use crate::thread::current::{current_label, tally_handed_over};
use crate::thread::inbox::{Inbox, Message, MessageKind, Node};
use crate::thread::key::ThreadKey;
use crate::thread::key::is_own;
use crate::thread::record::Record;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;

/// A counted reference that goes to any thread, to a value that stays on one: its *home*,
/// the thread that made it.
///
/// For what a graphics context, a user interface or a runtime gives out and wants back on
/// its own thread: workers may hold textures, and drop them, but only the render thread
/// gets at one, and only there it is destroyed. The value need be neither `Send` nor
/// `Sync`; the reference is both, whatever the value is. [`get`](Self::get) gives `&T`: to
/// change the value, put it in a `Cell` or `RefCell`.
///
/// # When not to use it
/// If the value may die anywhere, use [`Ref`](crate::Ref). If it never leaves the thread,
/// `Rc`. Values must be `'static`, and the home should open pools, or call
/// [`drain_root`](crate::PoolManager::drain_root) or
/// [`run_inbox`](crate::PoolManager::run_inbox), now and then: else all that comes home
/// waits until the thread ends. There are no weak references.
///
/// # Where it dies
/// * The last reference is dropped **at home**: at once, as with `Ref`; also while the
///   home's thread-locals are torn down.
/// * **Elsewhere**: the object goes to the home's inbox, and the home's next outermost
///   drain, `run_inbox`, or its end destroys it. A destructor's panic comes out of that
///   drain, or is [reported](crate::event::EventKind::Panic) at the thread's end.
/// * Elsewhere, and **the home has ended**: what was made by [`new`](Self::new) is kept for
///   ever, its destructor never runs, an [event](crate::event::EventKind::HomeGone) says
///   so, and [`Snapshot::kept`](crate::Snapshot) counts it. What was made by
///   [`new_or_anywhere`](Self::new_or_anywhere) is destroyed there and then.
///
/// It is never destroyed twice, and never lost without a word: two structures that hold
/// each other live for ever, as with `Ref`.
///
/// # Threads
/// A home that is ending takes objects in until its pools are empty; whoever comes later
/// finds it gone. A value that is made after that, by another thread-local's destructor,
/// has a home for the rest of the teardown, but one that takes nothing in.
///
/// # Cost
/// One word. 40 bytes more than a [`Ref`](crate::Ref)'s object. `clone` and `drop` are one
/// atomic read-modify-write each, the last drop a load; elsewhere it is one compare-and-swap
/// more, and does not allocate. [`get`](Self::get) reads a thread-local. The home's record, some
/// hundred bytes, lives as long as its objects.
///
/// # Panics
/// No operation panics but by the value's destructor, at home. More than 2³¹ references at
/// once abort the process.
///
/// ```
/// use releasepool::{AutoreleasePool, HomeRef};
/// use std::rc::Rc;
/// use std::thread;
///
/// let mut pool = AutoreleasePool::new();
/// let texture = HomeRef::new(Rc::new("grass")); // an Rc is not Send
/// let context = texture.get().unwrap().clone();
/// thread::spawn(move || {
///     assert!(texture.get().is_none()); // not here
///     drop(texture);                    // nor does it die here
/// })
/// .join()
/// .unwrap();
/// assert_eq!(Rc::strong_count(&context), 2);
/// pool.drain(); // now it does
/// assert_eq!(Rc::strong_count(&context), 1);
/// ```
#[repr(transparent)]
pub struct HomeRef<T: 'static> {
    ptr: NonNull<ThreadBound<T>>,
    /// Invariant, as `Ref`: what an object is, its class says for ever.
    invariant: PhantomData<*mut T>,
}

/// What other threads see of an object.
#[repr(C)]
struct MessageFront {
    /// Its target is the home, at all times; its kind says what to do when that is gone.
    node: Node,
    /// Whose inbox the object goes to. Whoever sends it takes this away, to have an inbox
    /// to push to even if the object is gone by then. Nobody else looks at it.
    home: Cell<Option<Arc<Record>>>,
}

/// The payload.
#[repr(C)]
struct ThreadBound<T> {
    front: MessageFront,
    value: T,
}

impl<T> ThreadBound<T> {
    const TYPE_INFO: &'static TypeInfo = &SizedInfo::<Self>::named(std::any::type_name::<T>);
}

// SAFETY: elsewhere than at home a `HomeRef` gives out no `&T` and drops no `T`, but for
// one of a `T: Send`, which may be dropped anywhere. All else that it reaches is atomic,
// or not changed any more, or changed by the thread that made the last release.
unsafe impl<T> Send for HomeRef<T> {}
// SAFETY: as above; what `&HomeRef` can do, a clone can.
unsafe impl<T> Sync for HomeRef<T> {}

impl<T> Unpin for HomeRef<T> {}
impl<T: RefUnwindSafe> UnwindSafe for HomeRef<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for HomeRef<T> {}

impl<T> HomeRef<T> {
    /// A new object of the calling thread, with one reference.
    ///
    /// # Safety
    /// `home` is the calling thread's. If it takes messages, then this thread has pools,
    /// whose exit runs all that it took. `kind` is `Home`; or `Dead`, if `T: Send`.
    pub(crate) unsafe fn make(value: T, home: Arc<Record>, kind: MessageKind) -> Self {
        let ptr = allocate_named::<ThreadBound<T>>(ThreadBound::<T>::TYPE_INFO, Count::unique());
        let node = Node::new(kind, home.key(), destroy_at_home);
        let home = Cell::new(Some(home));
        let front = MessageFront { node, home };
        // SAFETY: fresh memory for it.
        unsafe { write_value(ptr, ThreadBound { front, value }) };
        let invariant = PhantomData;
        Self { ptr, invariant }
    }

    fn thin(&self) -> Thin {
        self.ptr.cast()
    }

    /// The value, at home; elsewhere `None`.
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
        if !self.is_home() {
            return None;
        }
        // SAFETY: alive by `self`; and here the value may be seen.
        Some(unsafe {
            note_read(self.thin());
            &self.ptr.as_ref().value
        })
    }

    /// Whether the calling thread is the home.
    #[inline]
    pub fn is_home(&self) -> bool {
        is_own(self.home())
    }

    /// The thread that the value lives on. It may have ended.
    #[inline]
    pub fn home(&self) -> ThreadKey {
        // SAFETY: alive by `self`.
        unsafe { front(self.thin()) }.node.target
    }

    /// Whether both name the same object.
    #[inline]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.ptr == other.ptr
    }
}

/// *Retain*: one more reference to the same object, on whichever thread. One relaxed
/// read-modify-write; aborts beyond 2³¹.
impl<T> Clone for HomeRef<T> {
    #[inline]
    fn clone(&self) -> Self {
        let thin = self.thin();
        // SAFETY: alive by `self`.
        unsafe { checked(thin, header(thin).count.retain()) };
        let (ptr, invariant) = (self.ptr, PhantomData);
        Self { ptr, invariant }
    }
}

/// *Release*. See [where it dies](HomeRef#where-it-dies).
impl<T> Drop for HomeRef<T> {
    #[inline]
    fn drop(&mut self) {
        let thin = self.thin();
        // SAFETY: alive by our reference, which is given up here.
        let perhaps = unsafe { checked(thin, header(thin).count.release()) };
        if perhaps {
            // SAFETY: as said by `release`.
            unsafe { last_release(thin) };
        }
    }
}

/// The value, if it is at home.
impl<T: fmt::Debug> fmt::Debug for HomeRef<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("HomeRef");
        f.field("home", &self.home());
        match self.get() {
            Some(value) => f.field("value", value).finish(),
            None => f.finish_non_exhaustive(),
        }
    }
}

/// # Safety
/// `thin` is the payload of an object of a `HomeRef`, which lives for as long as `'a`.
#[inline]
unsafe fn front<'a>(thin: Thin) -> &'a MessageFront {
    // SAFETY: by the caller's promise; it stands first.
    unsafe { thin.cast::<MessageFront>().as_ref() }
}

/// # Safety
/// `thin` is an object of a `HomeRef`; the caller made what may be the last release, as
/// `Count::release` says, and gives it up.
#[inline(never)]
unsafe fn last_release(thin: Thin) {
    // SAFETY: the memory is there until we give it up.
    if !unsafe { header(thin) }.count.was_last() {
        return;
    }
    // SAFETY: as above.
    if is_own(unsafe { front(thin) }.node.target) {
        // SAFETY: by the caller's promise.
        unsafe { destroy::last_release(thin) };
    } else {
        // SAFETY: by the caller's promise.
        unsafe { send_home(thin) };
    }
}

/// Sends a dead object home, or does what is to be done when that is gone.
///
/// # Safety
/// As [`last_release`], and this is not its home.
unsafe fn send_home(thin: Thin) {
    // Only from here on anything is written to what stands there, and only by us: so it
    // does no harm that we have not acquired what others did with the object. Whoever
    // destroys it does, in `Count::begin_destruction`.
    // SAFETY: the memory is there until we give it up.
    let Some(home) = unsafe { front(thin) }.home.take() else {
        unreachable!("an object is sent once")
    };
    // SAFETY: a dead object is its last releaser's; `destroy_at_home` frees it. Its value may be
    // sent if it is a `Dead`, by the promise to `make`, and so does its target run all
    // that it takes.
    let message = unsafe { Message::from_raw(thin.cast()) };
    match home.send(message) {
        Ok(()) => tally_handed_over(1),
        Err(back) if back.kind() == MessageKind::DestroyAtHome => HOMELESS.keep(back, &home),
        Err(back) => back.run(),
    }
}

/// The object that a message of `MessageKind::DestroyAtHome` or `Dead` stands first in: dead, and the
/// taker's.
pub(crate) fn dead_object(message: Message) -> Thin {
    debug_assert!(matches!(
        message.kind(),
        MessageKind::DestroyAtHome | MessageKind::DestroyAnywhere
    ));
    message.into_raw().cast()
}

/// Destroys an object that has come home; or one that may be destroyed anywhere, here.
///
/// # Safety
/// `node` is an object that `send_home` sent.
unsafe fn destroy_at_home(node: NonNull<Node>) {
    // SAFETY: the address, and the provenance, of the payload; dead since `send_home`.
    unsafe { destroy::last_release(node.cast()) };
}

/// Objects that outlived their home. They stay reachable, as they are no leak that went
/// unseen.
pub(crate) struct HomelessObjects {
    objects: Inbox,
    count: Counter,
}

global! {
    pub(crate) static HOMELESS: HomelessObjects = HomelessObjects::new();
}

impl HomelessObjects {
    const_fn! {
        fn new() -> Self {
            Self { objects: Inbox::new(), count: Counter::new() }
        }
    }

    #[cold]
    fn keep(&self, object: Message, home: &Record) {
        let thin = dead_object(object);
        // SAFETY: nobody frees it.
        let name = unsafe { header(thin) }.type_info.type_name();
        // SAFETY: the same message.
        self.push(unsafe { Message::from_raw(thin.cast()) });
        let event = Event::new(EventKind::HomeGone, current_label());
        event.home(home.label()).of_type(name).emit();
    }

    fn push(&self, object: Message) {
        self.count.add_shared(1);
        let Ok(_) = self.objects.push(object) else {
            unreachable!("it is never closed")
        };
    }

    /// Takes out what has been kept: dead objects, whose memory nobody frees.
    #[allow(dead_code, reason = "for models, which must not leak")]
    pub(crate) fn take(&self) -> impl Iterator<Item = Thin> {
        self.objects.take().map(dead_object)
    }
}

/// How many values have been kept.
pub(crate) fn homeless_count() -> u64 {
    HOMELESS.count.get()
}
