//! The count word.
//!
//! One `AtomicU64` holds everything that determines which threads can reach an object:
//!
//! ```text
//! 63..32                          31..1                  0
//! strong references, less one     weak references        held (the value exists)
//! ```
//!
//! As the counts share a word, a single load can read "strong 1, weak 0", which proves that only
//! the reader can reach the object: every new reference comes from a counted one (invariant 6 of
//! [`object`](crate::object)). Two words would not allow that proof.
//!
//! The upper half is a signed number: the count of strong references less one. So the word is
//! negative if there is no strong reference, or if there are too many. Retain and release take one
//! instruction and a conditional jump each, like those of `Arc`.
//!
//! * *alive*: strong ≥ 1, held 1.
//! * *dead, not yet destroyed* (just released, or queued): strong 0, held 1. No upgrade succeeds
//!   any more. If the last reference was the only one of any kind, the word may still count it, as
//!   no other thread can read the word.
//! * *being destroyed, or destroyed*: held 0, and one weak reference stands for the destructor and
//!   for the memory. A raw retain inside the destructor (which builds with checks abort) does not
//!   revive the object: while `held` is 0, no release is the last one.
//! * *uninitialized* (`new_cyclic`): strong 0, held 0, weak ≥ 1.
//!
//! After publication every change is a read-modify-write, so every change continues the release
//! sequence of each earlier release. The only exceptions are the stores of a unique owner, before
//! the destructor and before the object waits in a queue. More than 2³¹ strong or 2³⁰ weak
//! references abort the process; higher counts are headroom for threads that add some at once.

use crate::ledger::CHECKS;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{FreeWitness, described};

const STRONG: u64 = 1 << 32;
const WEAK: u64 = 1 << 1;
const HELD: u64 = 1;
const WEAKS: u64 = STRONG - WEAK;
const MAX_STRONG: u32 = 1 << 31;
const MAX_WEAK: u64 = 1 << 30;

/// The word without any reference, and not held.
const NONE: u64 = STRONG.wrapping_neg();

/// The word of an object whose only reference of any kind is a strong one.
const UNIQUE: u64 = HELD;

/// Returns the number of strong references.
const fn strong(word: u64) -> u32 {
    ((word >> 32) as u32).wrapping_add(1)
}

/// Returns the word of an object that is not destroyed, with `n` strong references and no weak one.
#[inline(always)]
fn held_by(n: u32) -> u64 {
    UNIQUE.wrapping_add(u64::from(n.wrapping_sub(1)) << 32)
}

/// Returns the number of weak references.
fn weak(word: u64) -> u64 {
    (word & WEAKS) / WEAK
}

/// Returns the word without its weak references.
fn without_weak(word: u64) -> u64 {
    word & !WEAKS
}

/// Returns whether `old` counts fewer than `n` strong references. Only builds with checks look.
#[inline(always)]
fn lacks(old: u64, n: u32) -> bool {
    CHECKS && strong(old) < n
}

/// Returns the result of a retain that found `old`.
#[inline(always)]
fn retained(old: u64) -> Result<(), Misuse> {
    if lacks(old, 1) {
        return Err(Misuse::RetainedDead);
    }
    // Tests the new word, not `old`: the compiler can use the sign flag of the atomic addition.
    if (old.wrapping_add(STRONG) as i64) < 0 {
        return Err(Misuse::TooManyStrong);
    }
    Ok(())
}

/// Returns whether the release that found `old` may have been the last.
#[inline(always)]
fn released(old: u64) -> Result<bool, Misuse> {
    if lacks(old, 1) {
        return Err(Misuse::ReleasedDead);
    }
    Ok((old.wrapping_add(STRONG.wrapping_neg()) as i64) < 0)
}

/// Returns the result of a release of `n` strong references that found `old`.
#[inline(always)]
fn released_many(old: u64, n: u32) -> Result<Released, Misuse> {
    if lacks(old, n) {
        return Err(Misuse::ReleasedDead);
    }
    if without_weak(old) == held_by(n) {
        Ok(Released::Last)
    } else {
        Ok(Released::Alive)
    }
}

