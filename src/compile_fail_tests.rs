//! Examples of code that must not compile, and why; each has a twin that compiles and differs only
//! in the tested point.
#![allow(dead_code)]

mod lending {
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
    /// # unsafe impl releasepool::foreign::Foreign for Thing {
    /// #     unsafe fn retain(_: NonNull<Self>) {}
    /// #     unsafe fn release(_: NonNull<Self>) {}
    /// # }
    /// let lent = releasepool::foreign::foreign_scope(&(), |scope| {
    ///     unsafe { scope.adopt(NonNull::<Thing>::dangling()) }
    /// });
    /// ```
    ///
    /// ```
    /// # use std::ptr::NonNull;
    /// # struct Thing;
    /// # unsafe impl releasepool::foreign::Foreign for Thing {
    /// #     unsafe fn retain(_: NonNull<Self>) {}
    /// #     unsafe fn release(_: NonNull<Self>) {}
    /// # }
    /// let address = releasepool::foreign::foreign_scope(&(), |scope| {
    ///     unsafe { scope.adopt(NonNull::<Thing>::dangling()) }.as_ptr()
    /// });
    /// ```
    struct ForeignLentBeyondItsScope;

    /// A foreign object that a pool has lent is gone after the pool's drain.
    ///
    /// ```compile_fail,E0502
    /// # use std::ptr::NonNull;
    /// # struct Thing;
    /// # unsafe impl releasepool::foreign::Foreign for Thing {
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
    /// # unsafe impl releasepool::foreign::Foreign for Thing {
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
    /// let mut cache = releasepool::slot::SlotCache::new(&slot);
    /// let (first, second) = (cache.load(), cache.load());
    /// assert_eq!(first, second);
    /// ```
    ///
    /// ```
    /// let slot = releasepool::Slot::new(releasepool::Ref::new(7));
    /// let mut cache = releasepool::slot::SlotCache::new(&slot);
    /// let (first, second) = (cache.load().clone(), cache.load());
    /// assert_eq!(&first, second);
    /// ```
    struct CachedAfterTheNextLoad;
}

mod sending {
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
    /// use releasepool::home::HomeWeak;
    /// type Any = for<'a> fn(&'a str);
    /// type Static = fn(&'static str);
    /// fn shrink(object: HomeWeak<Option<Any>>) -> HomeWeak<Option<Static>> {
    ///     object
    /// }
    /// ```
    ///
    /// ```
    /// use releasepool::home::HomeWeak;
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
    /// use releasepool::{FrameLoop, frame::FrameConfig};
    /// let frames = FrameLoop::new(FrameConfig::new());
    /// std::thread::spawn(move || drop(frames));
    /// ```
    ///
    /// ```
    /// use releasepool::{FrameLoop, frame::FrameConfig};
    /// let frames = FrameLoop::new(FrameConfig::new());
    /// let proxy = frames.proxy();
    /// std::thread::spawn(move || drop(proxy));
    /// ```
    struct FrameLoopSent;

    /// A reference that a frame's pool has lent cannot outlive the frame.
    ///
    /// ```compile_fail
    /// use releasepool::{FrameLoop, frame::FrameConfig};
    /// let mut kept = None;
    /// FrameLoop::new(FrameConfig::new()).tick(|frame| kept = Some(frame.pool().create(7)));
    /// ```
    ///
    /// ```
    /// use releasepool::{FrameLoop, PoolRef, frame::FrameConfig};
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
    /// let later = releasepool::reclaim::Later::new(std::rc::Rc::new(7));
    /// ```
    ///
    /// ```compile_fail,E0277
    /// _ = releasepool::reclaim::try_drop_later(std::rc::Rc::new(7));
    /// ```
    ///
    /// ```compile_fail,E0277
    /// releasepool::drop_later(releasepool::Ref::new(std::cell::Cell::new(7))); // others may share it
    /// ```
    ///
    /// ```
    /// releasepool::drop_later(std::sync::Arc::new(7));
    /// releasepool::drop_later(std::cell::Cell::new(7)); // Send suffices
    /// assert!(releasepool::reclaim::try_drop_later(std::cell::Cell::new(7)).is_ok());
    /// assert!(releasepool::reclaim::finish_drops(std::time::Duration::from_secs(60)));
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
    /// # releasepool::reclaim::finish_drops(std::time::Duration::from_secs(60));
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
}

