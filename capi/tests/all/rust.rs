//! Objects that go through Rust and C in turn: objects of Rust through the functions of C, objects of C
//! through Rust's pools, and objects of a third runtime through both.

use releasepool::foreign::{Foreign, RemoteRelease, foreign_scope};
use releasepool::{AutoreleasePool, Budget, PoolManager, Ref, Slot, Weak};
use releasepool_capi::error::Status;
use releasepool_capi::{class, embedded, handoff, manager, object, pool, slot, thread};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An object of Rust, which counts its ends.
struct Note {
    text: String,
    ended: Arc<AtomicUsize>,
}

impl Drop for Note {
    fn drop(&mut self) {
        assert_eq!(self.text, "of Rust");
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

fn note() -> (Ref<Note>, Arc<AtomicUsize>) {
    let ended = Arc::new(AtomicUsize::new(0));
    let note = Ref::new(Note {
        text: "of Rust".into(),
        ended: ended.clone(),
    });
    (note, ended)
}

#[test]
fn an_object_of_rust_goes_through_c() {
    let (note, ended) = note();
    let is_over = || ended.load(Ordering::Relaxed);
    let of_rust: Weak<Note> = Ref::downgrade(&note);
    let at = Ref::into_raw(note).cast_mut().cast::<c_void>();
    // SAFETY: `at` is an object with one reference. Each call takes or gives the reference that
    // releasepool.h says.
    unsafe {
        assert_eq!(object::rp_retain(at), at);
        assert_eq!(
            (object::rp_strong_count(at), object::rp_weak_count(at)),
            (2, 1)
        );
        let name = object_name(at);
        assert!(name.ends_with("rust::Note"), "{name}");

        let weak = object::rp_weak_new(at);
        assert_eq!(object::rp_weak_load(weak), at);
        assert_eq!(object::rp_release(at), Status::Ok);

        let token = pool::rp_pool_push();
        assert_eq!(object::rp_autorelease(at), at);
        assert!(pool::rp_is_in_pools(at));
        let mut released = 0;
        assert_eq!(pool::rp_pool_pop(token, &raw mut released), Status::Ok);
        assert_eq!((released, object::rp_strong_count(at)), (1, 1));

        let of_c = slot::rp_slot_new(object::rp_retain(at));
        assert_eq!(slot::rp_slot_swap(of_c, ptr::null_mut()), at);
        assert_eq!(slot::rp_slot_free(of_c), Status::Ok);
        assert_eq!(object::rp_release(at), Status::Ok);

        let sent = handoff::rp_handoff_new();
        assert_eq!(
            handoff::rp_handoff_add(sent, object::rp_retain(at)),
            Status::Ok
        );
        assert_eq!(handoff::rp_handoff_free(sent), Status::Ok);

        let own = thread::rp_thread_current();
        assert_eq!(
            thread::rp_thread_release(own, object::rp_retain(at)),
            Status::Ok
        );
        assert_eq!(manager::rp_run_inbox(ptr::null_mut()), Status::Ok);
        assert_eq!(thread::rp_thread_free(own), Status::Ok);

        // Rust takes the reference back.
        let note = Ref::from_raw(at.cast::<Note>());
        assert_eq!(
            (&*note.text, Ref::strong_count(&note), is_over()),
            ("of Rust", 1, 0)
        );
        let at = Ref::into_raw(note).cast_mut().cast::<c_void>();
        assert_eq!(object::rp_release(at), Status::Ok);
        assert_eq!(is_over(), 1);
        assert!(of_rust.upgrade().is_none() && object::rp_weak_load(weak).is_null());
        assert_eq!(object::rp_weak_release(weak), Status::Ok);
    }
    assert_eq!(is_over(), 1);
}

/// # Safety
/// `at` is an object that is alive.
unsafe fn object_name(at: *const c_void) -> String {
    // SAFETY: the result is a text, which is freed once.
    unsafe {
        let name = embedded::rp_type_name(at);
        let text = std::ffi::CStr::from_ptr(name)
            .to_string_lossy()
            .into_owned();
        embedded::rp_text_free(name);
        text
    }
}

#[test]
fn an_object_of_rust_in_pools_of_c_and_rust_dies_with_the_last() {
    let (note, ended) = note();
    let mut of_rust = AutoreleasePool::new();
    of_rust.autorelease(note.clone());
    let at = Ref::into_raw(note).cast_mut().cast::<c_void>();
    let other = std::thread::spawn({
        let at = at.expose_provenance();
        move || {
            let token = pool::rp_pool_push();
            // SAFETY: `at` is an object, whose reference moves to this thread.
            unsafe {
                object::rp_autorelease(ptr::with_exposed_provenance_mut(at));
                assert_eq!(pool::rp_pool_pop(token, ptr::null_mut()), Status::Ok);
            }
        }
    });
    other.join().unwrap();
    assert_eq!(ended.load(Ordering::Relaxed), 0);
    assert_eq!(of_rust.drain(), 1);
    assert_eq!(ended.load(Ordering::Relaxed), 1);
}

thread_local! {
    /// The objects that have ended on this thread, in order.
    static ENDED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn note_end(id: u64) {
    // After a test has failed, objects may end later than the thread-local.
    let _ = ENDED.try_with(|ended| ended.borrow_mut().push(id));
}

fn ended() -> Vec<u64> {
    ENDED.with(RefCell::take)
}

/// An object of C. Its `Foreign` tells Rust how to count references to it.
#[repr(C)]
struct Texture {
    id: u64,
}

unsafe extern "C" fn end_texture(at: *mut c_void) {
    // SAFETY: the library calls this only for objects of its class, which are textures.
    note_end(unsafe { (*at.cast::<Texture>()).id });
}

// SAFETY: `retain` adds a reference, and `release` gives one up.
unsafe impl Foreign for Texture {
    unsafe fn retain(this: NonNull<Self>) {
        // SAFETY: the contract of `retain` says that the object is alive.
        unsafe { object::rp_retain(this.as_ptr().cast()) };
    }

    unsafe fn release(this: NonNull<Self>) {
        // SAFETY: the contract of `release` says that the caller owns the reference.
        let status = unsafe { object::rp_release(this.as_ptr().cast()) };
        assert_eq!(status, Status::Ok);
    }
}

fn texture(id: u64) -> NonNull<Texture> {
    let desc = class::ClassDesc {
        name: c"texture".as_ptr(),
        size: size_of::<Texture>(),
        align: 0,
        payload_offset: 0,
        destroy: Some(end_texture),
        frees_memory: 0,
    };
    // SAFETY: the description is whole, and the payload is a texture.
    unsafe {
        let made = object::rp_new(class::rp_class_new(&raw const desc)).cast::<Texture>();
        made.write(Texture { id });
        NonNull::new(made).unwrap()
    }
}

#[test]
fn objects_of_c_go_through_rusts_pools_as_foreign_objects() {
    let mut pool = AutoreleasePool::new();
    let kept = texture(1);
    // SAFETY: each call gets a reference of its own, which any thread may give up at any time.
    unsafe {
        Texture::retain(kept);
        assert_eq!((*pool.adopt(kept).as_ptr()).id, 1);
        pool.adopt(texture(2));
        pool.adopt(texture(3));
        // The release that the entry makes counts, too.
        assert_eq!(pool.drain_within(Budget::Count(2)).released, 2);
        assert_eq!(ended(), [3]);
        PoolManager::global().drain_backlog(Budget::All);
        assert_eq!(ended(), [2]);
        assert_eq!(object::rp_strong_count(kept.as_ptr().cast()), 1);

        // The pool gives the newest entry back.
        pool.adopt(kept);
        assert!(pool.take_back(kept));
        assert_eq!(pool.drain(), 0);

        let token = ();
        foreign_scope(&token, |scope| scope.adopt(texture(4)).as_ptr().is_null());
        assert_eq!(ended(), [4]);

        let remote = RemoteRelease::<Texture, _>::new(|| true);
        std::thread::scope(|s| {
            let (at, remote) = (kept.as_ptr().expose_provenance(), &remote);
            s.spawn(move || {
                let at = ptr::with_exposed_provenance_mut(at);
                assert!(remote.push(NonNull::new(at).unwrap()));
                assert_eq!(ended(), []);
            });
        });
        assert_eq!(remote.drain(), Ok(1));
    }
    assert_eq!(ended(), [1]);
}

#[test]
fn objects_of_c_are_references_in_rust() {
    let at = texture(5);
    // SAFETY: the reference moves into the handle.
    let texture: Ref<Texture> = unsafe { Ref::from_raw(at.as_ptr()) };
    let weak = Ref::downgrade(&texture);
    let slot = Slot::new(texture);
    let mut pool = AutoreleasePool::new();
    assert_eq!(slot.load(&pool).id, 5);
    let loaded = slot.load_full();
    drop(slot);
    pool.autorelease(loaded);
    assert_eq!(weak.upgrade().map(|texture| texture.id), Some(5));
    assert_eq!(pool.drain(), 1);
    PoolManager::global().drain_root();
    assert!(weak.upgrade().is_none());
    assert_eq!(ended(), [5]);
}

/// An object of a third runtime, without the library's header.
struct Thing(u64);

unsafe extern "C" fn thing_unref(at: *mut c_void) {
    // SAFETY: `at` is from `Box::into_raw`, and the pool gives up the only reference.
    let thing = unsafe { Box::from_raw(at.cast::<Thing>()) };
    note_end(thing.0);
}

#[test]
fn objects_of_a_third_runtime_go_through_pools_of_c_in_order() {
    let thing = |id| Box::into_raw(Box::new(Thing(id))).cast();
    let token = pool::rp_pool_push();
    // SAFETY: each call gets a reference of its own.
    unsafe {
        let first = pool::rp_autorelease_foreign(thing(6), Some(thing_unref));
        assert_eq!(first, Status::Ok);
        object::rp_autorelease(texture(7).as_ptr().cast());
        let last = pool::rp_autorelease_foreign(thing(8), Some(thing_unref));
        assert_eq!(last, Status::Ok);
        assert_eq!(ended(), []);
        assert_eq!(pool::rp_pool_pop(token, ptr::null_mut()), Status::Ok);
    }
    assert_eq!(ended(), [8, 7, 6]);
}

#[test]
fn a_panic_of_rust_is_an_error_with_its_message_in_c() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("the end of Panics");
        }
    }
    let at = Ref::into_raw(Ref::new(Panics)).cast_mut().cast::<c_void>();
    // SAFETY: `at` is an object, whose only reference is given up; the message is a text.
    let message = unsafe {
        assert_eq!(object::rp_release(at), Status::Panic);
        std::ffi::CStr::from_ptr(releasepool_capi::error::rp_last_error())
    };
    assert_eq!(message.to_str(), Ok("rp_release: the end of Panics"));
}
