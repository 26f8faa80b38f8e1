//! Objects of GLib: temporaries in pools, and a thread that sleeps in GLib's main loop and is the home
//! of its values.
//!
//! `cargo run --release -p releasepool-foreign --bin glib [NUMBER OF TEMPORARIES]` needs the library of
//! Debian's package libglib2.0-dev; without it, it only says so.

use releasepool::foreign::{Foreign, RemoteRelease};
use releasepool::{AutoreleasePool, HomeRef, PoolManager};
use releasepool_foreign::{EACH, Library, functions, temporaries};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// GLib's `GObject`.
enum GObject {}

type Notify = unsafe extern "C" fn(*mut c_void, *mut GObject);
type Source = unsafe extern "C" fn(*mut c_void) -> i32;

functions! {
    GLib {
        g_object_get_type: fn() -> usize;
        g_object_new_with_properties: fn(usize, u32, *const *const u8, *const c_void) -> *mut GObject;
        g_object_ref: fn(*mut GObject) -> *mut GObject;
        g_object_unref: fn(*mut GObject);
        g_object_weak_ref: fn(*mut GObject, Notify, *mut c_void);
        g_idle_add: fn(Source, *mut c_void) -> u32;
        g_main_context_default: fn() -> *mut c_void;
        g_main_context_is_owner: fn(*mut c_void) -> i32;
        g_main_context_iteration: fn(*mut c_void, i32) -> i32;
    }
}

static GLIB: OnceLock<GLib> = OnceLock::new();

fn glib() -> &'static GLib {
    GLIB.get().expect("main has loaded it")
}

// SAFETY: these are GLib's own functions for the counts of its objects.
unsafe impl Foreign for GObject {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: by the contract of `retain`, the object is alive.
        unsafe { (glib().g_object_ref)(this.as_ptr()) };
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: by the contract of `release`, the caller gives up a reference.
        unsafe { (glib().g_object_unref)(this.as_ptr()) };
    }
}

static DIED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn died(_: *mut c_void, _: *mut GObject) {
    DIED.fetch_add(1, Ordering::Relaxed);
}

/// Returns a new object with one reference, whose end is counted.
fn new_object() -> NonNull<GObject> {
    let glib = glib();
    // SAFETY: makes an object of the base type, without properties; `died` is a valid weak notify.
    unsafe {
        let of = (glib.g_object_get_type)();
        let object = (glib.g_object_new_with_properties)(of, 0, ptr::null(), ptr::null());
        (glib.g_object_weak_ref)(object, died, ptr::null_mut());
        NonNull::new(object).expect("GLib aborts if memory is exhausted")
    }
}

/// Creates temporaries, a thousand for each pool.
fn in_pools() {
    DIED.store(0, Ordering::Relaxed);
    let mut pool = AutoreleasePool::new();
    let number = temporaries(|round| {
        for _ in 0..EACH {
            // SAFETY: `new_object` returns a reference, which may be given up anywhere.
            unsafe { pool.adopt(new_object()) };
        }
        assert_eq!(DIED.load(Ordering::Relaxed), round * EACH);
        pool.drain();
    });
    assert_eq!(DIED.load(Ordering::Relaxed), number);
    println!("{number} temporaries died with their pools");
}

/// Returns whether the calling thread runs GLib's main loop.
fn runs_main_loop() -> bool {
    let glib = glib();
    // SAFETY: the default context lives for ever.
    unsafe { (glib.g_main_context_is_owner)((glib.g_main_context_default)()) != 0 }
}

/// References that workers have dropped, for the main loop's thread.
static DROPPED: RemoteRelease<GObject> = RemoteRelease::new(runs_main_loop);

/// An idle source: runs what other threads have sent to the main thread, in the main loop.
unsafe extern "C" fn run_inbox(_: *mut c_void) -> i32 {
    PoolManager::global().run_inbox();
    DROPPED.drain().expect("this is the main loop's thread");
    0 // once
}

/// Workers drop references to values of the main thread, which sleeps in its loop meanwhile.
fn main_loop() {
    DIED.store(0, Ordering::Relaxed);
    let glib = glib();
    // Three lines make the thread that runs the main loop a home.
    let _hook = PoolManager::global().set_inbox_hook(move || {
        // SAFETY: any thread may add an idle source; it wakes the loop.
        unsafe { (glib.g_idle_add)(run_inbox, ptr::null_mut()) };
    });

    let alive = Rc::new(Cell::new(())); // neither Send nor Sync
    let workers = [(); 3].map(|()| {
        let widgets: Vec<_> = (0..EACH).map(|_| HomeRef::new(alive.clone())).collect();
        thread::spawn(move || {
            for widget in widgets {
                // SAFETY: `new_object` returns a reference, which GLib lets any thread release.
                assert!(unsafe { DROPPED.push(new_object()) });
                drop(widget); // the last reference
            }
        })
    });
    while Rc::strong_count(&alive) > 1 {
        // SAFETY: null is the default context, which this thread runs. Sleeps until there is work.
        unsafe { (glib.g_main_context_iteration)(ptr::null_mut(), 1) };
    }
    workers
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    // Each object was pushed before a widget of its worker was sent home.
    assert_eq!(DIED.load(Ordering::Relaxed), 3 * EACH);
    println!("{} widgets were destroyed in the main loop", 3 * EACH);
}

fn main() {
    let Some(library) = Library::load(&["libgobject-2.0.so.0"]) else {
        return;
    };
    _ = GLIB.set(GLib::find(library));
    in_pools();
    main_loop();
}
