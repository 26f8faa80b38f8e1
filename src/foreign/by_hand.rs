//! Objects of C++ that `new` makes and `delete` frees, or that *end by hand*, not by a release: on
//! the stack, as members of other objects, or by a `delete` of the user.
//!
//! A C++ class embeds the header as data of its base class. The last release of an object that
//! `new` made calls a destructor that is a `delete`: it ends the value, then frees the memory by
//! [`free_by_hand`]. If weak references are left, the memory must stay until they are gone; but
//! only the call of [`free_by_hand`] tells where the memory begins. So an object is *pending* from
//! the end of its value until that call, which looks for all pending objects in the memory. A
//! [`ForeignClass`] that frees an object looks for pending objects among the object's members.

use super::class::{ForeignClass, WORD_BEFORE_HEADER};
use super::own_memory;
use crate::ledger;
use crate::object::header::{Header, Thin, header};
use crate::object::object_memory::{Block, BlockSource, Global, Memory, block_of};
use crate::object::{destroy as destruction, raw_checks};
use crate::sync::cell::UnsafeCell;
use crate::sync::{local, with_room};
use crate::thread::current::{current_label, tally_created, tally_destroyed};
use std::alloc::Layout;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;
use std::sync::Arc;

/// An object whose value is ending or has ended, and whose memory has not been freed.
struct Pending {
    thin: Thin,
    /// True if strong references are left, so that the memory must stay for ever.
    is_kept: bool,
}

/// Memory that weak references keep. Each pending object in it gets a *share*, an `Arc`.
enum KeptMemory {
    /// Memory that is freed with the last share.
    Whole { begin: NonNull<u8>, layout: Layout },
    /// The memory of an object that has no share. All shares together own one weak reference to it.
    Object(Thin),
}

// SAFETY: any thread may free the memory or give up the weak reference, and the last share does so
// once.
unsafe impl Send for KeptMemory {}
// SAFETY: shares only read the fields.
unsafe impl Sync for KeptMemory {}

impl Drop for KeptMemory {
    fn drop(&mut self) {
        // SAFETY: the value stands for memory that was given up, or owns a weak reference.
        unsafe {
            match *self {
                Self::Whole { begin, layout } => free_memory(begin, layout),
                Self::Object(thin) => destruction::release_weak(thin),
            }
        }
    }
}

/// The pending objects of a thread.
type PendingList = ManuallyDrop<UnsafeCell<Vec<Pending>>>;

local! {
    /// The calling thread's pending objects. The list is never borrowed while foreign code runs.
    static PENDING: PendingList = ManuallyDrop::new(UnsafeCell::new(Vec::new()));
}

/// The addresses of the two thread-locals that hold a thread's pending objects and known regions.
#[derive(Clone, Copy)]
pub(crate) struct ByHandContext {
    pending: NonNull<PendingList>,
    regions: NonNull<own_memory::KnownRegions>,
}

impl ByHandContext {
    /// Returns the context of the calling thread, which is valid until the thread ends.
    pub(crate) fn of_this_thread() -> Self {
        Self {
            pending: PENDING.with(|all| NonNull::from(all)),
            regions: own_memory::known_regions(),
        }
    }

    /// Returns whether the thread has no pending object.
    ///
    /// # Safety
    /// The context is that of the calling thread.
    #[inline(always)]
    pub(crate) unsafe fn has_no_pending(self) -> bool {
        // SAFETY: the list is the thread's own, by the contract, and is only read here.
        unsafe { self.pending.as_ref().with(|all| (*all).is_empty()) }
    }

    /// Returns whether a new block is in a region that the thread knows to be the library's.
    ///
    /// # Safety
    /// The contract of [`has_no_pending`](Self::has_no_pending).
    #[inline(always)]
    pub(crate) unsafe fn knows(self, block: NonNull<u8>) -> bool {
        // SAFETY: the regions are the thread's own, by the contract.
        own_memory::is_known(unsafe { self.regions.as_ref() }, block)
    }
}

fn with_pending<R>(f: impl FnOnce(&mut Vec<Pending>) -> R) -> R {
    // SAFETY: the list is the thread's own; each `f` in this file uses only the list.
    PENDING.with(|all| all.with_mut(|all| f(unsafe { &mut *all })))
}

