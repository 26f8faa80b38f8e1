//! Checks for overwritten headers, and for misuse of *raw calls* such as `Ref::from_raw`, in debug
//! builds and with the feature `checks`. With `leak-detection`, the [`ledger`] knows live objects.

use super::header::{Header, Thin, TypeInfo, header, name_of};
use crate::ledger::{self, CHECKS, RawCall, abort};
use crate::sync::{CHECKED, Counter};
use crate::thread::current::current_label;
use std::ptr::NonNull;

/// The lowest and the highest address of the type infos of all objects and foreign classes made so
/// far: the type info of each object lies in this range. The lowest address is stored as its
/// complement, as counters begin with 0 and only rise.
static LOWEST: Counter = Counter::new();
static HIGHEST: Counter = Counter::new();

/// Notes the type info of a new object or foreign class, or the new type info of an object.
#[inline(always)]
pub(crate) fn note_type_info(type_info: &'static TypeInfo) {
    if CHECKS {
        let at = std::ptr::from_ref(type_info).addr() as u64;
        if HIGHEST.get() < at {
            HIGHEST.raise_shared(at);
        }
        if LOWEST.get() < !at {
            LOWEST.raise_shared(!at);
        }
    }
}

/// Returns whether a type info may be at this address.
fn is_plausible(type_info: *const TypeInfo) -> bool {
    let at = type_info.addr() as u64;
    type_info.is_aligned() && at <= HIGHEST.get() && !at <= LOWEST.get()
}

/// Returns whether the header before a payload is intact, judged by its pointer to a type info.
///
/// # Safety
/// The memory of the header can be read.
pub(crate) unsafe fn is_intact(thin: Thin) -> bool {
    if CHECKED {
        return true;
    }
    // SAFETY: by the contract, the header can be read. The pointer is only compared: if the header
    // was overwritten, it may not point to a type info.
    let type_info: *const TypeInfo = unsafe {
        let header = thin.cast::<Header>().sub(1).as_ptr();
        (&raw const (*header).type_info)
            .cast::<*const TypeInfo>()
            .read()
    };
    match ledger::type_info_of(thin) {
        Some(recorded) => recorded == type_info.cast(),
        None => is_plausible(type_info),
    }
}

/// Checks a header before it is used, in builds with [`CHECKS`]; `place` says where the object was
/// found.
///
/// # Safety
/// The memory of the header can be read.
#[inline(always)]
pub(crate) unsafe fn header_in(thin: Thin, place: impl FnOnce() -> String) {
    // SAFETY: forwards the contract.
    if !unsafe { is_intact(thin) } {
        corrupt(thin, &place());
    }
}

#[cold]
#[inline(never)]
fn corrupt(thin: Thin, place: &str) -> ! {
    let thread = current_label();
    let (what, rest) = match ledger::type_and_rest(thin) {
        Some((name, rest)) => (format!("the header of {name} at {thin:p}"), rest),
        None => (
            format!("the header of the object at {thin:p}"),
            String::new(),
        ),
    };
    let here = ledger::here(", which was found");
    abort(&format!(
        "{what}, {place}, was overwritten{here} (thread {thread}{rest})"
    ))
}

/// Checks the argument of a raw call.
///
/// Aborts at null and misaligned pointers, overwritten headers and, with the ledger, dead objects.
#[inline(always)]
#[cfg_attr(feature = "leak-detection", track_caller)]
pub(super) fn raw_call(payload: *const u8, call: RawCall) {
    if CHECKS {
        let name = call.name();
        let Some(thin) = NonNull::new(payload.cast_mut()) else {
            abort(&format!(
                "{name} got a null pointer (thread {})",
                current_label()
            ));
        };
        if !thin.cast::<Header>().is_aligned() {
            let thread = current_label();
            abort(&format!(
                "{name} got {thin:p}, which is no object's address (thread {thread})"
            ));
        }
        ledger::check_raw_call(thin, call);
        // SAFETY: by the contract of every raw call, `thin` is an object with unfreed memory.
        unsafe { header_in(thin, || format!("passed to {name}")) };
    }
}

/// Returns the name of an object, or words that say that its header was overwritten.
///
/// # Safety
/// The memory of the header can be read.
pub(crate) unsafe fn type_name(thin: Thin) -> &'static str {
    // SAFETY: by the contract, the header can be read; if the header is intact, so is its type
    // info.
    unsafe {
        if CHECKS && !is_intact(thin) {
            "an object with an overwritten header"
        } else {
            let object = header(thin);
            if object.count.strong() == 0 {
                object.type_info.type_name()
            } else {
                name_of(thin).get()
            }
        }
    }
}
