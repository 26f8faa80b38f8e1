//! Lent references: they must not outlive the pool's next drain.

/// A pool cannot be drained while a reference that it has lent is in use.
///
/// ```compile_fail,E0502
/// let mut pool = releasepool::AutoreleasePool::new();
/// let lent = pool.create(7);
/// pool.drain();
/// assert_eq!(*lent, 7);
/// ```
///
/// ```
/// let mut pool = releasepool::AutoreleasePool::new();
/// let lent = pool.create(7);
/// assert_eq!(*lent, 7);
/// pool.drain();
/// ```
struct DrainedWhileLent;

/// A pool cannot be dropped while a reference that it has lent is in use.
///
/// ```compile_fail,E0505
/// let pool = releasepool::AutoreleasePool::new();
/// let lent = pool.create(7);
/// drop(pool);
/// assert_eq!(*lent, 7);
/// ```
///
/// ```
/// let pool = releasepool::AutoreleasePool::new();
/// let lent = pool.create(7);
/// assert_eq!(*lent, 7);
/// drop(pool);
/// ```
struct DroppedWhileLent;

/// A pool cannot go out of scope while a reference that it has lent is in use.
///
/// ```compile_fail,E0597
/// let lent;
/// {
///     let pool = releasepool::AutoreleasePool::new();
///     lent = pool.create(7);
/// }
/// assert_eq!(*lent, 7);
/// ```
///
/// ```
/// let lent;
/// let pool = releasepool::AutoreleasePool::new();
/// {
///     lent = pool.create(7);
/// }
/// assert_eq!(*lent, 7);
/// ```
struct OutOfScopeWhileLent;

/// A pool cannot be moved, replaced or swapped while a reference that it has lent is in use,
/// because the reference borrows the guard.
///
/// ```compile_fail,E0502
/// use releasepool::AutoreleasePool;
/// let mut pool = AutoreleasePool::new();
/// let lent = pool.create(7);
/// std::mem::swap(&mut pool, &mut AutoreleasePool::new());
/// assert_eq!(*lent, 7);
/// ```
///
/// ```
/// use releasepool::AutoreleasePool;
/// let mut pool = AutoreleasePool::new();
/// let lent = pool.create(7);
/// assert_eq!(*lent, 7);
/// std::mem::swap(&mut pool, &mut AutoreleasePool::new());
/// ```
struct SwappedWhileLent;

/// A plain reference made from a `PoolRef` cannot outlive the pool's next drain either.
///
/// ```compile_fail,E0502
/// use releasepool::{AutoreleasePool, PoolRef};
/// let mut pool = AutoreleasePool::new();
/// let word: &String = PoolRef::get(pool.create(String::from("word")));
/// pool.drain();
/// assert_eq!(word, "word");
/// ```
///
/// ```
/// use releasepool::{AutoreleasePool, PoolRef};
/// let mut pool = AutoreleasePool::new();
/// let word: &String = PoolRef::get(pool.create(String::from("word")));
/// assert_eq!(word, "word");
/// pool.drain();
/// ```
struct DrainedWhileBorrowed;

/// `autoreleasepool` cannot return a lent reference, only a retained one.
///
/// ```compile_fail
/// let kept = releasepool::autoreleasepool(|pool| pool.create(7));
/// assert_eq!(*kept, 7);
/// ```
///
/// ```
/// use releasepool::PoolRef;
/// let kept = releasepool::autoreleasepool(|pool| PoolRef::retain(pool.create(7)));
/// assert_eq!(*kept, 7);
/// ```
struct LentOutOfAutoreleasepool;

/// A lent reference cannot leave `autoreleasepool` through an outer variable either.
///
/// ```compile_fail,E0521
/// use releasepool::{PoolRef, autoreleasepool};
/// let mut kept: Option<PoolRef<'_, u8>> = None;
/// autoreleasepool(|pool| kept = Some(pool.create(7)));
/// ```
///
/// ```
/// use releasepool::{PoolRef, Ref, autoreleasepool};
/// let mut kept: Option<Ref<u8>> = None;
/// autoreleasepool(|pool| kept = Some(PoolRef::retain(pool.create(7))));
/// ```
struct LentToAVariableOutside;

/// A lent reference cannot outlive its own pool, even if another pool outlives it.
///
/// ```compile_fail,E0505
/// use releasepool::AutoreleasePool;
/// let outer = AutoreleasePool::new();
/// let inner = AutoreleasePool::new();
/// let mut lent = outer.create(1);
/// lent = inner.create(2);
/// drop(inner);
/// assert_eq!(*lent, 2);
/// ```
///
/// ```
/// use releasepool::AutoreleasePool;
/// let outer = AutoreleasePool::new();
/// let inner = AutoreleasePool::new();
/// let mut lent = inner.create(1);
/// lent = outer.create(2);
/// drop(inner);
/// assert_eq!(*lent, 2);
/// ```
struct LentByTheInnerOfTwo;

