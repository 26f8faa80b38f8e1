//! The results of drains.

use crate::unwind::{FirstPanic, Payload, report, resume_or_report};

/// The result of a drain.
#[must_use]
pub(crate) struct Outcome {
    /// Entries released.
    pub(crate) released: usize,
    /// The first panic.
    pub(crate) panic: Option<Payload>,
    /// True if destructors have fed the drain beyond its limit, so that it was cut off.
    pub(crate) is_cut: bool,
}

impl Outcome {
    /// Resumes the panic, if there was one; returns the number of entries released.
    #[inline]
    pub(crate) fn resume(self) -> usize {
        self.panic.into_iter().for_each(resume_or_report);
        self.released
    }

    /// Reports the panic, if there was one; returns the number of entries released.
    pub(crate) fn report(self) -> usize {
        self.panic.into_iter().for_each(report);
        self.released
    }

    /// Runs the drain `next`, and returns the combined outcome of both drains.
    pub(super) fn and(self, next: impl FnOnce() -> Self) -> Self {
        let mut panics = FirstPanic::default();
        let (is_cut, released) = (self.is_cut, self.keep(&mut panics));
        let next = next();
        Self {
            is_cut: is_cut || next.is_cut,
            released: released + next.keep(&mut panics),
            panic: panics.into_first(),
        }
    }

    /// Passes the panic, if there was one, to `panics`; returns the number of entries released.
    pub(crate) fn keep(self, panics: &mut FirstPanic) -> usize {
        self.panic.into_iter().for_each(|p| panics.note(p));
        self.released
    }
}

/// The result of [`serve`](super::engine::serve).
#[derive(Default)]
pub(crate) struct Served {
    /// How many generations it took until nothing was left; 0 if there was nothing to do.
    pub(crate) generations: u32,
    /// The number of released objects that had died unnoticed.
    pub(crate) reviewed: usize,
}
