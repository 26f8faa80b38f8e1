//! What a worker thread does, in whichever world.

use crate::error::Error;
use crate::input::Document;
use crate::keys::{Keys, KnownKeys};
use crate::node::Node;
use crate::parse::parse;
use crate::world::World;

/// Parses what `schedule` says and hands the roots over, until `hand_over` says
/// that nobody wants them any more.
pub fn work<W: World>(
    world: &W,
    keys: &Keys<W>,
    documents: &[Document],
    schedule: impl Iterator<Item = usize>,
    mut hand_over: impl FnMut(usize, W::Counted<Node<W>>) -> bool,
) -> Result<(), Error> {
    let keys = KnownKeys::new(world, keys);
    for document in schedule {
        let Document { name, text } = &documents[document];
        let pool = world.pool();
        let root = parse(world, &keys, &pool, text)
            .map_err(|error| Error::invalid(document, name, text, &error))?;
        // This thread's pool holds the root still while the other looks at it:
        // whichever of the two lets go last destroys the graph.
        if !hand_over(document, root) {
            break;
        }
    }
    Ok(())
}
