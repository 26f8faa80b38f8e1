//! What a document becomes: counted dictionaries, arrays, strings and numbers.

use crate::home::Label;
use crate::world::{Object, World};

/// A value of a document. Containers retain what they contain.
pub enum Node<W: World> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(Box<str>),
    Array(Vec<W::Counted<Node<W>>>),
    Dict(Vec<Member<W>>),
}

/// A key, and its value.
pub type Member<W> = (<W as World>::Counted<Key>, <W as World>::Counted<Node<W>>);

/// The key of a dictionary: one object per word, shared by all threads.
pub struct Key(pub Box<str>);

/// What may be in a pool, for the worlds whose pools do not take just any type.
pub enum Entry<W: World> {
    Node(W::Counted<Node<W>>),
    Label(W::Counted<Label>),
}

impl<W: World> Object<W> for Node<W> {
    fn entry(object: W::Counted<Self>) -> Entry<W> {
        Entry::Node(object)
    }
}

impl<W: World> Object<W> for Label {
    fn entry(object: W::Counted<Self>) -> Entry<W> {
        Entry::Label(object)
    }
}
