//! Objects of C++, which embed their header: for `releasepool.hpp` only.

use crate::class::class;
use crate::error::{Fault, Status, attempt, invalid, needed, object, pointer, status};
use crate::memory::layout;
use crate::object::no_memory;
use releasepool::raw::{
    self, COUNTED_BY_CALLS, ForeignClass, ForeignPlace, HEADER_BYTES, HELD, ONE_STRONG,
    ThreadContext, UNIQUE, adopt, alloc_by_hand, end_by_hand, free_by_hand,
};
use std::alloc::Layout;
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::ptr::{self, NonNull};

/// The layout of headers, which C++ compares with its own; `rp_header_layout` in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HeaderLayout {
    /// The bytes of a header.
    pub header_bytes: u64,
    /// The amount that a strong reference adds to the count word.
    pub one_strong: u64,
    /// The count word of a new object.
    pub unique: u64,
    /// The bit of the count word that a release clears before it calls the destructor.
    pub held: u64,
}

/// Returns the layout of headers.
#[unsafe(no_mangle)]
pub extern "C" fn rp_header_layout_get() -> HeaderLayout {
    HeaderLayout {
        header_bytes: HEADER_BYTES as u64,
        one_strong: ONE_STRONG,
        unique: UNIQUE,
        held: HELD,
    }
}

/// Not zero if C++ headers must not change counts inline, but call the library, so that checks and
/// the ledger see each reference; 2 with the ledger, which must know all objects.
#[unsafe(no_mangle)]
pub static rp_checked: u32 = if cfg!(feature = "leak-detection") {
    2
} else {
    COUNTED_BY_CALLS as u32
};

std::thread_local! {
    /// The thread's context. C++ keeps its address, which is valid until the thread ends, as this
    /// thread-local has no destructor.
    static CONTEXT: Cell<Option<ThreadContext>> = const { Cell::new(None) };
}

/// Returns the calling thread's context; `rp_thread_context` in C.
#[unsafe(no_mangle)]
pub extern "C" fn rp_thread_context_get() -> *const c_void {
    CONTEXT.with(|place| {
        if place.get().is_none() {
            place.set(Some(ThreadContext::of_this_thread()));
        }
        // SAFETY: the cell has a value, and nothing writes to it any more.
        let context = unsafe { (*place.as_ptr()).as_ref() };
        context.map_or(ptr::null(), |context| ptr::from_ref(context).cast())
    })
}

/// Returns the context of an argument; `None` if it is null.
///
/// # Safety
/// The argument is null, or from [`rp_thread_context_get`] on the calling thread.
#[inline(always)]
unsafe fn context<'c>(here: *const c_void) -> Option<&'c ThreadContext> {
    // SAFETY: the thread-local has no destructor, and is never written again.
    unsafe { here.cast::<ThreadContext>().as_ref() }
}

// A function that runs for each object does the usual work itself, and leaves all else to a
// function `*_slowly`, which it calls last. An `extern "C"` function does not unwind, so the usual
// path needs no frame that catches panics, and saves no registers. Only an event's hook could panic
// there; the process then aborts. NULL, too, takes the slow path, at the cost of a branch for each
// argument.

/// Allocates the memory of an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_alloc(
    here: *const c_void,
    of: *const ForeignClass,
) -> *mut c_void {
    // SAFETY: releasepool.h requires the calling thread's context as `here` and a class as `of`;
    // either may be null.
    unsafe {
        match (context(here).zip(of.as_ref())).and_then(|(here, class)| here.alloc_uninit(class)) {
            Some(memory) => memory.as_ptr().cast(),
            None => alloc_slowly(of),
        }
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn alloc_slowly(of: *const ForeignClass) -> *mut c_void {
    pointer("rp_embedded_alloc", || {
        // SAFETY: `of` is a class or null: `rp_embedded_alloc` passes on its argument.
        let class = unsafe { class(of) }?;
        let memory = class.alloc_uninit().ok_or_else(|| no_memory(class))?;
        Ok(memory.as_ptr().cast())
    })
}

/// Frees memory in which no object was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_free(of: *const ForeignClass, memory: *mut c_void) {
    let _ = status("rp_embedded_free", || {
        // SAFETY: releasepool.h requires a class as `of`.
        let class = unsafe { class(of) }?;
        if let Some(memory) = NonNull::new(memory) {
            // SAFETY: releasepool.h requires `memory` from `rp_embedded_alloc` of this class, in
            // which no object was made.
            unsafe { class.free_uninit(memory.cast()) };
        }
        Ok(())
    });
}

/// Allocates memory for `new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_memory_alloc(
    here: *const c_void,
    size: usize,
    align: usize,
) -> *mut c_void {
    // SAFETY: releasepool.h requires the calling thread's context, or null, as `here`.
    match unsafe { context(here).and_then(|here| here.alloc_by_hand(size, align)) } {
        Some(memory) => memory.as_ptr().cast(),
        None => alloc_by_hand_slowly(size, align),
    }
}