/// What an accessor autoreleases dies with the pool that it was given, which may be an inner one: objc2#811
/// asks which of the two should be `unsafe`.
///
/// ```compile_fail,E0597
/// # use releasepool::{AutoreleasePool, PoolRef};
/// fn path<'p>(url: &str, pool: &'p AutoreleasePool) -> &'p str {
///     PoolRef::get(pool.create_str(url.trim_start_matches("file:")))
/// }
/// let outer = AutoreleasePool::new();
/// let shown = {
///     let inner = AutoreleasePool::new();
///     path("file:/tmp", &inner)
/// };
/// assert_eq!(shown, "/tmp");
/// ```
///
/// ```
/// # use releasepool::{AutoreleasePool, PoolRef};
/// fn path<'p>(url: &str, pool: &'p AutoreleasePool) -> &'p str {
///     PoolRef::get(pool.create_str(url.trim_start_matches("file:")))
/// }
/// let outer = AutoreleasePool::new();
/// let shown = {
///     let inner = AutoreleasePool::new();
///     path("file:/tmp", &outer)
/// };
/// assert_eq!(shown, "/tmp");
/// ```
struct AccessedInTheInnerOfTwo;

/// A pool cannot be moved into one value together with a reference that it has lent.
///
/// ```compile_fail,E0505
/// use releasepool::{AutoreleasePool, PoolRef};
/// struct Scene<'a>(PoolRef<'a, u8>, AutoreleasePool);
/// let pool = AutoreleasePool::new();
/// let lent = pool.create(7);
/// let scene = Scene(lent, pool);
/// ```
///
/// ```
/// use releasepool::{AutoreleasePool, PoolRef};
/// struct Scene<'a>(PoolRef<'a, u8>, &'a AutoreleasePool);
/// let pool = AutoreleasePool::new();
/// let lent = pool.create(7);
/// let scene = Scene(lent, &pool);
/// ```
struct LentIntoTheSameStruct;

/// A lent reference cannot be sent to a thread that may outlive the pool.
///
/// ```compile_fail,E0597
/// let pool = releasepool::AutoreleasePool::new();
/// let lent = pool.create(7);
/// std::thread::spawn(move || assert_eq!(*lent, 7));
/// ```
///
/// ```
/// let pool = releasepool::AutoreleasePool::new();
/// let lent = pool.create(7);
/// std::thread::scope(|scope| {
///     scope.spawn(move || assert_eq!(*lent, 7));
/// });
/// ```
struct PoolRefSentForEver;

/// A lent reference gives shared access only.
///
/// ```compile_fail,E0594
/// let pool = releasepool::AutoreleasePool::new();
/// let mut lent = pool.create(7);
/// *lent = 8;
/// ```
///
/// ```
/// let pool = releasepool::AutoreleasePool::new();
/// let mut lent = pool.create(std::cell::Cell::new(7));
/// lent.set(8);
/// ```
struct LentMutably;

/// A foreign object that a scope has lent cannot leave the scope, whose token may then be gone: PyO3#3668
/// lent objects for longer than the lock was held.
///
/// ```compile_fail
/// # use std::ptr::NonNull;
/// # struct Thing;
/// # unsafe impl releasepool::Foreign for Thing {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(_: NonNull<Self>) {}
/// # }
/// let lent = releasepool::foreign_scope(&(), |scope| {
///     unsafe { scope.adopt(NonNull::<Thing>::dangling()) }
/// });
/// ```
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Thing;
/// # unsafe impl releasepool::Foreign for Thing {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(_: NonNull<Self>) {}
/// # }
/// let address = releasepool::foreign_scope(&(), |scope| {
///     unsafe { scope.adopt(NonNull::<Thing>::dangling()) }.as_ptr()
/// });
/// ```
struct ForeignLentBeyondItsScope;

/// A foreign object that a pool has lent is gone after the pool's drain.
///
/// ```compile_fail,E0502
/// # use std::ptr::NonNull;
/// # struct Thing;
/// # unsafe impl releasepool::Foreign for Thing {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(_: NonNull<Self>) {}
/// # }
/// let mut pool = releasepool::AutoreleasePool::new();
/// let lent = unsafe { pool.adopt(NonNull::<Thing>::dangling()) };
/// pool.drain();
/// assert!(!lent.as_ptr().is_null());
/// ```
///
/// ```
/// # use std::ptr::NonNull;
/// # struct Thing;
/// # unsafe impl releasepool::Foreign for Thing {
/// #     unsafe fn retain(_: NonNull<Self>) {}
/// #     unsafe fn release(_: NonNull<Self>) {}
/// # }
/// let mut pool = releasepool::AutoreleasePool::new();
/// let lent = unsafe { pool.adopt(NonNull::<Thing>::dangling()) };
/// assert!(!lent.as_ptr().is_null());
/// pool.drain();
/// ```
struct ForeignAfterTheDrain;

/// What `Slot::with` passes to its closure cannot leave it.
///
/// ```compile_fail
/// let slot = releasepool::Slot::new(releasepool::Ref::new(7));
/// let seven: &i32 = slot.with(|seven| seven);
/// ```
///
/// ```
/// let slot = releasepool::Slot::new(releasepool::Ref::new(7));
/// let seven: i32 = slot.with(|seven| *seven);
/// ```
struct SlotValueBeyondWith;

/// What a cache returns cannot be used after the next load, which may drop it.
///
/// ```compile_fail,E0499
/// let slot = releasepool::Slot::new(releasepool::Ref::new(7));
/// let mut cache = releasepool::SlotCache::new(&slot);
/// let (first, second) = (cache.load(), cache.load());
/// assert_eq!(first, second);
/// ```
///
/// ```
/// let slot = releasepool::Slot::new(releasepool::Ref::new(7));
/// let mut cache = releasepool::SlotCache::new(&slot);
/// let (first, second) = (cache.load().clone(), cache.load());
/// assert_eq!(&first, second);
/// ```
struct CachedAfterTheNextLoad;
