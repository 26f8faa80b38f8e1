//! What stays on its thread.

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

/// What may die anywhere may be sent anywhere.
///
/// ```compile_fail,E0277
/// let object = releasepool::HomeRef::new_or_anywhere(std::rc::Rc::new(7));
/// ```
///
/// ```
/// let object = releasepool::HomeRef::new_or_anywhere(std::sync::Arc::new(7));
/// let object = releasepool::HomeRef::new(std::rc::Rc::new(7));
/// ```
struct HomeRefAnywhere;

/// What is seen at home stays there,
///
/// ```compile_fail,E0277
/// use std::cell::Cell;
/// let object = releasepool::HomeRef::new(Cell::new(7));
/// let value: &Cell<i32> = object.get().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| value.set(8));
/// });
/// ```
///
/// ```
/// use std::cell::Cell;
/// let object = releasepool::HomeRef::new(Cell::new(7));
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert!(object.get().is_none()));
/// });
/// ```
struct HomeRefValueSent;

/// and goes with the reference that it was seen by.
///
/// ```compile_fail,E0505
/// let object = releasepool::HomeRef::new(7);
/// let value = object.get().unwrap();
/// std::thread::spawn(move || drop(object));
/// assert_eq!(*value, 7);
/// ```
///
/// ```
/// let object = releasepool::HomeRef::new(7);
/// let value = object.get().unwrap();
/// assert_eq!(*value, 7);
/// std::thread::spawn(move || drop(object));
/// ```
struct HomeRefValueOutlives;

/// It may come home late: so it borrows nothing,
///
/// ```compile_fail,E0597
/// let text = String::from("text");
/// let object = releasepool::HomeRef::new(text.as_str());
/// ```
///
/// ```
/// let text = "text";
/// let object = releasepool::HomeRef::new(text);
/// ```
struct HomeRefOfABorrow;

/// and is, for ever, of the type that it was made of.
///
/// ```compile_fail,E0308
/// use releasepool::HomeRef;
/// type Any = for<'a> fn(&'a str);
/// type Static = fn(&'static str);
/// fn shrink(object: HomeRef<Option<Any>>) -> HomeRef<Option<Static>> {
///     object
/// }
/// ```
///
/// ```
/// use releasepool::HomeRef;
/// type Any = for<'a> fn(&'a str);
/// fn shrink(object: HomeRef<Option<Any>>) -> HomeRef<Option<Any>> {
///     object
/// }
/// ```
struct HomeRefOfASubtype;

/// A frame loop stays on its thread; its proxy need not.
///
/// ```compile_fail,E0277
/// use releasepool::{FrameConfig, FrameLoop};
/// let frames = FrameLoop::new(FrameConfig::new());
/// std::thread::spawn(move || drop(frames));
/// ```
///
/// ```
/// use releasepool::{FrameConfig, FrameLoop};
/// let frames = FrameLoop::new(FrameConfig::new());
/// let proxy = frames.proxy();
/// std::thread::spawn(move || drop(proxy));
/// ```
struct FrameLoopSent;

/// What a frame's pool lends does not outlive the frame.
///
/// ```compile_fail
/// use releasepool::{FrameConfig, FrameLoop};
/// let mut kept = None;
/// FrameLoop::new(FrameConfig::new()).tick(|frame| kept = Some(frame.pool().create(7)));
/// ```
///
/// ```
/// use releasepool::{FrameConfig, FrameLoop, PoolRef};
/// let mut kept = None;
/// FrameLoop::new(FrameConfig::new())
///     .tick(|frame| kept = Some(PoolRef::retain(frame.pool().create(7))));
/// ```
struct FrameLent;

/// What is posted may be sent.
///
/// ```compile_fail,E0277
/// let looper = releasepool::Looper::spawn("worker").unwrap();
/// let count = std::rc::Rc::new(7);
/// looper.post(move || drop(count)).unwrap();
/// ```
///
/// ```
/// let looper = releasepool::Looper::spawn("worker").unwrap();
/// let count = std::sync::Arc::new(7);
/// looper.post(move || drop(count)).unwrap();
/// ```
struct PostSent;

/// So may what a call returns.
///
/// ```compile_fail,E0277
/// let looper = releasepool::Looper::spawn("worker").unwrap();
/// looper.call(|| std::rc::Rc::new(7)).unwrap();
/// ```
///
/// ```
/// let looper = releasepool::Looper::spawn("worker").unwrap();
/// looper.call(|| std::sync::Arc::new(7)).unwrap();
/// ```
struct AnswerSent;

/// A pooled future is as Send as what it polls.
///
/// ```compile_fail
/// fn send<T: Send>(_: T) {}
/// let r = std::rc::Rc::new(7);
/// send(releasepool::pooled(async move { drop(r) }));
/// ```
///
/// ```
/// fn send<T: Send>(_: T) {}
/// let r = std::sync::Arc::new(7);
/// send(releasepool::pooled(async move { drop(r) }));
/// ```
struct PooledSent;
