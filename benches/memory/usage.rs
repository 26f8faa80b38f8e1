//! Peak memory of one allocator: allocates many objects, in a process that does nothing else.

use crate::allocators::Memory;
use crate::works::{Live, SIZES};

/// Objects that are alive at the same time.
pub const OBJECTS: usize = 100_000;

/// Objects of [`Shape::Mixed`] that are replaced.
const REPLACED: u64 = 1_000_000;

/// The sizes of the objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All objects have 64 bytes.
    Same,
    /// Objects have many sizes, and are replaced at random.
    Mixed,
}

/// Memory usage in bytes.
pub struct Usage {
    /// The sum of the objects' sizes.
    pub requested: u64,
    /// The peak of the resident memory, or `None` if the system does not tell it.
    pub peak: Option<u64>,
}

/// Reads a line of this process's status. `sysinfo` does not have the peak.
#[cfg(target_os = "linux")]
fn status(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(not(target_os = "linux"))]
fn status(_: &str) -> Option<u64> {
    None
}

/// Allocates the objects and returns the memory that they took.
pub fn usage<M: Memory>(shape: Shape) -> Usage {
    let sizes = match shape {
        Shape::Same => 64..=64,
        Shape::Mixed => SIZES,
    };
    let mut live = Live::<M>::none(OBJECTS, sizes);
    let before = status("VmRSS:");
    live.fill();
    let mut requested = live.bytes();
    if shape == Shape::Mixed {
        for seed in 0..REPLACED {
            live.replace_one(seed);
            if seed % 10_000 == 0 {
                requested = requested.max(live.bytes());
            }
        }
    }
    let peak = status("VmHWM:");
    Usage {
        requested: requested as u64,
        peak: peak.zip(before).map(|(peak, before)| peak - before),
    }
}