#[cold]
#[inline(never)]
extern "C" fn alloc_by_hand_slowly(size: usize, align: usize) -> *mut c_void {
    pointer("rp_memory_alloc", || {
        match alloc_by_hand(layout(size.max(1), align)?) {
            Some(memory) => Ok(memory.as_ptr().cast()),
            None => Err(Fault(
                Status::NoMemory,
                format!("there is no memory of {size} bytes"),
            )),
        }
    })
}

/// Frees memory for `delete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_memory_free(
    here: *const c_void,
    memory: *mut c_void,
    size: usize,
    align: usize,
) {
    let Some(memory) = NonNull::new(memory.cast()) else {
        return;
    };
    // SAFETY: releasepool.h requires the calling thread's context, or null, as `here`, and as
    // `memory` what `rp_memory_alloc` or `rp_embedded_alloc` returned for this size and alignment.
    unsafe {
        if !context(here).is_some_and(|here| here.free_by_hand(memory, size, align)) {
            free_by_hand_slowly(memory, size, align);
        }
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn free_by_hand_slowly(memory: NonNull<u8>, size: usize, align: usize) {
    if let Ok(layout) = Layout::from_size_align(size.max(1), align) {
        // SAFETY: `memory` is from the library, with these sizes: `rp_memory_free` passes on its
        // arguments.
        unsafe { free_by_hand(memory, layout) };
    }
}

/// Records a new object, in builds with the ledger.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_note(of: *const ForeignClass, at: *mut c_void) {
    let _ = status("rp_embedded_note", || {
        let thin = object(at, "object")?;
        // SAFETY: releasepool.h requires as `at` an object of the class `of` that was just created.
        unsafe { class(of)?.note_created(thin) };
        Ok(())
    });
}

/// Records that an object is of this class from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_note_class(of: *const ForeignClass, at: *mut c_void) {
    let _ = status("rp_embedded_note_class", || {
        let thin = object(at, "object")?;
        // SAFETY: releasepool.h requires as `at` an object of the class `of` with exactly one
        // reference.
        unsafe { class(of)?.note_retyped(thin) };
        Ok(())
    });
}

