//! Vectors that a thread has for itself. Their capacity is kept.

use super::{Nested, Pools};
use releasepool_benches::objects::Payload;
use releasepool_benches::results::Role;
use std::hint::black_box;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;

/// How an object is made and kept.
pub trait Pointer<P>: Sized + 'static {
    fn to(value: P) -> Self;
}

impl<P: Payload> Pointer<P> for Arc<P> {
    #[inline(always)]
    fn to(value: P) -> Self {
        Self::new(value)
    }
}

impl<P: Payload> Pointer<P> for triomphe::Arc<P> {
    #[inline(always)]
    fn to(value: P) -> Self {
        Self::new(value)
    }
}

impl<P: Payload> Pointer<P> for Box<P> {
    #[inline(always)]
    fn to(value: P) -> Self {
        Self::new(value)
    }
}

/// A pool in a pool is the rest of the vector.
pub struct Kept<R>(Vec<R>);

impl<R> Kept<R> {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    #[inline(always)]
    fn add<P>(&mut self, value: P)
    where
        R: Pointer<P>,
    {
        self.0.push(black_box(R::to(value)));
    }

    #[inline(always)]
    fn release_from(&mut self, mark: usize) {
        black_box(&mut self.0).truncate(mark);
    }
}

/// As one kind of vector.
macro_rules! kept {
    ($kind:ident, $pointer:ty, $name:literal, $role:expr, $note:expr) => {
        pub struct $kind<P>(Kept<$pointer>);

        impl<P: Payload> Pools<P> for $kind<P> {
            const NAME: &str = $name;
            const ROLE: Role = $role;
            const NOTE: Option<&str> = $note;
            type Shared = ();

            fn here(_: &Arc<()>) -> Self {
                Self(Kept::new())
            }

            #[inline(always)]
            fn add(&mut self, seed: u64) {
                self.0.add(P::new(seed));
            }

            #[inline(always)]
            fn drain(&mut self) {
                self.0.release_from(0);
            }
        }

        impl<P: Payload> Nested<P> for $kind<P> {
            #[inline(always)]
            fn nested(&mut self, work: impl FnOnce(&mut Self)) {
                let mark = self.0.0.len();
                work(self);
                self.0.release_from(mark);
            }
        }
    };
}

const OF_ONE_TYPE: Option<&str> = Some("a vector for objects of one type only");

kept!(Arcs, Arc<P>, "Arc + Vec", Role::Peer, OF_ONE_TYPE);
kept!(
    Triomphes,
    triomphe::Arc<P>,
    "triomphe + Vec",
    Role::Peer,
    OF_ONE_TYPE
);
kept!(
    Boxes,
    Box<P>,
    "Box + Vec",
    Role::Reference,
    Some("not counted: each has one owner; objects of one type only")
);

/// What every object begins with, as `cocos2d::Ref` does.
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
    /// `object` is of `make`, for this type, and nobody uses it.
    unsafe fn destroy(object: NonNull<Header>) {
        // SAFETY: by the caller's promise; the header is the first field.
        drop(unsafe { Box::from_raw(object.cast::<Self>().as_ptr()) });
    }
}

/// Pools as Cocos2d-x has them, but that their vectors keep their capacity: a stack of
/// vectors, counts that are not atomic, the oldest object goes first.
pub struct Cocos<P> {
    current: Vec<NonNull<Header>>,
    outer: Vec<Vec<NonNull<Header>>>,
    spare: Vec<Vec<NonNull<Header>>>,
    objects: std::marker::PhantomData<P>,
}

impl<P> Cocos<P> {
    #[inline(always)]
    fn release(&mut self, mut objects: Vec<NonNull<Header>>) {
        for object in black_box(&mut objects).drain(..) {
            // SAFETY: the pool's count is still there, and threads have no part in it.
            let header = unsafe { &mut *object.as_ptr() };
            header.count -= 1;
            if header.count == 0 {
                let destroy = header.destroy;
                // SAFETY: that was the last one; it is of the type it was made as.
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
            objects: std::marker::PhantomData,
        }
    }

    #[inline(always)]
    fn add(&mut self, seed: u64) {
        self.current.push(black_box(Object::make(P::new(seed))));
    }

    #[inline(always)]
    fn drain(&mut self) {
        let instead = self.spare.pop().unwrap_or_default();
        let objects = mem::replace(&mut self.current, instead);
        self.release(objects);
    }
}

impl<P: Payload> Nested<P> for Cocos<P> {
    #[inline(always)]
    fn nested(&mut self, work: impl FnOnce(&mut Self)) {
        let inner = self.spare.pop().unwrap_or_default();
        self.outer.push(mem::replace(&mut self.current, inner));
        work(self);
        let outer = self.outer.pop().expect("it was pushed");
        let inner = mem::replace(&mut self.current, outer);
        self.release(inner);
    }
}

impl<P> Drop for Cocos<P> {
    fn drop(&mut self) {
        let objects = mem::take(&mut self.current);
        self.release(objects);
    }
}