/// Returns whether an object with this word is alive.
#[inline(always)]
fn can_be_upgraded(word: u64) -> Result<bool, Misuse> {
    if strong(word) == 0 || word & HELD == 0 {
        Ok(false)
    } else if strong(word) >= MAX_STRONG {
        Err(Misuse::TooManyStrong)
    } else {
        Ok(true)
    }
}

/// The count word of an object.
#[derive(Debug)]
pub(crate) struct Count(AtomicU64);

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// Other strong references exist.
    Alive,
    /// The released reference was the last strong one: the caller must destroy the value.
    Last,
    /// The released references were the only ones of any kind, and the word still counts them. The
    /// caller must destroy the object.
    Unique,
}

/// Misuse of the counts, which is possible only through raw pointers or leaked references.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Misuse {
    RetainedDead,
    ReleasedDead,
    TooManyStrong,
    TooManyWeak,
}

impl Count {
    /// Returns the count of a new object: one strong reference.
    pub(crate) fn unique() -> Self {
        Self(AtomicU64::new(UNIQUE))
    }

    /// Returns the count of an object without a value yet: one weak reference.
    pub(crate) fn uninitialized() -> Self {
        Self(AtomicU64::new(NONE + WEAK))
    }

    /// Turns the weak reference that [`Count::uninitialized`] has counted into a strong one, once
    /// the value has been written.
    pub(crate) fn set_initialized(&self) {
        // Release: pairs with the Acquire of `upgrade`, which may find the value through an older
        // weak reference. Model: cyclic_upgrade.
        self.0.fetch_add(HELD + STRONG - WEAK, Ordering::Release);
    }

    /// Adds a strong reference; the caller has one.
    #[inline]
    pub(crate) fn retain(&self) -> Result<(), Misuse> {
        // Relaxed: the caller has a reference, and passes the new one on by means that synchronize.
        retained(self.0.fetch_add(STRONG, Ordering::Relaxed))
    }

    /// Gives up one strong reference. Returns true if it may have been the last one: the caller
    /// must then call [`Count::was_last`]. Otherwise other strong references exist.
    #[inline]
    pub(crate) fn release(&self) -> Result<bool, Misuse> {
        // Adds a negative number: the compiler does not use the sign flag of a subtraction.
        // Release: pairs with the Acquire in `begin_destruction` and `is_all`, so that all uses of
        // the value happen before its destructor. Model: retain_release_last.
        released(self.0.fetch_add(STRONG.wrapping_neg(), Ordering::Release))
    }

    /// Returns whether a release that may have been the last one was the last; if so, the caller
    /// must destroy the value.
    #[inline]
    pub(crate) fn was_last(&self) -> bool {
        // Relaxed: of the threads that call this, only the one that made the last release can read
        // `NONE + HELD`; `begin_destruction` acquires the earlier operations of other threads. Any
        // other word means more references than can be counted, or a value destroyed already.
        without_weak(self.0.load(Ordering::Relaxed)) == NONE + HELD
    }

    /// Returns whether `n` strong references are the only references of any kind.
    #[inline(always)]
    pub(crate) fn is_all(&self, n: u32) -> bool {
        // Acquire: pairs with the Release of every earlier release. Model: drain_duplicates.
        self.0.load(Ordering::Acquire) == held_by(n)
    }

    /// Gives up `n` strong references at once. Makes no read-modify-write if they are the only
    /// references of any kind.
    #[inline]
    pub(crate) fn release_many(&self, n: u32) -> Result<Released, Misuse> {
        if self.is_all(n) {
            return Ok(Released::Unique);
        }
        // Release: pairs with the Acquire in `begin_destruction`, so that all uses of the value
        // happen before its destructor. Only `old`, not the word that `is_all` has read, says
        // whether this release was the last. Model: drain_load_only.
        let old = self.0.fetch_sub(u64::from(n) * STRONG, Ordering::Release);
        released_many(old, n)
    }

