//! Objects of 48 bytes, and what others would do instead of a pool.

use crate::workload::{Workload, timed};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// 48 bytes.
pub trait Payload: Send + Sync + 'static {
    /// For people.
    const KIND: &str;
    /// Different for different seeds.
    fn new(seed: u64) -> Self;
    /// Looks at it.
    fn touch(&self);
}

/// Nothing to do at the end.
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

/// A destructor that looks at the value.
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

/// One that is counted, and notices if something is written over it.
pub struct Counted([u64; 6]);

static MADE: AtomicU64 = AtomicU64::new(0);
static DESTROYED: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

impl Payload for Counted {
    const KIND: &str = "counted";
    fn new(seed: u64) -> Self {
        let made = MADE.fetch_add(1, Ordering::Relaxed) + 1;
        let alive = made.saturating_sub(DESTROYED.load(Ordering::Relaxed));
        PEAK.fetch_max(alive, Ordering::Relaxed);
        Self([seed; 6])
    }
    fn touch(&self) {
        assert_eq!(self.0[0], self.0[5], "overwritten");
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(self.0.iter().all(|seed| *seed == self.0[0]), "overwritten");
        DESTROYED.fetch_add(1, Ordering::Relaxed);
    }
}

/// What became of the [`Counted`] ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// How many there were.
    pub made: u64,
    /// How many are gone.
    pub destroyed: u64,
    /// How many were alive at a time, at most.
    pub peak: u64,
}

impl Count {
    /// Begins anew; nobody may make or destroy any meanwhile.
    pub fn reset() {
        for count in [&MADE, &DESTROYED, &PEAK] {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Since the last [`reset`](Self::reset).
    pub fn now() -> Self {
        Self {
            made: MADE.load(Ordering::Relaxed),
            destroyed: DESTROYED.load(Ordering::Relaxed),
            peak: PEAK.load(Ordering::Relaxed),
        }
    }
}

/// Objects in a pool, unless something else is said.
pub const POOL: u64 = 1_000;

/// Objects in a vector, which is cleared.
pub fn in_a_vec<R: 'static>(
    name: &'static str,
    batch: u64,
    new: impl Fn(u64) -> R + Copy + Send + Sync + 'static,
) -> Workload {
    Workload::new(name, batch, move || {
        let mut vec = Vec::with_capacity(batch as usize);
        timed(move || {
            for seed in 0..batch {
                vec.push(black_box(new(seed)));
            }
            black_box(&mut vec).clear();
        })
    })
}

/// What most programs would do.
pub fn arc_in_a_vec<P: Payload>(batch: u64) -> Workload {
    in_a_vec("Arc in a Vec", batch, |seed| Arc::new(P::new(seed)))
}

/// The least that there is to do, by one thread that need not think of others: a
/// free list, an array, and a count that is not atomic.
pub fn free_list_and_array<P: Payload>(batch: u64) -> Workload {
    struct Object<P> {
        count: u64,
        value: P,
    }
    fn fresh<P: Payload>() -> Box<Object<P>> {
        let value = P::new(0);
        Box::new(Object { count: 0, value })
    }
    Workload::new("free list and array", batch, move || {
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
    })
}
