//! The public names and their exact signatures. It is enough that this compiles: programs that use
//! the crate are compiled against what is written here.
#![allow(clippy::type_complexity)]

use releasepool::event::{self, Event, EventKind, Hook};
use releasepool::{
    AllocError, AutoreleasePool, BlockAllocator, Closed, PoolDump, PoolManager, PoolManagerBuilder,
    PoolRef, PoolToken, PopError, Ref, RootPolicy, ShutdownReport, Snapshot, ThreadHandle,
    ThreadKey, ThreadSnapshot, Totals, Weak, autorelease, autoreleasepool, settle,
};
use std::any::Any;
use std::borrow::Cow;
use std::error::Error;
use std::ffi::{CStr, OsStr};
use std::fmt::{Debug, Display};
use std::mem::MaybeUninit;
use std::path::Path;
use std::pin::Pin;
use std::thread::ThreadId;
use std::time::Duration;

type AnyShared = dyn Any + Send + Sync;

#[test]
fn of_ref() {
    let _: fn(u8) -> Ref<u8> = Ref::new;
    let _: fn(fn(&Weak<u8>) -> u8) -> Ref<u8> = Ref::<u8>::new_cyclic::<fn(&Weak<u8>) -> u8>;
    let _: fn(u8) -> Pin<Ref<u8>> = Ref::pin;
    let _: fn(Ref<u8>) -> Result<u8, Ref<u8>> = Ref::try_unwrap;
    let _: fn(Ref<u8>) -> Option<u8> = Ref::into_inner;
    let _: fn(Ref<u8>) -> u8 = Ref::unwrap_or_clone;

    let _: fn(&Ref<str>) -> usize = Ref::<str>::strong_count;
    let _: fn(&Ref<str>) -> usize = Ref::<str>::weak_count;
    let _: fn(&Ref<str>) -> Weak<str> = Ref::<str>::downgrade;
    let _: fn(&Ref<str>, &Ref<str>) -> bool = Ref::<str>::ptr_eq;
    let _: fn(&Ref<str>) -> *const str = Ref::<str>::as_ptr;
    let _: fn(Ref<str>) -> *const str = Ref::<str>::into_raw;
    let _: unsafe fn(*const str) -> Ref<str> = Ref::<str>::from_raw;
    let _: unsafe fn(*const str) = Ref::<str>::increment_strong_count;
    let _: unsafe fn(*const str) = Ref::<str>::decrement_strong_count;
    let _: for<'a> fn(&'a mut Ref<str>) -> Option<&'a mut str> = Ref::<str>::get_mut;
    let _: fn(Ref<str>) = Ref::<str>::autorelease;

    let _: for<'a> fn(&'a mut Ref<u8>) -> &'a mut u8 = Ref::<u8>::make_mut;
    let _: for<'a> fn(&'a mut Ref<[u8]>) -> &'a mut [u8] = Ref::<[u8]>::make_mut;
    let _: for<'a> fn(&'a mut Ref<str>) -> &'a mut str = Ref::<str>::make_mut;
    let _: for<'a> fn(&'a mut Ref<CStr>) -> &'a mut CStr = Ref::<CStr>::make_mut;
    let _: for<'a> fn(&'a mut Ref<OsStr>) -> &'a mut OsStr = Ref::<OsStr>::make_mut;
    let _: for<'a> fn(&'a mut Ref<Path>) -> &'a mut Path = Ref::<Path>::make_mut;
    let _: fn() -> Ref<MaybeUninit<u8>> = Ref::<u8>::new_uninit;
    let _: fn() -> Ref<MaybeUninit<u8>> = Ref::<u8>::new_zeroed;
    let _: fn(usize) -> Ref<[MaybeUninit<u8>]> = Ref::<[u8]>::new_uninit_slice;
    let _: fn(usize) -> Ref<[MaybeUninit<u8>]> = Ref::<[u8]>::new_zeroed_slice;
    let _: unsafe fn(Ref<MaybeUninit<u8>>) -> Ref<u8> = Ref::<MaybeUninit<u8>>::assume_init;
    let _: unsafe fn(Ref<[MaybeUninit<u8>]>) -> Ref<[u8]> = Ref::<[MaybeUninit<u8>]>::assume_init;
    let _: fn(&str, &BlockAllocator) -> Ref<str> = Ref::new_str_in;
    let _: fn(&str, &BlockAllocator) -> Result<Ref<str>, AllocError> = Ref::try_new_str_in;
    let _: fn(&[u8], &BlockAllocator) -> Ref<[u8]> = Ref::new_slice_in;
    let _: fn(&[u8], &BlockAllocator) -> Result<Ref<[u8]>, AllocError> = Ref::try_new_slice_in;
    let _: fn(Ref<AnyShared>) -> Result<Ref<u8>, Ref<AnyShared>> = Ref::<AnyShared>::downcast::<u8>;
}