    /// Stores the word that `release` would have left, so that one release too many is detected
    /// while the object waits in a queue. To be called by a unique owner.
    pub(crate) fn release_unique(&self) {
        // Relaxed: no other thread can reach the word.
        self.0.store(held_by(0), Ordering::Relaxed);
    }

    /// Begins the destruction of the value. To be called by a unique owner, before the destructor.
    #[inline]
    pub(crate) fn begin_unique_destruction(&self) {
        // Relaxed: no other thread can reach the word.
        self.0.store(NONE + WEAK, Ordering::Relaxed);
    }

    /// Begins the destruction of a dead object. Returns whether the caller is its unique owner. If
    /// not, weak references exist, and the caller now owns a weak reference, too, while the
    /// destructor runs.
    #[inline]
    pub(crate) fn begin_destruction(&self) -> bool {
        // Acquire: pairs with the Release of every release, strong or weak. This load reads the
        // last release or a later value, which is in the release sequence of every release; or
        // `is_all` has found a unique owner, and acquired every release. There is no fence, as
        // ThreadSanitizer does not support fences. Model: retain_release_last.
        let is_unique = self.0.load(Ordering::Acquire) & WEAKS == 0;
        if !is_unique {
            // Relaxed: publishes nothing; upgrades already fail, as `strong` is 0.
            self.0.fetch_add(WEAK - HELD, Ordering::Relaxed);
        }
        is_unique
    }

    /// Adds a weak reference; the caller has a reference.
    #[inline]
    pub(crate) fn downgrade(&self) -> Result<(), Misuse> {
        // Relaxed: the caller has a reference, and passes the new one on by means that synchronize.
        let old = self.0.fetch_add(WEAK, Ordering::Relaxed);
        if weak(old) >= MAX_WEAK {
            return Err(Misuse::TooManyWeak);
        }
        Ok(())
    }

    /// Gives up one weak reference. Returns whether the caller must free the memory.
    #[inline]
    pub(crate) fn release_weak(&self) -> bool {
        // Release: pairs with the Acquire below and in `begin_destruction`, so that every use of
        // the memory happens before it is freed. Model: weak_outlives_strong.
        let old = self.0.fetch_sub(WEAK, Ordering::Release);
        if old & (WEAKS + HELD) != WEAK {
            return false;
        }
        // Acquire: pairs with the Release of every weak release. Model: weak_outlives_strong.
        self.0.load(Ordering::Acquire);
        true
    }

    /// Adds a strong reference if the object is alive; the caller has a weak one.
    #[inline]
    pub(crate) fn upgrade(&self) -> Result<bool, Misuse> {
        let mut word = self.0.load(Ordering::Relaxed);
        while can_be_upgraded(word)? {
            // Acquire: pairs with the Release in `set_initialized`. Model: cyclic_upgrade.
            match self.0.compare_exchange_weak(
                word,
                word.wrapping_add(STRONG),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(true),
                Err(now) => word = now,
            }
        }
        Ok(false)
    }

