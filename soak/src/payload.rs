//! The values of objects: they detect destruction on the wrong thread, double destruction, and use
//! after destruction.

use crate::bomb;
use crate::ledger::{LEDGER, fail, same};
use releasepool::{AutoreleasePool, PoolManager, Ref, Weak, autorelease, autoreleasepool, unsize};
use releasepool_examples_common::label::Label;
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

const ALIVE: u64 = 0xA11E_C0DE_A11E_C0DE;
const DEAD: u64 = 0xDEAD_C0DE_DEAD_C0DE;

/// A part of every payload, counted when it is made and when it is destroyed. Detects a second
/// destruction and a use after destruction, unless the memory has been overwritten.
pub struct Mark(AtomicU64);

impl Mark {
    pub fn new() -> Self {
        LEDGER.made.add(1);
        Self(AtomicU64::new(ALIVE))
    }

    /// Reports a failure if the payload has been destroyed.
    pub fn look(&self) {
        let state = self.0.load(Ordering::Relaxed);
        if state != ALIVE {
            fail(format!("a payload is used that is not alive: {state:#x}"));
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let state = self.0.swap(DEAD, Ordering::Relaxed);
        if state != ALIVE {
            fail(format!(
                "a payload is destroyed that is not alive: {state:#x}"
            ));
        }
        LEDGER.died.add(1);
    }
}

/// A payload that is passed from thread to thread.
pub trait Thing: Send + Sync {
    /// Checks this payload and those that it owns.
    fn look(&self);
    /// Returns how many objects this one keeps alive, itself included.
    fn objects(&self) -> u64;
}

pub struct Item {
    mark: Mark,
    number: u64,
    text: Box<str>,
}

impl Item {
    pub fn new(number: u64) -> Self {
        Self {
            mark: Mark::new(),
            number,
            text: number.to_string().into(),
        }
    }

    pub fn number(&self) -> u64 {
        self.mark.look();
        self.number
    }
}

impl Thing for Item {
    fn look(&self) {
        same("an item's text", self.text.parse(), Ok(self.number()));
    }

    fn objects(&self) -> u64 {
        1
    }
}

/// A value that must not leave its thread; its label detects destruction on another thread.
pub struct Stay {
    pub mark: Mark,
    _label: Label,
    _not_send: PhantomData<*const ()>,
}

impl Stay {
    pub fn new() -> Self {
        Self {
            mark: Mark::new(),
            _label: Label::new("here"),
            _not_send: PhantomData,
        }
    }
}

/// A tree; each node is an object.
pub struct Tree {
    mark: Mark,
    objects: u64,
    branches: Vec<Ref<dyn Thing>>,
    /// Weak, as in scene graphs.
    parent: Weak<Tree>,
}

impl Tree {
    pub fn new(width: usize, depth: usize) -> Ref<Self> {
        Self::under(Weak::new(), width, depth)
    }

    fn under(parent: Weak<Tree>, width: usize, depth: usize) -> Ref<Self> {
        Ref::new_cyclic(|me| {
            let branch = |n| -> Ref<dyn Thing> {
                if depth > 1 {
                    unsize!(Self::under(me.clone(), width, depth - 1) => dyn Thing)
                } else {
                    unsize!(Ref::new(Item::new(n as u64)) => dyn Thing)
                }
            };
            let branches: Vec<_> = (0..width).map(branch).collect();
            Self {
                mark: Mark::new(),
                objects: 1 + branches.iter().map(|b| b.objects()).sum::<u64>(),
                branches,
                parent,
            }
        })
    }
}

impl Thing for Tree {
    fn look(&self) {
        self.mark.look();
        if let Some(parent) = self.parent.upgrade() {
            parent.mark.look();
        }
        self.branches.iter().for_each(|b| b.look());
    }

    fn objects(&self) -> u64 {
        self.objects
    }
}

/// A node of a chain; a naive destructor would overflow the stack.
pub struct Chain {
    mark: Mark,
    length: u64,
    _next: Option<Ref<Chain>>,
}

impl Chain {
    pub fn new(length: u64) -> Ref<Self> {
        let link = |next, length| {
            Ref::new(Self {
                mark: Mark::new(),
                length,
                _next: next,
            })
        };
        (2..=length).fold(link(None, 1), |next, length| link(Some(next), length))
    }
}

impl Thing for Chain {
    fn look(&self) {
        self.mark.look();
    }

    fn objects(&self) -> u64 {
        self.length
    }
}

/// Panics when it is destroyed; its mark is destroyed nevertheless.
pub struct Bomb {
    _mark: Mark,
    id: u64,
}

impl Bomb {
    pub fn new(id: u64) -> Self {
        Self {
            _mark: Mark::new(),
            id,
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        bomb::explode(self.id);
    }
}

/// Uses pools while it is destroyed, and autoreleases another `Busy` of one generation less.
pub struct Busy {
    _mark: Mark,
    generations: u32,
}

impl Busy {
    pub fn new(generations: u32) -> Self {
        Self {
            _mark: Mark::new(),
            generations,
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Some(next) = self.generations.checked_sub(1) else {
            return;
        };
        autoreleasepool(|pool| {
            pool.create(Item::new(1)).look();
            autorelease(Ref::new(Item::new(2)));
        });
        let outer = AutoreleasePool::new();
        let inner = AutoreleasePool::named("inner");
        outer.create(Item::new(3));
        inner.create(Stay::new());
        drop(outer);
        drop(inner);
        let manager = PoolManager::global();
        let token = manager.push();
        autorelease(Ref::new(Item::new(4)));
        if next % 2 == 0 {
            // Late in the thread's end `push` has no effect, and `pop` accepts its token.
            if manager.pop(token).is_err() {
                fail("a destructor's own token could not be popped");
            }
        }
        // Otherwise the token pool stays open until the end of the scope around it, which pops it with an
        // event.
        autorelease(Ref::new(Self::new(next)));
    }
}

/// Runs a closure when it is destroyed.
pub struct OnDrop<F: FnOnce()> {
    _mark: Mark,
    work: Cell<Option<F>>,
}

impl<F: FnOnce()> OnDrop<F> {
    pub fn new(work: F) -> Self {
        Self {
            _mark: Mark::new(),
            work: Cell::new(Some(work)),
        }
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            work();
        }
    }
}
