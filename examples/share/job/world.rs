//! The job's use of the library: the counted objects of a graph, and pools of each thread.

use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, PoolRef, Ref};
use std::cell::Cell;

/// A value of a document. Only what needs memory of its own is a counted object.
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
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

/// Makes one thread's objects, and counts them, to verify what the library counts.
#[derive(Default)]
pub struct World {
    pub created: Cell<u64>,
    pub autoreleased: Cell<u64>,
    is_without_temporaries: bool,
}

fn count(cell: &Cell<u64>) {
    cell.set(cell.get() + 1);
}

impl World {
    /// Creates a world whose thread makes no temporaries to look up keys.
    pub fn without_temporaries() -> Self {
        Self {
            is_without_temporaries: true,
            ..Self::default()
        }
    }

    pub fn makes_temporaries(&self) -> bool {
        !self.is_without_temporaries
    }

    /// Makes an object that no pool owns.
    pub fn make<T>(&self, value: T) -> Ref<T> {
        count(&self.created);
        Ref::new_in(value, &BlockAllocator::process())
    }

    /// Makes a text that no pool owns.
    pub fn make_text(&self, text: &str) -> Ref<str> {
        count(&self.created);
        Ref::new_str_in(text, &BlockAllocator::process())
    }

    /// Makes an object that the pool owns and the caller retains, as a container retains the result
    /// of `create()`.
    pub fn create<T>(&self, pool: &AutoreleasePool, value: T) -> Ref<T> {
        PoolRef::retain(self.temporary(pool, value))
    }

    /// Makes a text that the pool owns and the caller retains.
    pub fn create_text(&self, pool: &AutoreleasePool, text: &str) -> Ref<str> {
        count(&self.created);
        count(&self.autoreleased);
        PoolRef::retain(pool.create_str(text))
    }

    /// Makes an object that the pool owns, and does not retain it.
    pub fn temporary<'p, T>(&self, pool: &'p AutoreleasePool, value: T) -> PoolRef<'p, T> {
        count(&self.created);
        count(&self.autoreleased);
        pool.create(value)
    }

    /// Hands a reference to the pool.
    pub fn autorelease<T: ?Sized + 'static>(&self, pool: &AutoreleasePool, object: Ref<T>) {
        count(&self.autoreleased);
        pool.autorelease(object);
    }
}
