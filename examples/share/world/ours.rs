//! The library: pools of the thread's own, objects for all threads.

use super::{Object, Tally, World};
use crate::keys::Table;
use releasepool::{AutoreleasePool, PoolRef, Ref, Slot};

#[derive(Default)]
pub struct Ours {
    tally: Tally,
}

impl World for Ours {
    type Counted<T: 'static> = Ref<T>;
    type Pool<'w> = AutoreleasePool;
    type Keys = Slot<Table<Self>>;

    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn pool(&self) -> AutoreleasePool {
        AutoreleasePool::new()
    }

    fn make<T>(&self, value: T) -> Ref<T> {
        self.tally.created();
        Ref::new(value)
    }

    fn create<T: Object<Self>>(&self, pool: &AutoreleasePool, value: T) -> Ref<T> {
        self.tally.created();
        self.tally.autoreleased();
        PoolRef::retain(pool.create(value))
    }

    fn temporary<T: Object<Self>, R>(
        &self,
        pool: &AutoreleasePool,
        value: T,
        look: impl FnOnce(&T) -> R,
    ) -> R {
        self.tally.created();
        self.tally.autoreleased();
        look(&pool.create(value))
    }

    fn autorelease<T: Object<Self>>(&self, pool: &AutoreleasePool, object: Ref<T>) {
        self.tally.autoreleased();
        pool.autorelease(object);
    }
}
