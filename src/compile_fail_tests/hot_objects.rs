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
/// let hot = Hot::try_new(Ref::new(7)).unwrap();
/// let shown = unsize!(hot.get() => dyn std::fmt::Display);
/// std::thread::spawn(move || drop(shown));
/// ```
///
/// ```
/// use releasepool::{Hot, Ref, unsize};
/// let hot = Hot::try_new(Ref::new(7)).unwrap();
/// let shown = unsize!(hot.get() => dyn std::fmt::Display + Send + Sync);
/// std::thread::spawn(move || drop(shown));
/// ```
struct HotRefSent;

/// The owner of such a trait object cannot be shared.
///
/// ```compile_fail,E0277
/// use releasepool::{Hot, Ref, unsize};
/// let hot = unsize!(Hot::try_new(Ref::new(7)).unwrap() => dyn std::fmt::Display);
/// std::thread::scope(|scope| {
///     scope.spawn(|| drop(hot.get()));
/// });
/// ```
///
/// ```
/// use releasepool::{Hot, Ref, unsize};
/// let hot = unsize!(Hot::try_new(Ref::new(7)).unwrap() => dyn std::fmt::Display + Send + Sync);
/// std::thread::scope(|scope| {
///     scope.spawn(|| drop(hot.get()));
/// });
/// ```
struct HotShared;

/// A borrow of the value cannot outlive the `HotRef`.
///
/// ```compile_fail,E0505
/// use releasepool::{Hot, Ref};
/// let reference = Hot::try_new(Ref::new(7)).unwrap().get();
/// let borrowed = &*reference;
/// drop(reference);
/// assert_eq!(*borrowed, 7);
/// ```
///
/// ```
/// use releasepool::{Hot, Ref};
/// let reference = Hot::try_new(Ref::new(7)).unwrap().get();
/// let borrowed = &*reference;
/// assert_eq!(*borrowed, 7);
/// drop(reference);
/// ```
struct HotValueOutlives;

/// The owner cannot be cloned: when it is dropped, the object is let go.
///
/// ```compile_fail,E0599
/// use releasepool::{Hot, Ref};
/// let hot = Hot::try_new(Ref::new(std::sync::Mutex::new(7))).unwrap();
/// let another: Hot<std::sync::Mutex<i32>> = hot.clone();
/// ```
///
/// ```
/// use releasepool::{Hot, HotRef, Ref};
/// let hot = Hot::try_new(Ref::new(std::sync::Mutex::new(7))).unwrap();
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
