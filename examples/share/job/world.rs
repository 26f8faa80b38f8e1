//! The objects and pools that the job needs: [`ours`] is this library; for the comparison there are
//! two others.
//!
//! The parser is generic over this trait, so that all three run the same code.

pub mod ours;

use crate::job::node::{Entry, Node};
use std::cell::Cell;
use std::ops::Deref;

/// One thread's access to counted objects and its pools.
pub trait World: Sized + 'static {
    /// A counted reference: `clone` retains, `drop` releases.
    type Counted<T: ?Sized + 'static>: Clone + Deref<Target = T> + 'static;
    /// An open pool; closed and drained when dropped.
    type Pool<'w>
    where
        Self: 'w;

    /// Returns this thread's counts.
    fn tally(&self) -> &Tally;

    /// Opens a pool.
    fn pool(&self) -> Self::Pool<'_>;

    /// Makes a text that no pool owns.
    fn make_text(&self, text: &str) -> Self::Counted<str>;

    /// Makes an object that the pool owns and the caller retains, as a container retains the result
    /// of `create()`.
    fn create<T: Object<Self>>(&self, pool: &Self::Pool<'_>, value: T) -> Self::Counted<T>;

    /// Makes a text that the pool owns and the caller retains.
    fn create_text(&self, pool: &Self::Pool<'_>, text: &str) -> Self::Counted<str>;

    /// Returns whether a temporary is made to look up each key.
    fn makes_temporaries(&self) -> bool {
        true
    }

    /// Makes an object that the pool owns and shows it to `look`, without retaining it.
    fn temporary<T: Object<Self>, R>(
        &self,
        pool: &Self::Pool<'_>,
        value: T,
        look: impl FnOnce(&T) -> R,
    ) -> R;

    /// Hands a reference to the pool.
    fn autorelease<T: Object<Self> + ?Sized>(
        &self,
        pool: &Self::Pool<'_>,
        object: Self::Counted<T>,
    );

    /// Is told that a node is being destroyed. Where counted references destroy nested objects by
    /// recursion, this takes the contents out, so that the stack suffices.
    fn destroys(_node: &mut Node<Self>) {}
}

/// A type whose objects can be put into pools.
pub trait Object<W: World>: 'static {
    fn entry(object: W::Counted<Self>) -> Entry<W>;
}

/// The example's own counts, to verify those of the library.
#[derive(Default)]
pub struct Tally {
    pub created: Cell<u64>,
    pub autoreleased: Cell<u64>,
}

impl Tally {
    pub fn created(&self) {
        self.created.set(self.created.get() + 1);
    }

    pub fn autoreleased(&self) {
        self.autoreleased.set(self.autoreleased.get() + 1);
    }
}
