//! The count word.
//!
//! One `AtomicU64` holds all there is to know about who can reach an object:
//!
//! ```text
//! 63..32                          31..1                  0
//! strong references, less one     weak references        held
//! ```
//!
//! In one word, "strong 1, weak 0" can be read by one load, and proves that
//! nobody but the reader can reach the object: every way to gain a reference
//! starts from a counted one. With two words it could not be.
//!
//! Strong references are counted less one, as a signed number on top, so that the word is
//! negative if there is none, and if there are too many: then retain and release are one
//! instruction and a conditional jump each, as `Arc`'s are.
//!
//! * *alive*: strong ≥ 1, held 1.
//! * *dead, not yet destroyed* (just released, or queued): strong 0, held 1. No
//!   upgrade succeeds any more. If the last reference was the only one of any kind, the
//!   word may still say that it is there: nobody is left who could look.
//! * *being destroyed, or destroyed*: held 0, and one weak reference stands for
//!   the destructor and for the memory. A raw retain from inside the destructor
//!   is inert: without `held` no release is ever the last one.
//! * *not yet made* (`new_cyclic`): strong 0, held 0, weak ≥ 1.
//!
//! After publication every change is a read-modify-write, so every change
//! continues the release sequence of each earlier release; the exceptions are the
//! sole owner's stores, before the destructor and before it waits in a queue. Strong references abort at 2³¹,
//! weak ones at 2³⁰; what is above is headroom for threads that count up at once.

use crate::sync::FreeWitness;
use crate::sync::atomic::{AtomicU64, Ordering};

const STRONG: u64 = 1 << 32;
const WEAK: u64 = 1 << 1;
const HELD: u64 = 1;
const WEAKS: u64 = STRONG - WEAK;
const MAX_STRONG: u32 = 1 << 31;
const MAX_WEAK: u64 = 1 << 30;

/// The word without a reference, or a value.
const NONE: u64 = STRONG.wrapping_neg();

/// The word of an object that only one strong reference can reach.
const UNIQUE: u64 = HELD;

/// Whether misuse by raw-pointer callers is looked for.
const CHECKS: bool = cfg!(any(debug_assertions, feature = "checks"));

fn strong(word: u64) -> u32 {
    ((word >> 32) as u32).wrapping_add(1)
}

/// The word of an object that is held, with so many strong references and no weak one.
#[inline(always)]
fn held_by(n: u32) -> u64 {
    UNIQUE.wrapping_add(u64::from(n.wrapping_sub(1)) << 32)
}

fn weak(word: u64) -> u64 {
    (word & WEAKS) / WEAK
}

/// What the word would be without weak references.
fn but_weak(word: u64) -> u64 {
    word & !WEAKS
}

/// What a retain comes to that found `old`.
#[inline(always)]
fn retained(old: u64) -> Result<(), Misuse> {
    if CHECKS && strong(old) == 0 {
        return Err(Misuse::RetainedDead);
    }
    // The sum, so that the compiler needs the sign alone.
    if (old.wrapping_add(STRONG) as i64) < 0 {
        return Err(Misuse::TooManyStrong);
    }
    Ok(())
}

/// Returns whether the release that found `old` may have been the last.
#[inline(always)]
fn released(old: u64) -> Result<bool, Misuse> {
    if CHECKS && strong(old) == 0 {
        return Err(Misuse::ReleasedDead);
    }
    Ok((old.wrapping_add(STRONG.wrapping_neg()) as i64) < 0)
}

/// What a release of `n` strong references comes to that found `old`.
#[inline(always)]
fn released_many(old: u64, n: u32) -> Result<Released, Misuse> {
    if CHECKS && strong(old) < n {
        return Err(Misuse::ReleasedDead);
    }
    if but_weak(old) == held_by(n) {
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

/// See the module.
#[derive(Debug)]
pub(crate) struct Count(AtomicU64);

/// What a release found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// Others have references.
    Alive,
    /// That was the last strong reference: the caller destroys the value.
    Last,
    /// The references given up were the only ones of any kind; the word still
    /// says so. The caller destroys the object.
    Unique,
}

/// Misuse of the counts, which only raw-pointer calls can commit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Misuse {
    RetainedDead,
    ReleasedDead,
    TooManyStrong,
    TooManyWeak,
}

