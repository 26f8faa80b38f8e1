//! Thread-locals that, like native ones, can be accessed at any time in a thread's life. shuttle
//! drops its own before the statics, whose destructors use them.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;

std::thread_local! {
    /// The values of an execution, by their statics' addresses and their threads' numbers. All
    /// threads of an execution are coroutines on one thread of the operating system.
    static VALUES: RefCell<HashMap<(usize, usize), Box<dyn Any>>> = RefCell::default();
}

pub(crate) struct Local<T: 'static>(fn() -> T);

impl<T: 'static> Local<T> {
    pub(crate) const fn new(make: fn() -> T) -> Self {
        Self(make)
    }

    pub(crate) fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        let thread = usize::from(shuttle::current::me());
        let key = (ptr::from_ref(self).addr(), thread);
        let find = || {
            VALUES.with_borrow(|values| {
                let value: &dyn Any = &**values.get(&key)?;
                value.downcast_ref::<T>().map(ptr::from_ref)
            })
        };
        let value = find().unwrap_or_else(|| {
            let value = Box::new((self.0)());
            VALUES.with_borrow_mut(|values| values.insert(key, value));
            find().expect("it has just been inserted")
        });
        // SAFETY: the value is in a box, which stays in the map until the next execution begins.
        f(unsafe { &*value })
    }
}

/// Drops the values of the last execution.
pub(super) fn begin_execution() {
    drop(VALUES.take());
}
