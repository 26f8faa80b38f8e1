//! The nodes of a graph: counted dictionaries, arrays and strings.

use crate::job::world::{Object, World};
use releasepool_examples_common::label::Label;

/// A value of a document. Only what needs memory of its own is a counted object.
pub enum Value<W: World> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(W::Counted<str>),
    Node(W::Counted<Node<W>>),
}

/// A container, which retains its contents.
pub enum Node<W: World> {
    Array(Box<[Value<W>]>),
    Dict(Box<[Member<W>]>),
}

impl<W: World> Drop for Node<W> {
    fn drop(&mut self) {
        W::destroys(self);
    }
}

/// A key and its value.
pub type Member<W> = (<W as World>::Counted<str>, Value<W>);

/// An entry of a pool, for the worlds whose pools cannot hold objects of any type.
pub enum Entry<W: World> {
    Node(W::Counted<Node<W>>),
    Text(W::Counted<str>),
    Label(W::Counted<Label>),
}

impl<W: World> Object<W> for Node<W> {
    fn entry(object: W::Counted<Self>) -> Entry<W> {
        Entry::Node(object)
    }
}

impl<W: World> Object<W> for str {
    fn entry(object: W::Counted<Self>) -> Entry<W> {
        Entry::Text(object)
    }
}

impl<W: World> Object<W> for Label {
    fn entry(object: W::Counted<Self>) -> Entry<W> {
        Entry::Label(object)
    }
}
