//! Objects of C++ that `new` makes and `delete` frees, or that end by hand: on the stack, as members
//! of others, or by a `delete` of the user.
//!
//! A C++ class embeds the header as data of its base class. The last release of such an object calls
//! its class's destructor, which is a `delete`: it ends the value and then frees the memory by
//! [`free_by_hand`]. If weak references are left, the memory must stay until they are gone; but only
//! the end of the `delete` tells where the memory begins. So an object is *pending* between the end
//! of its value and that of its memory, and [`free_by_hand`] looks which pending objects the memory
//! contains.

use super::foreign_class::{ForeignClass, HEADER_BYTES};
use super::header::{Header, Thin, header};
use super::object_memory::{Block, BlockSource, Global, Memory, block_of};
use super::{destroy as destruction, raw_checks};
use crate::ledger;
use crate::sync::cell::UnsafeCell;
use crate::sync::local;
use crate::thread::current::{current_label, tally_created, tally_destroyed};
use std::alloc::Layout;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;

/// An object whose value has ended and whose memory has not.
struct Pending {
    thin: Thin,
    /// True if strong references are left, so that the memory must stay for ever.
    is_kept: bool,
}

/// Memory that weak references keep.
struct KeptMemory {
    begin: NonNull<u8>,
    layout: Layout,
}

local! {
    /// The calling thread's pending objects. Never borrowed while foreign code runs.
    static PENDING: ManuallyDrop<UnsafeCell<Vec<Pending>>> = ManuallyDrop::new(UnsafeCell::new(Vec::new()));
}

fn with_pending<R>(f: impl FnOnce(&mut Vec<Pending>) -> R) -> R {
    // SAFETY: the list is the thread's own, and each `f` in this file only changes the list.
    PENDING.with(|all| all.with_mut(|all| f(unsafe { &mut *all })))
}

/// Allocates memory for an object, as C++'s `new` does; `None` if there is none.
#[inline]
pub fn alloc_by_hand(layout: Layout) -> Option<NonNull<u8>> {
    let memory = match block_of(layout) {
        Some((size, waste)) => BlockSource::Process.alloc(size, waste).ok(),
        None => BlockSource::Process.alloc_large(layout),
    };
    if memory.is_some() {
        tally_created(1);
    }
    memory
}

/// Frees memory, as C++'s `delete` does, unless weak references to an object in it are left: then
/// the last of them frees it.
///
/// # Safety
/// `memory` is from [`alloc_by_hand`] with this layout, or from
/// [`ForeignClass::alloc_uninit`] of a class with this layout, and is given up. All values in it
/// have ended.
#[inline]
pub unsafe fn free_by_hand(memory: NonNull<u8>, layout: Layout) {
    tally_destroyed(1);
    if with_pending(|all| all.is_empty()) {
        // SAFETY: allocated with this layout, and given up by the contract.
        unsafe { free_memory(memory, layout) };
    } else {
        // SAFETY: forwards the contract.
        unsafe { free_unless_kept(memory, layout) };
    }
}

/// Frees memory at once.
///
/// # Safety
/// The memory was allocated with this layout by [`alloc_by_hand`], or for an object of a class with
/// this layout; it is given up.
#[inline(always)]
unsafe fn free_memory(memory: NonNull<u8>, layout: Layout) {
    // SAFETY: `block_of` says for each layout where its memory comes from.
    unsafe {
        if block_of(layout).is_some() {
            Block::free(memory, layout);
        } else {
            Global::free(memory, layout);
        }
    }
}

/// Frees memory, unless it contains pending objects.
///
/// # Safety
/// The contract of [`free_by_hand`].
#[cold]
#[inline(never)]
unsafe fn free_unless_kept(memory: NonNull<u8>, layout: Layout) {
    // An object without fields of its own has its payload, which is empty, behind the memory.
    let in_header = |thin: Thin| thin.addr().get() - 1;
    let range = memory.addr().get()..memory.addr().get() + layout.size();
    let inside: Vec<Pending> = with_pending(|all| {
        let (inside, others): (Vec<_>, Vec<_>) = mem::take(all)
            .into_iter()
            .partition(|pending| range.contains(&in_header(pending.thin)));
        *all = if others.is_empty() {
            Vec::new()
        } else {
            others
        };
        inside
    });
    match inside.as_slice() {
        // SAFETY: forwards the contract.
        [] => unsafe { free_memory(memory, layout) },
        [only] if !only.is_kept => {
            // SAFETY: the weak reference that `drop_value` or `end_by_hand` has added keeps the
            // memory; it is given up here. The word before the header is free by their contracts.
            unsafe {
                if !ForeignClass::of(only.thin).is_in_library() {
                    let kept = KeptMemory {
                        begin: memory,
                        layout,
                    };
                    kept_place(only.thin).write(Box::into_raw(Box::new(kept)));
                }
                destruction::release_weak(only.thin);
            }
        }
        // Strong references to an object that has ended, or references to several elements of one
        // array: the memory stays for ever.
        _ => {}
    }
}