/// Allocates memory for an object, as C++'s `new` does; returns `None` if there is no memory.
#[inline]
pub fn alloc_by_hand(layout: Layout) -> Option<NonNull<u8>> {
    let memory = match block_of(layout) {
        Some((size, waste)) => BlockSource::Process.alloc(size, waste).ok(),
        None => alloc_large(layout),
    };
    if let Some(memory) = memory {
        own_memory::note(memory, layout);
        tally_created(1);
    }
    memory
}

/// Frees memory, as C++'s `delete` does, unless references to objects in it are left. If these are
/// weak, the drop of the last one frees the memory; strong ones keep the memory for ever.
///
/// # Safety
/// `memory` is from [`alloc_by_hand`] with this layout, or from
/// [`ForeignClass::alloc_uninit`] of a class with this layout, and is given up. All values in it
/// have ended.
#[inline]
pub unsafe fn free_by_hand(memory: NonNull<u8>, layout: Layout) {
    tally_destroyed(1);
    if has_no_pending() {
        // SAFETY: allocated with this layout, and given up by the contract.
        unsafe { free_memory(memory, layout) };
    } else {
        // SAFETY: forwards the contract.
        unsafe { free_unless_kept(memory, layout) };
    }
}

/// Allocates memory for an object that no block fits.
pub(super) fn alloc_large(object: Layout) -> Option<NonNull<u8>> {
    let layout = own_memory::large_layout(object)?;
    BlockSource::Process.alloc_large(layout).ok()
}

/// Frees the memory of an object that no block fits.
///
/// # Safety
/// The memory is from [`alloc_large`] for this object, and is given up.
pub(super) unsafe fn free_large(memory: NonNull<u8>, object: Layout) {
    let layout = own_memory::large_layout(object).expect("the memory was allocated");
    // SAFETY: forwards the contract.
    unsafe { Global::free(memory, layout) };
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
            free_large(memory, layout);
        }
    }
}

/// Frees memory, unless it contains pending objects.
///
/// # Safety
/// The contract of [`free_by_hand`].
#[cold]
#[inline(never)]
pub(super) unsafe fn free_unless_kept(memory: NonNull<u8>, layout: Layout) {
    let inside = take_pending(memory, layout);
    let whole = KeptMemory::Whole {
        begin: memory,
        layout,
    };
    // SAFETY: forwards the contract.
    unsafe { keep(whole, inside) };
}

/// Makes the pending members of an object keep the object's memory, by a weak reference to `thin`.
///
/// # Safety
/// `thin` is an object in this memory. Its value has ended; the caller has a weak reference to it.
#[cold]
#[inline(never)]
pub(super) unsafe fn keep_for_members(thin: Thin, memory: NonNull<u8>, layout: Layout) {
    let inside = take_pending(memory, layout);
    if !inside.is_empty() {
        // SAFETY: the caller's reference keeps the memory; the new one goes to the members.
        unsafe {
            add_weak(thin);
            keep(KeptMemory::Object(thin), inside);
        }
    }
}

/// Returns whether the calling thread has no pending object.
#[inline(always)]
pub(super) fn has_no_pending() -> bool {
    with_pending(|all| all.is_empty())
}

/// Takes the pending objects in this memory out of the list.
fn take_pending(memory: NonNull<u8>, layout: Layout) -> Vec<Pending> {
    // Tests the last byte of the header: an empty payload may begin where the memory ends.
    let in_header = |thin: Thin| thin.addr().get() - 1;
    let range = memory.addr().get()..memory.addr().get() + layout.size();
    let is_inside = |pending: &Pending| range.contains(&in_header(pending.thin));
    // Nothing is allocated or freed while the list is borrowed: the global allocator is foreign code.
    let n = with_pending(|all| all.iter().filter(|pending| is_inside(pending)).count());
    let mut inside = Vec::with_capacity(n);
    let emptied = with_pending(|all| {
        while inside.len() < n {
            let Some(at) = all.iter().position(is_inside) else {
                break;
            };
            inside.push(all.remove(at));
        }
        // Frees the buffer of an empty list, as the thread-local has no destructor to do so.
        if all.is_empty() {
            mem::take(all)
        } else {
            Vec::new()
        }
    });
    drop(emptied);
    inside
}

