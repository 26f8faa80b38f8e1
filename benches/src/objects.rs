//! Objects of 48 bytes, and what others would do instead of a pool.

use crate::workload::{Workload, timed};
use std::hint::black_box;
use std::sync::Arc;

/// 48 bytes.
pub trait Payload: 'static {
    /// For people.
    const KIND: &str;
    /// Different for different seeds.
    fn new(seed: u64) -> Self;
}

/// Nothing to do at the end.
pub struct Plain(#[expect(dead_code, reason = "there to be written")] [u64; 6]);

impl Payload for Plain {
    const KIND: &str = "no destructor";
    #[inline]
    fn new(seed: u64) -> Self {
        Self([seed; 6])
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
}

impl Drop for Dropping {
    #[inline]
    fn drop(&mut self) {
        black_box(self.0[0]);
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
