//! The call stack: frames, the names of functions, and the user's function that made a call.

use crate::sync::cell::Cell;
use crate::sync::{catch_unwind, local, stack_address};
use dashmap::DashMap;
use std::ffi::c_void;
use std::panic::Location;
use std::sync::LazyLock;

/// The greatest number of frames that are recorded.
const DEPTH: usize = 48;

/// Returns whether the site lies in the standard library, which calls this crate for the user,
/// as `collect()` does.
pub(crate) fn is_std(site: &Location<'_>) -> bool {
    is_std_file(site.file())
}

fn is_std_file(file: &str) -> bool {
    // The path is `/rustc/HASH/library/core/...`, or that of the sources in a toolchain.
    file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/")
}

/// Returns whether a file is a source of this crate, or of `backtrace`.
fn is_own_file(file: &str) -> bool {
    const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    file.starts_with(SOURCES) || file.contains("/backtrace-0.")
}

/// Returns the addresses of the calling functions, innermost first.
pub(crate) fn capture() -> Box<[usize]> {
    let mut frames = Vec::with_capacity(DEPTH);
    if !cfg!(miri) {
        backtrace::trace(|frame| {
            frames.push(frame.ip().addr());
            frames.len() < DEPTH
        });
    }
    frames.into_boxed_slice()
}

/// A function of the user, and the line of its call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.function)?;
        match &self.file {
            Some(file) => write!(f, " at {file}:{}", self.line),
            None => Ok(()),
        }
    }
}

/// Returns whether a function belongs to this crate or to the standard library.
fn is_internal(function: &str) -> bool {
    let function = function.trim_start_matches(['<', '&', '(']);
    let function = function.strip_prefix("dyn ").unwrap_or(function);
    let starts = [
        "releasepool::",
        "core::",
        "std::",
        "alloc::",
        "backtrace::",
        "test::",
        "rust_",
        "_",
    ];
    function == "main" || starts.iter().any(|start| function.starts_with(start))
}

/// Returns up to `at_most` functions of the user among `frames`, innermost first. Slow: it reads
/// symbols and debug information. Without symbols it finds none.
pub(crate) fn of_user(frames: &[usize], at_most: usize) -> Vec<Frame> {
    let mut found = Vec::new();
    for &ip in frames {
        if found.len() >= at_most {
            break;
        }
        let at = std::ptr::without_provenance_mut::<c_void>(ip.saturating_sub(1));
        // Reading symbols runs much foreign code, which may panic.
        let resolved = catch_unwind(|| {
            let mut functions = Vec::new();
            backtrace::resolve(at, |symbol| {
                let Some(name) = symbol.name() else {
                    return;
                };
                let function = format!("{name:#}");
                let file = symbol.filename().map(|file| file.display().to_string());
                // With `debug = "line-tables-only"`, names of functions have no path.
                let is_library = file
                    .as_deref()
                    .is_some_and(|file| is_std_file(file) || is_own_file(file));
                if !is_library && !is_internal(&function) {
                    let line = symbol.lineno().unwrap_or(0);
                    functions.push(Frame {
                        function,
                        file,
                        line,
                    });
                }
            });
            functions
        });
        found.extend(resolved.unwrap_or_default());
    }
    found.truncate(at_most);
    found
}

// Finds the innermost function of the user up the call stack. Unwinding takes microseconds, so its
// results are kept: most functions have frames of constant size, so the way from one return
// address to the next is the same whenever the same functions have called each other.
//
// A call follows kept ways on the stack that the system has made for the thread, up to its end. On
// other stacks, such as those of coroutines and signal handlers, each call unwinds.

/// How many steps are kept, for the whole process.
const KNOWN_STEPS: usize = 1 << 18;

/// One step on the way up the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The distance in bytes to the next caller's stack pointer, and from there back to the return
    /// address that leads to it.
    Next { size: usize, back: usize },
    /// The frame's size varies.
    Varies,
    /// The way ends: it has led to a function of the user, or to no such function.
    Found(Option<&'static Frame>),
}

/// The functions of the user, by return addresses that lead to them. The table keeps them, as
/// reading symbols takes milliseconds.
static FUNCTIONS: LazyLock<DashMap<usize, Option<&'static Frame>>> =
    LazyLock::new(DashMap::default);

/// The steps. The key of a step mixes all return addresses before it into one number; 0 for the
/// first step.
static STEPS: LazyLock<DashMap<u64, Step>> = LazyLock::new(DashMap::default);

fn mixed(key: u64, address: usize) -> u64 {
    (key ^ address as u64)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29)
}

