//! The Rust side of `pools.cpp`: makes and releases objects in pools, as the C++ side does.
//! This static library also has all functions of the C interface.

use releasepool::AutoreleasePool;
use releasepool_capi as _;
use std::sync::atomic::{Ordering, compiler_fence};

struct Values {
    _values: [i64; 6],
}

/// Has 48 bytes with its header, and a destructor that does almost nothing.
struct Node {
    _values: [i64; 4],
}

impl Drop for Node {
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
    }
}

/// Makes `n` objects of plain values in a pool, and drains it.
#[unsafe(no_mangle)]
pub extern "C" fn bench_rust_values(n: i64) {
    let mut pool = AutoreleasePool::new();
    for i in 0..n {
        pool.create(Values { _values: [i; 6] });
    }
    pool.drain();
}

/// Makes `n` objects with a destructor in a pool, and drains it.
#[unsafe(no_mangle)]
pub extern "C" fn bench_rust_nodes(n: i64) {
    let mut pool = AutoreleasePool::new();
    for i in 0..n {
        pool.create(Node { _values: [i; 4] });
    }
    pool.drain();
}
