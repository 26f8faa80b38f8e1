//! Lifetimes of arenas and of the values in them.

/// An arena cannot be reset while a box of it is in use.
///
/// ```compile_fail,E0502
/// let mut arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// arena.reset();
/// assert_eq!(*value, 7);
/// ```
///
/// ```
/// let mut arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// assert_eq!(*value, 7);
/// drop(value);
/// arena.reset();
/// ```
struct ResetWhileInUse;

/// An arena cannot be reset before a box of it is dropped.
///
/// ```compile_fail,E0502
/// let mut arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// arena.reset();
/// ```
///
/// ```
/// let mut arena = releasepool::StackAllocator::new();
/// let _ = arena.alloc(7);
/// arena.reset();
/// ```
struct ResetBeforeDrop;

/// An arena cannot be reset while a leaked value in it is in use.
///
/// ```compile_fail,E0502
/// use releasepool::{StackAllocator, StackBox};
/// let mut arena = StackAllocator::new();
/// let value = StackBox::leak(arena.alloc(7));
/// arena.reset();
/// *value += 1;
/// ```
///
/// ```
/// use releasepool::{StackAllocator, StackBox};
/// let mut arena = StackAllocator::new();
/// let value = StackBox::leak(arena.alloc(7));
/// *value += 1;
/// arena.reset();
/// ```
struct ResetWhileLeaked;

/// An arena cannot be dropped or moved while a box of it exists.
///
/// ```compile_fail,E0505
/// let arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// drop(arena);
/// assert_eq!(*value, 7);
/// ```
///
/// ```
/// let arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// assert_eq!(*value, 7);
/// drop(value);
/// drop(arena);
/// ```
struct DroppedWhileInUse;

/// A box of a frame's arena cannot outlive the frame.
///
/// ```compile_fail
/// use releasepool::{FrameConfig, FrameLoop};
/// let mut frames = FrameLoop::new(FrameConfig::new());
/// let mut kept = None;
/// frames.tick(|frame| kept = Some(frame.arena().alloc(7)));
/// ```
///
/// ```
/// use releasepool::{FrameConfig, FrameLoop, StackBox};
/// let mut frames = FrameLoop::new(FrameConfig::new());
/// let mut kept = None;
/// frames.tick(|frame| kept = Some(StackBox::into_inner(frame.arena().alloc(7))));
/// ```
struct KeptBeyondTheFrame;

/// A pool cannot own a box, as objects of pools are `'static`.
///
/// ```compile_fail,E0597
/// use releasepool::{AutoreleasePool, StackAllocator};
/// let arena = StackAllocator::new();
/// let pool = AutoreleasePool::new();
/// pool.create(arena.alloc(7));
/// ```
///
/// ```
/// use releasepool::{AutoreleasePool, StackAllocator, StackBox};
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
/// let arena = releasepool::StackAllocator::new();
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
/// let arena = releasepool::StackAllocator::new();
/// let text = String::from("text");
/// let shows;
/// shows = arena.alloc(Shows(&text));
/// ```
struct OutlivesWhatItBorrows;

/// A box cannot be sent to another thread.
///
/// ```compile_fail,E0277
/// let arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(value));
/// });
/// ```
///
/// ```
/// let arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(7);
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert_eq!(*value, 7));
/// });
/// ```
struct BoxSent;

/// Other threads get a reference to a value only if it is `Sync`.
///
/// ```compile_fail,E0277
/// let arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(std::cell::Cell::new(7));
/// std::thread::scope(|scope| {
///     scope.spawn(|| value.set(8));
/// });
/// ```
///
/// ```
/// let arena = releasepool::StackAllocator::new();
/// let value = arena.alloc(std::sync::atomic::AtomicU8::new(7));
/// std::thread::scope(|scope| {
///     scope.spawn(|| value.store(8, std::sync::atomic::Ordering::Relaxed));
/// });
/// ```
struct BoxShared;

/// An arena cannot be shared by threads.
///
/// ```compile_fail,E0277
/// let arena = releasepool::StackAllocator::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| _ = arena.alloc(7));
/// });
/// ```
///
/// ```
/// let arena = releasepool::StackAllocator::new();
/// std::thread::scope(|scope| {
///     scope.spawn(move || _ = arena.alloc(7));
/// });
/// ```
struct ArenaShared;

/// A box cannot be pinned: its memory might be used again although it was never dropped.
///
/// ```compile_fail,E0277
/// let arena = releasepool::StackAllocator::new();
/// std::pin::Pin::new(arena.alloc(std::marker::PhantomPinned));
/// ```
///
/// ```
/// let arena = releasepool::StackAllocator::new();
/// std::pin::Pin::new(arena.alloc(std::marker::PhantomData::<u8>));
/// ```
struct PinnedInAnArena;

/// A box cannot be turned into a box with a longer lifetime.
///
/// ```compile_fail
/// use releasepool::StackBox;
/// fn longer<'s, 'a>(value: StackBox<'s, &'a str>) -> StackBox<'s, &'static str> {
///     value
/// }
/// ```
///
/// ```
/// use releasepool::StackBox;
/// fn shorter<'s, 'a>(value: StackBox<'s, &'static str>) -> StackBox<'s, &'a str> {
///     value
/// }
/// ```
struct Longer;
