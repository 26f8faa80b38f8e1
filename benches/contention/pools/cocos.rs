//! The pools of Cocos2d-x, for one thread.

use super::{Pools, Stack};
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use std::hint::black_box;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

/// The beginning of every object, like `cocos2d::Ref`.
struct Header {
    count: u32,
    destroy: unsafe fn(NonNull<Header>),
}

#[repr(C)]
struct Object<P> {
    header: Header,
    value: P,
}

impl<P> Object<P> {
    #[inline(always)]
    fn make(value: P) -> NonNull<Header> {
        let destroy = Self::destroy;
        let header = Header { count: 1, destroy };
        NonNull::from(Box::leak(Box::new(Self { header, value }))).cast()
    }

    /// # Safety
    /// `object` came from `make` of this type, and is no longer used.
    unsafe fn destroy(object: NonNull<Header>) {
        // SAFETY: `make` leaked the box, and the header is its first field.
        drop(unsafe { Box::from_raw(object.cast::<Self>().as_ptr()) });
    }
}

/// The pools of Cocos2d-x, except that their vectors keep their capacity: a stack of vectors, counts
/// that are not atomic, and the oldest object is released first.
pub struct Cocos<P> {
    stack: Stack<NonNull<Header>>,
    spare: Vec<Vec<NonNull<Header>>>,
    objects: PhantomData<P>,
}

impl<P> Cocos<P> {
    #[inline(always)]
    fn release(&mut self, mut objects: Vec<NonNull<Header>>) {
        for object in black_box(&mut objects).drain(..) {
            // SAFETY: the pool's reference keeps the object alive; only this thread uses it.
            let header = unsafe { &mut *object.as_ptr() };
            header.count -= 1;
            if header.count == 0 {
                let destroy = header.destroy;
                // SAFETY: that was the last reference; `make` stored the function of its type.
                unsafe { destroy(object) };
            }
        }
        self.spare.push(objects);
    }
}

impl<P: Payload> Pools<P> for Cocos<P> {
    const NAME: &str = "single-threaded, as Cocos2d-x";
    const ROLE: Role = Role::Reference;
    const NOTE: Option<&str> = Some("plain counts, one thread only");
    type Shared = ();

    fn here(_: &Arc<()>) -> Self {
        Self {
            stack: Stack::default(),
            spare: Vec::new(),
            objects: PhantomData,
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        self.stack.add(black_box(Object::make(P::new(seed))));
    }

    #[inline(always)]
    fn drain(&mut self) {
        let instead = self.spare.pop().unwrap_or_default();
        let objects = self.stack.take(instead);
        self.release(objects);
    }

    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        let inner = self.spare.pop().unwrap_or_default();
        self.stack.enter(inner);
        work(self);
        let inner = self.stack.leave();
        self.release(inner);
    }
}

impl<P> Drop for Cocos<P> {
    fn drop(&mut self) {
        let objects = self.stack.take(Vec::new());
        self.release(objects);
    }
}
