//! For a program with a single thread: `Rc`, and one vector for the entries of all pools. Nothing
//! of it can leave its thread.

use crate::job::node::{Entry, Node};
use crate::job::world::{Object, Tally, World};
use crate::others::deep;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Default)]
pub struct Plain {
    tally: Tally,
    /// The entries of all open pools, innermost last.
    entries: RefCell<Vec<Entry<Plain>>>,
}

/// A pool, which owns the entries from `start` on.
pub struct PlainPool<'w> {
    world: &'w Plain,
    start: usize,
}

impl World for Plain {
    type Counted<T: ?Sized + 'static> = Rc<T>;
    type Pool<'w> = PlainPool<'w>;

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn pool(&self) -> PlainPool<'_> {
        PlainPool {
            world: self,
            start: self.entries.borrow().len(),
        }
    }

    fn make_text(&self, text: &str) -> Rc<str> {
        self.tally.created();
        Rc::from(text)
    }

    fn create<T: Object<Self>>(&self, pool: &PlainPool<'_>, value: T) -> Rc<T> {
        self.tally.created();
        let object = Rc::new(value);
        self.autorelease(pool, Rc::clone(&object));
        object
    }

    fn create_text(&self, pool: &PlainPool<'_>, text: &str) -> Rc<str> {
        let object = self.make_text(text);
        self.autorelease(pool, Rc::clone(&object));
        object
    }

    fn temporary<T: Object<Self>, R>(
        &self,
        pool: &PlainPool<'_>,
        value: T,
        look: impl FnOnce(&T) -> R,
    ) -> R {
        self.tally.created();
        let object = Rc::new(value);
        let seen = look(&object);
        self.autorelease(pool, object);
        seen
    }

    fn autorelease<T: Object<Self> + ?Sized>(&self, _innermost: &PlainPool<'_>, object: Rc<T>) {
        self.tally.autoreleased();
        self.entries.borrow_mut().push(T::entry(object));
    }

    fn destroys(node: &mut Node<Self>) {
        deep::drop_contents(node);
    }
}

impl Drop for PlainPool<'_> {
    fn drop(&mut self) {
        loop {
            let entry = {
                let mut entries = self.world.entries.borrow_mut();
                if entries.len() <= self.start {
                    return;
                }
                entries.pop()
            };
            // Dropped while the entries are not borrowed, because its destructor may use pools.
            drop(entry);
        }
    }
}
