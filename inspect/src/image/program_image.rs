//! The state of a program at one moment, of a process or of a core file: its parts, and its memory as
//! regions, each with the place that its bytes come from.

use super::parts::{Mapping, Memory, Module, Parts, Thread};
use super::symbols::Symbols;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that do not move: a mapped file or a copy of memory.
pub(crate) type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Reads memory that was not copied, from a process that goes on.
pub(crate) type Later = Box<dyn Fn(u64, &mut [u8]) -> usize + Send + Sync>;

/// Where the bytes of a region come from.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    allow(dead_code, reason = "only processes and tests have some of them")
)]
pub(crate) enum Backing {
    /// The bytes are in one of [`Regions::sources`], from an offset on.
    Bytes { source: u32, offset: usize },
    /// All bytes are zero, for example where the program never wrote.
    Zero,
    /// The bytes were not copied: they can be read from the process as long as it lives.
    Later,
    /// Like [`Later`](Self::Later), for data that refer to nothing.
    Data,
}

#[derive(Clone, Copy, Debug)]
struct Region {
    start: u64,
    end: u64,
    backing: Backing,
}

/// All memory of a program.
#[derive(Default)]
pub(crate) struct Regions {
    /// The regions, by address, without overlaps.
    regions: Vec<Region>,
    sources: Vec<Bytes>,
    later: Option<Later>,
}

impl Regions {
    /// Returns memory without regions; `later` reads regions that are [`Backing::Later`] or `Data`.
    pub(crate) fn new(later: Option<Later>) -> Regions {
        Regions {
            later,
            ..Regions::default()
        }
    }

    /// Adds bytes that regions can come from; returns the `source` of [`Backing::Bytes`] for them.
    pub(crate) fn add_source(&mut self, bytes: Bytes) -> u32 {
        self.sources.push(bytes);
        u32::try_from(self.sources.len() - 1).expect("fewer than 2^32 files")
    }

    /// Adds a region, unless it is empty. Bytes that a source does not have are zero, like those
    /// after the end of a file in its last page.
    ///
    /// # Panics
    ///
    /// If the region begins before the end of the last one that was added.
    pub(crate) fn push(&mut self, range: Range<u64>, backing: Backing) {
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        let last = self.regions.last().map_or(0, |last| last.end);
        assert!(start >= last, "regions are added by address");
        if let Backing::Bytes { source, offset } = backing {
            let len = (*self.sources[source as usize]).as_ref().len();
            let there = len.saturating_sub(offset) as u64;
            if there < end - start {
                self.push(start..start + there, backing);
                self.push(start + there..end, Backing::Zero);
                return;
            }
        }
        self.regions.push(Region {
            start,
            end,
            backing,
        });
    }

    /// Returns the ranges that are neither zero nor [`Backing::Data`], adjacent ones joined.
    pub(crate) fn present(&self) -> Vec<Range<u64>> {
        let mut present: Vec<Range<u64>> = Vec::new();
        for region in &self.regions {
            if matches!(region.backing, Backing::Zero | Backing::Data) {
                continue;
            }
            match present.last_mut() {
                Some(last) if last.end == region.start => last.end = region.end,
                _ => present.push(region.start..region.end),
            }
        }
        present
    }

    fn source(&self, source: u32) -> &[u8] {
        (*self.sources[source as usize]).as_ref()
    }
}

impl Memory for Regions {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        let mut index = self.regions.partition_point(|region| region.end <= address);
        while done < buffer.len() {
            let Some(region) = self.regions.get(index) else {
                break;
            };
            let Some(at) = address.checked_add(done as u64) else {
                break;
            };
            if region.start > at {
                break;
            }
            let there = (region.end - at).min((buffer.len() - done) as u64) as usize;
            let part = &mut buffer[done..done + there];
            match region.backing {
                Backing::Bytes { source, offset } => {
                    let from = offset + (at - region.start) as usize;
                    part.copy_from_slice(&self.source(source)[from..from + there]);
                }
                Backing::Zero => part.fill(0),
                Backing::Later | Backing::Data => {
                    let read = self.later.as_ref().map_or(0, |later| later(at, part));
                    if read < there {
                        return done + read;
                    }
                }
            }
            done += there;
            index += 1;
        }
        done
    }

    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        let index = self.regions.partition_point(|region| region.end <= address);
        let region = self.regions.get(index)?;
        if region.start > address || region.end - address < len as u64 {
            return None;
        }
        let Backing::Bytes { source, offset } = region.backing else {
            return None;
        };
        let from = offset + (address - region.start) as usize;
        Some(&self.source(source)[from..from + len])
    }
}

