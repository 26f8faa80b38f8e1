//! What must not compile, and why; each beside a twin that does compile, and differs
//! only in the one thing.
#![allow(dead_code)]

/// A pool is not drained while what it lent is in use.
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

/// Nor is it dropped.
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

/// Nor does it go out of scope.
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

/// Nor is it moved, replaced or swapped: what is lent borrows the guard.
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

/// What a plain reference borrows from a `PoolRef` ends with the pool, too.
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

/// Nothing that was lent leaves `autoreleasepool`; what was retained does.
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

/// Nor by way of a variable outside.
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

/// What is lent does not outlive its pool by way of another pool.
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

/// A pool that holds what borrows it cannot be put beside it in one value.
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

/// A guard stays on its thread.
///
/// ```compile_fail,E0277
/// let pool = releasepool::AutoreleasePool::new();
/// std::thread::spawn(move || drop(pool));
/// ```
///
/// ```
/// std::thread::spawn(move || {
///     let pool = releasepool::AutoreleasePool::new();
///     drop(pool)
/// });
/// ```
struct GuardSent;

/// Other threads do not even see it.
///
/// ```compile_fail,E0277
/// let pool = releasepool::AutoreleasePool::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| _ = pool.create(7));
/// });
/// ```
///
/// ```
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         let pool = releasepool::AutoreleasePool::new();
///         _ = pool.create(7)
///     });
/// });
/// ```
struct GuardShared;

/// A guard is not held across an await point of a task that may change threads.
///
/// ```compile_fail
/// fn spawn(_: impl Future<Output = ()> + Send + 'static) {}
/// spawn(async {
///     let pool = releasepool::AutoreleasePool::new();
///     std::future::ready(()).await;
///     pool.create(7);
/// });
/// ```
///
/// ```
/// fn spawn(_: impl Future<Output = ()> + Send + 'static) {}
/// spawn(async {
///     std::future::ready(()).await;
///     let pool = releasepool::AutoreleasePool::new();
///     pool.create(7);
/// });
/// ```
///
/// In a task that stays on its thread it may be:
///
/// ```
/// fn spawn_local(_: impl Future<Output = ()> + 'static) {}
/// spawn_local(async {
///     let pool = releasepool::AutoreleasePool::new();
///     std::future::ready(()).await;
///     pool.create(7);
/// });
/// ```
struct GuardAcrossAwait;

/// What may not be sent may not be sent by counted reference.
///
/// ```compile_fail,E0277
/// use releasepool::Ref;
/// let object = Ref::new(std::rc::Rc::new(7));
/// std::thread::spawn(move || drop(object));
/// ```
///
/// ```
/// use releasepool::Ref;
/// let object = Ref::new(std::sync::Arc::new(7));
/// std::thread::spawn(move || drop(object));
/// ```
struct RefOfNotSendSent;

/// What may not be shared may not be shared by counted reference.
///
/// ```compile_fail,E0277
/// let object = releasepool::Ref::new(std::cell::Cell::new(7));
/// let other = object.clone();
/// std::thread::spawn(move || other.set(8));
/// ```
///
/// ```
/// let object = releasepool::Ref::new(std::sync::atomic::AtomicU8::new(7));
/// let other = object.clone();
/// std::thread::spawn(move || other.store(8, std::sync::atomic::Ordering::Relaxed));
/// ```
struct RefOfNotSyncSent;

/// Nor by a shared reference to a `Ref`, which could be cloned.
///
/// ```compile_fail,E0277
/// let object = releasepool::Ref::new(std::cell::Cell::new(7));
/// std::thread::scope(|scope| {
///     scope.spawn(|| object.set(8));
/// });
/// ```
///
/// ```
/// let object = releasepool::Ref::new(std::sync::Mutex::new(7));
/// std::thread::scope(|scope| {
///     scope.spawn(|| *object.lock().unwrap() = 8);
/// });
/// ```
struct RefOfNotSyncShared;

/// Nor by weak reference.
///
/// ```compile_fail,E0277
/// use releasepool::Ref;
/// let object = Ref::new(std::cell::Cell::new(7));
/// let weak = Ref::downgrade(&object);
/// std::thread::spawn(move || weak.upgrade());
/// ```
///
/// ```
/// use releasepool::Ref;
/// let object = Ref::new(std::sync::Mutex::new(7));
/// let weak = Ref::downgrade(&object);
/// std::thread::spawn(move || weak.upgrade());
/// ```
struct WeakOfNotSyncSent;

