//! Drains of objects whose classes foreign code has made.

use crate::support::{deep_down, events, global, listen, on_drop, panic_of};
use releasepool::event::EventKind;
use releasepool::raw::{self, ForeignClass, ForeignClassSpec, ForeignMemory, HEADER_BYTES, Object};
use releasepool::report::Totals;
use releasepool::{AutoreleasePool, Ref, autorelease};
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::OnceLock;

type Hook = Box<dyn FnOnce()>;

/// Calls the hook that is the payload.
unsafe extern "C" fn call(payload: *mut c_void) {
    // SAFETY: `on_end` has written it, and a destructor runs once.
    let hook = unsafe { payload.cast::<Hook>().read() };
    hook();
}

/// Returns a new object of a class whose destructor calls `hook`.
fn on_end(hook: impl FnOnce() + 'static) -> Ref<Object> {
    static CLASS: OnceLock<&ForeignClass> = OnceLock::new();
    let class = CLASS.get_or_init(|| {
        let bytes = HEADER_BYTES + size_of::<Hook>();
        let made = ForeignClass::leak(ForeignClassSpec {
            name: || "OnEnd",
            layout: Layout::from_size_align(bytes, 8).unwrap(),
            payload_offset: HEADER_BYTES,
            is_embedded: false,
            destroy: Some(call),
            memory: ForeignMemory::Library,
        });
        made.unwrap()
    });
    let thin = class.create().unwrap();
    // SAFETY: a new object with one reference, whose payload has room for the hook.
    unsafe {
        thin.cast::<Hook>().write(Box::new(hook));
        raw::adopt(thin)
    }
}

thread_local! {
    /// The links of this thread that are alive.
    static ALIVE: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn a_drain_in_a_destructor_ends_while_other_objects_are_queued() {
    thread_local! {
        static ENDED: Cell<usize> = const { Cell::new(0) };
    }
    let drains = || {
        Ref::new(on_drop(|| {
            let pool = AutoreleasePool::new();
            for _ in 0..100 {
                pool.autorelease(on_end(|| ENDED.set(ENDED.get() + 1)));
            }
        }))
    };
    // So far down the stack, nested releases queue both.
    let release_both = move || deep_down(64, || drop((drains(), drains())));
    drop(Ref::new(on_drop(release_both)));
    assert_eq!(ENDED.get(), 200);
}

/// A link of a chain; the last one may panic.
struct Link {
    next: Option<Ref<Link>>,
    panics: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
        assert!(!self.panics, "the last link");
        drop(self.next.take());
    }
}

/// So long that nested releases queue most of its links.
const LINKS: usize = if cfg!(miri) { 1_000 } else { 20_000 };

fn chain(panics: bool) -> Ref<Link> {
    let link = |next: Option<_>| {
        ALIVE.set(ALIVE.get() + 1);
        let panics = panics && next.is_none();
        Ref::new(Link { next, panics })
    };
    (1..LINKS).fold(link(None), |chain, _| link(Some(chain)))
}

/// Returns a pool with 40 entries, so that a drain does not take its way for a few.
fn filled_pool() -> AutoreleasePool {
    let pool = AutoreleasePool::new();
    (0..40).for_each(|_| _ = pool.create(on_drop(|| ())));
    pool
}

/// Returns the figures of this thread.
fn totals() -> Totals {
    let manager = global();
    let key = manager.current_thread().unwrap().key();
    manager.snapshot().thread(key).unwrap().totals
}

#[test]
fn generations_of_foreign_objects_count_too() {
    fn relay(n: usize) -> Ref<Object> {
        on_end(move || {
            if n > 0 {
                autorelease(relay(n - 1));
            }
        })
    }
    listen();
    let mut pool = AutoreleasePool::new();
    pool.autorelease(relay(1_200));
    assert_eq!(pool.drain(), 1_201);
    let events = events(EventKind::EndlessDrain);
    let of_types: Vec<_> = events.iter().map(|event| event.type_name).collect();
    assert_eq!(of_types, [Some("OnEnd")]);
}

#[test]
fn what_a_foreign_destructor_has_queued_ends_before_the_next_object() {
    let alive = Rc::new(RefCell::new(Vec::new()));
    let look = || {
        let alive = Rc::clone(&alive);
        move || alive.borrow_mut().push(ALIVE.get())
    };
    let dropped = |chain: Ref<Link>| on_end(move || drop(chain));
    let pool = filled_pool();
    pool.autorelease(on_end(look()));
    pool.autorelease(dropped(chain(false)));
    drop(pool);
    let pool = filled_pool();
    pool.create(on_drop(look()));
    pool.autorelease(dropped(chain(false)));
    drop(pool);
    let (chain, added) = (chain(false), on_end(look()));
    let mut pool = filled_pool();
    pool.autorelease(on_end(move || {
        autorelease(added);
        drop(chain);
    }));
    pool.drain();
    assert_eq!(*alive.borrow(), [0, 0, 0]);
}

#[test]
fn a_panic_of_what_a_foreign_destructor_has_queued_loses_no_figure() {
    let chain = chain(true);
    let mut pool = filled_pool();
    pool.autorelease(on_end(move || drop(chain)));
    let before = totals();
    assert_eq!(panic_of(|| pool.drain()), "the last link");
    let after = totals();
    assert_eq!(after.destroyed - before.destroyed, LINKS as u64 + 41);
    assert_eq!(after.released - before.released, 41);
}

#[test]
fn a_panic_of_an_object_with_two_entries_loses_no_figure() {
    let mut pool = filled_pool();
    let object = Ref::new(on_drop(|| panic!("twice in a pool")));
    pool.autorelease(object.clone());
    pool.autorelease(object);
    let before = totals();
    assert_eq!(panic_of(|| pool.drain()), "twice in a pool");
    let after = totals();
    assert_eq!(after.destroyed - before.destroyed, 41);
    assert_eq!(after.released - before.released, 42);
}