/// Makes an object that the current pool owns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_create(
    here: *const c_void,
    of: *const ForeignClass,
) -> *mut c_void {
    // SAFETY: releasepool.h requires the calling thread's context as `here` and a class as `of`;
    // either may be null.
    unsafe {
        match (context(here).zip(of.as_ref())).and_then(|(here, class)| here.create(class)) {
            Some(thin) => thin.as_ptr().cast(),
            None => create_slowly(of),
        }
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn create_slowly(of: *const ForeignClass) -> *mut c_void {
    const NAME: &str = "rp_embedded_create";
    // SAFETY: `of` is a class or null: `rp_embedded_create` passes on its argument.
    let Ok(class) = attempt(NAME, || unsafe { class(of) }) else {
        return ptr::null_mut();
    };
    // Not called through a closure: the ledger would record a place in the standard library as the
    // caller.
    let Some(thin) = class.create() else {
        return pointer(NAME, || Err(no_memory(class)));
    };
    // SAFETY: `thin` is a new object, and its only reference goes to the pool.
    releasepool::autorelease(unsafe { adopt(thin) });
    thin.as_ptr().cast()
}

/// Moves a reference into the current pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_autorelease(here: *const c_void, at: *mut c_void) {
    // SAFETY: releasepool.h requires the calling thread's context as `here`, and as `at` an object
    // with a reference that the caller gives up; either may be null.
    unsafe {
        let both = context(here).zip(NonNull::new(at.cast()));
        if !both.is_some_and(|(here, thin)| here.autorelease(thin)) {
            autorelease_slowly(at);
        }
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn autorelease_slowly(at: *mut c_void) {
    let _ = status("rp_embedded_autorelease", || {
        // SAFETY: the caller has given up its reference to `at`, which goes to the pool.
        releasepool::autorelease(unsafe { adopt(object(at, "object")?) });
        Ok(())
    });
}

/// Ends the value of an object in its destructor; see releasepool.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_end(at: *mut c_void, is_held: bool) {
    let _ = status("rp_embedded_end", || {
        let thin = object(at, "object")?;
        // SAFETY: releasepool.h requires as `at` an object whose value ends now; releasepool.hpp
        // calls this only in the destructor of the base class.
        unsafe { end_by_hand(thin, is_held, || place_of(thin)) };
        Ok(())
    });
}

/// A function of C++ that writes the name of the class with this table of virtual functions.
pub type TableNameFn = unsafe extern "C" fn(*const c_void, *mut c_char, usize);

/// The bytes for a name that a function of C++ writes.
const NAME_BYTES: usize = 1024;

/// Returns the name of the class with this table of virtual functions; `None` if it is unknown.
fn name_of_table(name: TableNameFn, table: usize) -> Option<String> {
    let table: *const c_void = std::ptr::with_exposed_provenance(table);
    let function = NonNull::new(name as *mut c_void)?;
    // The shared library that defined the class may have been unloaded; `table` may be any word.
    let is_whole = table.cast::<usize>().is_aligned();
    if !is_whole
        || !is_static(NonNull::new(table.cast_mut())?.cast())
        || !is_static(function.cast())
    {
        return None;
    }
    let mut text = [0_u8; NAME_BYTES];
    // SAFETY: `name` is in a loaded library, and gets the table of an object of the class that it
    // was set for. It writes at most `text.len()` bytes.
    unsafe { name(table, text.as_mut_ptr().cast(), text.len()) };
    let text = std::ffi::CStr::from_bytes_until_nul(&text)
        .ok()?
        .to_string_lossy();
    (!text.is_empty()).then(|| text.into_owned())
}

/// Makes reports name each object of a class by its table of virtual functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_embedded_name_by(
    of: *const ForeignClass,
    name: Option<TableNameFn>,
) -> Status {
    status("rp_embedded_name_by", || {
        // SAFETY: releasepool.h requires a class as `of`.
        let class = unsafe { class(of) }?;
        let name = needed(name, "name")?;
        if class.name_objects_by(move |table| name_of_table(name, table)) {
            Ok(())
        } else {
            let name = class.name();
            invalid(format!(
                "the class {name} does not free its memory, so it has no table"
            ))
        }
    })
}

/// Returns the name of an object's class, which ends with a zero, in memory that the caller frees by
/// [`rp_text_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_type_name(at: *const c_void) -> *mut std::ffi::c_char {
    pointer("rp_type_name", || {
        let thin = object(at.cast_mut(), "object")?;
        // SAFETY: releasepool.h requires a live object as `at`.
        let name = unsafe { raw::type_name(thin) };
        std::ffi::CString::new(name)
            .map(std::ffi::CString::into_raw)
            .map_err(|_| Fault(Status::Invalid, "the name has a zero in it".into()))
    })
}

/// Frees a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_text_free(text: *mut std::ffi::c_char) {
    if !text.is_null() {
        // SAFETY: releasepool.h requires a `text` that a function of this library returned for
        // `rp_text_free`.
        drop(unsafe { std::ffi::CString::from_raw(text) });
    }
}

/// Returns what kind of memory the address lies in, if the library has not allocated it.
fn place_of(at: NonNull<u8>) -> ForeignPlace {
    if is_on_own_stack(at) {
        ForeignPlace::Stack
    } else if is_static(at) {
        ForeignPlace::Static
    } else {
        ForeignPlace::Other
    }
}

/// Returns whether the address is in the program's file or a loaded library.
#[cfg(unix)]
fn is_static(at: NonNull<u8>) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the call only writes to `found`.
    unsafe { libc::dladdr(at.as_ptr().cast(), found.as_mut_ptr()) != 0 }
}

/// Returns false: this platform does not tell.
#[cfg(not(unix))]
fn is_static(_: NonNull<u8>) -> bool {
    false
}

/// Returns whether the address is on the calling thread's stack.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_on_own_stack(at: NonNull<u8>) -> bool {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut begin, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the first call initializes the attributes, the second reads them, the third ends them.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return false;
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut begin, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    (begin.addr()..begin.addr() + size).contains(&at.addr().get())
}

/// Returns false: this platform does not tell.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_on_own_stack(_: NonNull<u8>) -> bool {
    false
}
