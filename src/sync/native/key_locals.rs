//! Thread-locals for systems without native ones: Android, OpenBSD, illumos, Solaris, QNX, Haiku and
//! OpenHarmony.
//!
//! There std keeps the value of each thread-local under a key of the system, and at the thread's
//! end frees the values in the order of the keys: a destructor that comes later finds a new value.
//! This module keeps all values of a thread in one table under one pthread key. The destructors of
//! keys run in [`ROUNDS`] rounds, as long as keys have values; the destructor of this key puts the
//! table back in all rounds but the last, in which it frees the table. So the values outlast std's
//! thread-locals, whose destructors run in the first rounds.
//!
//! In the last round, destructors that run after this key's find new values, which are never freed.
//!
//! The memory is malloc's, as the global allocator may use the crate.
//!
//! # Places
//! The first use of a thread-local, on any thread, gives the thread-local a place, the same one in
//! all tables: it appends the thread-local to the list of thread-locals that have a place, and
//! counts those before it. If several threads do this at once, all append the same thread-local:
//! one succeeds, and the others find it in the list. So each thread-local takes exactly one place.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// How many rounds of destructors a thread's end has: `PTHREAD_DESTRUCTOR_ITERATIONS`, which is at least
/// 4, and is 4 on these systems.
const ROUNDS: usize = 4;

/// The number of values in a table: more than the crate has thread-locals.
const PLACES: usize = 64;

/// A thread-local with values that have no destructor.
pub(crate) struct Local<T: 'static> {
    make: fn() -> T,
    place: Place,
}

/// The place of a thread-local in the tables.
struct Place {
    /// The number of the place, from 1; 0 if it is not known yet.
    number: AtomicUsize,
    /// The thread-local with the next number; null if there is none.
    next: AtomicPtr<Place>,
}

/// The thread-local with the first number; null if there is none.
static FIRST: AtomicPtr<Place> = AtomicPtr::new(ptr::null_mut());

/// The values of a thread.
struct Values {
    /// How many rounds of destructors have passed.
    rounds: Cell<usize>,
    /// Each is null until the thread uses the thread-local with this place.
    values: [Cell<*mut c_void>; PLACES],
}

impl<T: 'static> Local<T> {
    pub(crate) const fn new(make: fn() -> T) -> Self {
        const { assert!(!std::mem::needs_drop::<T>()) };
        let place = Place::new();
        Self { make, place }
    }

    #[inline]
    pub(crate) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let table = table().unwrap_or_else(new_table);
        // SAFETY: the thread's own table, which only its end frees.
        let values = unsafe { &table.as_ref().values };
        let Some(cell) = values.get(self.place.index(&FIRST)) else {
            super::abort("the crate has more thread-locals than places for them");
        };
        let value = NonNull::new(cell.get().cast::<T>()).unwrap_or_else(|| {
            let value = allocate::<T>();
            // SAFETY: `allocate` returns memory for a `T`.
            unsafe { value.write((self.make)()) };
            cell.set(value.as_ptr().cast());
            value
        });
        // SAFETY: a value of this thread, which only the thread's end frees.
        f(unsafe { value.as_ref() })
    }
}

impl Place {
    const fn new() -> Self {
        Self {
            number: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns the index of the place; takes a place if there is none yet. `first` begins the list.
    #[inline]
    fn index(&'static self, first: &'static AtomicPtr<Self>) -> usize {
        // Relaxed, here and below: all threads write the same values, which say nothing of other
        // memory; the places are statics.
        match self.number.load(Ordering::Relaxed) {
            0 => self.find_or_append(first),
            number => number - 1,
        }
    }

    /// Finds the place in the list, or appends it. Each exchange appends this place, finds it, or
    /// finds another one and goes on behind that. So this place is in the list once.
    #[cold]
    #[inline(never)]
    fn find_or_append(&'static self, first: &'static AtomicPtr<Self>) -> usize {
        let this = ptr::from_ref(self).cast_mut();
        let mut link = first;
        let mut index = 0;
        loop {
            let end = ptr::null_mut();
            match link.compare_exchange(end, this, Ordering::Relaxed, Ordering::Relaxed) {
                Err(other) if other != this => {
                    // SAFETY: the list has places that live for ever.
                    link = unsafe { &(*other).next };
                    index += 1;
                }
                Ok(_) | Err(_) => break,
            }
        }
        self.number.store(index + 1, Ordering::Relaxed);
        index
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

fn table() -> Option<NonNull<Values>> {
    // SAFETY: nothing deletes the key.
    NonNull::new(unsafe { libc::pthread_getspecific(key()) }.cast())
}

fn set_table(table: *const Values) {
    // SAFETY: nothing deletes the key.
    if unsafe { libc::pthread_setspecific(key(), table.cast()) } != 0 {
        super::abort("there is no memory for a thread-local");
    }
}

#[cold]
fn new_table() -> NonNull<Values> {
    let table = allocate::<Values>();
    // SAFETY: `allocate` returns memory for a `Values`.
    unsafe {
        table.write(Values {
            rounds: Cell::new(0),
            values: [const { Cell::new(ptr::null_mut()) }; PLACES],
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
    let table = table.cast::<Values>();
    // SAFETY: the value of the key is the thread's table.
    let Values { rounds, values } = unsafe { &*table };
    rounds.set(rounds.get() + 1);
    if rounds.get() < ROUNDS {
        return set_table(table);
    }
    for value in values {
        // SAFETY: null, or `allocate` has allocated it; no function of the crate is running, as the thread
        // is running this destructor.
        unsafe { libc::free(value.get()) };
    }
    // SAFETY: `allocate` has allocated the table, and nothing uses it any more.
    unsafe { libc::free(table.cast()) };
}

/// Declares a thread-local with a constant initializer and no destructor: it can be accessed at any
/// time in a thread's life, including its teardown.
macro_rules! local {
    ($(#[$doc:meta])* $vis:vis static $name:ident : $t:ty = $init:expr;) => {
        $(#[$doc])* $vis static $name: $crate::sync::native::key_locals::Local<$t> =
            $crate::sync::native::key_locals::Local::new(|| $init);
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn threads_that_race_for_a_place_lose_none() {
        const RACERS: usize = 32;
        static TWO: [Place; 2] = [const { Place::new() }; 2];
        static LIST: AtomicPtr<Place> = AtomicPtr::new(ptr::null_mut());
        let start = Barrier::new(RACERS);
        // Half of the threads take the second place first.
        let take = |nth: usize| {
            start.wait();
            let mut both = [0; 2];
            for which in [nth % 2, 1 - nth % 2] {
                both[which] = TWO[which].index(&LIST);
            }
            both
        };
        let taken: Vec<_> = thread::scope(|scope| {
            let take = &take;
            let racer = |nth| scope.spawn(move || take(nth));
            let racers: Vec<_> = (0..RACERS).map(racer).collect();
            let joined = racers.into_iter().map(|racer| racer.join().unwrap());
            joined.collect()
        });
        let one = taken[0];
        assert!(one == [0, 1] || one == [1, 0], "{one:?}");
        assert!(taken.iter().all(|other| *other == one), "{taken:?}");
    }
}
