//! Graphs in files: snapshots in a format of their own, and heap snapshots for Chrome's DevTools.

pub mod devtools;
mod packed;

use crate::graph::Graph;
use lz4_flex::frame::{FrameDecoder, FrameEncoder, FrameInfo};
use packed::Packed;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// What a snapshot file begins with. The last two bytes are the version.
const MAGIC: [u8; 8] = *b"rpsnap\x00\x01";
/// How many bytes of `MAGIC` are the same in all versions.
const NAME: usize = 6;
/// What a snapshot file ends with: a frame that lacks its end only is not noticed as truncated.
const END: &[u8; 4] = b"end\n";
/// The most that a snapshot may be when it is decompressed: damaged ones must not fill the memory.
const MOST: u64 = 16 << 30;

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
    let file = File::create(path).map_err(io)?;
    write(graph, BufWriter::new(file)).map_err(io)
}

fn write(graph: &Graph, mut file: impl Write) -> io::Result<()> {
    file.write_all(&MAGIC)?;
    let info = FrameInfo::new().content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, file);
    postcard::to_io(&Packed::new(graph), &mut encoder).map_err(io::Error::other)?;
    let mut file = encoder.finish().map_err(io::Error::other)?;
    file.write_all(END)?;
    file.flush()
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
    let file = File::open(path).map_err(io)?;
    if file.metadata().map_err(io)?.is_dir() {
        return Err(io(io::ErrorKind::IsADirectory.into()));
    }
    read(BufReader::new(file), path)
}

fn read(mut file: impl Read, path: &Path) -> Result<Graph, StoreError> {
    let damaged = |reason: String| StoreError::Damaged {
        path: path.to_owned(),
        reason,
    };
    let mut header = [0; 8];
    if file.read_exact(&mut header).is_err() || header[..NAME] != MAGIC[..NAME] {
        return Err(StoreError::NotASnapshot {
            path: path.to_owned(),
        });
    }
    if header != MAGIC {
        return Err(StoreError::OtherVersion {
            path: path.to_owned(),
            found: version(header),
            known: version(MAGIC),
        });
    }
    let mut bytes = Vec::new();
    let mut decoder = FrameDecoder::new(file).take(MOST);
    let read = decoder.read_to_end(&mut bytes);
    read.map_err(|error| damaged(error.to_string()))?;
    let packed: Packed =
        postcard::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
    drop(bytes);
    packed.unpack().map_err(|reason| damaged(reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{StoreError, read, write};
    use crate::analysis::synthetic::Builder;
    use crate::graph::{Frames, Graph, PoolState, RootKind, ThreadState};
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
        graph.totals.created = 3;
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
        let mut bytes = Vec::new();
        write(&graph(), &mut bytes).expect("memory can be written");
        bytes
    }

    #[test]
    fn graph_is_read_as_it_was_written() {
        let read = read(&written()[..], Path::new("a")).expect("the snapshot is good");
        assert_eq!(format!("{read:?}"), format!("{:?}", graph()));
    }

    #[test]
    fn truncated_snapshots_are_errors() {
        let bytes = written();
        for len in 0..bytes.len() {
            let error = read(&bytes[..len], Path::new("a")).expect_err("the end is missing");
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
                if let Ok(graph) = read(&bytes[..], Path::new("a")) {
                    panic!("byte {at}, bit {bit}: {graph:?}");
                }
            }
        }
    }

    #[test]
    fn other_version_is_named() {
        let mut bytes = written();
        bytes[7] = 9;
        let error = read(&bytes[..], Path::new("a")).expect_err("another version");
        assert!(error.to_string().contains("version 9"), "{error}");
    }
}
