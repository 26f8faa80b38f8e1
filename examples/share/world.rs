//! The three ways to count objects and release them later that are compared.
//!
//! The parser is written once, against this trait, so that all do the same work.

pub mod locked;
pub mod ours;
pub mod plain;

use crate::keys::Shared;
use crate::node::Entry;
use std::cell::Cell;
use std::ops::Deref;

/// One thread's access to counted objects and its pools.
pub trait World: Sized + 'static {
    /// A counted reference: `clone` retains, `drop` releases.
    type Counted<T: 'static>: Clone + Deref<Target = T> + 'static;
    /// An open pool; closed and drained when dropped.
    type Pool<'w>
    where
        Self: 'w;

    /// Where the keys are that all threads share.
    type Keys: Shared<Self>;

    /// How many things were done; each way counts alike.
    fn tally(&self) -> &Tally;

    /// Opens a pool.
    fn pool(&self) -> Self::Pool<'_>;

    /// A new object, in no pool.
    fn make<T>(&self, value: T) -> Self::Counted<T>;

    /// A new object that the pool owns, retained by the caller: what a container
    /// does with what `create()` gives it.
    fn create<T: Object<Self>>(&self, pool: &Self::Pool<'_>, value: T) -> Self::Counted<T>;

    /// A new object that the pool owns, looked at and left to the pool.
    fn temporary<T: Object<Self>, R>(
        &self,
        pool: &Self::Pool<'_>,
        value: T,
        look: impl FnOnce(&T) -> R,
    ) -> R;

    /// Hands a reference to the pool.
    fn autorelease<T: Object<Self>>(&self, pool: &Self::Pool<'_>, object: Self::Counted<T>);
}

/// What may be put into pools.
pub trait Object<W: World>: Sized + 'static {
    fn entry(object: W::Counted<Self>) -> Entry<W>;
}

/// The example's own count, to check the library's by.
#[derive(Default)]
pub struct Tally {
    pub created: Cell<u64>,
    pub autoreleased: Cell<u64>,
}

impl Tally {
    fn created(&self) {
        self.created.set(self.created.get() + 1);
    }

    fn autoreleased(&self) {
        self.autoreleased.set(self.autoreleased.get() + 1);
    }
}
