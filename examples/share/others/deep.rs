//! Destroys nested containers within a bounded stack, for counted references that do not (the
//! library's do).

use crate::job::node::Node;
use crate::job::world::World;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem;

/// How deep destructors may nest.
const DEEP: usize = 200;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Contents of containers that are nested deeper.
    static WAITING: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// Drops the contents of a container, or leaves them to the outermost call on this thread.
pub fn drop_contents<W: World>(node: &mut Node<W>) {
    match node {
        Node::Array(items) => drop_in_turn(mem::take(items)),
        Node::Dict(members) => drop_in_turn(mem::take(members)),
    }
}

fn drop_in_turn<T: 'static>(contents: Box<[T]>) {
    let depth = DEPTH.get();
    if depth == DEEP {
        return WAITING.with_borrow_mut(|waiting| waiting.push(Box::new(contents)));
    }
    DEPTH.set(depth + 1);
    drop(contents);
    if depth == 0 {
        while let Some(next) = WAITING.with_borrow_mut(Vec::pop) {
            drop(next);
        }
    }
    DEPTH.set(depth);
}
