//! Thread-locals for systems without native ones: Android, OpenBSD, illumos, Solaris, QNX, Haiku and
//! OpenHarmony.
//!
//! There std keeps each thread-local under a key of the system, and at the thread's end frees them in
//! the order of the keys: a destructor that comes later finds a new value. Here the values of a thread are
//! in one table under one pthread key. The destructors of keys run in [`ROUNDS`] rounds, as long as keys
//! have values; that of this key puts the table back in all rounds but the last, and then frees it. So the
//! values outlast std's thread-locals, whose destructors run in the first rounds.
//!
//! A destructor of a key that is older than this one, in the last round, finds new values, which are never
//! freed.
//!
//! The memory is malloc's, as the global allocator may use the crate.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many rounds of destructors a thread's end has: `PTHREAD_DESTRUCTOR_ITERATIONS`, which is at least
/// 4, and is 4 on these systems.
const ROUNDS: usize = 4;

/// The greatest number of thread-locals in the crate.
const MANY: usize = 64;

/// A thread-local with values that have no destructor.
pub(crate) struct Local<T: 'static> {
    make: fn() -> T,
    /// The place in the tables, counted from 1; 0 if there is none yet.
    place: AtomicUsize,
}

/// The values of a thread; null if it has not used them yet.
struct Table {
    rounds: Cell<usize>,
    values: [Cell<*mut c_void>; MANY],
}

impl<T: 'static> Local<T> {
    pub(crate) const fn new(make: fn() -> T) -> Self {
        const { assert!(!std::mem::needs_drop::<T>()) };
        Self {
            make,
            place: AtomicUsize::new(0),
        }
    }

    #[inline]
    pub(crate) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let table = table().unwrap_or_else(new_table);
        // SAFETY: the thread's own table, which only its end frees.
        let cell = unsafe { &table.as_ref().values[self.place()] };
        let value = NonNull::new(cell.get().cast::<T>()).unwrap_or_else(|| {
            let value = allocate::<T>();
            // SAFETY: memory for a `T`.
            unsafe { value.write((self.make)()) };
            cell.set(value.as_ptr().cast());
            value
        });
        // SAFETY: a value of this thread, which only the thread's end frees.
        f(unsafe { value.as_ref() })
    }

    /// Returns the place of this thread-local in the tables.
    fn place(&self) -> usize {
        static PLACES: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: the number says nothing of other memory.
        let place = self.place.load(Ordering::Relaxed);
        if place != 0 {
            return place - 1;
        }
        let new = PLACES.fetch_add(1, Ordering::Relaxed) + 1;
        let place = &self.place;
        // If another thread was quicker, the new place stays unused.
        let kept = place.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
        kept.map_or_else(|other| other, |_| new) - 1
    }
}

/// Returns the key of the tables. Aborts if the system has no keys left.
fn key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is a local variable; `end` takes the tables, the only values of the key.
        if unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } != 0 {
            super::abort("the system has no key for thread-locals left");
        }
        key
    })
}

fn table() -> Option<NonNull<Table>> {
    // SAFETY: nothing deletes the key.
    NonNull::new(unsafe { libc::pthread_getspecific(key()) }.cast())
}

fn set_table(table: *const Table) {
    // SAFETY: nothing deletes the key.
    if unsafe { libc::pthread_setspecific(key(), table.cast()) } != 0 {
        super::abort("there is no memory for a thread-local");
    }
}

#[cold]
fn new_table() -> NonNull<Table> {
    let table = allocate::<Table>();
    // SAFETY: memory for a `Table`.
    unsafe {
        table.write(Table {
            rounds: Cell::new(0),
            values: [const { Cell::new(ptr::null_mut()) }; MANY],
        });
    }
    set_table(table.as_ptr());
    table
}

/// Allocates memory for a `T`, which the caller writes.
#[cold]
fn allocate<T>() -> NonNull<T> {
    let mut memory = ptr::null_mut();
    let align = align_of::<T>().max(size_of::<usize>());
    // SAFETY: `memory` is a local variable; the alignment is a power of two and at least that of a pointer.
    unsafe { libc::posix_memalign(&raw mut memory, align, size_of::<T>().max(1)) };
    let memory = NonNull::new(memory);
    memory
        .unwrap_or_else(|| super::abort("there is no memory for a thread-local"))
        .cast()
}

/// The destructor of the key: puts the table back, or frees it in the last round.
unsafe extern "C" fn end(table: *mut c_void) {
    let table = table.cast::<Table>();
    {
        // SAFETY: the value of the key is the thread's table.
        let Table { rounds, values } = unsafe { &*table };
        rounds.set(rounds.get() + 1);
        if rounds.get() < ROUNDS {
            return set_table(table);
        }
        // SAFETY: `allocate` has allocated the values; no function of the crate is running, as the thread
        // is running this destructor.
        values
            .iter()
            .for_each(|value| unsafe { libc::free(value.get()) });
    }
    // SAFETY: as above.
    unsafe { libc::free(table.cast()) };
}

/// Declares a thread-local with a constant initializer and no destructor: it can be accessed at any
/// time in a thread's life, including its teardown.
macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $crate::sync::Local<$t> = $crate::sync::Local::new(|| $init);
    };
}
pub(crate) use local;