mod objects {
    //! Objects: bounds on their types, conversions between handles, mutable access.

    /// An object cannot contain a borrow, because it may live as long as the process.
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

    /// The bound `'static` is on the type `Ref` itself, not only on its constructors: a `Ref` cannot be
    /// shrunk to a shorter lifetime and then be given a shorter borrow.
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
    /// A `Ref` of a type with a shorter lifetime cannot even be named:
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

    /// `unsize!` performs the coercions that the compiler performs for an `Arc`, and no others: the
    /// type must implement the trait.
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

    /// `unsize!` cannot add `Send` to a trait object,
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
    /// and cannot make a `Send` trait object of a type that is not `Send`.
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

    /// `unsize!` only coerces; it does not cast.
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

    /// `unsize!` does not turn its operand into an unsafe context.
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

    /// `unsize!` works where unsafe code is forbidden, and what Rust forbids for a whole crate only;
    /// `tests/all/object/unsizing.rs` forbids the other groups of lints.
    ///
    /// ```
    /// #![forbid(unsafe_code, unused_unsafe)]
    /// #![forbid(future_incompatible, rust_2021_compatibility, rust_2024_compatibility)]
    /// use releasepool::{Ref, unsize};
    /// let object = unsize!(Ref::new([1, 2]) => [u8]);
    /// ```
    struct UnsizedWhereUnsafeIsForbidden;

    /// An object that is `Send` and `Sync` can be downcast only to types that are, too.
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

    /// A borrow from `get_mut` cannot outlive the `Ref`.
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

    /// A `Ref` cannot be cloned while a borrow from `make_mut` is in use.
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

    /// A pinned object cannot be moved out.
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

    /// `Ref<T>` is invariant: a `Ref` of a subtype is no `Ref` of its supertype, even if both are
    /// `'static`, because the object keeps the destructor of the type that it was made with.
    ///
    /// ```compile_fail,E0308
    /// use releasepool::Ref;
    /// type Any = for<'a> fn(&'a u8);
    /// type Long = fn(&'static u8);
    /// fn as_long(object: Ref<Any>) -> Ref<Long> {
    ///     object
    /// }
    /// ```
    ///
    /// ```
    /// use releasepool::Ref;
    /// type Any = for<'a> fn(&'a u8);
    /// type Long = fn(&'static u8);
    /// fn as_long(object: Ref<Any>) -> Ref<Any> {
    ///     object
    /// }
    /// ```
    struct RefOfASubtype;
}

mod arenas {
    //! Lifetimes of arenas and of the values in them.

    /// An arena cannot be reset while a box of it is in use.
    ///
    /// ```compile_fail,E0502
    /// let mut arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// arena.reset();
    /// assert_eq!(*value, 7);
    /// ```
    ///
    /// ```
    /// let mut arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// assert_eq!(*value, 7);
    /// drop(value);
    /// arena.reset();
    /// ```
    struct ResetWhileInUse;

    /// An arena cannot be reset before a box of it is dropped.
    ///
    /// ```compile_fail,E0502
    /// let mut arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// arena.reset();
    /// ```
    ///
    /// ```
    /// let mut arena = releasepool::memory::StackAllocator::new();
    /// let _ = arena.alloc(7);
    /// arena.reset();
    /// ```
    struct ResetBeforeDrop;

    /// An arena cannot be reset while a leaked value in it is in use.
    ///
    /// ```compile_fail,E0502
    /// use releasepool::memory::{StackAllocator, StackBox};
    /// let mut arena = StackAllocator::new();
    /// let value = StackBox::leak(arena.alloc(7));
    /// arena.reset();
    /// *value += 1;
    /// ```
    ///
    /// ```
    /// use releasepool::memory::{StackAllocator, StackBox};
    /// let mut arena = StackAllocator::new();
    /// let value = StackBox::leak(arena.alloc(7));
    /// *value += 1;
    /// arena.reset();
    /// ```
    struct ResetWhileLeaked;

    /// An arena cannot be dropped or moved while a box of it exists.
    ///
    /// ```compile_fail,E0505
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// drop(arena);
    /// assert_eq!(*value, 7);
    /// ```
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// assert_eq!(*value, 7);
    /// drop(value);
    /// drop(arena);
    /// ```
    struct DroppedWhileInUse;

