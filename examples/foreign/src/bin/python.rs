//! Objects of Python: temporaries that are released while its lock is held, and references that
//! threads without the lock give up.
//!
//! `cargo run --release -p releasepool-foreign --bin python [NUMBER OF TEMPORARIES]` needs the library of
//! Debian's package libpython3-dev; without it, it only says so.

use releasepool::foreign::{Foreign, NotOwner, RemoteRelease, foreign_scope};
use releasepool_foreign::{EACH, Library, functions, temporaries};
use std::ffi::{CStr, c_char, c_long, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::thread;

/// Python's object.
enum PyObject {}

functions! {
    Api {
        Py_InitializeEx: fn(i32);
        Py_FinalizeEx: fn() -> i32;
        Py_IncRef: fn(*mut PyObject);
        Py_DecRef: fn(*mut PyObject);
        PyEval_SaveThread: fn() -> *mut c_void;
        PyEval_RestoreThread: fn(*mut c_void);
        PyGILState_Check: fn() -> i32;
        PyGILState_Ensure: fn() -> i32;
        PyGILState_Release: fn(i32);
        PyImport_AddModule: fn(*const c_char) -> *mut PyObject;
        PyObject_CallObject: fn(*mut PyObject, *mut PyObject) -> *mut PyObject;
        PyObject_GetAttrString: fn(*mut PyObject, *const c_char) -> *mut PyObject;
        PyLong_AsLong: fn(*mut PyObject) -> c_long;
        PyRun_SimpleString: fn(*const c_char) -> i32;
    }
}

static API: OnceLock<Api> = OnceLock::new();

fn api() -> &'static Api {
    API.get().expect("main has loaded it")
}

// SAFETY: these are Python's own functions for the counts of its objects.
unsafe impl Foreign for PyObject {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: by the contract of `retain`, the object is alive.
        unsafe { (api().Py_IncRef)(this.as_ptr()) };
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: by the contract of `release`, the caller gives up a reference.
        unsafe { (api().Py_DecRef)(this.as_ptr()) };
    }
}

/// Proves that the calling thread holds Python's lock.
struct Python {
    state: i32,
}

impl Python {
    /// Gets the lock, and releases what other threads have given up meanwhile.
    fn lock() -> Self {
        // SAFETY: Python is initialized, and not finalized before all threads have ended.
        let state = unsafe { (api().PyGILState_Ensure)() };
        // If nothing was given up, this is one load.
        DROPPED.drain().expect("this thread holds the lock");
        Self { state }
    }

    /// Returns an attribute of the module `__main__`.
    fn attribute(&self, name: &CStr) -> NonNull<PyObject> {
        // SAFETY: the lock is held; the names are valid.
        let attribute = unsafe {
            let main = (api().PyImport_AddModule)(c"__main__".as_ptr());
            (api().PyObject_GetAttrString)(main, name.as_ptr())
        };
        NonNull::new(attribute).expect("the program in `SOURCE` defines it")
    }

    /// Returns how many objects of the class `Counted` have died.
    fn died(&self) -> usize {
        let died = self.attribute(c"died");
        // SAFETY: the lock is held; `died` is a number, and this function owns the reference.
        let number = unsafe {
            let number = (api().PyLong_AsLong)(died.as_ptr());
            PyObject::release(died);
            number
        };
        number.try_into().expect("a count")
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // SAFETY: `lock` has got the lock, and this state.
        unsafe { (api().PyGILState_Release)(self.state) };
    }
}

fn holds_lock() -> bool {
    // SAFETY: any thread may ask, before and after Python's end, too.
    unsafe { (api().PyGILState_Check)() == 1 }
}

/// References that were dropped on threads without the lock.
static DROPPED: RemoteRelease<PyObject> = RemoteRelease::new(holds_lock);

const SOURCE: &CStr = c"
died = 0
class Counted:
    def __del__(self):
        global died
        died += 1
";

/// Returns a new object of the class `Counted`.
fn new_object(class: NonNull<PyObject>) -> NonNull<PyObject> {
    // SAFETY: the caller holds the lock; null stands for no arguments.
    let object = unsafe { (api().PyObject_CallObject)(class.as_ptr(), std::ptr::null_mut()) };
    NonNull::new(object).expect("the class's constructor cannot fail")
}

/// Creates temporaries, a thousand for each scope.
fn in_scopes() {
    let python = Python::lock();
    let class = python.attribute(c"Counted");
    let before = python.died();
    let number = temporaries(|round| {
        foreign_scope(&python, |scope| {
            for _ in 0..EACH {
                // SAFETY: the reference from `new_object` may be given up while the lock is held.
                unsafe { scope.adopt(new_object(class)) };
            }
        });
        assert_eq!(python.died() - before, (round + 1) * EACH);
    });
    println!("{number} temporaries died with their scopes");
    // SAFETY: the lock is held, and this function owns the reference.
    unsafe { PyObject::release(class) };
}

/// Owns a reference to an object of Python.
struct Py(NonNull<PyObject>);

// SAFETY: its drop is allowed on any thread, and nothing else is done with it.
unsafe impl Send for Py {}

impl Drop for Py {
    fn drop(&mut self) {
        // SAFETY: this value owns the reference, which a thread with the lock may release.
        let accepted = unsafe { DROPPED.push(self.0) };
        assert!(accepted, "Python has ended");
    }
}

/// Threads without the lock drop references, while this one gets the lock now and then.
fn remote_releases() {
    const DROPPED_BY_EACH: usize = 10_000;
    let (objects, before) = {
        let python = Python::lock();
        let class = python.attribute(c"Counted");
        let objects = [(); 3].map(|()| {
            (0..DROPPED_BY_EACH)
                .map(|_| Py(new_object(class)))
                .collect::<Vec<_>>()
        });
        // SAFETY: the lock is held, and this function owns the reference.
        unsafe { PyObject::release(class) };
        (objects, python.died())
    };
    let threads = objects.map(|objects| thread::spawn(move || drop(objects)));
    while !threads.iter().all(thread::JoinHandle::is_finished) {
        drop(Python::lock());
    }
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert!(matches!(DROPPED.drain(), Err(NotOwner) | Ok(0)));
    let python = Python::lock();
    assert_eq!(python.died() - before, 3 * DROPPED_BY_EACH);
    println!(
        "{} objects that other threads dropped died here",
        3 * DROPPED_BY_EACH
    );
}

fn main() {
    let names: Vec<_> = (8..20)
        .rev()
        .map(|minor| format!("libpython3.{minor}.so.1.0"))
        .collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let Some(library) = Library::load(&names) else {
        return;
    };
    _ = API.set(Api::find(library));
    // SAFETY: this is called once, on the main thread, which then holds the lock.
    let main = unsafe {
        (api().Py_InitializeEx)(0);
        assert_eq!((api().PyRun_SimpleString)(SOURCE.as_ptr()), 0);
        (api().PyEval_SaveThread)()
    };
    in_scopes();
    remote_releases();
    // SAFETY: `main` is this thread's state; no other thread uses Python any more.
    unsafe { (api().PyEval_RestoreThread)(main) };
    assert_eq!(
        DROPPED.close(),
        Ok(0),
        "from here on, references are refused"
    );
    // SAFETY: this thread has the lock; no other thread uses Python any more.
    unsafe { (api().Py_FinalizeEx)() };
}
