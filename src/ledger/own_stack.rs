//! Words on the calling thread's own stack.

use crate::sync::cell::Cell;
use crate::sync::{local, stack_address};

/// The bounds of the stack that the system has made for the calling thread. Words above the stack
/// pointer stay in place as long as the thread runs on this stack.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    low: usize,
    high: usize,
    /// Keeps a `Stack` on its thread, whose stack pointer it reads.
    thread: std::marker::PhantomData<*const ()>,
}

local! {
    /// The thread's stack; empty if it is not known, `None` before the first use.
    static STACK: Cell<Option<(usize, usize)>> = Cell::new(None);
}

impl Stack {
    /// Returns the calling thread's stack, which is known only on Linux.
    pub(super) fn of_thread() -> Option<Self> {
        let (low, high) = STACK.with(Cell::get).unwrap_or_else(|| {
            let bounds = bounds().unwrap_or_default();
            STACK.with(|stack| stack.set(Some(bounds)));
            bounds
        });
        let thread = std::marker::PhantomData;
        (low < high).then_some(Self { low, high, thread })
    }

    /// Returns whether an address is on this stack.
    pub(super) fn contains(&self, address: usize) -> bool {
        (self.low..self.high).contains(&address)
    }

    /// Returns how many bytes before the end of a frame of this size the return address may be,
    /// where the processor or the function itself has put it.
    pub(super) fn places_of_return(size: usize) -> impl Iterator<Item = usize> {
        const WORD: usize = size_of::<usize>();
        let last = if cfg!(target_arch = "x86_64") {
            size.min(WORD)
        } else {
            size
        };
        (WORD..=last).step_by(WORD)
    }

    /// Returns the word at an address, if it is between the stack pointer and the end of the stack.
    #[inline(always)]
    pub(super) fn word(&self, address: usize) -> Option<usize> {
        let (here, last) = (stack_address(), self.high - size_of::<usize>());
        let may_read = self.contains(here) && (here..=last).contains(&address);
        // SAFETY: the thread runs on this stack, so memory above its stack pointer can be read.
        may_read.then(|| unsafe { read(address) })
    }
}

/// Reads a word of the stack, which the processor or a function's prologue has written. For Rust
/// the read is no access to a variable: as in unwinding, any bits are a valid number.
///
/// # Safety
/// The word is in memory that can be read.
#[inline(always)]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(unused_variables, reason = "where return addresses are is not known")
)]
unsafe fn read(address: usize) -> usize {
    let word: usize;
    // SAFETY: by the contract.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("mov {}, [{}]", out(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    // SAFETY: by the contract.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("ldr {}, [{}]", out(reg) word, in(reg) address,
            options(readonly, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        word = 0;
    }
    word
}

/// Asks the C library for the bounds of the calling thread's stack. Takes up to some tenths of a
/// millisecond on the first thread.
#[cfg(target_os = "linux")]
#[cold]
fn bounds() -> Option<(usize, usize)> {
    use std::mem::MaybeUninit;
    use std::ptr;

    let mut attributes = MaybeUninit::uninit();
    let (mut low, mut size) = (ptr::null_mut(), 0);
    // SAFETY: `pthread_getattr_np` initializes the attributes, for the calling thread; only then
    // does this code read them, and destroy them once.
    let is_known = unsafe {
        libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 && {
            let mut attributes: libc::pthread_attr_t = attributes.assume_init();
            let is_known = libc::pthread_attr_getstack(&attributes, &mut low, &mut size) == 0;
            libc::pthread_attr_destroy(&mut attributes);
            is_known
        }
    };
    is_known.then(|| (low.addr(), low.addr().wrapping_add(size)))
}

#[cfg(not(target_os = "linux"))]
fn bounds() -> Option<(usize, usize)> {
    None
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_above_the_stack_pointer_only() {
        let stack = Stack::of_thread().expect("it is known");
        let word = std::hint::black_box(0x5eed_usize);
        assert!(stack.contains((&raw const word).addr()));
        let last = stack.high - size_of::<usize>();
        assert!(stack.word(last).is_some());
        for outside in [
            stack.low,
            stack_address() - 256,
            last + 1,
            stack.high,
            usize::MAX,
        ] {
            assert_eq!(stack.word(outside), None, "{outside:#x}");
        }
    }
}
