//! Asymmetric fences: a *light* one, which costs many readers next to nothing, and a *heavy* one, by which the
//! rare other side pays for both.
//!
//! A thread's first light fence is an ordinary one, and notes that the next ones are left out. A heavy fence
//! that finds such notes revokes them and has the kernel fence all threads ([`membarrier`]); without notes it is an
//! ordinary fence, too. So nobody pays for readers that are not there. Where the kernel refuses, no thread
//! notes anything. (liburcu and folly have such fences; the notes are like those of a biased lock.)
//!
//! ```text
//! NONE ── light fence ──> QUICK ── heavy fence ──> its caller's mark ── the kernel's fence is done ──> NONE
//! ```
//!
//! # Why a heavy fence that finds no note sees every light one
//! The reader writes, then looks at its note; the caller of the heavy fence makes a fence, then
//! looks at it. If the caller finds the note as it was before the reader's latest ordinary fence,
//! the reader's fence is the later one, so the reader has since read what the caller wrote. If
//! another heavy fence has removed the note, the kernel fenced the reader in between. If that was
//! after the reader's write, the write is visible to the caller by now; if before, the reader
//! looked at its note later, found it revoked, and made an ordinary fence. Each caller has a mark
//! of its own, so that none removes a note that another caller has just begun to revoke.

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
        membarrier::point();
        // Relaxed: the kernel's fence orders it. Model: epoch_quick.
        if self.0.load(Ordering::Relaxed) != QUICK {
            self.ordinary();
        }
        membarrier::point();
    }

    #[cold]
    #[inline(never)]
    fn ordinary(&self) {
        if membarrier::is_granted() {
            // Relaxed: the fence orders it. An exchange, as loom lets a store come between the two halves of the
            // exchange in `heavy`. Model: epoch_quick.
            self.0.swap(QUICK, Ordering::Relaxed);
        }
        // SeqCst: of a reader and the caller of a heavy fence, the later one sees what the other has written.
        // Model: epoch_quick.
        fence(Ordering::SeqCst);
    }

    /// Returns whether the thread may have left a fence out, and revokes its note.
    fn revoke(&self, mark: usize) -> bool {
        // Acquire: pairs with the Release in `heavy`, so that what the kernel's fence has made visible to another
        // thread is visible to this one. Model: epoch_quick.
        let note = self.0.load(Ordering::Acquire);
        if note == QUICK {
            // Relaxed: the kernel's fence orders it. Whatever value this replaces, the fence comes
            // later.
            self.0.store(mark, Ordering::Relaxed);
        }
        note != NONE
    }
}

/// A fence that is sequentially consistent with every other one, light or heavy. `lights` returns
/// the light fences of all threads. Returns false if the kernel has refused it: the caller must
/// then do as if other threads' accesses before their light fences were not visible.
pub(crate) fn heavy<'l, L: Iterator<Item = &'l LightFence>>(lights: impl Fn() -> L) -> bool {
    // SeqCst: of a reader and the caller of a heavy fence, the later one sees what the other has
    // written. Model: epoch_quick.
    fence(Ordering::SeqCst);
    let local = 0_u8;
    // No other call that runs now has this address.
    let mark = (&raw const local).addr();
    // Reads the list after the fence: a reader that is not in it yet makes an ordinary fence
    // later.
    if lights().filter(|light| light.revoke(mark)).count() == 0 {
        return true;
    }
    if !membarrier::fence_all() {
        return false;
    }
    // A reader may have set its note again meanwhile.
    let revoked = |light: &&LightFence| light.0.load(Ordering::Relaxed) == mark;
    for LightFence(note) in lights().filter(revoked) {
        // Release: pairs with the Acquire in `revoke`. Model: epoch_quick.
        _ = note.compare_exchange(mark, NONE, Ordering::Release, Ordering::Relaxed);
    }
    true
}
