//! The kernel's fence, `membarrier`: when it returns, every thread of the process has executed a full fence since
//! it was called. Without it on other systems, under Miri, and with `--cfg releasepool_fences`.

use super::atomic::{AtomicUsize, Ordering};

const UNKNOWN: usize = 0;
const GRANTED: usize = 1;
const REFUSED: usize = 2;

/// The kernel's answer to the registration, which the first call asks for.
static ANSWER: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// Returns whether the process has the kernel's fence. The kernel, or a filter of system calls, may refuse it.
pub(crate) fn is_granted() -> bool {
    // Relaxed: publishes nothing; all threads agree by the exchange.
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == UNKNOWN {
        let now = if system::register() { GRANTED } else { REFUSED };
        let relaxed = Ordering::Relaxed;
        let chosen = ANSWER.compare_exchange(UNKNOWN, now, relaxed, relaxed);
        answer = chosen.map_or_else(|other| other, |_| now);
    }
    answer == GRANTED
}

/// A point between two accesses of this thread at which the kernel's fence may take effect: keeps the
/// compiler from moving them across it.
#[inline(always)]
pub(crate) fn point() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

pub(crate) use system::fence_all;

#[cfg(all(target_os = "linux", not(any(miri, releasepool_fences))))]
mod system {
    const REGISTER: libc::c_int = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const BARRIER: libc::c_int = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: this system call has no pointers, and changes no memory.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }

    pub(super) fn register() -> bool {
        membarrier(REGISTER)
    }

    /// Has all threads execute a fence. Returns false if the kernel refuses that: a filter of system calls that
    /// was installed later may, or a lack of memory.
    pub(crate) fn fence_all() -> bool {
        membarrier(BARRIER)
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, releasepool_fences)))))]
mod system {
    pub(super) fn register() -> bool {
        false
    }

    pub(crate) fn fence_all() -> bool {
        false
    }
}
