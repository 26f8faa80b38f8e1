//! Status codes, and the message of the last error of each thread.

use releasepool::PoolManager;
use releasepool::raw::panic_message;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// The result of a call; `rp_status` in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// The call has succeeded.
    Ok = 0,
    /// A pointer that must not be null is null.
    Null = 1,
    /// An argument makes no sense.
    Invalid = 2,
    /// The pool or token has been closed already.
    Stale = 3,
    /// The pool, token, loop or hook belongs to another thread.
    WrongThread = 4,
    /// The token belongs to another manager.
    WrongManager = 5,
    /// The pool is being drained, or the loop makes a frame, further up the call stack.
    Draining = 6,
    /// The thread or loop takes no posts any more.
    Closed = 7,
    /// There is no memory.
    NoMemory = 8,
    /// Rust code has panicked.
    Panic = 9,
    /// The deadline has passed.
    TimedOut = 10,
    /// This build of the library lacks the function's feature, or the thread is ending or gone.
    Unavailable = 11,
}

pub(crate) struct Fault(pub(crate) Status, pub(crate) String);

/// The result of the body of a function.
pub(crate) type Outcome<R = ()> = Result<R, Fault>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

fn set_last(function: &str, message: &str) {
    let text = format!("{function}: {message}").replace('\0', " ");
    // Once the thread's thread-locals are destroyed, there is no place for the message.
    let _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
}

/// Runs the body of the function `name`, and keeps the message of an error.
pub(crate) fn attempt<R>(name: &str, body: impl FnOnce() -> Outcome<R>) -> Result<R, Status> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Fault(status, message))) => {
            set_last(name, &message);
            Err(status)
        }
        Err(payload) => {
            let message = panic_message(payload);
            set_last(
                name,
                message.as_deref().unwrap_or("a panic without a message"),
            );
            Err(Status::Panic)
        }
    }
}

/// Runs the body of a function that returns a status.
pub(crate) fn status(name: &str, body: impl FnOnce() -> Outcome) -> Status {
    attempt(name, body).err().unwrap_or(Status::Ok)
}

/// Runs the body of a function that returns a pointer, which is null after an error.
pub(crate) fn pointer<T>(name: &str, body: impl FnOnce() -> Outcome<*mut T>) -> *mut T {
    attempt(name, body).unwrap_or(ptr::null_mut())
}

/// Runs the body of a function that returns 0 or false after an error.
pub(crate) fn or_default<R: Default>(name: &str, body: impl FnOnce() -> Outcome<R>) -> R {
    attempt(name, body).unwrap_or_default()
}

/// Runs the body of a function that returns a value on the heap, which [`free`] frees.
pub(crate) fn boxed<T>(name: &str, body: impl FnOnce() -> Outcome<T>) -> *mut T {
    pointer(name, || Ok(Box::into_raw(Box::new(body()?))))
}

/// Runs the function `name`, which frees a value from [`boxed`].
///
/// # Safety
/// `at` is null or from [`boxed`], and is given up.
pub(crate) unsafe fn free<T>(name: &str, at: *mut T, argument: &str) -> Status {
    status(name, || {
        // SAFETY: by the contract, `at` is null or from `boxed`, and is given up.
        drop(unsafe { Box::from_raw(non_null(at, argument)?.as_ptr()) });
        Ok(())
    })
}

/// Returns what an argument points to, or an error that names the argument.
///
/// # Safety
/// The pointer is null, or its target exists and is not changed during `'t`.
pub(crate) unsafe fn shared<'t, T>(pointer: *const T, argument: &str) -> Outcome<&'t T> {
    // SAFETY: by the contract, the pointer is null, or its target exists and does not change.
    Ok(unsafe { non_null(pointer.cast_mut(), argument)?.as_ref() })
}

/// Returns an argument that is not null, or an error that names it as releasepool.h does.
pub(crate) fn needed<T>(value: Option<T>, argument: &str) -> Outcome<T> {
    value.ok_or_else(|| Fault(Status::Null, format!("the argument `{argument}` is null")))
}

/// Returns the pointer, or an error that names the argument.
pub(crate) fn non_null<T>(pointer: *mut T, argument: &str) -> Outcome<NonNull<T>> {
    needed(NonNull::new(pointer), argument)
}

/// Returns the payload of an object, or an error that names the argument.
pub(crate) fn object<T>(pointer: *mut T, argument: &str) -> Outcome<NonNull<u8>> {
    let thin = non_null(pointer, argument)?.cast::<u8>();
    if thin.cast::<usize>().is_aligned() {
        Ok(thin)
    } else {
        invalid(format!(
            "the argument `{argument}`, {thin:p}, is no object's address"
        ))
    }
}

/// Returns an error for an argument that makes no sense.
pub(crate) fn invalid<R>(message: impl Into<String>) -> Outcome<R> {
    Err(Fault(Status::Invalid, message.into()))
}

/// Runs the body of a function that returns a status, and writes the result to `place`.
///
/// # Safety
/// `place` is null or may be written.
pub(crate) unsafe fn fill<T>(
    name: &str,
    place: *mut T,
    body: impl FnOnce() -> Outcome<T>,
) -> Status {
    status(name, || {
        let value = body()?;
        if let Some(place) = NonNull::new(place) {
            // SAFETY: by the contract, a place that is not null may be written.
            unsafe { place.write(value) };
        }
        Ok(())
    })
}

/// Returns a text of C, with parts that are not UTF-8 replaced.
///
/// # Safety
/// `text` ends with a zero.
pub(crate) unsafe fn text(text: NonNull<c_char>) -> String {
    // SAFETY: by the contract, the text ends with a zero.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    text.to_string_lossy().into_owned()
}

/// Returns a text of C; `None` if it is null.
///
/// # Safety
/// `text` is null or ends with a zero.
pub(crate) unsafe fn optional_text(pointer: *const c_char) -> Option<String> {
    // SAFETY: forwards the contract.
    NonNull::new(pointer.cast_mut()).map(|pointer| unsafe { text(pointer) })
}

/// Returns the manager of an argument.
///
/// # Safety
/// The pointer is null, or from `rp_manager_new` and not freed during `'m`.
pub(crate) unsafe fn manager<'m>(at: *const PoolManager) -> &'m PoolManager {
    // SAFETY: by the contract, the pointer is null or leads to a manager that is not freed.
    unsafe { at.as_ref() }.unwrap_or_else(|| PoolManager::global())
}

/// Returns the message of the calling thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn rp_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr())
        .unwrap_or(c"".as_ptr())
}

/// Returns the name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn rp_status_name(status: u32) -> *const c_char {
    let name = match status {
        0 => c"ok",
        1 => c"null pointer",
        2 => c"invalid argument",
        3 => c"closed already",
        4 => c"wrong thread",
        5 => c"wrong manager",
        6 => c"being drained",
        7 => c"closed to senders",
        8 => c"no memory",
        9 => c"panic",
        10 => c"timed out",
        11 => c"unavailable",
        _ => c"unknown status",
    };
    name.as_ptr()
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn rp_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
