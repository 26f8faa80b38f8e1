//! shuttle: schedules that are drawn at random, for programs that are too large for loom.
//!
//! shuttle switches threads at its own operations only, as loom does, and runs one thread at a
//! time. It knows no memory model: every load reads the newest value, whatever the orderings are.
//! So nothing here checks orderings. What differs from [`native`](super::native):
//!
//! * Atomics, locks, threads and statics are shuttle's. Statics and thread-locals are made anew in
//!   each execution.
//! * Time passes only in waits with a limit. Each of them ends by its limit, as if the thread that
//!   should end it were that slow. A wait without a limit ends only by a wake-up, so a missed one
//!   is a deadlock, which shuttle reports.
//! * Memory is at the same addresses in each execution, and no address is used twice in one:
//!   batches of remote frees depend on the addresses of heaps. So all memory comes, in turn, from
//!   one arena, whose alignment fixes the low bits of all addresses: a seed can be replayed. Freed
//!   memory is overwritten, so that a use of it is likely to fail.

use self::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use super::unchecked::{Locked, Monitor};
use std::alloc::{Layout, handle_alloc_error};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::sync::PoisonError;
use std::time::Duration;

pub(crate) mod atomic {
    pub(crate) use shuttle::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
}

pub(crate) mod locks {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

pub(crate) mod settings {
    use std::time::Duration;

    /// Gives up what the last execution has left behind.
    pub(crate) fn begin_execution() {
        drop(super::VALUES.take());
        // Nothing uses the old contents of the arena any more.
        super::USED.set(0);
        *super::clock() = Duration::ZERO;
    }
}

pub(crate) mod thread {
    pub(crate) use shuttle::thread::{JoinHandle, Result, ThreadId, panicking, yield_now};

    pub(crate) fn spawn(
        name: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        shuttle::thread::Builder::new()
            .name(name.to_owned())
            .spawn(f)
    }

    #[track_caller]
    pub(crate) fn spawn_in_model<R: Send + 'static>(
        f: impl FnOnce() -> R + Send + 'static,
    ) -> JoinHandle<R> {
        shuttle::thread::spawn(f)
    }

    pub(crate) fn current_id() -> Option<ThreadId> {
        Some(shuttle::thread::current().id())
    }

    pub(crate) fn current_name() -> Option<Box<str>> {
        shuttle::thread::current().name().map(Box::from)
    }

    pub(crate) fn kernel_id() -> u64 {
        0
    }
}

macro_rules! global {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        shuttle::lazy_static! { $(#[$doc])* pub(crate) static ref $name: $t = $init; }
    };
}
pub(crate) use global;
pub(crate) use global as lazy;

macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $crate::sync::Local<$t> =
            $crate::sync::Local::new(|| $init);
    };
}
pub(crate) use local;

/// Fails the execution with the reason `why`.
pub(crate) fn abort(why: &str) -> ! {
    panic!("{why}")
}

/// Longer than the time that passes in any program.
const YEARS: Duration = Duration::from_secs(1 << 30);

/// The time since the execution began. Threads do not switch while it is locked.
static CLOCK: std::sync::Mutex<Duration> = std::sync::Mutex::new(Duration::ZERO);

fn clock() -> std::sync::MutexGuard<'static, Duration> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time since the execution began.
pub(crate) fn elapsed() -> Duration {
    *clock()
}

const FAILED: &str = "an execution that panics has failed";

impl<T> Monitor<T> {
    /// Waits until notified, or lets other threads run until `limit` has passed.
    pub(crate) fn wait<'m>(
        &'m self,
        locked: Locked<'m, T>,
        limit: Option<Duration>,
    ) -> Locked<'m, T> {
        // A wait for years has no limit in effect: if its wake-up is lost, shuttle finds a
        // deadlock.
        let Some(limit) = limit.filter(|limit| *limit < YEARS) else {
            return self.changed.wait(locked).expect(FAILED);
        };
        drop(locked);
        thread::yield_now();
        let mut clock = clock();
        *clock = clock.saturating_add(limit);
        drop(clock);
        self.lock()
    }
}