/// Adds a pending object to the list.
fn push_pending(pending: Pending) {
    let list = |f: &mut dyn FnMut(&mut Vec<_>)| with_pending(f);
    with_room(list, |all| all.push(pending));
}

/// Frees `memory` once no weak reference to an object of `inside` is left; never, if one `is_kept`.
///
/// # Safety
/// The objects are in the memory, which is given up, and all values in it have ended.
unsafe fn keep(memory: KeptMemory, inside: Vec<Pending>) {
    if inside.is_empty() {
        return drop(memory);
    }
    if inside.iter().any(|pending| pending.is_kept) {
        // An object that has ended still has strong references: the memory stays for ever.
        return mem::forget(memory);
    }
    // SAFETY: each object has the weak reference that `drop_value` or `end_by_hand` has added, and
    // that is given up here. The values have ended, so nothing uses the words before the headers.
    unsafe {
        let is_root = |pending: &&Pending| ForeignClass::of(pending.thin).is_in_library();
        let root = inside.iter().find(is_root).map(|pending| pending.thin);
        let memory = match root {
            // The class of `thin` frees the memory when the last weak reference to `thin` is given
            // up. The shares take over the weak reference that was added for the memory.
            Some(thin) => {
                mem::forget(memory);
                KeptMemory::Object(thin)
            }
            None => memory,
        };
        let memory = Arc::new(memory);
        for pending in inside.iter().filter(|pending| Some(pending.thin) != root) {
            let share = Arc::into_raw(Arc::clone(&memory));
            kept_place(pending.thin).write(share);
            destruction::release_weak(pending.thin);
        }
    }
}

/// Returns the place of the pointer to a [`KeptMemory`]: the word before the header, which was the
/// object's pointer to its virtual functions.
fn kept_place(thin: Thin) -> NonNull<*const KeptMemory> {
    // SAFETY: if a class's destructor frees the memory, `leak` ensures a word before the header.
    unsafe { thin.sub(WORD_BEFORE_HEADER) }.cast()
}

/// Ends the value and frees the memory. To be called by a unique owner.
///
/// # Safety
/// The contract of `TypeInfo::destroy`, for an object of a class with `ForeignMemory::Destructor`.
pub(super) unsafe fn destroy(thin: Thin) {
    begin_delete(thin);
    // SAFETY: the caller is the unique owner, and the object is of a foreign class.
    unsafe {
        header(thin).count.begin_unique_destruction();
        ForeignClass::of(thin).call_destructor(thin);
    }
}