impl Count {
    /// A new object's: one strong reference.
    pub(crate) fn unique() -> Self {
        Self(AtomicU64::new(UNIQUE))
    }

    /// That of an object whose value is still to be made: one weak reference.
    pub(crate) fn uninitialized() -> Self {
        Self(AtomicU64::new(NONE + WEAK))
    }

    /// The value has been made: turns the maker's weak reference into a strong
    /// one.
    pub(crate) fn set_initialized(&self) {
        // Release: pairs with the Acquire of `upgrade`, which may find the value
        // by a weak reference that was there before. Model: cyclic_upgrade.
        self.0.fetch_add(HELD + STRONG - WEAK, Ordering::Release);
    }

    #[inline]
    pub(crate) fn retain(&self) -> Result<(), Misuse> {
        // Relaxed: who retains has a reference, and gives others the new one by
        // means that synchronise.
        retained(self.0.fetch_add(STRONG, Ordering::Relaxed))
    }

    /// Gives up one strong reference. If this says so, the caller has to ask
    /// [`Count::was_last`]; else others have references.
    #[inline]
    pub(crate) fn release(&self) -> Result<bool, Misuse> {
        // Most objects end where they began, by a load.
        if self.is_all(1) {
            return Ok(true);
        }
        // An addition, as the compiler does not see the sign of a difference.
        // Release: pairs with the Acquire in `begin_destruction` and `is_all`, so that all uses of
        // the value come before its destructor. Model: retain_release_last.
        released(self.0.fetch_add(STRONG.wrapping_neg(), Ordering::Release))
    }

    /// After `release` has said that it may be: whether that was the last reference, and the
    /// caller destroys the value.
    #[inline]
    pub(crate) fn was_last(&self) -> bool {
        // Relaxed: only the thread that made the last release can observe this value; `begin_destruction`
        // acquires what others did before.
        let word = self.0.load(Ordering::Relaxed);
        // None; or one, if it was the only one of any kind: that is not counted down.
        let but_one = word.wrapping_add(STRONG) & !STRONG;
        but_weak(but_one) == HELD
    }

    /// Whether `n` strong references are all that there are, of both kinds.
    #[inline(always)]
    pub(crate) fn is_all(&self, n: u32) -> bool {
        // Acquire: pairs with the Release of every release before, as in `begin_destruction`.
        // Model: drain_load_only.
        self.0.load(Ordering::Acquire) == held_by(n)
    }

    /// Gives up `n` strong references at once; without a read-modify-write if
    /// they are all that there are.
    #[inline]
    pub(crate) fn release_many(&self, n: u32) -> Result<Released, Misuse> {
        if self.is_all(n) {
            return Ok(Released::Unique);
        }
        // Release: as in `release`. The result of this operation alone decides.
        // Model: drain_load_only.
        let old = self.0.fetch_sub(u64::from(n) * STRONG, Ordering::Release);
        released_many(old, n)
    }

    /// For a sole owner: what `release` would have left, so that a release too many is
    /// found while the object waits.
    pub(crate) fn release_unique(&self) {
        // Relaxed: nobody else can see it.
        self.0.store(NONE + HELD, Ordering::Relaxed);
    }

    /// For a sole owner, just before the destructor.
    #[inline]
    pub(crate) fn begin_unique_destruction(&self) {
        // Relaxed: nobody else can see it.
        self.0.store(NONE + WEAK, Ordering::Relaxed);
    }

    /// Before the destructor of a dead object. Whether there is nobody with a
    /// weak reference either; if there is, the caller now has one of its own,
    /// for the time of the destructor.
    #[inline]
    pub(crate) fn begin_destruction(&self) -> bool {
        // Acquire: pairs with the Release of every release and of every weak
        // one; this reads our own last release or something after it, which is in
        // the release sequence of them all. A load, not a fence: ThreadSanitizer
        // does not know fences. Model: retain_release_last.
        let is_unique = self.0.load(Ordering::Acquire) & WEAKS == 0;
        if !is_unique {
            // Relaxed: publishes nothing; upgrades fail by `strong` already.
            self.0.fetch_add(WEAK - HELD, Ordering::Relaxed);
        }
        is_unique
    }