    /// If the caller's strong reference is the only strong one, turns it into a weak reference and
    /// ownership of the value, and returns true; no upgrade succeeds afterwards.
    pub(crate) fn take_value(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if without_weak(word) != UNIQUE {
                return false;
            }
            // Acquire: pairs with the Release of every earlier release, as the value is about to be
            // moved. Model: take_value_race.
            match self.0.compare_exchange_weak(
                word,
                NONE + WEAK + (word & WEAKS),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Returns whether the caller's strong reference is the only one of any kind.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        // Acquire: pairs with the Release of every earlier release, as the value is about to be
        // written. Model: get_mut_race.
        self.0.load(Ordering::Acquire) == UNIQUE
    }

    /// Returns the number of strong references.
    pub(crate) fn strong(&self) -> usize {
        strong(self.0.load(Ordering::Relaxed)) as usize
    }

    /// Returns the number of weak references; 0 if there is no strong reference.
    pub(crate) fn weak(&self) -> usize {
        let word = self.0.load(Ordering::Relaxed);
        if strong(word) == 0 {
            0
        } else {
            weak(word) as usize
        }
    }

    /// Tells the model checker that the memory is about to be freed.
    #[inline]
    pub(crate) fn freed(&mut self) {
        // The count is the first field of the header, so both have the same address.
        crate::sync::note_freed(std::ptr::NonNull::from(&mut *self).cast());
        self.0.freed();
    }
}

described! {
    use crate::layout::{Entry, entries};

    pub(crate) const NOTE: &[Entry] = entries! {
        count {
            strong_shift = STRONG.trailing_zeros(),
            strong_bias = strong(0),
            weak_shift = WEAK.trailing_zeros(),
            weak_mask = WEAKS / WEAK,
            held_mask = HELD,
            max_strong = MAX_STRONG,
            max_weak = MAX_WEAK,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_do_not_overlap() {
        assert_eq!(NONE | WEAKS | HELD, u64::MAX);
        assert_eq!((NONE & WEAKS, NONE & HELD, WEAKS & HELD), (0, 0, 0));
        const { assert!(MAX_WEAK < WEAKS / WEAK) };
    }

    fn word(strong: u32, weak: u64) -> u64 {
        held_by(strong) + weak * WEAK
    }

    #[test]
    fn limits_are_reported_not_passed() {
        let count = Count(AtomicU64::new(word(MAX_STRONG, 0)));
        assert!(matches!(count.upgrade(), Err(Misuse::TooManyStrong)));
        assert!(matches!(count.retain(), Err(Misuse::TooManyStrong)));
        assert!(matches!(count.retain(), Err(Misuse::TooManyStrong)));
        let count = Count(AtomicU64::new(word(1, MAX_WEAK)));
        assert!(matches!(count.downgrade(), Err(Misuse::TooManyWeak)));
        let count = Count(AtomicU64::new(word(MAX_STRONG - 1, 0)));
        assert!(count.retain().is_ok());
    }

    #[test]
    fn no_release_is_the_last_with_too_many_references() {
        let count = Count(AtomicU64::new(word(MAX_STRONG + 2, 0)));
        assert!(count.release().unwrap(), "it may have been the last");
        assert!(!count.was_last());
        // Nor does one get the value.
        let object = crate::Ref::new(7);
        // SAFETY: the object is alive.
        let count = unsafe { &crate::object::header::header(crate::Ref::thin(&object)).count };
        count.0.store(word(MAX_STRONG + 2, 0), Ordering::Relaxed);
        // SAFETY: the count has room for another handle.
        let other = unsafe { std::ptr::read(&raw const object) };
        assert_eq!(crate::Ref::into_inner(other), None);
        count.0.store(word(1, 0), Ordering::Relaxed);
    }

    #[test]
    fn taking_the_value_leaves_the_word_of_a_destroyed_object() {
        let count = Count::unique();
        count.downgrade().unwrap();
        assert!(count.take_value());
        let word = count.0.load(Ordering::Relaxed);
        assert_eq!(word, NONE + 2 * WEAK, "one weak reference is the caller's");
    }

    #[test]
    fn a_retain_in_the_destructor_does_not_revive_the_object() {
        for weaks in [0, 1] {
            let count = Count(AtomicU64::new(word(1, weaks)));
            assert!(count.release().unwrap() && count.was_last());
            assert_eq!(count.begin_destruction(), weaks == 0);
            if weaks == 0 {
                count.begin_unique_destruction();
            }
            // A raw retain, in a build without checks.
            count.0.fetch_add(STRONG, Ordering::Relaxed);
            assert!(!count.upgrade().unwrap());
            assert!(count.release().unwrap(), "it may have been the last");
            assert!(!count.was_last(), "it is destroyed once");
            assert_eq!(count.release_weak(), weaks == 0);
        }
    }
}
