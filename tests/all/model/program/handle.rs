//! Handles of all types, and operations on them.

use super::super::super::{Counts, Plan};
use super::super::{AutoreleasePool, PoolManager, PoolRef, Ref, ThreadHandle, Weak, unsize};
use super::object::{Object, Thing};

#[derive(Clone)]
pub enum Handle {
    Sized(Ref<Object>),
    Dyn(Ref<dyn Thing>),
    Slice(Ref<[Object]>),
    Str(Ref<str>),
}

#[derive(Clone)]
pub enum AnyWeak {
    Sized(Weak<Object>),
    Dyn(Weak<dyn Thing>),
    Slice(Weak<[Object]>),
    Str(Weak<str>),
}

/// Evaluates one expression for a handle of any type.
macro_rules! each {
    ($of:ident, $handle:expr, $r:ident => $do:expr) => {
        match $handle {
            $of::Sized($r) => $do,
            $of::Dyn($r) => $do,
            $of::Slice($r) => $do,
            $of::Str($r) => $do,
        }
    };
}

/// Evaluates one expression for a handle of any type, and wraps the result in a handle of that
/// type.
macro_rules! each_to {
    ($of:ident, $handle:expr, $to:ident, $r:ident => $do:expr) => {
        match $handle {
            $of::Sized($r) => $to::Sized($do),
            $of::Dyn($r) => $to::Dyn($do),
            $of::Slice($r) => $to::Slice($do),
            $of::Str($r) => $to::Str($do),
        }
    };
}

impl Handle {
    pub fn counts(&self) -> Counts {
        each!(Self, self, r => (Ref::strong_count(r), Ref::weak_count(r)))
    }

    pub fn is_in(&self, pool: &AutoreleasePool) -> bool {
        each!(Self, self, r => pool.contains(r))
    }

    pub fn is_in_any_of(&self, manager: &PoolManager) -> bool {
        each!(Self, self, r => manager.contains(r))
    }

    /// Returns the value, or the first value of a slice.
    pub fn first(&self) -> Option<&Object> {
        match self {
            Self::Sized(r) => Some(r),
            Self::Dyn(r) => Some(r.value()),
            Self::Slice(r) => r.first(),
            Self::Str(_) => None,
        }
    }

    pub fn unsized_too(self) -> Self {
        match self {
            Self::Sized(r) => Self::Dyn(unsize!(r => dyn Thing)),
            other => other,
        }
    }

    pub fn downgrade(&self) -> AnyWeak {
        each_to!(Self, self, AnyWeak, r => Ref::downgrade(r))
    }

    /// Gives the object another plan if this is its only reference; returns true if it is.
    pub fn set_plan_if_sole(&mut self, plan: Plan) -> bool {
        match self {
            Self::Sized(r) => Ref::get_mut(r).map(|value| value.set_plan(plan)),
            Self::Dyn(r) => Ref::get_mut(r).map(|value| value.value_mut().set_plan(plan)),
            Self::Slice(r) => Ref::get_mut(r).map(|values| set_plans(values, plan)),
            Self::Str(r) => Ref::get_mut(r).map(str::make_ascii_uppercase),
        }
        .is_some()
    }

    pub fn make_mut(&mut self, plan: Plan) {
        match self {
            Self::Sized(r) => Ref::make_mut(r).set_plan(plan),
            Self::Dyn(_) => {}
            Self::Slice(r) => set_plans(Ref::make_mut(r), plan),
            Self::Str(r) => Ref::make_mut(r).make_ascii_uppercase(),
        }
    }

    /// Autoreleases the object into a pool, and retains the lent reference.
    pub fn autorelease_in(self, pool: &AutoreleasePool) -> Self {
        each_to!(Self, self, Self, r => PoolRef::retain(pool.autorelease(r)))
    }

    pub fn autorelease(self, manager: &PoolManager) {
        each!(Self, self, r => manager.autorelease(r));
    }

    pub fn release_on(self, thread: ThreadHandle) {
        each!(Self, self, r => thread.release(r));
    }
}

fn set_plans(values: &mut [Object], plan: Plan) {
    values.iter_mut().for_each(|value| value.set_plan(plan));
}

impl AnyWeak {
    pub fn upgrade(&self) -> Option<Handle> {
        Some(each_to!(Self, self, Handle, w => w.upgrade()?))
    }

    pub fn unsized_too(self) -> Self {
        match self {
            Self::Sized(w) => Self::Dyn(unsize!(w => dyn Thing)),
            other => other,
        }
    }

    pub fn counts(&self) -> Counts {
        each!(Self, self, w => (w.strong_count(), w.weak_count()))
    }
}
