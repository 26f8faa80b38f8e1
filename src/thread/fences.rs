//! Asymmetric fences: a *light* one, which costs its many callers next to nothing, and a *heavy*
//! one, whose rare callers pay for both.
//!
//! A thread's first light fence is an ordinary one, and notes that the next ones are left out. A
//! heavy fence that finds such notes revokes them and has the kernel fence all threads
//! ([`membarrier`]); without notes it is an ordinary fence. Where the kernel refuses, no thread
//! notes anything. (liburcu and folly have such fences; the notes are like those of a biased lock.)
//!
//! ```text
//! NONE ── light fence ──> QUICK ── heavy fence ──> its caller's mark ── the kernel's fence is done ──> NONE
//! ```
//!
//! # Why a heavy fence that finds no note sees every light one
//! The reader writes, then reads its note; the caller of the heavy fence makes a fence, then reads
//! the note. Suppose that the caller finds no note. Either it has read the value from before the
//! reader's latest ordinary fence: then the reader's fence is the later one, so the reader sees
//! what the caller wrote. Or another heavy fence has removed the note: then the kernel has fenced
//! the reader. If the reader wrote before that fence, the caller sees the write. If not, the reader
//! read its note later, found it revoked, and made an ordinary fence: the first case. Each caller
//! has its own mark, and removes no note that another caller has just begun to revoke.

use crate::sync::atomic::{AtomicUsize, Ordering, fence};
use crate::sync::membarrier;

/// The thread makes ordinary fences.
const NONE: usize = 0;
/// The thread leaves its fences out.
const QUICK: usize = 1;

/// One thread's light fences: [`NONE`], [`QUICK`], or the mark of a heavy fence that revokes.
#[derive(Default)]
pub(crate) struct LightFence(AtomicUsize);

impl LightFence {
    /// A fence that is sequentially consistent with every [`heavy`] one. Owner only.
    #[inline(always)]
    pub(crate) fn fence(&self) {
        // Relaxed: the kernel's fence orders this load. Model: epoch_quick.
        if membarrier::at_point(|| self.0.load(Ordering::Relaxed)) != QUICK {
            self.ordinary();
        }
    }

    #[cold]
    #[inline(never)]
    fn ordinary(&self) {
        if membarrier::is_granted() {
            // Relaxed: the fence below orders the note. An exchange, as loom lets a store come
            // between the two halves of the exchange in `heavy`. Model: epoch_quick.
            self.0.swap(QUICK, Ordering::Relaxed);
        }
        // SeqCst: of a reader and the caller of a heavy fence, the later one sees what the other
        // has written. Model: epoch_quick.
        fence(Ordering::SeqCst);
    }

    /// Returns whether the thread may have left a fence out, and revokes its note.
    fn revoke(&self, mark: usize) -> bool {
        // Acquire: pairs with the Release in `heavy`, so that what the kernel's fence has made
        // visible to the thread that removed the note is visible to this one. Model: epoch_quick.
        let note = self.0.load(Ordering::Acquire);
        if note == QUICK {
            // Relaxed: the kernel's fence orders this store, and comes after the store of whatever
            // value this store replaces.
            self.0.store(mark, Ordering::Relaxed);
        }
        note != NONE
    }
}

/// A fence that is sequentially consistent with every other one, light or heavy. `lights` returns
/// the light fences of all threads. Returns false if the kernel has refused its fence: the caller
/// must then assume that it does not see what other threads did before their light fences.
pub(crate) fn heavy<'l, L: Iterator<Item = &'l LightFence>>(lights: impl Fn() -> L) -> bool {
    // SeqCst: of a reader and the caller of a heavy fence, the later one sees what the other has
    // written. Model: epoch_quick.
    fence(Ordering::SeqCst);
    let local = 0_u8;
    // No other call of `heavy` that runs at this time has this address.
    let mark = (&raw const local).addr();
    // Reads the list after the fence: a reader that enters the list later makes an ordinary fence
    // after that.
    if lights().filter(|light| light.revoke(mark)).count() == 0 {
        return true;
    }
    if !membarrier::fence_all() {
        return false;
    }
    // Skips notes that their readers have set again meanwhile.
    let revoked = |light: &&LightFence| light.0.load(Ordering::Relaxed) == mark;
    for LightFence(note) in lights().filter(revoked) {
        // Release: pairs with the Acquire in `revoke`. Model: epoch_quick.
        _ = note.compare_exchange(mark, NONE, Ordering::Release, Ordering::Relaxed);
    }
    true
}
