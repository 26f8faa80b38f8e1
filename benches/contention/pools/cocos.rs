//! The pools of Cocos2d-x, for one thread.

use super::Pools;
use releasepool_benches::objects::Payload;
use releasepool_benches::workload::Role;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem::replace;
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
    current: Vec<NonNull<Header>>,
    outer: Vec<Vec<NonNull<Header>>>,
    spare: Vec<Vec<NonNull<Header>>>,
    objects: PhantomData<P>,
}

impl<P> Cocos<P> {
    /// Releases the objects of the current pool, and makes another one current.
    #[inline(always)]
    fn release(&mut self, next: Vec<NonNull<Header>>) {
        let mut objects = replace(&mut self.current, next);
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
            current: Vec::new(),
            outer: Vec::new(),
            spare: Vec::new(),
            objects: PhantomData,
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        self.current.push(black_box(Object::make(P::new(seed))));
    }

    #[inline(always)]
    fn drain(&mut self) {
        let next = self.spare.pop().unwrap_or_default();
        self.release(next);
    }

    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        let inner = self.spare.pop().unwrap_or_default();
        self.outer.push(replace(&mut self.current, inner));
        work(self);
        let outer = self.outer.pop().expect("it was pushed above");
        self.release(outer);
    }
}

impl<P> Drop for Cocos<P> {
    fn drop(&mut self) {
        self.release(Vec::new());
    }
}