#[test]
fn of_weak() {
    const NOTHING: Weak<String> = Weak::new();
    let _: fn(&Weak<str>) -> Option<Ref<str>> = Weak::<str>::upgrade;
    let _: fn(&Weak<str>) -> usize = Weak::<str>::strong_count;
    let _: fn(&Weak<str>) -> usize = Weak::<str>::weak_count;
    let _: fn(&Weak<str>, &Weak<str>) -> bool = Weak::<str>::ptr_eq;
    let _: fn(&Weak<str>) -> *const str = Weak::<str>::as_ptr;
    let _: fn(Weak<str>) -> *const str = Weak::<str>::into_raw;
    let _: unsafe fn(*const str) -> Weak<str> = Weak::<str>::from_raw;
    assert!(NOTHING.upgrade().is_none());
}

#[test]
fn of_pools() {
    type Pool = AutoreleasePool;
    let _: fn() -> Pool = Pool::new;
    let _: fn(&'static str) -> Pool = Pool::named;
    let _: fn(String) -> Pool = Pool::named;
    let _: fn(Cow<'static, str>) -> Pool = Pool::named;
    let _: for<'p> fn(&'p Pool, Ref<str>) -> PoolRef<'p, str> = Pool::autorelease::<str>;
    let _: for<'p> fn(&'p Pool, u8) -> PoolRef<'p, u8> = Pool::create::<u8>;
    let _: for<'p> fn(&'p Pool, &str) -> PoolRef<'p, str> = Pool::create_str;
    let _: for<'p> fn(&'p Pool, &[u8]) -> PoolRef<'p, [u8]> = Pool::create_slice::<u8>;
    let _: for<'p> fn(&'p Pool, fn() -> Result<u8, i8>) -> Result<PoolRef<'p, u8>, i8> =
        Pool::try_create;
    let _: fn(&mut Pool) -> usize = Pool::drain;
    let _: fn(&Pool) -> usize = Pool::len;
    let _: fn(&Pool) -> bool = Pool::is_empty;
    let _: for<'p> fn(&'p Pool) -> &'p str = Pool::name;
    let _: fn(&Pool, &Ref<str>) -> bool = Pool::contains::<str>;
    let _: for<'p> fn(&'p Pool) -> PoolDump<'p> = Pool::dump;

    let _: fn(fn(&mut Pool) -> u8) -> u8 = autoreleasepool;
    let _: fn(Ref<str>) = autorelease::<str>;
    let _: fn() -> usize = settle;
}

