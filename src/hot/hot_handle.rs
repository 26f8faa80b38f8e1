//! `Hot` and `HotRef`: the owner of a hot object, and counted references to it that do not contend; the
//! error of a full table, and figures and events.

use super::hot_table::{ROWS, RowIndex, TABLE};
use super::{own_book, review};
use crate::epoch::report_waiting_orphans;
use crate::event::{Event, EventKind};
use crate::macros::debug_fields;
use crate::object::destroy::{ReleaseScope, release};
use crate::object::header::{header, note_read};
use crate::object::strong::Ref;
use crate::object::traits::traits_of_value;
use crate::object::weak::Weak;
use crate::pool::drain::this_thread;
use crate::pool::stack::budget::{Limit, Meter};
use crate::sync::elapsed;
use crate::thread::current::current_label;
use crate::unsizing::{coerced, coercible};
use crate::unwind::FirstPanic;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;

/// The owner of a *hot* object: threads clone and drop references to it without contention.
///
/// A clone or drop of a [`HotRef`] is a load and a store in memory that only the calling thread
/// writes; a [`Ref`] or an `Arc` has one count, for which threads contend. The object lives as long
/// as the owner or a `HotRef` exists. [`get`](Self::get) makes the first `HotRef`; clone that, as
/// `hot.clone()` means `(*hot).clone()`. A [`Slot`](crate::Slot) of owners holds [a hot object that
/// is replaced](crate::guide#a-hot-object-that-is-replaced).
///
/// # When not to use it
/// For objects that threads seldom clone, use `Ref`; within one pool, copy a
/// [`PoolRef`](crate::PoolRef). A hot object has no count of references and no way back to unique
/// access. **Threads that neither drain pools nor end**, such as those of tokio and rayon, keep the
/// object alive if they drop the last `HotRef`: wrap their tasks in [`pooled`](crate::pooled) and
/// their jobs in [`callback_scope`](crate::callback_scope), or call [`Hot::review`].
///
/// # When the object dies
/// Never in a `drop`, but in the next outermost drain, or the exit, of a thread that dropped one of
/// the last handles; in [`Hot::review`]; or in `quiesce` or `shutdown`.
/// [More](crate::guide#when-a-hot-object-dies).
///
/// # Cost
/// A place in a table of 1,024 for the process, and 26 KiB for each thread that uses hot objects.
/// [`new`](Self::new) takes a lock. Keep the owner while threads use the object: once it is gone,
/// a drain after a drop of a `HotRef` adds up the counts of all threads that have used the place.
///
/// # Threads
/// `Send` and `Sync` if `T` is both. The object may be destroyed on any thread.
///
/// ```
/// use releasepool::{AutoreleasePool, Hot, Ref};
/// let config = Hot::new(Ref::new(vec![1, 2, 3]));
/// let mine = config.get();
/// std::thread::spawn(move || assert_eq!(mine.clone()[2], 3)).join().unwrap();
/// drop(config);
/// drop(AutoreleasePool::new()); // the drain of any pool of this thread
/// ```
pub struct Hot<T: ?Sized + 'static> {
    ptr: NonNull<T>,
    row: RowIndex,
    /// Invariant in `T`, for the reason given for `Ref`.
    invariant: PhantomData<*mut T>,
}

/// A counted reference to a [hot](Hot) object, cloned and dropped by threads without contention.
///
/// [`Hot::get`] makes the first one. [`to_ref`](Self::to_ref) makes a `Ref`, for a pool, say;
/// [`unsize!`](crate::unsize) makes a `HotRef<dyn Trait>`.
///
/// # When not to use it
/// For objects that threads seldom clone: [`Hot`] says what a hot object costs.
///
/// # Cost
/// Two words, three for trait objects and slices. A clone takes some thirteen instructions, a drop
/// some ten; none of them is locked. A thread's first drop of a reference to an object since its
/// last drain takes some nanoseconds more, and so does its next drain.
///
/// # Threads
/// `Send` and `Sync` if `T` is both. Works at any time in a thread's life: in the thread's
/// teardown, once its pools have gone, clones and drops are read-modify-writes; drops may scan.
///
/// # Panics
/// None. A drop runs no foreign code: the object [dies elsewhere](Hot#when-the-object-dies). A
/// first use on a thread aborts when memory is exhausted (`handle_alloc_error`).
///
/// ```
/// use releasepool::{AutoreleasePool, Hot, HotRef, Ref};
/// let mine: HotRef<i32> = Hot::new(Ref::new(7)).get(); // the owner may go
/// let pool = AutoreleasePool::new();
/// assert_eq!(*pool.autorelease(HotRef::to_ref(&mine)), 7);
/// ```
pub struct HotRef<T: ?Sized + 'static> {
    ptr: NonNull<T>,
    row: RowIndex,
    /// Invariant in `T`, for the reason given for `Ref`.
    invariant: PhantomData<*mut T>,
}

