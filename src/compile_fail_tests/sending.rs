//! Threads: which values can be sent to or shared with other threads.

/// A guard cannot be sent to another thread.
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

/// A guard cannot be shared with another thread.
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

/// A guard cannot be held across an await point of a task that may move between threads.
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
/// In a task that stays on its thread, a guard can be held across an await point:
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

/// A `Ref` to a value that is not `Send` cannot be sent.
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

/// A `Ref` to a value that is not `Sync` cannot be sent.
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

/// A `Ref` to a value that is not `Sync` cannot be shared, because it could be cloned.
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

/// A weak reference to a value that is not `Sync` cannot be sent.
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

/// A `PoolRef` can be sent only if a `Ref` could. `Sync` is not enough, because the other thread
/// could retain the object and drop the last reference.
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

/// A posted closure must be `Send`, because it runs on another thread.
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

/// A posted closure must be `'static`, because it may run at any later time.
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

/// An object that is released on another thread must be `Send`, because it may be destroyed there.
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

/// An object that is released on another thread must be `Sync`, because other references to it may
/// be in use until then.
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

/// A `HomeRef` value that any thread may destroy must be `Send`.
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

/// A reference to a `HomeRef`'s value cannot leave the home thread.
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

/// A reference to a `HomeRef`'s value cannot outlive the `HomeRef`.
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

/// The value of a `HomeRef` cannot contain a borrow, because it may return home at any later time.
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

/// `HomeRef<T>` is invariant, because the object keeps the destructor of the type that it was made
/// with.
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

/// `HomeWeak<T>` is invariant, too, as it can be upgraded.
///
/// ```compile_fail,E0308
/// use releasepool::HomeWeak;
/// type Any = for<'a> fn(&'a str);
/// type Static = fn(&'static str);
/// fn shrink(object: HomeWeak<Option<Any>>) -> HomeWeak<Option<Static>> {
///     object
/// }
/// ```
///
/// ```
/// use releasepool::HomeWeak;
/// type Any = for<'a> fn(&'a str);
/// fn shrink(object: HomeWeak<Option<Any>>) -> HomeWeak<Option<Any>> {
///     object
/// }
/// ```
struct HomeWeakOfASubtype;

/// A reference that `HomeRef::with` lends cannot leave the closure, so it cannot leave the thread.
///
/// ```compile_fail
/// let object = releasepool::HomeRef::new(std::cell::Cell::new(7));
/// let value: &std::cell::Cell<i32> = object.with(|value| value);
/// ```
///
/// ```
/// let object = releasepool::HomeRef::new(std::cell::Cell::new(7));
/// let value: i32 = object.with(|value| value.get());
/// ```
struct HomeRefWithLends;

/// A frame loop cannot be sent to another thread, but its proxy can.
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

/// A reference that a frame's pool has lent cannot outlive the frame.
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

/// A closure that is posted to a looper must be `Send`.
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

/// The result of a call to a looper must be `Send`.
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

/// A pooled future is `Send` only if the future that it polls is.
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

/// A value that must stay on its thread cannot be destroyed by a reclaimer, whatever the way to it.
///
/// ```compile_fail,E0277
/// releasepool::drop_later(std::rc::Rc::new(7));
/// ```
///
/// ```compile_fail,E0277
/// let later = releasepool::Later::new(std::rc::Rc::new(7));
/// ```
///
/// ```compile_fail,E0277
/// releasepool::HandoffPool::new().push_value(std::rc::Rc::new(7));
/// ```
///
/// ```compile_fail,E0277
/// releasepool::drop_later(releasepool::Ref::new(std::cell::Cell::new(7))); // others may share it
/// ```
///
/// ```
/// releasepool::drop_later(std::sync::Arc::new(7));
/// releasepool::drop_later(std::cell::Cell::new(7)); // Send suffices
/// releasepool::HandoffPool::new().push_value(std::cell::Cell::new(7));
/// assert!(releasepool::finish_drops(std::time::Duration::from_secs(60)));
/// ```
struct DroppedLaterThoughNotSend;

/// A value that borrows cannot wait for its destruction.
///
/// ```compile_fail,E0597
/// let text = String::from("text");
/// releasepool::drop_later(&text);
/// ```
///
/// ```
/// releasepool::drop_later(String::from("text"));
/// # releasepool::finish_drops(std::time::Duration::from_secs(60));
/// ```
struct DroppedLaterThoughBorrowed;

/// The guard of an inbox hook stays on its thread.
///
/// ```compile_fail,E0277
/// let hook = releasepool::PoolManager::global().set_inbox_hook(|| ());
/// std::thread::spawn(move || drop(hook));
/// ```
///
/// ```
/// let hook = releasepool::PoolManager::global().set_inbox_hook(|| ());
/// drop(hook);
/// ```
struct InboxHookElsewhere;