    /// A weak reference from a strong one.
    #[inline]
    pub(crate) fn downgrade(&self) -> Result<(), Misuse> {
        // Relaxed: as `retain`.
        let old = self.0.fetch_add(WEAK, Ordering::Relaxed);
        if weak(old) >= MAX_WEAK {
            return Err(Misuse::TooManyWeak);
        }
        Ok(())
    }

    /// Gives up one weak reference. Whether the memory is now to be freed.
    #[inline]
    pub(crate) fn release_weak(&self) -> bool {
        // Release: pairs with the Acquire below and in `begin_destruction`, so that every use
        // of the memory comes before its end. Model: weak_outlives_strong.
        let old = self.0.fetch_sub(WEAK, Ordering::Release);
        if old & (WEAKS + HELD) != WEAK {
            return false;
        }
        // Acquire: pairs with the Release of every weak release.
        // Model: weak_outlives_strong.
        self.0.load(Ordering::Acquire);
        true
    }

    /// One more strong reference, if the object is alive.
    #[inline]
    pub(crate) fn upgrade(&self) -> Result<bool, Misuse> {
        let mut word = self.0.load(Ordering::Relaxed);
        while can_be_upgraded(word)? {
            // Acquire: pairs with the Release of `set_initialized`. Model: cyclic_upgrade.
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

    /// Takes the value away from a sole strong reference: no upgrade succeeds any
    /// more, and the caller has a weak reference to the memory.
    pub(crate) fn take_value(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            if but_weak(word) != UNIQUE {
                return false;
            }
            // Acquire: pairs with the Release of every release before, as the
            // value is about to be moved. Model: take_value_race.
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

    /// Whether the caller's strong reference is the only one of any kind.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        // Acquire: pairs with the Release of every release before, as the value
        // is about to be written. Model: get_mut_race.
        self.0.load(Ordering::Acquire) == UNIQUE
    }

    pub(crate) fn strong(&self) -> usize {
        strong(self.0.load(Ordering::Relaxed)) as usize
    }

    /// 0 if there is no strong reference.
    pub(crate) fn weak(&self) -> usize {
        let word = self.0.load(Ordering::Relaxed);
        if strong(word) == 0 {
            0
        } else {
            weak(word) as usize
        }
    }

    /// Just before the memory is given back.
    #[inline]
    pub(crate) fn freed(&mut self) {
        // The count is what a header begins with.
        crate::sync::note_freed(std::ptr::NonNull::from(&mut *self).cast());
        self.0.freed();
    }
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
    fn with_too_many_references_none_is_the_last() {
        let count = Count(AtomicU64::new(word(MAX_STRONG + 2, 0)));
        assert!(count.release().unwrap(), "it looks so");
        assert!(!count.was_last());
    }

    #[test]
    fn a_value_that_is_taken_leaves_what_a_destroyed_one_does() {
        let count = Count::unique();
        count.downgrade().unwrap();
        assert!(count.take_value());
        let word = count.0.load(Ordering::Relaxed);
        assert_eq!(word, NONE + 2 * WEAK, "one of them is the taker's");
    }

    #[test]
    fn a_retain_from_the_destructor_does_not_bring_it_back() {
        for weaks in [0, 1] {
            let count = Count(AtomicU64::new(word(1, weaks)));
            assert!(count.release().unwrap() && count.was_last());
            if count.begin_destruction() {
                count.begin_unique_destruction();
            }
            // A raw retain and release.
            count.0.fetch_add(STRONG, Ordering::Relaxed);
            assert!(!count.upgrade().unwrap());
            assert!(count.release().unwrap(), "it looks so");
            assert!(!count.was_last(), "it dies once");
            assert_eq!(count.release_weak(), weaks == 0);
        }
    }
}