// SAFETY: a `Hot` on another thread gives out `&T` there (so `T: Sync`), and its drop there may lead
// to the destruction of the `T` there (so `T: Send`).
unsafe impl<T: ?Sized + Send + Sync> Send for Hot<T> {}
// SAFETY: a shared `Hot` gives out `HotRef`s, so the requirements are those of `HotRef: Send`.
unsafe impl<T: ?Sized + Send + Sync> Sync for Hot<T> {}
// SAFETY: as for `Hot`: a `HotRef` gives out `&T`, and its drop may lead to the destruction of the
// `T`, on another thread.
unsafe impl<T: ?Sized + Send + Sync> Send for HotRef<T> {}
// SAFETY: a shared `HotRef` can be cloned and the clone sent, so the requirements are those of Send.
unsafe impl<T: ?Sized + Send + Sync> Sync for HotRef<T> {}

impl<T: ?Sized + Send + Sync> Hot<T> {
    /// Makes the object hot, and takes over this reference to it, as [`try_new`](Self::try_new)
    /// does.
    ///
    /// # Panics
    /// If 1,024 objects are hot already; the message names the type. In a program in which only few
    /// objects are hot, as they should be, that does not happen. A program whose users decide how
    /// many objects are hot calls `try_new`.
    #[track_caller]
    pub fn new(object: Ref<T>) -> Self {
        match Self::try_new(object) {
            Ok(hot) => hot,
            Err(full) => panic!("{full}"),
        }
    }

    /// Makes the object hot, and takes over this reference to it, unless the table is full.
    ///
    /// Other references, strong and weak, stay valid. An object can be made hot twice; the two
    /// owners and their `HotRef`s are then independent, and both keep the object alive.
    ///
    /// Takes a lock that all threads share. If there is no room, scans all objects that were let
    /// go, and frees the room of those that are dead. Their releases become orphans, so `try_new`
    /// runs no destructor.
    ///
    /// # Errors
    /// [`HotTableFull`], which gives the reference back, if 1,024 objects are hot already. An
    /// [event](crate::event::EventKind::HotTableFull) reports it, too. A program can seldom go on
    /// with the `Ref`, as its code expects a `HotRef`: then [`new`](Self::new) is right.
    pub fn try_new(object: Ref<T>) -> Result<Self, HotTableFull<T>> {
        overdue();
        // SAFETY: `object` keeps the object alive.
        let type_info = unsafe { header(Ref::thin(&object)) }.type_info;
        let mut row = TABLE.claim(type_info);
        if row.is_none() {
            review::make_room();
            row = TABLE.claim(type_info);
        }
        let Some(row) = row else {
            table_full(type_info.type_name());
            return Err(HotTableFull(object));
        };
        let ptr = Ref::into_payload(object);
        TABLE.row(row).begin(ptr.cast());
        Ok(Self::of(ptr, row))
    }
}

impl<T: ?Sized> Hot<T> {
    /// Returns a reference to the object. The reference may outlive this owner.
    #[inline]
    pub fn get(&self) -> HotRef<T> {
        own_book::birth(self.row);
        HotRef::of(self.ptr, self.row)
    }
}

#[cfg(all(loom, feature = "loom"))]
impl<T> Hot<T> {
    /// Returns the number of the object's row, for models.
    pub(crate) fn row(&self) -> usize {
        self.row.get()
    }
}