    /// A box of a frame's arena cannot outlive the frame.
    ///
    /// ```compile_fail
    /// use releasepool::{FrameLoop, frame::FrameConfig};
    /// let mut frames = FrameLoop::new(FrameConfig::new());
    /// let mut kept = None;
    /// frames.tick(|frame| kept = Some(frame.arena().alloc(7)));
    /// ```
    ///
    /// ```
    /// use releasepool::frame::FrameConfig;
    /// use releasepool::memory::StackBox;
    /// use releasepool::FrameLoop;
    /// let mut frames = FrameLoop::new(FrameConfig::new());
    /// let mut kept = None;
    /// frames.tick(|frame| kept = Some(StackBox::into_inner(frame.arena().alloc(7))));
    /// ```
    struct KeptBeyondTheFrame;

    /// A pool cannot own a box, as objects of pools are `'static`.
    ///
    /// ```compile_fail,E0597
    /// use releasepool::memory::StackAllocator;
    /// use releasepool::AutoreleasePool;
    /// let arena = StackAllocator::new();
    /// let pool = AutoreleasePool::new();
    /// pool.create(arena.alloc(7));
    /// ```
    ///
    /// ```
    /// use releasepool::memory::{StackAllocator, StackBox};
    /// use releasepool::AutoreleasePool;
    /// let arena = StackAllocator::new();
    /// let pool = AutoreleasePool::new();
    /// pool.create(StackBox::into_inner(arena.alloc(7)));
    /// ```
    struct OwnedByAPool;

    /// A value cannot outlive data that its destructor uses.
    ///
    /// ```compile_fail,E0597
    /// struct Shows<'a>(&'a str);
    /// impl Drop for Shows<'_> {
    ///     fn drop(&mut self) {
    ///         assert_eq!(self.0, "text");
    ///     }
    /// }
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let shows;
    /// let text = String::from("text");
    /// shows = arena.alloc(Shows(&text));
    /// ```
    ///
    /// ```
    /// struct Shows<'a>(&'a str);
    /// impl Drop for Shows<'_> {
    ///     fn drop(&mut self) {
    ///         assert_eq!(self.0, "text");
    ///     }
    /// }
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let text = String::from("text");
    /// let shows;
    /// shows = arena.alloc(Shows(&text));
    /// ```
    struct OutlivesWhatItBorrows;

    /// A box cannot be sent to another thread.
    ///
    /// ```compile_fail,E0277
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || drop(value));
    /// });
    /// ```
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(7);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert_eq!(*value, 7));
    /// });
    /// ```
    struct BoxSent;

    /// Other threads get a reference to a value only if it is `Sync`.
    ///
    /// ```compile_fail,E0277
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(std::cell::Cell::new(7));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| value.set(8));
    /// });
    /// ```
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::new();
    /// let value = arena.alloc(std::sync::atomic::AtomicU8::new(7));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| value.store(8, std::sync::atomic::Ordering::Relaxed));
    /// });
    /// ```
    struct BoxShared;

    /// An arena cannot be shared by threads.
    ///
    /// ```compile_fail,E0277
    /// let arena = releasepool::memory::StackAllocator::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| _ = arena.alloc(7));
    /// });
    /// ```
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || _ = arena.alloc(7));
    /// });
    /// ```
    struct ArenaShared;

    /// A box cannot be pinned: its memory might be used again although it was never dropped.
    ///
    /// ```compile_fail,E0277
    /// let arena = releasepool::memory::StackAllocator::new();
    /// std::pin::Pin::new(arena.alloc(std::marker::PhantomPinned));
    /// ```
    ///
    /// ```
    /// let arena = releasepool::memory::StackAllocator::new();
    /// std::pin::Pin::new(arena.alloc(std::marker::PhantomData::<u8>));
    /// ```
    struct PinnedInAnArena;

    /// A box cannot be turned into a box with a longer lifetime.
    ///
    /// ```compile_fail
    /// use releasepool::memory::StackBox;
    /// fn longer<'s, 'a>(value: StackBox<'s, &'a str>) -> StackBox<'s, &'static str> {
    ///     value
    /// }
    /// ```
    ///
    /// ```
    /// use releasepool::memory::StackBox;
    /// fn shorter<'s, 'a>(value: StackBox<'s, &'static str>) -> StackBox<'s, &'a str> {
    ///     value
    /// }
    /// ```
    struct Longer;
}