#[test]
fn of_pool_refs() {
    fn of<'p>(_: PoolRef<'p, str>) {
        let _: fn(PoolRef<'p, str>) -> &'p str = PoolRef::<str>::get;
        let _: fn(PoolRef<'p, str>) -> Ref<str> = PoolRef::<str>::retain;
        let _: fn(PoolRef<'p, str>) -> Weak<str> = PoolRef::<str>::downgrade;
        let _: fn(PoolRef<'p, str>) -> *const str = PoolRef::<str>::as_ptr;
        let _: fn(PoolRef<'p, str>, PoolRef<'p, str>) -> bool = PoolRef::<str>::ptr_eq;
    }
    let _: fn(PoolRef<'_, str>) = of;
}

#[test]
fn of_managers() {
    type M = PoolManager;
    let _: fn() -> &'static M = M::global;
    let _: fn() -> M = M::new;
    let _: fn() -> PoolManagerBuilder = M::builder;
    let _: fn(&M) -> AutoreleasePool = M::pool;
    let _: fn(&M, &'static str) -> AutoreleasePool = M::named_pool;
    let _: fn(&M) -> PoolToken = M::push;
    let _: fn(&M, PoolToken) -> Result<usize, PopError> = M::pop;
    let _: fn(&M, Ref<str>) = M::autorelease::<str>;
    let _: fn(&M) -> usize = M::drain_root;
    let _: fn(&M) -> usize = M::run_inbox;
    let _: fn(&M) -> usize = M::boundary;
    let _: fn(&M) -> Option<ThreadHandle> = M::current_thread;
    let _: fn(&M, ThreadKey) -> Option<ThreadHandle> = M::thread;
    let _: fn(&M, ThreadId) -> Option<ThreadHandle> = M::thread_by_id;
    let _: fn(&M) -> Vec<ThreadHandle> = M::threads;
    let _: fn(&M, &Ref<str>) -> bool = M::contains::<str>;
    let _: fn(&M) -> Snapshot = M::snapshot;
    let _: fn(&M, Duration) -> bool = M::quiesce;
    let _: fn(&M, Duration) -> Result<ShutdownReport, ShutdownReport> = M::shutdown;
    let _: for<'m> fn(&'m M) -> Option<&'m str> = M::name;

    type B = PoolManagerBuilder;
    let _: fn(B, &'static str) -> B = B::name;
    let _: fn(B, usize) -> B = B::root_watermark;
    let _: fn(B, RootPolicy) -> B = B::root_policy;
    let _: fn(B) -> M = B::build;
}

#[test]
fn of_threads() {
    let _: fn(&ThreadHandle) -> ThreadKey = ThreadHandle::key;
    let _: for<'h> fn(&'h ThreadHandle) -> Option<&'h str> = ThreadHandle::name;
    let _: fn(&ThreadHandle) -> bool = ThreadHandle::is_alive;
    let _: fn(&ThreadHandle, Ref<str>) = ThreadHandle::release::<str>;
    let _: fn(&ThreadHandle, fn()) -> Result<(), Closed<fn()>> = ThreadHandle::post::<fn()>;
    let Closed(refused) = Closed(7);
    assert_eq!(refused, 7);
}

#[test]
fn of_what_is_told() {
    let _ = |s: Snapshot| -> (Vec<ThreadSnapshot>, Totals, usize, u64) {
        let live = s.live_objects();
        (s.threads, s.departed, s.orphans, live)
    };
    let _ = |t: ThreadSnapshot| -> (ThreadKey, Option<String>, usize, usize, Totals) {
        (t.key, t.name, t.open_pools, t.root_entries, t.totals)
    };
    let _ = |t: Totals| -> [u64; 6] {
        [
            t.pools_pushed,
            t.autoreleased,
            t.released,
            t.created,
            t.destroyed,
            t.handed_over,
        ]
    };
    let _ = |r: ShutdownReport| -> (usize, Vec<ThreadSnapshot>, usize, Duration) {
        (r.released, r.holders, r.orphans, r.elapsed)
    };
    let _ = |e: PopError| match e {
        PopError::Stale | PopError::WrongManager | PopError::Draining => None,
        PopError::WrongThread { owner } => Some::<ThreadKey>(owner),
        _ => None,
    };
    let _: fn(Option<Hook>) -> Option<Hook> = event::set_hook;
    let _: Hook = Box::new(|_: &Event| ());
    let told = String::new();
    let _: Hook = Box::new(move |e: &Event| assert_ne!(e.to_string(), told));
    let _ = |e: Event| -> (EventKind, String, Option<String>, usize) {
        let _: Option<&'static str> = e.type_name;
        let _: Option<String> = e.message;
        let _: (Vec<(&'static str, usize)>, usize, usize) = (e.types, e.sampled, e.occurrences);
        let _: Option<String> = e.manager;
        (e.kind, e.thread, e.pool, e.count)
    };
}

#[test]
fn of_standard_traits() {
    fn error<T: Error + Debug + Display>() {}
    error::<PopError>();
    error::<Closed<fn()>>();
    error::<ShutdownReport>();

    fn debug<T: Debug>() {}
    debug::<AutoreleasePool>();
    debug::<PoolDump<'_>>();
    debug::<PoolManager>();
    debug::<PoolManagerBuilder>();
    debug::<PoolRef<'_, u8>>();
    debug::<PoolToken>();
    debug::<Ref<u8>>();
    debug::<RootPolicy>();
    debug::<Snapshot>();
    debug::<ThreadHandle>();
    debug::<ThreadKey>();
    debug::<ThreadSnapshot>();
    debug::<Totals>();
    debug::<Weak<u8>>();

    fn display<T: Display>() {}
    display::<PoolDump<'_>>();
    display::<Snapshot>();
    display::<ThreadKey>();
    display::<Event>();

    fn default<T: Default>() {}
    default::<AutoreleasePool>();
    default::<PoolManager>();
    default::<PoolManagerBuilder>();
    default::<Weak<u8>>();

    fn plain<T: Copy + Eq + Debug>() {}
    plain::<PoolToken>();
    plain::<ThreadKey>();
    plain::<EventKind>();
    fn key<T: std::hash::Hash + Ord>() {}
    key::<ThreadKey>();
    fn clone<T: Clone>() {}
    clone::<PoolManager>();
    clone::<ThreadHandle>();
    fn copy<T: Copy>() {}
    copy::<PoolRef<'_, str>>();
}

#[test]
fn unsize_takes_every_handle() {
    let pool = AutoreleasePool::new();
    let object = Ref::new(7);
    let _: Ref<dyn Display> = releasepool::unsize!(object.clone() => dyn Display);
    let _: Weak<dyn Display> = releasepool::unsize!(Ref::downgrade(&object) => dyn Display);
    let _: PoolRef<'_, dyn Display> = releasepool::unsize!(pool.autorelease(object) => dyn Display);
    let _: Ref<[u8]> = releasepool::unsize!(Ref::new([1, 2, 3]) => [u8]);
}

#[test]
fn of_destruction_elsewhere_and_foreign_objects() {
    use releasepool::{
        Foreign, ForeignRef, Full, HandoffPool, InboxHook, Later, Looper, OnReclaimer, drop_later,
        finish_drops,
    };
    use std::ptr::NonNull;
    struct Thing;
    // SAFETY: counts nothing.
    unsafe impl Foreign for Thing {
        unsafe fn retain(_: NonNull<Self>) {}
        unsafe fn release(_: NonNull<Self>) {}
    }
    let _: fn(String) = drop_later;
    let _: fn(Duration) -> bool = finish_drops;
    let _: fn(&Looper, String) = Looper::drop_later;
    let _: fn(&Looper, String, usize) = Looper::drop_later_weighed;
    let _: fn(&Looper, String) -> Result<(), Full<String>> = Looper::try_drop_later;
    let _: fn(&Looper) -> Result<(), OnReclaimer> = Looper::barrier;
    let _: fn(&Looper, Duration) -> bool = Looper::wait_idle;
    let _: fn(String) -> Later<String> = Later::new;
    let _: fn(Later<String>) -> String = Later::into_inner;
    let _: fn(String) -> Later<String> = Later::from;
    let _: fn(&Later<String>) -> &String = std::ops::Deref::deref;
    let _: fn(&mut Later<String>) -> &mut String = std::ops::DerefMut::deref_mut;
    let _: fn(&HandoffPool, String) = HandoffPool::push_value;
    let _: fn(&PoolManager, fn()) -> InboxHook = PoolManager::set_inbox_hook;
    let _: for<'a> unsafe fn(&'a AutoreleasePool, NonNull<Thing>) -> ForeignRef<'a, Thing> =
        AutoreleasePool::adopt;
    let _ = |lent: ForeignRef<'_, Thing>| -> *mut Thing { lent.as_ptr() };
}

#[test]
fn of_slots_and_caches() {
    use releasepool::{OptionSlot, Slot, SlotCache};
    let _: fn(&Slot<str>, fn(&str) -> u8) -> u8 = Slot::<str>::with;
    let _: for<'a> fn(&Slot<[u8]>, &'a AutoreleasePool) -> PoolRef<'a, [u8]> = Slot::load;
    let _: fn(&Slot<u8>) -> Ref<u8> = Slot::load_full;
    let _: fn(&'static Slot<str>) -> SlotCache<&'static Slot<str>, str> = SlotCache::new;
    let _: for<'a> fn(&'a mut SlotCache<Ref<Slot<u8>>, u8>) -> &'a Ref<u8> = SlotCache::load;
    let _: fn(&mut SlotCache<Ref<Slot<u8>>, u8>) = SlotCache::clear;
    static EMPTY: OptionSlot<str> = OptionSlot::empty();
    assert!(EMPTY.is_empty());
}
