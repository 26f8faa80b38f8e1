//! The library: pools of each thread, objects shared by all threads.

use super::{Object, Tally, World};
use releasepool::{AutoreleasePool, BlockAllocator, PoolRef, Ref};

/// Where objects are allocated.
#[derive(Clone, Copy, PartialEq)]
pub enum Memory {
    /// In blocks of the library's allocator for the process.
    Blocks,
    /// By the global allocator, like a `Box`.
    Global,
}

impl Memory {
    /// Makes an object that only the caller owns.
    pub fn make<T>(self, value: T) -> Ref<T> {
        match self {
            Self::Blocks => Ref::new_in(value, &BlockAllocator::process()),
            Self::Global => Ref::new(value),
        }
    }

    /// Makes an object that the pool owns.
    pub fn create<T>(self, pool: &AutoreleasePool, value: T) -> PoolRef<'_, T> {
        match self {
            Self::Blocks => pool.create(value),
            Self::Global => pool.autorelease(Ref::new(value)),
        }
    }
}

pub struct Ours {
    tally: Tally,
    memory: Memory,
    makes_temporaries: bool,
}

impl Ours {
    pub fn new(memory: Memory) -> Self {
        Self {
            tally: Tally::default(),
            memory,
            makes_temporaries: true,
        }
    }

    /// Leaves out the temporaries.
    pub fn without_temporaries(self) -> Self {
        Self {
            makes_temporaries: false,
            ..self
        }
    }

    /// Makes an object that no pool owns.
    pub fn make<T>(&self, value: T) -> Ref<T> {
        self.tally.created();
        self.memory.make(value)
    }
}

impl World for Ours {
    type Counted<T: ?Sized + 'static> = Ref<T>;
    type Pool<'w> = AutoreleasePool;

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn pool(&self) -> AutoreleasePool {
        AutoreleasePool::new()
    }

    fn make_text(&self, text: &str) -> Ref<str> {
        self.tally.created();
        match self.memory {
            Memory::Blocks => Ref::new_str_in(text, &BlockAllocator::process()),
            Memory::Global => Ref::from(text),
        }
    }

    fn create<T: Object<Self>>(&self, pool: &AutoreleasePool, value: T) -> Ref<T> {
        self.tally.created();
        self.tally.autoreleased();
        PoolRef::retain(self.memory.create(pool, value))
    }

    fn create_text(&self, pool: &AutoreleasePool, text: &str) -> Ref<str> {
        self.tally.created();
        self.tally.autoreleased();
        PoolRef::retain(match self.memory {
            Memory::Blocks => pool.create_str(text),
            Memory::Global => pool.autorelease(Ref::from(text)),
        })
    }

    fn makes_temporaries(&self) -> bool {
        self.makes_temporaries
    }

    fn temporary<T: Object<Self>, R>(
        &self,
        pool: &AutoreleasePool,
        value: T,
        look: impl FnOnce(&T) -> R,
    ) -> R {
        self.tally.created();
        self.tally.autoreleased();
        look(&self.memory.create(pool, value))
    }

    fn autorelease<T: Object<Self> + ?Sized>(&self, pool: &AutoreleasePool, object: Ref<T>) {
        self.tally.autoreleased();
        pool.autorelease(object);
    }
}