/// Prepares for a destructor that frees the memory of the object, too.
#[inline(always)]
pub(super) fn begin_delete(thin: Thin) {
    // Cancels the caller's count of a destroyed object: `free_by_hand` counts it, if its memory is
    // the library's.
    tally_created(1);
    ledger::died(thin);
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
        ledger::abort(&format!(
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
    // SAFETY: forwards the contract.
    unsafe { add_weak(thin) };
    push_pending(Pending { thin, is_kept });
}

/// Adds a weak reference.
///
/// # Safety
/// The caller has a reference of any kind to the object.
unsafe fn add_weak(thin: Thin) {
    // SAFETY: the caller's reference keeps the memory.
    unsafe { crate::object::header::checked(thin, header(thin).count.downgrade()) };
}

/// Frees the memory of an object whose value has ended, when its last weak reference is given up.
///
/// # Safety
/// The contract of `TypeInfo::free`, for an object of a class with `ForeignMemory::Destructor`.
pub(super) unsafe fn free(thin: Thin) {
    // SAFETY: no reference is left, so `keep` has given up the one that stood for the memory, after
    // it had written this pointer, which owns a share.
    unsafe {
        let share = Arc::from_raw(kept_place(thin).read());
        thin.cast::<Header>().sub(1).as_mut().freed();
        drop(share);
    }
}

/// The kind of memory of an object that ends by hand, if the library has not allocated the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignPlace {
    /// The calling thread's stack.
    Stack,
    /// Memory that stays as long as the program or library of which it is a part.
    Static,
    /// Any other memory, which may be freed after the destructor.
    Other,
}

/// Ends the value of an object by hand: in a C++ destructor that no release has called.
///
/// If the caller's strong reference is the only reference of any kind, the memory may be freed. If
/// there are weak references, upgrades fail from now on, and the memory stays until they are gone.
/// If there are other strong references, a message says so, and the memory stays for ever. In the
/// last two cases the memory must be the library's or static; if `place` says that it is neither,
/// the process aborts.
///
/// If `is_held` is false, a release has called the destructor: then the memory stays for ever if
/// the destructor has made strong references.
///
/// # Safety
/// `thin` is an object of a foreign class. Its value is ending, and the word before its header is
/// not used any more. If its memory is from [`alloc_by_hand`] or a class's
/// [`alloc_uninit`](ForeignClass::alloc_uninit), [`free_by_hand`] or the class frees it on this
/// thread. If `place` returns [`ForeignPlace::Static`], the memory stays.
#[cold]
pub unsafe fn end_by_hand(thin: NonNull<u8>, is_held: bool, place: impl FnOnce() -> ForeignPlace) {
    // SAFETY: the value is ending, so the memory exists.
    let object = unsafe { header(thin) };
    if object.count.is_unique() {
        ledger::died(thin);
        return object.count.begin_unique_destruction();
    }
    if !is_held {
        // SAFETY: the value is ending, and a release has called the destructor.
        return unsafe { check_revived(thin) };
    }
    let (strong, weak) = (object.count.strong(), object.count.weak());
    let describe = || {
        // SAFETY: the value is ending, so the memory exists.
        let name = unsafe { raw_checks::type_name(thin) };
        let thread = current_label();
        format!(
            "{name} at {thin:p} was destroyed by hand while {strong} strong and {weak} weak \
             references are left, its own included (thread {thread})"
        )
    };
    if strong == 0 {
        ledger::abort(&format!(
            "{}: it is dead and waits for its destructor",
            describe()
        ));
    }
    let is_freed_here = own_memory::contains(thin);
    if !is_freed_here {
        let why = match place() {
            ForeignPlace::Static => None,
            ForeignPlace::Stack => Some("it is on the stack"),
            ForeignPlace::Other => Some(
                "its memory is not the library's: give the references up first, or make the object \
                 by rp::make or the operator new of rp::Object",
            ),
        };
        if let Some(why) = why {
            ledger::abort(&format!("{}: {why}", describe()));
        }
    }
    ledger::died(thin);
    // Turns a strong reference that is the only one into a weak one, which stands for the memory.
    let is_kept = !object.count.take_value();
    if is_kept {
        report(&describe());
        // SAFETY: the caller's strong reference is still counted.
        unsafe { add_weak(thin) };
        // Clears `held`, as there is a weak reference now: so no later release is the last one.
        let is_unique = object.count.begin_destruction();
        debug_assert!(!is_unique);
    }
    // Static memory stays, so the reference that stands for it is never given up.
    if is_freed_here {
        push_pending(Pending { thin, is_kept });
    }
}

/// Keeps the memory of an object for ever if its destructor, which a release has called, has made
/// strong references. Aborts instead if the memory is not the library's.
///
/// # Safety
/// `thin` is an object of a foreign class whose value is ending.
unsafe fn check_revived(thin: Thin) {
    // SAFETY: by the contract, the memory exists.
    unsafe {
        if header(thin).count.strong() == 0 {
            return;
        }
        if !own_memory::contains(thin) {
            ledger::abort(&describe_revived(thin));
        }
        report(&describe_revived(thin));
        let is_pending = with_pending(|all| {
            let found = all.iter_mut().find(|pending| pending.thin == thin);
            found.map(|pending| pending.is_kept = true).is_some()
        });
        if !is_pending {
            add_pending(thin, true);
        }
    }
}

/// # Safety
/// The memory of the object exists.
unsafe fn describe_revived(thin: Thin) -> String {
    // SAFETY: forwards the contract.
    let (name, strong) = unsafe { (raw_checks::type_name(thin), header(thin).count.strong()) };
    let thread = current_label();
    format!(
        "the destructor of {name} at {thin:p} has made {strong} strong references to it, which last \
         longer than the object (thread {thread})"
    )
}

/// Writes a message to standard error.
fn report(message: &str) {
    use std::io::Write;
    let _ = writeln!(
        std::io::stderr(),
        "releasepool: {message}; its memory is kept"
    );
}
