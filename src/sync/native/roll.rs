//! Lists for readers outside of the process; no code of this crate walks them.

use std::cell::Cell;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A linked list of structures of one kind that a reader outside of the process could not find
/// otherwise. Such a reader stops the process first.
///
/// Intrusive, so that adding or removing a structure allocates nothing: the global allocator is
/// foreign code, which may use this crate, and must not run under the list's lock.
#[repr(C)]
pub(crate) struct Roll {
    first: Cell<*const Link>,
    lock: Mutex<()>,
}

/// The links of a structure to its neighbors in a [`Roll`]; changed only under the roll's lock.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Link {
    next: Cell<*const Link>,
    prev: Cell<*const Link>,
}

// SAFETY: `first`, and the cells of all links in the list, are accessed under the lock only.
unsafe impl Sync for Roll {}

impl Roll {
    pub(crate) const fn new() -> Self {
        Self {
            first: Cell::new(ptr::null()),
            lock: Mutex::new(()),
        }
    }

    /// Adds a structure by its link.
    ///
    /// # Safety
    /// The link is in no list, and does not move until [`remove`](Self::remove) is called; no
    /// exclusive reference to the link is made or used until then.
    pub(crate) unsafe fn add(&self, link: &Link) {
        let _locked = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let next = self.first.get();
        link.next.set(next);
        link.prev.set(ptr::null());
        // SAFETY: links in the list exist, by the contract, and the lock is held.
        if let Some(next) = unsafe { next.as_ref() } {
            next.prev.set(link);
        }
        self.first.set(link);
    }

    /// Removes a structure.
    ///
    /// # Safety
    /// [`add`](Self::add) has added the link to this list, and it was not removed since.
    pub(crate) unsafe fn remove(&self, link: &Link) {
        let _locked = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, prev) = (link.next.get(), link.prev.get());
        // SAFETY: links in the list exist, by the contract of `add`, and the lock is held.
        match unsafe { prev.as_ref() } {
            Some(prev) => prev.next.set(next),
            None => self.first.set(next),
        }
        // SAFETY: links in the list exist, by the contract of `add`, and the lock is held.
        if let Some(next) = unsafe { next.as_ref() } {
            next.prev.set(prev);
        }
    }
}

impl Link {
    pub(crate) const fn new() -> Self {
        Self {
            next: Cell::new(ptr::null()),
            prev: Cell::new(ptr::null()),
        }
    }
}

crate::sync::described! {
    impl Roll {
        /// The offset of the first link's address.
        pub(crate) const FIRST: usize = std::mem::offset_of!(Self, first);
    }

    impl Link {
        /// The offset of the next link's address.
        pub(crate) const NEXT: usize = std::mem::offset_of!(Self, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(roll: &Roll) -> Vec<*const Link> {
        let next = |link: &*const Link| {
            // SAFETY: the tests' links live as long as their list.
            let next = unsafe { (**link).next.get() };
            (!next.is_null()).then_some(next)
        };
        let first = roll.first.get();
        std::iter::successors((!first.is_null()).then_some(first), next).collect()
    }

    #[test]
    fn links_are_added_in_front_and_removed_anywhere() {
        let links = [const { Link::new() }; 4];
        let at = |i: usize| ptr::from_ref(&links[i]);
        let roll = Roll::new();
        // SAFETY: the links outlive the roll; the test removes only links that are in it, and adds
        // only links that are not.
        unsafe {
            links.iter().for_each(|link| roll.add(link));
            assert_eq!(addresses(&roll), [at(3), at(2), at(1), at(0)]);
            roll.remove(&links[2]);
            assert_eq!(addresses(&roll), [at(3), at(1), at(0)]);
            roll.remove(&links[3]);
            roll.remove(&links[0]);
            assert_eq!(addresses(&roll), [at(1)]);
            roll.remove(&links[1]);
            assert_eq!(addresses(&roll), [] as [*const Link; 0]);
            roll.add(&links[2]);
            assert_eq!(addresses(&roll), [at(2)]);
            roll.remove(&links[2]);
        }
    }
}
