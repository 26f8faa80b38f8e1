//! Finds the innermost function of the user up the call stack. Unwinding takes microseconds, so its
//! results are kept: most functions have frames of constant size, so the way from one return
//! address to the next is the same whenever the same functions have called each other.
//!
//! A call follows kept ways on the stack that the system has made for the thread, up to its end. On
//! other stacks, such as those of coroutines and signal handlers, each call unwinds.

use super::frames::{self, Frame};
use super::own_stack::Stack;
use crate::sync::stack_address;
use dashmap::DashMap;
use std::sync::LazyLock;

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
        let addresses = frames::capture();
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
    let mut callers = Vec::with_capacity(frames::DEPTH);
    backtrace::trace(|frame| {
        let at = frame.sp().addr();
        if at > here {
            callers.push((at, frame.ip().addr()));
        }
        callers.len() < frames::DEPTH
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
    let found = frames::of_user(&[address], 1).pop();
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
