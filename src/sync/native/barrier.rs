//! Asymmetric fences: a *light* one, which costs readers nothing, and a *heavy* one, by which the rare
//! other side pays for both.
//!
//! On Linux, the heavy fence is the system call `membarrier`: when it returns, every thread of the process
//! has executed a full fence since it was called. So a light fence only has to keep the compiler from
//! moving accesses across it. If the kernel, or a filter of system calls, refuses the registration, and
//! on other systems, both are ordinary fences. (liburcu and folly do the same.)

use super::atomic::{AtomicUsize, Ordering, fence};
use std::sync::atomic::compiler_fence;

/// Not chosen yet.
const UNKNOWN: usize = 0;
/// `membarrier`, and fences of the compiler.
const ASYMMETRIC: usize = 1;
/// Ordinary fences.
const SYMMETRIC: usize = 2;

/// The kind of fences, chosen once for the process.
static KIND: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// A fence that is sequentially consistent with every [`heavy`] fence.
#[inline(always)]
pub(crate) fn light() {
    // Relaxed: publishes nothing.
    if KIND.load(Ordering::Relaxed) == ASYMMETRIC {
        compiler_fence(Ordering::SeqCst);
    } else {
        ordinary();
    }
}

/// Makes an ordinary fence, which is enough for either kind.
#[inline(never)]
fn ordinary() {
    kind();
    fence(Ordering::SeqCst);
}

/// A fence that is sequentially consistent with every other one, light or heavy. Returns false if the
/// kernel has refused it, which it never does once the process is registered: the caller must then do
/// as if other threads' accesses before their light fences were not visible.
pub(crate) fn heavy() -> bool {
    fence(Ordering::SeqCst);
    kind() == SYMMETRIC || system::barrier()
}

/// Returns the kind of fences, which the first call chooses.
fn kind() -> usize {
    // Relaxed: publishes nothing; all threads agree by the exchange.
    match KIND.load(Ordering::Relaxed) {
        UNKNOWN => {
            let kind = if system::register() {
                ASYMMETRIC
            } else {
                SYMMETRIC
            };
            let relaxed = Ordering::Relaxed;
            let chosen = KIND.compare_exchange(UNKNOWN, kind, relaxed, relaxed);
            chosen.map_or_else(|other| other, |_| kind)
        }
        kind => kind,
    }
}

#[cfg(all(target_os = "linux", not(any(miri, releasepool_fences))))]
mod system {
    const REGISTER: libc::c_int = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const BARRIER: libc::c_int = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: this system call has no pointers, and changes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    /// Registers the process; again after a `fork`, this is not necessary. Returns whether it may call
    /// `barrier`.
    pub(super) fn register() -> bool {
        membarrier(REGISTER)
    }

    pub(super) fn barrier() -> bool {
        membarrier(BARRIER)
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, releasepool_fences)))))]
mod system {
    pub(super) fn register() -> bool {
        false
    }

    pub(super) fn barrier() -> bool {
        true
    }
}
