//! Conversions of slices, vectors, texts and iterators to counted slices, as `Arc` makes them.

use crate::table::{Row, Target};
use crate::workload::{Workload, repeated};
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, PoolRef, Ref};
use std::hint::black_box;
use std::sync::Arc;

/// Values in most slices.
const LEN: u64 = 1_024;
/// Values in a large slice.
const MANY: u64 = 1_000_000;
/// Slices in a pool, or in a vector.
const BATCH: u64 = 100;
/// Values in the slices of a pool, which fit blocks.
const SMALL: u64 = 32;
/// Conversions in a turn.
const LOOP: u64 = 100;

/// A `Copy` type with padding.
#[derive(Clone, Copy)]
struct Padded(#[allow(dead_code)] u64, #[allow(dead_code)] u8);

/// Returns a workload of `times` conversions of what `make` creates; drops the results.
fn conversion<S: 'static, R: 'static>(
    name: &str,
    times: u64,
    make: fn() -> S,
    convert: fn(&S) -> R,
) -> Workload {
    repeated(name, times, make, move |source, _| {
        drop(black_box(convert(black_box(source))));
    })
}

/// Returns rows that compare conversions to a `Ref` and to an `Arc`: `Of` stands for both. Each has
/// a title, the conversions in a turn, a function that makes the source, and the conversion.
macro_rules! rows {
    ($($title:literal: $times:expr, $make:expr, |$source:pat_param| $convert:expr;)*) => {
        [$({
            let ours = {
                use releasepool::Ref as Of;
                conversion("Ref", $times, $make, |$source| $convert)
            };
            let arc = {
                use std::sync::Arc as Of;
                conversion("Arc", $times, $make, |$source| $convert)
            };
            row($title, &ours, &arc)
        }),*]
    };
}

fn row(title: &str, ours: &Workload, arc: &Workload) -> Row {
    Row::new(title, 1, ours).against(Target::AtMost(1.1), 1, arc)
}

fn numbers() -> Vec<u64> {
    (0..LEN).collect()
}

fn padded() -> Vec<Padded> {
    (0..LEN).map(|n| Padded(n, 1)).collect()
}

fn strings() -> Vec<String> {
    (0..LEN).map(|n| n.to_string()).collect()
}

fn text() -> String {
    "x".repeat(LEN as usize)
}

/// Returns a workload of slices of [`SMALL`] numbers that a pool creates and releases.
fn created_in_a_pool() -> Workload {
    let make = || (AutoreleasePool::new(), (0..SMALL).collect::<Vec<_>>());
    Workload::timed("pool.create_slice", BATCH, make, |(pool, values)| {
        for _ in 0..BATCH {
            let _: PoolRef<'_, [u64]> = black_box(pool.create_slice(black_box(values)));
        }
        pool.drain();
    })
}

/// Returns a workload of slices of [`SMALL`] numbers in a vector that is cleared.
fn arcs_in_a_vec() -> Workload {
    let make = || (Vec::new(), (0..SMALL).collect::<Vec<_>>());
    Workload::timed("Arc in a Vec", BATCH, make, |(slices, values)| {
        for _ in 0..BATCH {
            slices.push(black_box(Arc::<[u64]>::from(black_box(&values[..]))));
        }
        slices.clear();
    })
}

/// Returns a row for each conversion.
pub fn conversions() -> Vec<Row> {
    let some = || (0..SMALL).collect::<Vec<_>>();
    let in_a_block = conversion(
        "Ref",
        LOOP,
        || (BlockAllocator::new(), (0..SMALL).collect::<Vec<_>>()),
        |(blocks, values)| Ref::<[u64]>::new_slice_in(values, blocks),
    );
    let by_arc = conversion("Arc", LOOP, some, |values| Arc::<[u64]>::from(&values[..]));
    let mut all = Vec::from(rows! {
        "from &[u64], 1,024 values": LOOP, numbers, |values| Of::<[u64]>::from(&values[..]);
        "from a slice of a Copy type with padding, 1,024 values":
            LOOP, padded, |values| Of::<[Padded]>::from(&values[..]);
        "from &[String], 1,024 values": LOOP / 10, strings, |values| Of::<[String]>::from(&values[..]);
        "from a new Vec<u64>, 1,024 values": LOOP, numbers, |values| Of::<[u64]>::from(values.clone());
        "from a new Box<[u64]>, 1,024 values":
            LOOP, numbers, |values| Of::<[u64]>::from(values.clone().into_boxed_slice());
        "from &str, 1,024 bytes": LOOP, text, |text| Of::<str>::from(&text[..]);
        "collected, exact size_hint, 1,024 values":
            LOOP, || (), |()| (0..LEN).map(|n| n * 3).collect::<Of<[u64]>>();
        "collected, copied from a slice, 1,024 values":
            LOOP, numbers, |values| values.iter().copied().collect::<Of<[u64]>>();
        "collected, unknown length, 1,024 values":
            LOOP, numbers, |values| values.iter().copied().filter(|n| n % 3 != 0).collect::<Of<[u64]>>();
        "collected, exact size_hint, 1,000,000 values":
            1, || (), |()| (0..MANY).map(|n| n * 3).collect::<Of<[u64]>>();
    });
    let pooled = "created in a pool of 100, from &[u64], 32 values";
    all.extend([
        row("in a block, from &[u64], 32 values", &in_a_block, &by_arc),
        row(pooled, &created_in_a_pool(), &arcs_in_a_vec()),
    ]);
    all
}
