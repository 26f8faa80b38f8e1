//! Objects of 48 bytes, and the workloads that releasepool's pools are compared with most often.

use crate::workload::{Role, Workload, timed};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A value of 48 bytes.
pub trait Payload: Send + Sync + 'static {
    /// A description for the output.
    const KIND: &str;
    /// Creates a value, which depends on the seed.
    fn new(seed: u64) -> Self;
    /// Reads a part of the value.
    fn touch(&self);
}

/// A value without a destructor.
pub struct Plain([u64; 6]);

impl Payload for Plain {
    const KIND: &str = "no destructor";
    #[inline]
    fn new(seed: u64) -> Self {
        Self([seed; 6])
    }
    #[inline]
    fn touch(&self) {
        black_box(self.0[1]);
    }
}

/// A value with a destructor that reads it.
pub struct Dropping([u64; 6]);

impl Payload for Dropping {
    const KIND: &str = "destructor";
    #[inline]
    fn new(seed: u64) -> Self {
        Self([seed; 6])
    }
    #[inline]
    fn touch(&self) {
        black_box(self.0[1]);
    }
}

impl Drop for Dropping {
    #[inline]
    fn drop(&mut self) {
        black_box(self.0[0]);
    }
}

/// A value that is counted in [`Count`] and detects when it is overwritten.
pub struct Counted([u64; 6]);

static MADE: AtomicU64 = AtomicU64::new(0);
static DESTROYED: AtomicU64 = AtomicU64::new(0);

impl Payload for Counted {
    const KIND: &str = "counted";
    fn new(seed: u64) -> Self {
        MADE.fetch_add(1, Ordering::Relaxed);
        Self([seed; 6])
    }
    fn touch(&self) {
        assert_eq!(self.0[0], self.0[5], "an object was overwritten");
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let intact = self.0.iter().all(|seed| *seed == self.0[0]);
        assert!(intact, "an object was overwritten");
        DESTROYED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Numbers of [`Counted`] objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// Created objects.
    pub made: u64,
    /// Destroyed objects.
    pub destroyed: u64,
}

impl Count {
    /// Sets all counts to zero. No thread may create or destroy counted objects meanwhile.
    pub fn reset() {
        for count in [&MADE, &DESTROYED] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the counts since the last [`reset`](Self::reset).
    pub fn now() -> Self {
        Self {
            made: MADE.load(Ordering::Relaxed),
            destroyed: DESTROYED.load(Ordering::Relaxed),
        }
    }
}

/// Checks that three turns of a workload create and destroy a counted object for each operation, besides those
/// made `beforehand`.
///
/// # Panics
/// If they do not.
pub fn check(workload: &Workload, beforehand: u64) {
    Count::reset();
    workload.job()(3);
    let count = Count::now();
    let expected = 3 * workload.operations + beforehand;
    let name = &workload.name;
    assert_eq!(count.made, expected, "{name}: created");
    assert_eq!(count.destroyed, expected, "{name}: destroyed");
}

/// Objects in a pool, unless a workload says otherwise.
pub const POOL: u64 = 1_000;

/// Returns a workload that creates objects in a vector, and clears it.
pub fn in_a_vec<R: 'static>(
    name: &'static str,
    batch: u64,
    new: impl Fn(u64) -> R + Copy + Send + Sync + 'static,
) -> Workload {
    let make = move || Vec::with_capacity(batch as usize);
    Workload::timed(name, batch, make, move |vec| {
        for seed in 0..batch {
            vec.push(black_box(new(seed)));
        }
        black_box(vec).clear();
    })
}

/// Returns the usual way to keep temporary objects alive: a vector of `Arc`s.
pub fn arc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Arc in a Vec", batch, |seed| Arc::new(P::new(seed)))
}

/// Returns the minimum that a pool of counted objects has to do if there is only one thread: a free
/// list, an array, and a count that is not atomic.
pub fn free_list_and_array<P: Payload>(batch: u64) -> Workload {
    struct Object<P> {
        count: u64,
        value: P,
    }
    fn fresh<P: Payload>() -> Box<Object<P>> {
        let value = P::new(0);
        Box::new(Object { count: 0, value })
    }
    let workload = Workload::new("free list and array", batch, move || {
        let mut free: Vec<_> = (0..batch).map(|_| fresh::<P>()).collect();
        let mut pool = Vec::with_capacity(batch as usize);
        timed(move || {
            for seed in 0..batch {
                let mut object = free.pop().unwrap_or_else(fresh);
                object.count = 1;
                object.value = P::new(seed);
                black_box(&object.value);
                pool.push(object);
            }
            while let Some(mut object) = black_box(&mut pool).pop() {
                object.count -= 1;
                if object.count == 0 {
                    free.push(object);
                } else {
                    std::mem::forget(object);
                }
            }
        })
    });
    workload.role(Role::Reference)
}