/// The state of a program at one moment: its memory, its mappings and its threads.
pub trait Image: Memory {
    /// Returns what the program has besides memory.
    fn parts(&self) -> &Parts;

    /// Returns the mappings, by address, without overlaps.
    fn mappings(&self) -> &[Mapping] {
        &self.parts().mappings
    }

    /// Returns the threads, with their registers.
    fn threads(&self) -> &[Thread] {
        &self.parts().threads
    }

    /// Returns the loaded ELF files, by address: the program first if it is known.
    fn modules(&self) -> &[Module] {
        &self.parts().modules
    }

    /// Returns the process id, if there is one.
    fn pid(&self) -> Option<u32> {
        self.parts().pid
    }

    /// Returns the ranges that may have references, by address, adjacent ones joined. Scan these:
    /// mappings may reserve terabytes of which the program has touched little. The rest of readable
    /// mappings is zero, or data that refer to nothing.
    fn present(&self) -> Vec<Range<u64>> {
        let readable = self.mappings().iter().filter(|mapping| mapping.read);
        readable.map(|mapping| mapping.start..mapping.end).collect()
    }

    /// Returns the symbols of the modules, if there are any: a file may have been stripped. Those of a
    /// module are read when they are first asked for.
    fn symbols(&self) -> Option<&Symbols> {
        None
    }
}

/// The state of a process while it was stopped, or when its core file was written.
pub struct ProgramImage {
    pub(super) parts: Parts,
    pub(super) regions: Regions,
    pub(super) symbols: Symbols,
    pub(super) stopped: Stopped,
}

impl ProgramImage {
    /// Returns what the stop cost the process; nothing for a core file.
    pub fn stopped(&self) -> Stopped {
        self.stopped
    }

    /// Returns the symbols of the modules.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}

impl Memory for ProgramImage {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        self.regions.read(address, buffer)
    }

    fn slice(&self, address: u64, len: usize) -> Option<&[u8]> {
        self.regions.slice(address, len)
    }
}

impl Image for ProgramImage {
    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn present(&self) -> Vec<Range<u64>> {
        self.regions.present()
    }

    fn symbols(&self) -> Option<&Symbols> {
        Some(&self.symbols)
    }
}

/// The cost of the stop to the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopped {
    /// How long the stop lasted, from before the first thread stopped until all went on.
    pub duration: Duration,
    /// How many threads were stopped.
    pub threads: usize,
    /// How many bytes were read.
    pub bytes: u64,
    /// How many of those bytes were kept.
    pub kept: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Regions {
        let mut regions = Regions::new(Some(Box::new(|address, buffer: &mut [u8]| {
            buffer.fill(address as u8);
            buffer.len().min(2)
        })));
        let source = regions.add_source(Arc::new((0..10).collect::<Vec<u8>>()));
        regions.push(100..104, Backing::Bytes { source, offset: 2 });
        regions.push(104..108, Backing::Zero);
        regions.push(108..112, Backing::Later);
        regions.push(200..208, Backing::Bytes { source, offset: 6 });
        regions
    }

    #[test]
    fn reads_across_regions_as_far_as_there_is_memory() {
        let regions = sample();
        let mut buffer = [0xff; 16];
        assert_eq!(regions.read(101, &mut buffer), 9);
        assert_eq!(buffer[..9], [3, 4, 5, 0, 0, 0, 0, 108, 108]);
        assert_eq!(regions.read(99, &mut buffer), 0);
        assert_eq!(regions.read(112, &mut buffer), 0);
        assert_eq!(regions.read(u64::MAX, &mut buffer), 0);
    }

    #[test]
    fn bytes_after_the_end_of_a_file_are_zero() {
        let regions = sample();
        let mut buffer = [0xff; 8];
        assert_eq!(regions.read(200, &mut buffer), 8);
        assert_eq!(buffer, [6, 7, 8, 9, 0, 0, 0, 0]);
        assert_eq!(regions.present(), [100..104, 108..112, 200..204]);
    }

    #[test]
    fn slices_lie_in_one_region_of_bytes() {
        let regions = sample();
        assert_eq!(regions.slice(101, 3), Some(&[3, 4, 5][..]));
        assert_eq!(regions.slice(101, 4), None);
        assert_eq!(regions.slice(105, 1), None);
        assert_eq!(regions.slice(99, 1), None);
    }
}
