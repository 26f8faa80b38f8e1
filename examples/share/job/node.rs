//! The nodes of a graph: counted dictionaries, arrays and strings.

use releasepool::Ref;

/// A value of a document. Only what needs memory of its own is a counted object.
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(Ref<str>),
    Node(Ref<Node>),
}

/// A container, which retains its contents. However deep they are nested, the library destroys them within
/// a bounded stack.
pub enum Node {
    Array(Box<[Value]>),
    Dict(Box<[Member]>),
}

/// A key and its value.
pub type Member = (Ref<str>, Value);