impl Hot<()> {
    /// Releases the hot objects that are dead, and returns their number. Finds them whichever
    /// threads have dropped the last references, even threads that do not drain. Also reports
    /// objects that were let go long ago.
    ///
    /// `review` tests all objects, and tests all of them again as long as it finds dead ones,
    /// because a destructor may drop the last reference to another hot object. It does not release
    /// objects that another thread is releasing, or whose last reference another thread drops
    /// meanwhile; and if destructors let objects go for ever, it stops after some 2,000 rounds.
    ///
    /// Before that, it does everything else that an outermost drain does for the calling thread, so
    /// that a program without pools needs no other call. In particular, it makes the releases that
    /// other threads have sent, and the *orphans*, which belong to no thread; among these are the
    /// releases of hot objects that [`try_new`](Self::try_new) has found dead, or that died in a
    /// thread's teardown. The result does not count these releases. If a destructor or drain is in
    /// progress, the outermost drain makes these releases later; and if destructors only queue
    /// objects, as in a drain with a budget, `review` releases no hot object.
    ///
    /// Costs a fence, and a load for each place in the table that has ever been used; for each
    /// object that is let go, some nanoseconds for each thread that has ever used the object's
    /// place.
    ///
    /// # Panics
    /// Resumes the first panic of a destructor, after all releases are made. If the thread is already
    /// unwinding, the panic is reported as an event instead.
    ///
    /// ```
    /// use releasepool::{Hot, Ref};
    /// let hot = Hot::new(Ref::new(String::from("in use")));
    /// let weak = Ref::downgrade(&Hot::to_ref(&hot));
    /// drop(hot);
    /// assert!(weak.upgrade().is_some());
    /// Hot::review();
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn review() -> usize {
        let mut panics = FirstPanic::default();
        // The duties come first, as they may drop the last handles to hot objects.
        let served = this_thread::serve(Meter::unlimited(Limit::SOME), &mut panics);
        let released = served.reviewed + release_all(&mut panics);
        panics.resume();
        released
    }
}

/// Releases the hot objects that are dead, and keeps panics. Returns the number of objects.
pub(crate) fn release_all(panics: &mut FirstPanic) -> usize {
    overdue();
    let scope = ReleaseScope::enter();
    if scope.deep {
        // In a deep scope, `release` would only queue the objects, which would count as released.
        return 0;
    }
    review::all(|object| {
        // SAFETY: the row's strong reference, which `all` has passed on.
        panics.guard(|| unsafe { release(object.thin()) });
        scope.settle_all(panics);
    })
}

/// The functions and traits that `Hot` and `HotRef` share.
macro_rules! common {
    ($handle:ident) => {
        impl<T: ?Sized> $handle<T> {
            #[inline(always)]
            fn of(ptr: NonNull<T>, row: RowIndex) -> Self {
                let invariant = PhantomData;
                Self {
                    ptr,
                    row,
                    invariant,
                }
            }

            /// Returns an ordinary reference to the object. Costs one read-modify-write.
            #[inline]
            #[cfg_attr(feature = "leak-detection", track_caller)]
            pub fn to_ref(this: &Self) -> Ref<T> {
                Ref::clone(&this.borrowed())
            }

            /// Returns a weak reference to the object. It can be upgraded until the object dies, which
            /// may be some time after the last `HotRef` is dropped. Costs one read-modify-write.
            #[inline]
            #[must_use = "a weak reference does nothing unless it is kept"]
            pub fn downgrade(this: &Self) -> Weak<T> {
                Ref::downgrade(&this.borrowed())
            }

            /// Returns whether both refer to the same object. Compares addresses only.
            #[inline]
            pub fn ptr_eq(a: &Self, b: &Self) -> bool {
                std::ptr::addr_eq(a.ptr.as_ptr(), b.ptr.as_ptr())
            }

            /// Returns a `Ref` that stands for the row's reference and must not be dropped.
            #[inline(always)]
            fn borrowed(&self) -> ManuallyDrop<Ref<T>> {
                // SAFETY: as long as `self` lives, no scan ends the row's life (invariant 4 of
                // `hot`), so the row's strong reference keeps the object. Nothing drops this `Ref`,
                // so the row's reference is not given up.
                ManuallyDrop::new(unsafe { Ref::adopt(self.ptr) })
            }
        }

        impl<T: ?Sized> std::ops::Deref for $handle<T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                // SAFETY: as long as `self` lives, the row's strong reference keeps the object
                // (invariants 2 and 4 of `hot`).
                unsafe {
                    note_read(self.ptr.cast());
                    self.ptr.as_ref()
                }
            }
        }

        coercible!($handle, |this, coerce| {
            let this = ManuallyDrop::new(this);
            // SAFETY: the contract says that `coerce` keeps the object; the result takes the place
            // of `this`, which is not dropped.
            $handle::of(unsafe { coerced(this.ptr, coerce) }, this.row)
        });
    };
}
common!(Hot);
common!(HotRef);
traits_of_value!(HotRef<T>);