/// The place of the pointer to a [`KeptMemory`]: the word before the header, which was the object's
/// pointer to its virtual functions.
fn kept_place(thin: Thin) -> NonNull<*mut KeptMemory> {
    // SAFETY: by the contract of this file's classes, a word of the object is before the header.
    unsafe { thin.sub(HEADER_BYTES + size_of::<usize>()) }.cast()
}

/// Ends the value and the memory, for a unique owner.
///
/// # Safety
/// The contract of `TypeInfo::destroy`, for an object of a class with `ForeignMemory::Destructor`.
pub(super) unsafe fn destroy(thin: Thin) {
    // Makes up for the count of the caller, as `free_by_hand` counts the object if its memory is
    // the library's.
    tally_created(1);
    ledger::died(thin);
    // SAFETY: the caller is the unique owner, and the object is of a foreign class.
    unsafe {
        header(thin).count.begin_unique_destruction();
        ForeignClass::of(thin).call_destructor(thin);
    }
}

/// Ends the value; the memory stays until the last weak reference is given up.
///
/// # Safety
/// The contract of `TypeInfo::drop_value`, for an object of a class with
/// `ForeignMemory::Destructor`.
pub(super) unsafe fn drop_value(thin: Thin) {
    tally_created(1);
    // SAFETY: the caller owns the value and a weak reference.
    let is_lost = unsafe {
        let class = ForeignClass::of(thin);
        add_pending(thin, false);
        class.call_destructor(thin);
        with_pending(|all| {
            let at = all.iter().position(|pending| pending.thin == thin);
            at.map(|at| all.swap_remove(at)).is_some()
        })
    };
    if is_lost {
        let thread = current_label();
        raw_checks::abort(&format!(
            "the memory of an object at {thin:p} was freed by an operator delete of its own class, \
             while weak references to it are left: let the class use the operators of rp::Object, \
             or make the object by rp::make (thread {thread})"
        ));
    }
}

/// Adds a weak reference, which stands for the memory, and records the object as pending.
///
/// # Safety
/// The caller has a reference of any kind to the object.
unsafe fn add_pending(thin: Thin, is_kept: bool) {
    // SAFETY: the caller's reference keeps the memory.
    unsafe { super::header::checked(thin, header(thin).count.downgrade()) };
    with_pending(|all| all.push(Pending { thin, is_kept }));
}

/// Frees the memory of an object whose value has ended, when its last weak reference is given up.
///
/// # Safety
/// The contract of `TypeInfo::free`, for an object of a class with `ForeignMemory::Destructor`.
pub(super) unsafe fn free(thin: Thin) {
    // SAFETY: no reference is left; `free_unless_kept` has written the pointer, as the weak
    // reference that stands for the memory is given up only then.
    unsafe {
        let kept = Box::from_raw(kept_place(thin).read());
        thin.cast::<Header>().sub(1).as_mut().freed();
        free_memory(kept.begin, kept.layout);
    }
}

/// Ends the value of an object by hand: in its C++ destructor, which no release has called.
///
/// If the caller's strong reference is the only reference of any kind, nothing is left. If there are
/// weak references, they find nothing from here on, and the memory stays until they are gone. If
/// there are other strong references, a message says so, and the memory stays for ever. An object on
/// the stack, of which `is_on_stack` tells, aborts the process in both cases, as its memory cannot
/// stay.
///
/// # Safety
/// `thin` is an object of a foreign class whose value is ending, and whose word before the header is
/// not used any more. If its memory is from [`alloc_by_hand`] or a class's
/// [`alloc_uninit`](ForeignClass::alloc_uninit), [`free_by_hand`] is called for it on this thread.
/// Otherwise there is no other reference, or the memory stays as long as there are any.
#[cold]
pub unsafe fn end_by_hand(thin: NonNull<u8>, is_on_stack: impl FnOnce() -> bool) {
    // SAFETY: the value is ending, so the memory exists.
    let object = unsafe { header(thin) };
    if object.count.is_unique() {
        ledger::died(thin);
        return object.count.begin_unique_destruction();
    }
    let (strong, weak) = (object.count.strong(), object.count.weak());
    let describe = || {
        // SAFETY: as above.
        let name = unsafe { raw_checks::type_name(thin) };
        let thread = current_label();
        format!(
            "{name} at {thin:p} was destroyed by hand while {strong} strong and {weak} weak \
             references are left (thread {thread})"
        )
    };
    if strong == 0 {
        raw_checks::abort(&format!(
            "{}: it is dead and waits for its destructor",
            describe()
        ));
    }
    if is_on_stack() {
        raw_checks::abort(&format!("{}: it is on the stack", describe()));
    }
    ledger::died(thin);
    // SAFETY: as above; the strong reference of the caller ends here.
    unsafe {
        if object.count.take_value() {
            // `take_value` has turned the strong reference into a weak one, which stands for the
            // memory.
            with_pending(|all| {
                all.push(Pending {
                    thin,
                    is_kept: false,
                })
            });
        } else {
            report(&describe());
            add_pending(thin, true);
            // Clears `held`, so that no release is the last one. There are weak references by now.
            let is_unique = object.count.begin_destruction();
            debug_assert!(!is_unique);
        }
    }
}

/// Writes a message to standard error.
fn report(message: &str) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "releasepool: {message}; its memory is kept"
    );
}