mod hot_objects {
    //! Hot objects: which values can be hot, and where references to them can go.

    /// A value that is not `Send` cannot be hot, as any thread may destroy it.
    ///
    /// ```compile_fail,E0277
    /// use releasepool::{Hot, Ref};
    /// let hot = Hot::try_new(Ref::new(std::rc::Rc::new(7)));
    /// ```
    ///
    /// ```
    /// use releasepool::{Hot, Ref};
    /// let hot = Hot::try_new(Ref::new(std::sync::Arc::new(7)));
    /// ```
    struct HotNotSend;

    /// A value that is not `Sync` cannot be hot.
    ///
    /// ```compile_fail,E0277
    /// use releasepool::{Hot, Ref};
    /// let hot = Hot::try_new(Ref::new(std::cell::Cell::new(7)));
    /// ```
    ///
    /// ```
    /// use releasepool::{Hot, Ref};
    /// let hot = Hot::try_new(Ref::new(std::sync::Mutex::new(7)));
    /// ```
    struct HotNotSync;

    /// A `HotRef` to a trait object that need not be `Send` and `Sync` cannot be sent.
    ///
    /// ```compile_fail,E0277
    /// use releasepool::{Hot, Ref, unsize};
    /// let hot = Hot::new(Ref::new(7));
    /// let shown = unsize!(hot.get() => dyn std::fmt::Display);
    /// std::thread::spawn(move || drop(shown));
    /// ```
    ///
    /// ```
    /// use releasepool::{Hot, Ref, unsize};
    /// let hot = Hot::new(Ref::new(7));
    /// let shown = unsize!(hot.get() => dyn std::fmt::Display + Send + Sync);
    /// std::thread::spawn(move || drop(shown));
    /// ```
    struct HotRefSent;

    /// The owner of such a trait object cannot be shared.
    ///
    /// ```compile_fail,E0277
    /// use releasepool::{Hot, Ref, unsize};
    /// let hot = unsize!(Hot::new(Ref::new(7)) => dyn std::fmt::Display);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| drop(hot.get()));
    /// });
    /// ```
    ///
    /// ```
    /// use releasepool::{Hot, Ref, unsize};
    /// let hot = unsize!(Hot::new(Ref::new(7)) => dyn std::fmt::Display + Send + Sync);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| drop(hot.get()));
    /// });
    /// ```
    struct HotShared;

    /// A borrow of the value cannot outlive the `HotRef`.
    ///
    /// ```compile_fail,E0505
    /// use releasepool::{Hot, Ref};
    /// let reference = Hot::new(Ref::new(7)).get();
    /// let borrowed = &*reference;
    /// drop(reference);
    /// assert_eq!(*borrowed, 7);
    /// ```
    ///
    /// ```
    /// use releasepool::{Hot, Ref};
    /// let reference = Hot::new(Ref::new(7)).get();
    /// let borrowed = &*reference;
    /// assert_eq!(*borrowed, 7);
    /// drop(reference);
    /// ```
    struct HotValueOutlives;

    /// The owner cannot be cloned: when it is dropped, the object is let go.
    ///
    /// ```compile_fail,E0599
    /// use releasepool::{Hot, Ref};
    /// let hot = Hot::new(Ref::new(std::sync::Mutex::new(7)));
    /// let another: Hot<std::sync::Mutex<i32>> = hot.clone();
    /// ```
    ///
    /// ```
    /// use releasepool::{Hot, HotRef, Ref};
    /// let hot = Hot::new(Ref::new(std::sync::Mutex::new(7)));
    /// let another: HotRef<std::sync::Mutex<i32>> = hot.get().clone();
    /// ```
    struct HotCloned;

    /// `HotRef<T>` is invariant, because the object keeps the destructor of the type that it was made
    /// with.
    ///
    /// ```compile_fail
    /// use releasepool::HotRef;
    /// type Any = for<'a> fn(&'a str);
    /// type Static = fn(&'static str);
    /// fn shrink(object: HotRef<Option<Any>>) -> HotRef<Option<Static>> {
    ///     object
    /// }
    /// ```
    ///
    /// ```
    /// use releasepool::HotRef;
    /// type Any = for<'a> fn(&'a str);
    /// fn same(object: HotRef<Option<Any>>) -> HotRef<Option<Any>> {
    ///     object
    /// }
    /// ```
    struct HotRefInvariant;
}