impl<T: ?Sized + fmt::Debug> fmt::Debug for Hot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Lets the object go. The object dies later, when all `HotRef`s are dropped: see [when it
/// dies](Hot#when-the-object-dies). Runs no foreign code.
impl<T: ?Sized> Drop for Hot<T> {
    fn drop(&mut self) {
        own_book::let_go(self.row);
    }
}

/// Counts a new reference, in the calling thread's own memory.
impl<T: ?Sized> Clone for HotRef<T> {
    #[inline]
    fn clone(&self) -> Self {
        own_book::birth(self.row);
        Self::of(self.ptr, self.row)
    }
}

/// Counts the end of a reference, in the calling thread's own memory. Runs no foreign code: the
/// object [dies elsewhere](Hot#when-the-object-dies).
impl<T: ?Sized> Drop for HotRef<T> {
    #[inline]
    fn drop(&mut self) {
        own_book::death(self.row);
    }
}

/// The error of [`Hot::try_new`](crate::Hot::try_new): the table of hot objects is full. Contains the
/// reference that was to be made hot.
///
/// ```
/// use releasepool::{Hot, Ref};
/// fn share(text: String) -> Result<Hot<String>, Box<dyn std::error::Error>> {
///     Ok(Hot::try_new(Ref::new(text))?)
/// }
/// assert_eq!(*share("text".to_owned()).unwrap(), "text");
/// ```
#[derive(thiserror::Error)]
#[error(
    "{} objects are hot, so that there is no room for another one, of type {}: \
     drop owners (`Hot`) that are not needed, or share the object by `Ref`",
    ROWS,
    std::any::type_name::<T>()
)]
pub struct HotTableFull<T: ?Sized + 'static>(Ref<T>);

impl<T: ?Sized> HotTableFull<T> {
    /// Returns the reference that was to be made hot.
    pub fn into_inner(self) -> Ref<T> {
        self.0
    }
}

debug_fields! { [T: ?Sized] HotTableFull<T>: |_this| .. }

/// An event reports an object that is alive this long after its owner let it go.
const LONG: Duration = Duration::from_secs(1);

pub(crate) fn hot() -> u64 {
    TABLE.taken.get()
}

/// Returns the number of hot objects whose owner has been dropped.
pub(crate) fn let_go() -> u64 {
    TABLE.let_go.get()
}

/// Reports that the table has no room for an object of this type.
#[cold]
fn table_full(type_name: &'static str) {
    let event = Event::new(EventKind::HotTableFull, current_label());
    event.of_type(type_name).count(ROWS).emit();
}

/// Reports, once each, the objects that were first seen let go at least a second ago, and orphans
/// that have waited as long: a program without pools may call nothing else that reports orphans.
/// Does nothing, and reads no clock, while no object is let go.
pub(crate) fn overdue() {
    if let_go() != 0 {
        report_overdue();
    }
}

#[cold]
fn report_overdue() {
    let now = elapsed();
    for row in TABLE.used_rows() {
        if let Some(age) = TABLE.row(row).kept.overdue(LONG, now) {
            let event = Event::new(EventKind::HotLetGo, current_label());
            event.of_type(TABLE.type_name(row)).age(age).emit();
        }
    }
    report_waiting_orphans(now);
}