/// What a pool lends goes to other threads only if a `Ref` might. `Sync` is not enough,
/// as it can be retained, and dropped last, there.
///
/// ```compile_fail,E0277
/// use releasepool::{AutoreleasePool, PoolRef};
/// use std::marker::PhantomData;
/// use std::sync::MutexGuard;
/// let pool = AutoreleasePool::new();
/// let sync_but_not_send = pool.create(PhantomData::<MutexGuard<'static, u8>>);
/// std::thread::scope(|scope| {
///     scope.spawn(move || PoolRef::get(sync_but_not_send));
/// });
/// ```
///
/// ```
/// use releasepool::{AutoreleasePool, PoolRef};
/// use std::marker::PhantomData;
/// use std::sync::Mutex;
/// let pool = AutoreleasePool::new();
/// let sync_and_send = pool.create(PhantomData::<Mutex<u8>>);
/// std::thread::scope(|scope| {
///     scope.spawn(move || PoolRef::get(sync_and_send));
/// });
/// ```
struct PoolRefOfNotSendSent;

/// What a pool lends to a thread is not lent for longer than the pool lives.
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

/// Objects live for as long as anybody wants them to: they borrow nothing.
///
/// ```compile_fail,E0597
/// let text = String::from("text");
/// let object = releasepool::Ref::new(text.as_str());
/// ```
///
/// ```
/// let text = "text";
/// let object = releasepool::Ref::new(text);
/// ```
struct RefOfABorrow;

/// That is said of the type, not only of what makes one: a `Ref` cannot be shrunk to a
/// shorter lifetime, and then be given a shorter borrow.
///
/// ```compile_fail,E0597
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// let mut object: Ref<Say<'static>> = Ref::new(Say("for ever"));
/// releasepool::autorelease(object.clone());
/// let text = String::from("not for long");
/// if let Some(say) = Ref::get_mut(&mut object) {
///     say.0 = &text;
/// }
/// ```
///
/// ```
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// let mut object: Ref<Say<'static>> = Ref::new(Say("for ever"));
/// releasepool::autorelease(object.clone());
/// let text = "for ever, too";
/// if let Some(say) = Ref::get_mut(&mut object) {
///     say.0 = &text;
/// }
/// ```
///
/// The same type cannot even be named with a shorter one:
///
/// ```compile_fail,E0597
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// fn shrink<'a>(object: Ref<Say<'static>>, _: &'a str) -> Ref<Say<'a>> {
///     object
/// }
/// let text = String::from("not for long");
/// shrink(Ref::new(Say("for ever")), &text);
/// ```
///
/// ```
/// use releasepool::Ref;
/// struct Say<'a>(&'a str);
/// fn shrink<'a>(object: Ref<Say<'static>>, _: &'a str) -> Ref<Say<'a>> {
///     object
/// }
/// let text = "for ever, too";
/// shrink(Ref::new(Say("for ever")), &text);
/// ```
struct RefShrunk;

/// `unsize!` does what the compiler would do for an `Arc`, and no more: the type must
/// implement the trait.
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// struct Silent;
/// let object = unsize!(Ref::new(Silent) => dyn std::fmt::Debug);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// #[derive(Debug)]
/// struct Silent;
/// let object = unsize!(Ref::new(Silent) => dyn std::fmt::Debug);
/// ```
struct UnsizedToAnotherTrait;

/// It does not add `Send`,
///
/// ```compile_fail,E0308
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Sync);
/// let object = unsize!(object => dyn Any + Send + Sync);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Send + Sync);
/// let object = unsize!(object => dyn Any + Sync);
/// ```
///
/// nor to what does not have it,
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(std::rc::Rc::new(7)) => dyn std::any::Any + Send);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(std::rc::Rc::new(7)) => dyn std::any::Any);
/// ```
struct UnsizedAddingSend;

/// nor does it make of an object what it is not: a cast would.
///
/// ```compile_fail,E0308
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1u8, 2]) => [u16]);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1u16, 2]) => [u16]);
/// ```
///
/// ```compile_fail,E0308
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(1u8) => i8);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new(1i8) => i8);
/// ```
struct UnsizedByACast;

/// `unsize!` makes nothing unsafe of its operand.
///
/// ```compile_fail,E0133
/// use releasepool::{Ref, unsize};
/// unsafe fn object() -> Ref<[u8; 2]> {
///     Ref::new([1, 2])
/// }
/// let object = unsize!(object() => [u8]);
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// fn object() -> Ref<[u8; 2]> {
///     Ref::new([1, 2])
/// }
/// let object = unsize!(object() => [u8]);
/// ```
struct UnsizedUnsafely;

