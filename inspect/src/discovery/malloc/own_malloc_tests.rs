//! Tests the findings in the memory of a process whose allocations are known.

use super::*;
use crate::image::ProgramImage;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::thread;

/// The variable that makes a process play its role.
const ROLE: &str = "RELEASEPOOL_INSPECT_MALLOC";

/// Sizes and alignments of all kinds: cached, in fast bins, small, large, mapped, aligned.
const LAYOUTS: [(usize, usize); 12] = [
    (1, 1),
    (24, 8),
    (25, 8),
    (64, 8),
    (100, 4),
    (200, 8),
    (1032, 8),
    (5_000, 16),
    (200_000, 8),
    (1_000_000, 8),
    (300, 64),
    (65_536, 65_536),
];

/// Allocates and frees in a pattern; returns lines with a sign, an address and a size: `+` for what
/// is in use, `-` for what is free.
fn churn(rounds: usize) -> String {
    let mut made = Vec::new();
    for round in 0..rounds {
        for (size, align) in LAYOUTS {
            if size < 10_000 || round < 6 {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the size is not 0.
                let memory = unsafe { alloc(layout) };
                // SAFETY: just allocated with this size. No chunk has such a size.
                unsafe { memory.write_bytes(0xff, size) };
                made.push((memory, layout));
            }
        }
    }
    let mut lines = String::with_capacity(made.len() * 40);
    for (i, (memory, layout)) in made.into_iter().enumerate() {
        let sign = if i % 3 == 0 || i % 7 == 0 { '-' } else { '+' };
        if sign == '-' {
            // SAFETY: allocated above with this layout, and not used any more.
            unsafe { dealloc(memory, layout) };
        }
        writeln!(lines, "> {sign} {} {}", memory.addr(), layout.size()).unwrap();
    }
    lines
}

#[test]
fn role() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let mut lines = churn(200);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|i| scope.spawn(move || churn(100 + i)))
            .collect();
        let others = threads.into_iter().map(|thread| thread.join().unwrap());
        lines.extend(others.collect::<Vec<_>>());
        // A thread that lives, with a cache.
        scope.spawn(move || {
            lines += &churn(50);
            let mut out = std::io::stdout().lock();
            out.write_all((lines + "> end\n").as_bytes()).unwrap();
            out.flush().unwrap();
            std::io::stdin().lines().next();
        });
    });
}

#[test]
fn what_is_in_use_is_found_and_what_is_free_is_not() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let role = "discovery::malloc::own_malloc_tests::role";
    command
        .args(["--exact", role, "--nocapture"])
        .env(ROLE, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.map(|line| line.unwrap());
    let known: Vec<(bool, u64, u64)> = lines
        .filter_map(|line| Some(line.split_once("> ")?.1.to_owned()))
        .take_while(|line| line != "end")
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let [at, size] = [1, 2].map(|word| words[word].parse().unwrap());
            (words[0] == "+", at, size)
        })
        .collect();
    let image = ProgramImage::take(child.id()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(known.len() > 4_000);
    let regions = Regions::read(&image);
    let heap = find(&image, &regions);
    assert_eq!(heap.caveats, Vec::<String>::new());
    assert!(heap.managed.is_sorted_by_key(|range| range.start));
    assert!(heap.managed.is_sorted_by(|a, b| a.end <= b.start));
    assert!(heap.allocations.is_sorted_by(|a, b| a.end() <= b.start));
    let used = known.iter().filter(|known| known.0);
    let used: HashSet<u64> = used.map(|known| known.1).collect();
    let (mut free, mut reused) = (0, 0);
    for (is_used, start, size) in known {
        let all = &heap.allocations;
        let found = all.binary_search_by_key(&start, |found| found.start);
        let found = found.ok().map(|place| all[place]);
        if is_used {
            let found = found.unwrap_or_else(|| panic!("{start:#x} of {size} is not found"));
            let unused = found.len.checked_sub(size).unwrap();
            // Mappings are whole pages, and more for an alignment.
            let mapped = size > 50_000 && unused < if size == 65_536 { 70_000 } else { 4_200 };
            assert!(unused < 64 || mapped, "{size}: {unused} unused");
        } else if !used.contains(&start) {
            // Lines of text, and what std needs for threads, may have got the memory since.
            free += 1;
            reused += usize::from(found.is_some());
        }
    }
    assert!(free > 1_000);
    assert!(reused < 10, "{reused} of {free} free ones are found");
}
