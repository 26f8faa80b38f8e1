//! The work of a worker thread, which the comparison does, too.

use crate::error::Error;
use crate::input::Document;
use crate::job::keys::{Keys, KnownKeys};
use crate::job::node::Value;
use crate::job::parse::parse;
use crate::job::world::World;
use releasepool::AutoreleasePool;

/// Parses the documents of `schedule` and passes the roots to `hand_over`, until that returns
/// false.
pub fn work(
    world: &World,
    keys: &Keys,
    documents: &[Document],
    schedule: impl Iterator<Item = usize>,
    mut hand_over: impl FnMut(usize, Value) -> bool,
) -> Result<(), Error> {
    let keys = KnownKeys::new(world, keys);
    for document in schedule {
        let pool = AutoreleasePool::new();
        let root = parse(world, &keys, &documents[document].text)
            .map_err(|invalid| Error::invalid(document, &documents[document], invalid))?;
        // This thread's pool still owns the root while the receiver inspects it. The last of the
        // two to release it destroys the graph.
        if let Value::Node(root) = &root {
            world.autorelease(&pool, root.clone());
        }
        if !hand_over(document, root) {
            break;
        }
    }
    Ok(())
}