/// `unsize!` works where unsafe code is forbidden.
///
/// ```
/// #![forbid(unsafe_code)]
/// use releasepool::{Ref, unsize};
/// let object = unsize!(Ref::new([1, 2]) => [u8]);
/// ```
struct UnsizedWhereUnsafeIsForbidden;

/// A closure that is posted runs on another thread.
///
/// ```compile_fail,E0277
/// use releasepool::PoolManager;
/// let me = PoolManager::global().current_thread().unwrap();
/// let value = std::rc::Rc::new(7);
/// me.post(move || drop(value)).unwrap();
/// ```
///
/// ```
/// use releasepool::PoolManager;
/// let me = PoolManager::global().current_thread().unwrap();
/// let value = std::sync::Arc::new(7);
/// me.post(move || drop(value)).unwrap();
/// ```
struct PostOfNotSend;

/// And when nobody knows.
///
/// ```compile_fail,E0373
/// use releasepool::PoolManager;
/// let me = PoolManager::global().current_thread().unwrap();
/// let value = String::from("text");
/// me.post(|| assert_eq!(value, "text")).unwrap();
/// ```
///
/// ```
/// use releasepool::PoolManager;
/// let me = PoolManager::global().current_thread().unwrap();
/// let value = String::from("text");
/// me.post(move || assert_eq!(value, "text")).unwrap();
/// ```
struct PostOfABorrow;

/// What is released to another thread may be destroyed there.
///
/// ```compile_fail,E0277
/// use releasepool::{PoolManager, Ref};
/// let me = PoolManager::global().current_thread().unwrap();
/// me.release(Ref::new(std::rc::Rc::new(7)));
/// ```
///
/// ```
/// use releasepool::{PoolManager, Ref};
/// let me = PoolManager::global().current_thread().unwrap();
/// me.release(Ref::new(std::sync::Arc::new(7)));
/// ```
struct ReleaseOfNotSend;

/// And is used elsewhere, up to then.
///
/// ```compile_fail,E0277
/// use releasepool::{PoolManager, Ref};
/// let me = PoolManager::global().current_thread().unwrap();
/// me.release(Ref::new(std::cell::Cell::new(7)));
/// ```
///
/// ```
/// use releasepool::{PoolManager, Ref};
/// let me = PoolManager::global().current_thread().unwrap();
/// me.release(Ref::new(std::sync::Mutex::new(7)));
/// ```
struct ReleaseOfNotSync;

/// An object is downcast to what may be `Send` and `Sync` only.
///
/// ```compile_fail,E0277
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Send + Sync);
/// let object = object.downcast::<std::rc::Rc<u8>>();
/// ```
///
/// ```
/// use releasepool::{Ref, unsize};
/// use std::any::Any;
/// let object = unsize!(Ref::new(7) => dyn Any + Send + Sync);
/// let object = object.downcast::<std::sync::Arc<u8>>();
/// ```
struct DowncastToNotSend;

/// `get_mut` lends for no longer than the reference lives.
///
/// ```compile_fail,E0505
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::get_mut(&mut object).unwrap();
/// drop(object);
/// *value = 8;
/// ```
///
/// ```
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::get_mut(&mut object).unwrap();
/// *value = 8;
/// drop(object);
/// ```
struct MutableBeyondTheReference;

/// Nor is there a second reference meanwhile.
///
/// ```compile_fail,E0502
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::make_mut(&mut object);
/// let other = object.clone();
/// *value = 8;
/// ```
///
/// ```
/// use releasepool::Ref;
/// let mut object = Ref::new(7);
/// let value = Ref::make_mut(&mut object);
/// *value = 8;
/// let other = object.clone();
/// ```
struct MutableAndShared;

/// What a pool lends is shared, and stays so.
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

/// A pinned object is not moved out.
///
/// ```compile_fail,E0308
/// use releasepool::Ref;
/// let pinned = Ref::pin(std::marker::PhantomPinned);
/// let moved = Ref::into_inner(pinned);
/// ```
///
/// ```
/// use releasepool::Ref;
/// let not_pinned = Ref::new(std::marker::PhantomPinned);
/// let moved = Ref::into_inner(not_pinned);
/// ```
struct PinnedAndMoved;