std::thread_local! {
    /// The values of an execution, by their statics' addresses and their threads' numbers. All
    /// threads of an execution are coroutines on one thread of the operating system.
    static VALUES: RefCell<HashMap<(usize, usize), Box<dyn Any>>> = RefCell::default();
}

/// A thread-local that, like a native one, can be accessed at any time in a thread's life. shuttle
/// drops its own thread-locals before the statics, whose destructors use thread-locals.
pub(crate) struct Local<T: 'static>(fn() -> T);

impl<T: 'static> Local<T> {
    pub(crate) const fn new(make: fn() -> T) -> Self {
        Self(make)
    }

    pub(crate) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let thread = usize::from(shuttle::current::me());
        let key = (ptr::from_ref(self).addr(), thread);
        let find = || {
            VALUES.with_borrow(|values| {
                let value: &dyn Any = &**values.get(&key)?;
                value.downcast_ref::<T>().map(ptr::from_ref)
            })
        };
        let value = find().unwrap_or_else(|| {
            let value = Box::new((self.0)());
            VALUES.with_borrow_mut(|values| values.insert(key, value));
            find().expect("it has just been inserted")
        });
        // SAFETY: the value is in a box, which stays in the map until the next execution begins.
        f(unsafe { &*value })
    }
}

/// The contents of freed memory.
const FREED: u8 = 0xDD;

/// Far more than an execution allocates. Only what is used takes memory.
const ARENA: Layout = match Layout::from_size_align(64 << 20, 1 << 20) {
    Ok(layout) => layout,
    Err(_) => panic!("both are powers of two"),
};

std::thread_local! {
    /// The arena, and how many of its bytes are in use. All threads of an execution are coroutines
    /// on one thread of the operating system.
    static FIRST: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
    static USED: Cell<usize> = const { Cell::new(0) };
}

/// Allocates memory, like std's function of this name.
///
/// # Safety
/// The contract of std's function.
pub(crate) unsafe fn alloc(layout: Layout) -> *mut u8 {
    if FIRST.get().is_null() {
        // SAFETY: the layout has a size.
        let first = unsafe { std::alloc::alloc(ARENA) };
        if first.is_null() {
            handle_alloc_error(ARENA);
        }
        FIRST.set(first);
    }
    assert!(layout.align() <= ARENA.align(), "the arena is aligned less");
    let at = USED.get().next_multiple_of(layout.align());
    USED.set(at + layout.size());
    assert!(USED.get() <= ARENA.size(), "the arena is used up");
    // SAFETY: `at` is within the arena, by the assertion.
    unsafe { FIRST.get().add(at) }
}

/// Gives memory up, like std's function of this name, and overwrites it.
///
/// # Safety
/// The contract of std's function.
pub(crate) unsafe fn dealloc(at: *mut u8, layout: Layout) {
    // SAFETY: by the contract, the memory has this size, and nobody uses it any more.
    unsafe { at.write_bytes(FREED, layout.size()) };
}

/// Overwrites an atomic whose memory is about to be freed, as that memory may be a block, which
/// goes to its heap and not to [`dealloc`].
pub(crate) trait FreeWitness {
    fn freed(&mut self);
}

impl FreeWitness for AtomicU64 {
    fn freed(&mut self) {
        *self.get_mut() = u64::from_ne_bytes([FREED; 8]);
    }
}

impl FreeWitness for AtomicUsize {
    fn freed(&mut self) {
        *self.get_mut() = usize::from_ne_bytes([FREED; size_of::<usize>()]);
    }
}

impl<T> FreeWitness for AtomicPtr<T> {
    fn freed(&mut self) {
        let address = usize::from_ne_bytes([FREED; size_of::<usize>()]);
        *self.get_mut() = ptr::without_provenance_mut(address);
    }
}
