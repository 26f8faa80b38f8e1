//! Objects, which are `Arc`s.

use super::THREADS;
use std::ops::Deref;
use std::sync::{Arc, Weak as StdWeak};

/// A reference, which has its `Arc` until it is dropped.
pub struct Ref<T: ?Sized>(Option<Arc<T>>);

pub struct Weak<T: ?Sized>(StdWeak<T>);

/// A reference that a pool has lent.
pub struct PoolRef<T: ?Sized>(pub(super) Ref<T>);

impl<T: ?Sized> Ref<T> {
    fn of(object: Arc<T>) -> Self {
        Self(Some(object))
    }

    fn arc(this: &Self) -> &Arc<T> {
        this.0.as_ref().expect("not dropped")
    }

    fn into_arc(mut this: Self) -> Arc<T> {
        this.0.take().expect("not dropped")
    }

    pub fn convert<U: ?Sized>(self, f: impl FnOnce(Arc<T>) -> Arc<U>) -> Ref<U> {
        Ref::of(f(Self::into_arc(self)))
    }

    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        Arc::get_mut(this.0.as_mut()?)
    }

    pub fn downgrade(this: &Self) -> Weak<T> {
        Weak(Arc::downgrade(Self::arc(this)))
    }

    pub fn strong_count(this: &Self) -> usize {
        Arc::strong_count(Self::arc(this))
    }

    pub fn weak_count(this: &Self) -> usize {
        Arc::weak_count(Self::arc(this))
    }
}

impl<T> Ref<T> {
    pub fn new(value: T) -> Self {
        Self::of(Arc::new(value))
    }

    pub fn new_cyclic(f: impl FnOnce(&Weak<T>) -> T) -> Self {
        Self::of(Arc::new_cyclic(|me| f(&Weak(me.clone()))))
    }

    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        Arc::try_unwrap(Self::into_arc(this)).map_err(Self::of)
    }

    pub fn into_inner(this: Self) -> Option<T> {
        Arc::into_inner(Self::into_arc(this))
    }
}

impl<T: ?Sized + Clones> Ref<T> {
    pub fn make_mut(this: &mut Self) -> &mut T {
        T::make_mut(this.0.as_mut().expect("not dropped"))
    }
}

/// Types that `Arc::make_mut` clones: std's trait for them has no stable name.
pub trait Clones {
    fn make_mut(of: &mut Arc<Self>) -> &mut Self;
}

macro_rules! clones {
    ($([$($bound:tt)*] $of:ty;)*) => {$(
        impl<$($bound)*> Clones for $of {
            fn make_mut(of: &mut Arc<Self>) -> &mut Self {
                Arc::make_mut(of)
            }
        }
    )*};
}

clones! {
    [T: Clone] T;
    [T: Clone] [T];
    [] str;
}

impl<T> From<Vec<T>> for Ref<[T]> {
    fn from(values: Vec<T>) -> Self {
        Self::of(values.into())
    }
}

impl From<String> for Ref<str> {
    fn from(text: String) -> Self {
        Self::of(text.into())
    }
}

impl<T: ?Sized> Clone for Ref<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        Self::arc(self)
    }
}

impl<T: ?Sized> Drop for Ref<T> {
    fn drop(&mut self) {
        let is_last = |object: &Arc<T>| Arc::strong_count(object) == 1;
        let here = self.0.as_ref().filter(|object| is_last(object));
        let _release = here.and_then(|_| THREADS.get()).map(|here| here.releases());
        self.0 = None;
    }
}

impl<T: ?Sized> Weak<T> {
    pub fn convert<U: ?Sized>(self, f: impl FnOnce(StdWeak<T>) -> StdWeak<U>) -> Weak<U> {
        Weak(f(self.0))
    }

    pub fn upgrade(&self) -> Option<Ref<T>> {
        self.0.upgrade().map(Ref::of)
    }

    pub fn strong_count(&self) -> usize {
        self.0.strong_count()
    }

    pub fn weak_count(&self) -> usize {
        self.0.weak_count()
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: ?Sized> PoolRef<T> {
    pub fn retain(this: Self) -> Ref<T> {
        this.0
    }
}

impl<T: ?Sized> Deref for PoolRef<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

macro_rules! unsize {
    ($of:expr => $to:ty) => {
        $of.convert::<$to>(|of| of)
    };
}
pub(crate) use unsize;

/// A reference to an object of any type.
pub trait Held {
    fn address(&self) -> *const ();
}

impl<T: ?Sized> Held for Ref<T> {
    fn address(&self) -> *const () {
        Arc::as_ptr(Self::arc(self)).cast()
    }
}