/// Returns the innermost function of the user up the call stack.
#[inline(never)]
pub(super) fn calling_function() -> Option<&'static Frame> {
    if cfg!(miri) {
        return None;
    }
    let here = stack_address();
    let Some(stack) = Stack::of_thread().filter(|stack| stack.contains(here)) else {
        let addresses = capture();
        return addresses.iter().find_map(|address| function_at(*address));
    };
    known(here, &stack).unwrap_or_else(|| unwind(here, &stack))
}

/// Follows known steps. Returns `None` if a step is not known.
fn known(here: usize, stack: &Stack) -> Option<Option<&'static Frame>> {
    let (mut key, mut at) = (0, here);
    loop {
        match *STEPS.get(&key)? {
            Step::Found(function) => return Some(function),
            Step::Varies => return None,
            Step::Next { size, back } => {
                at += size;
                key = mixed(key, stack.word(at - back)?);
            }
        }
    }
}

/// Unwinds the stack, and keeps the steps up to the function that it finds.
#[cold]
fn unwind(here: usize, stack: &Stack) -> Option<&'static Frame> {
    let mut callers = Vec::with_capacity(DEPTH);
    backtrace::trace(|frame| {
        let at = frame.sp().addr();
        if at > here {
            callers.push((at, frame.ip().addr()));
        }
        callers.len() < DEPTH
    });
    let (mut key, mut below, mut found) = (Some(0), here, None);
    for (at, address) in callers {
        if let Some(known) = key {
            let size = at.saturating_sub(below);
            let mut back = Stack::places_of_return(size);
            let back = back.find(|back| stack.word(at - back) == Some(address));
            // Without a position on the stack, only unwinding finds the functions further up.
            keep(
                known,
                back.map_or(Step::Varies, |back| Step::Next { size, back }),
            );
            key = back.map(|_| mixed(known, address));
        }
        below = at;
        found = function_at(address);
        if found.is_some() {
            break;
        }
    }
    if let Some(key) = key {
        keep(key, Step::Found(found));
    }
    found
}

/// Returns the function of the user to which a return address leads.
fn function_at(address: usize) -> Option<&'static Frame> {
    if let Some(known) = FUNCTIONS.get(&address) {
        return *known;
    }
    // Reads symbols without holding a lock: this takes a lock of the crate `backtrace`, and a
    // thread that holds that lock may call `function_at` through the global allocator.
    let found = of_user(&[address], 1).pop();
    // Another thread may have inserted it meanwhile.
    *FUNCTIONS
        .entry(address)
        .or_insert_with(|| found.map(|frame| &*Box::leak(Box::new(frame))))
}

/// Keeps a step. If ways with equal return addresses differ in a frame's size, later calls unwind
/// instead of following them.
fn keep(key: u64, step: Step) {
    if STEPS.len() < KNOWN_STEPS {
        let kept = STEPS.insert(key, step);
        if kept.is_some_and(|kept| kept != step) {
            STEPS.insert(key, Step::Varies);
        }
    }
}

// Words on the calling thread's own stack.

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
    fn places_of_return(size: usize) -> impl Iterator<Item = usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_this_crate_and_of_std_are_internal() {
        for function in [
            "releasepool::object::make::Ref<T>::new",
            "<releasepool::Ref<T> as core::ops::drop::Drop>::drop",
            "core::ptr::drop_in_place<game::Texture>",
            "std::rt::lang_start",
        ] {
            assert!(is_internal(function), "{function}");
        }
        assert!(!is_internal("game::load"));
        assert!(!is_internal(
            "<game::Texture as core::ops::drop::Drop>::drop"
        ));
    }

    #[test]
    fn sources_of_this_crate_are_its_own_and_those_of_tests_and_users_are_not() {
        let root = env!("CARGO_MANIFEST_DIR");
        assert!(is_own_file(&format!("{root}/src/object/make.rs")));
        assert!(!is_own_file(&format!("{root}/tests/all/main.rs")));
        assert!(!is_own_file(&format!("{root}/game/src/main.rs")));
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn words_are_read_above_the_stack_pointer_only() {
        let stack = Stack::of_thread().expect("it is known");
        let word = std::hint::black_box(0x5eed_usize);
        assert!(stack.contains((&raw const word).addr()));
        let last = stack.high - size_of::<usize>();
        assert!(stack.word(last).is_some());
        let below = [stack.low, stack_address() - 256];
        for outside in below.into_iter().chain([last + 1, stack.high, usize::MAX]) {
            assert_eq!(stack.word(outside), None, "{outside:#x}");
        }
    }
}
