//! Graphs in files: snapshots in a format of their own, and heap snapshots for Chrome's DevTools.
//!
//! A snapshot file has a name and a version, a CRC-32 of all that follows, the size of the content,
//! and the content: `Packed` as postcard writes it, as one block of LZ4.

pub mod devtools;
mod packed;

use crate::graph::Graph;
use packed::Packed;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What a snapshot file begins with. The last two bytes are the version.
const MAGIC: [u8; 8] = *b"rpsnap\x00\x02";
/// How many bytes of `MAGIC` are the same in all versions.
const NAME: usize = 6;
/// Why a snapshot could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened, read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file is something else.
    #[error("{} is not a snapshot of releasepool-inspect", .path.display())]
    NotASnapshot {
        /// The file.
        path: PathBuf,
    },
    /// The file has another version.
    #[error(
        "{} is a snapshot of version {found}; this releasepool-inspect reads version {known}: take \
         a new one, or use the releasepool-inspect that made it", .path.display()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u16,
        /// The version that can be read.
        known: u16,
    },
    /// The file is cut off or damaged.
    #[error("{} is truncated or damaged ({reason}); take a new snapshot", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Returns the version in a header.
fn version(header: [u8; 8]) -> u16 {
    u16::from_be_bytes([header[NAME], header[NAME + 1]])
}

/// Writes a graph to a file.
///
/// # Errors
///
/// [`StoreError::Io`] if the file cannot be written.
pub fn save(graph: &Graph, path: &Path) -> Result<(), StoreError> {
    let io = |error| StoreError::Io {
        path: path.to_owned(),
        error,
    };
    let bytes = encode(graph).map_err(io)?;
    let mut file = File::create(path).map_err(io)?;
    file.write_all(&bytes).map_err(io)
}

fn encode(graph: &Graph) -> io::Result<Vec<u8>> {
    let content = postcard::to_allocvec(&Packed::new(graph)).map_err(io::Error::other)?;
    let mut body = (content.len() as u64).to_le_bytes().to_vec();
    body.extend(lz4_flex::block::compress(&content));
    let sum = crc32fast::hash(&body).to_le_bytes();
    Ok([&MAGIC[..], &sum, &body].concat())
}

/// Reads a graph from a file.
///
/// # Errors
///
/// See [`StoreError`]. Files that are cut off or damaged are errors, never panics.
pub fn load(path: &Path) -> Result<Graph, StoreError> {
    let io = |error| StoreError::Io {
        path: path.to_owned(),
        error,
    };
    let mut file = File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    // The name first: what is no snapshot may be a device without an end.
    let mut name = (&mut file).take(NAME as u64);
    name.read_to_end(&mut bytes).map_err(io)?;
    if bytes == MAGIC[..NAME] {
        file.read_to_end(&mut bytes).map_err(io)?;
    }
    decode(&bytes, path)
}

fn decode(bytes: &[u8], path: &Path) -> Result<Graph, StoreError> {
    let damaged = |reason: &str| StoreError::Damaged {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let Some((header, rest)) = bytes
        .split_first_chunk::<8>()
        .filter(|(header, _)| header[..NAME] == MAGIC[..NAME])
    else {
        return Err(StoreError::NotASnapshot {
            path: path.to_owned(),
        });
    };
    if *header != MAGIC {
        return Err(StoreError::OtherVersion {
            path: path.to_owned(),
            found: version(*header),
            known: version(MAGIC),
        });
    }
    let (sum, body) = rest
        .split_first_chunk()
        .ok_or_else(|| damaged("it is too short"))?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return Err(damaged("its checksum is wrong"));
    }
    let (len, content) = body
        .split_first_chunk()
        .ok_or_else(|| damaged("it is too short"))?;
    let len = usize::try_from(u64::from_le_bytes(*len)).map_err(|_| damaged("it is too large"))?;
    // LZ4 makes at most 255 bytes of one.
    if len / 255 > content.len() {
        return Err(damaged("its size makes no sense"));
    }
    let content = lz4_flex::block::decompress(content, len);
    let content = content.map_err(|error| damaged(&error.to_string()))?;
    let packed: Packed =
        postcard::from_bytes(&content).map_err(|error| damaged(&error.to_string()))?;
    packed.unpack().map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::{StoreError, decode, encode, load};
    use crate::analysis::synthetic::Builder;
    use crate::graph::{
        Creation, Frames, Graph, PoolState, Process, RootKind, Started, ThreadState,
    };
    use std::path::Path;

    fn graph() -> Graph {
        let mut b = Builder::new();
        let (game, player) = (b.object("Game", 2, 1), b.object("Player", 1, 0));
        let gone = b.object("Gone", 0, 1);
        let buffer = b.plain(64);
        b.edge(game, 16, buffer)
            .edge(buffer, 8, player)
            .edge(player, 0, game);
        b.edge(player, 8, gone);
        b.root(RootKind::Stack, "stack of thread \"main\"", game);
        b.counted(RootKind::Pool, "pool \"frame\" of thread \"main\"", game);
        let mut graph = b.build();
        graph.caveats.push("the allocator is not known".to_owned());
        graph.creations = vec![Creation {
            site: "src/game.rs:3:5".to_owned(),
            creator: Some(7),
        }];
        graph.created = vec![0, 1, 1];
        graph.totals.created = 3;
        graph.process = Some(Process {
            pid: 99,
            started: Some(Started {
                boot: "this one".to_owned(),
                ticks: 1234,
            }),
            looked_at: Some(1_700_000_000_000),
        });
        graph.threads.push(ThreadState {
            key: 7,
            name: Some("main".to_owned()),
            tid: Some(99),
            pools: vec![PoolState {
                name: "frame".to_owned(),
                entries: 1,
            }],
            frames: Some(Frames {
                count: 3,
                last_nanos: None,
            }),
            ..ThreadState::default()
        });
        graph
    }

    fn written() -> Vec<u8> {
        encode(&graph()).expect("there is memory")
    }

    #[test]
    fn graph_is_read_as_it_was_written() {
        let read = decode(&written(), Path::new("a")).expect("the snapshot is good");
        assert_eq!(format!("{read:?}"), format!("{:?}", graph()));
    }

    #[test]
    fn truncated_snapshots_are_errors() {
        let bytes = written();
        for len in 0..bytes.len() {
            let error = decode(&bytes[..len], Path::new("a")).expect_err("the end is missing");
            match error {
                StoreError::NotASnapshot { .. } => assert!(len < 8),
                StoreError::Damaged { .. } => assert!(len >= 8),
                _ => panic!("{len} bytes: {error}"),
            }
        }
    }

    #[test]
    fn damaged_snapshots_are_errors() {
        let bytes = written();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(graph) = decode(&bytes, Path::new("a")) {
                    panic!("byte {at}, bit {bit}: {graph:?}");
                }
            }
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_device_without_an_end_is_no_snapshot() {
        let error = load(Path::new("/dev/zero")).expect_err("it is a device");
        assert!(matches!(error, StoreError::NotASnapshot { .. }), "{error}");
    }

    #[test]
    fn other_version_is_named() {
        let mut bytes = written();
        bytes[7] = 9;
        let error = decode(&bytes, Path::new("a")).expect_err("another version");
        assert!(error.to_string().contains("version 9"), "{error}");
    }
}
