//! Checks of pool entries, in debug builds and with the feature `checks`.

use crate::ledger::CHECKS;
use crate::object::checks::header_in;
use crate::object::header::Thin;

/// Aborts, naming the pool, if the header of an entry's object was overwritten.
#[inline(always)]
pub(super) fn entry<'n>(thin: Thin, pool: impl FnOnce() -> &'n str) {
    if CHECKS {
        // SAFETY: alive by the entry's reference (invariant 5 of `pool`).
        unsafe { header_in(thin, || format!("an entry of pool {:?}", pool())) };
    }
}
