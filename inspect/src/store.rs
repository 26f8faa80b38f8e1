//! Graphs in files: snapshots in a format of their own.
//!
//! A snapshot file has a name and a version, and then the graph as postcard writes it, in a frame of
//! LZ4 with checksums.

use crate::error::Error;
use crate::graph::Graph;
use lz4_flex::frame::{FrameDecoder, FrameEncoder, FrameInfo};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The bytes with which a snapshot file begins. The last two bytes are the version.
const MAGIC: [u8; 8] = *b"rpsnap\x00\x05";
/// How many bytes of `MAGIC` are the same in all versions.
const NAME: usize = 6;

/// Writes a graph to a file.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be written.
pub fn save(graph: &Graph, path: &Path) -> Result<(), Error> {
    let written = encode(graph).and_then(|bytes| fs::write(path, bytes));
    written.map_err(|error| Error::io(format!("write {}", path.display()), error))
}

fn encode(graph: &Graph) -> io::Result<Vec<u8>> {
    let format = FrameInfo::new()
        .block_checksums(true)
        .content_checksum(true);
    let frame = FrameEncoder::with_frame_info(format, MAGIC.to_vec());
    let frame = postcard::to_io(graph, frame).map_err(io::Error::other)?;
    Ok(frame.finish()?)
}

/// Reads a graph from a file.
///
/// # Errors
///
/// See [`Error`]. Files that are cut off or damaged are errors, never panics.
pub fn load(path: &Path) -> Result<Graph, Error> {
    let io = |error| Error::io(format!("read {}", path.display()), error);
    let mut file = File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    // Reads the name first: a file that is no snapshot may be a device without an end.
    let mut name = (&mut file).take(NAME as u64);
    name.read_to_end(&mut bytes).map_err(io)?;
    if bytes == MAGIC[..NAME] {
        file.read_to_end(&mut bytes).map_err(io)?;
    }
    decode(&bytes, path)
}

fn decode(bytes: &[u8], path: &Path) -> Result<Graph, Error> {
    let path = path.to_owned();
    let (header, frame) = match bytes.split_first_chunk::<8>() {
        Some(parts) if parts.0[..NAME] == MAGIC[..NAME] => parts,
        _ => return Err(Error::NotASnapshot(path)),
    };
    if *header != MAGIC {
        let version = |header: &[u8; 8]| u16::from_be_bytes([header[NAME], header[NAME + 1]]);
        return Err(Error::OtherSnapshot {
            path,
            found: version(header),
            known: version(&MAGIC),
        });
    }
    let mut content = Vec::new();
    let read = FrameDecoder::new(frame).read_to_end(&mut content);
    let graph = read.map_err(|error| error.to_string()).and_then(|_| {
        // The decoder accepts a frame without its end, which is a zero size and a checksum.
        if !frame
            .split_last_chunk::<4>()
            .is_some_and(|(rest, _)| rest.ends_with(&[0; 4]))
        {
            return Err("its end is missing".to_owned());
        }
        postcard::from_bytes(&content).map_err(|error| error.to_string())
    });
    graph.map_err(|reason| Error::DamagedSnapshot { path, reason })
}

#[cfg(test)]
mod tests {
    use super::{Error, decode, encode, load};
    use crate::analysis::synthetic::Builder;
    use crate::graph::{Creation, Graph, PoolState, Process, RootKind, ThreadState};
    use std::path::Path;

    fn graph() -> Graph {
        let mut b = Builder::new();
        let (game, player) = (b.object("Game", 2, 1), b.object("Player", 1, 0));
        let gone = b.object("Gone", 0, 1);
        let buffer = b.plain(64);
        b.edge(game, 16, buffer).edge(buffer, 8, player);
        b.edge(player, 0, game).edge(player, 8, gone);
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
            program: Some([7; 16]),
        });
        graph.threads.push(ThreadState {
            key: 7,
            name: Some("main".to_owned()),
            tid: Some(99),
            pools: vec![PoolState {
                name: "frame".to_owned(),
                entries: 1,
            }],
            frames: Some(3),
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
                Error::NotASnapshot(_) => assert!(len < 8),
                Error::DamagedSnapshot { .. } => assert!(len >= 8),
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
        assert!(matches!(error, Error::NotASnapshot(_)), "{error}");
    }

    #[test]
    fn other_version_is_named() {
        let mut bytes = written();
        bytes[7] = 9;
        let error = decode(&bytes, Path::new("a")).expect_err("another version");
        assert!(error.to_string().contains("version 9"), "{error}");
    }
}
