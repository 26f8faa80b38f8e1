//! A global allocator that uses the crate while it allocates or frees.

use crate::support::allocator::{FOREIGN, allocations, with_foreign};
use crate::support::teardown::{When, at_teardown};
use crate::support::worker::Worker;
use crate::support::{
    LONG, Log, PAGE, alone, fresh, fresh_to_the_end, global, here, me, on_drop, sized,
};
use releasepool::event::{self, EventKind};
use releasepool::frame::{FrameConfig, LoopProxy};
use releasepool::home::{NotMade, PendingHome};
use releasepool::memory::BlockAllocator;
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, HandoffPool, HomeRef, Hot, Looper, PoolManager, Ref, Slot,
    autorelease, autoreleasepool, finish,
};
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

#[test]
fn an_allocator_may_drain_the_pool_that_grows() {
    let log = Log::new();
    for id in 0..PAGE as u32 {
        autorelease(Ref::new(log.probe(id)));
    }
    let last = Ref::new(log.probe(PAGE as u32));
    FOREIGN.set(Some(|| _ = global().drain_root()));
    autorelease(last);
    assert!(FOREIGN.get().is_none(), "it has been called");
    assert!(log.ids().into_iter().eq((0..PAGE as u32).rev()));
    assert_eq!(global().drain_root(), 1);
    assert_eq!(log.count(), PAGE + 1);
}

#[test]
fn an_allocator_may_fill_the_pool_that_grows() {
    let object = Ref::new(0);
    let entries = |n| (0..n).for_each(|_| autorelease(Ref::new(0)));
    entries(PAGE);
    FOREIGN.set(Some(|| autorelease(Ref::new(0))));
    autorelease(object.clone());
    assert!(FOREIGN.get().is_none(), "it has been called");
    entries(PAGE);
    assert_eq!(global().drain_root(), 2 * PAGE + 2);
    assert_eq!(Ref::strong_count(&object), 1);
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn a_page_that_an_allocator_makes_unneeded_is_kept_for_later() {
    thread_local! {
        static OBJECT: Ref<u32> = Ref::new(0);
    }
    let fill = |n| OBJECT.with(|object| (0..n).for_each(|_| autorelease(object.clone())));
    fresh(|| {
        let _pool = AutoreleasePool::new();
        fill(PAGE);
        FOREIGN.set(Some(|| OBJECT.with(|object| autorelease(object.clone()))));
        fill(1);
        assert!(FOREIGN.get().is_none(), "it has been called");
        assert_eq!(allocations(|| fill(PAGE)), 0);
    });
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn an_allocator_may_fill_the_handoff_pool_that_grows_on_a_thread_that_has_exited() {
    thread_local! {
        // Without a destructor, as threads use it after their exit.
        static POOL: ManuallyDrop<RefCell<HandoffPool>> =
            const { ManuallyDrop::new(RefCell::new(HandoffPool::new())) };
    }
    fn add(object: Ref<i32>) {
        POOL.with(|pool| _ = pool.borrow().autorelease(object));
    }
    fn fill(n: usize) {
        (0..n).for_each(|_| add(Ref::new(0)));
    }
    at_teardown(When::AfterOurExit, || {
        let object = Ref::new(0);
        FOREIGN.set(Some(|| {
            fill(1);
            // Such a thread keeps no spare page: it frees the one that it no longer needs.
            FOREIGN.set(Some(|| fill(PAGE - 1)));
        }));
        add(object);
        assert!(FOREIGN.get().is_none(), "it has been called");
        let released = POOL.with(|pool| pool.borrow_mut().drain());
        assert_eq!(released, PAGE + 1);
    });
}

#[test]
#[cfg_attr(miri, ignore = "a million entries")]
fn an_allocator_may_fill_or_drain_the_pool_that_gives_a_page_back() {
    // More pages than the thread keeps.
    const MANY: usize = PAGE * 4_100;
    for foreign in [
        || (0..600).for_each(|_| autorelease(Ref::new(0))),
        || _ = global().drain_root(),
    ] {
        fresh(move || {
            let object = Ref::new(0);
            (0..MANY).for_each(|_| autorelease(object.clone()));
            FOREIGN.set(Some(foreign));
            let released = global().drain_root();
            assert!(FOREIGN.get().is_none(), "it has been called");
            assert!(released == MANY + 600 || released < MANY, "{released}");
            assert_eq!(Ref::strong_count(&object), 1);
            assert_eq!(global().drain_root(), 0);
        });
    }
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn an_allocator_may_fill_or_drain_the_pool_whose_objects_it_frees() {
    thread_local! {
        static INNER: Cell<usize> = const { Cell::new(0) };
    }
    let fill = || (0..600).for_each(|i| autorelease(Ref::new([i; 10])));
    let drain = || INNER.set(global().drain_root());
    for (foreign, outer, inner) in [(fill as fn(), 800, 0), (drain, 64, 136)] {
        fresh(move || {
            // Objects without a destructor are freed a few at a time.
            (0..200).for_each(|i| autorelease(Ref::new([i; 10])));
            FOREIGN.set(Some(foreign));
            let released = global().drain_root();
            assert!(FOREIGN.get().is_none(), "it has been called");
            assert_eq!((released, INNER.get()), (outer, inner));
            assert_eq!(global().drain_root(), 0);
        });
    }
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn an_allocator_may_fill_the_pool_that_closes_with_few_objects() {
    thread_local! {
        static OBJECT: Ref<u32> = Ref::new(0);
    }
    // One page, which is empty by then, and some entries of the next one.
    let fill = || OBJECT.with(|object| (0..PAGE + 3).for_each(|_| autorelease(object.clone())));
    fresh(move || {
        let pool = AutoreleasePool::new();
        // Its memory is the global allocator's.
        pool.create([0_u8; 100_000]);
        FOREIGN.set(Some(fill));
        drop(pool);
        assert!(FOREIGN.get().is_none(), "it has been called");
        assert_eq!(OBJECT.with(Ref::strong_count), 1);
    });
}

#[test]
#[cfg_attr(feature = "leak-detection", ignore = "the ledger allocates, too")]
fn an_allocator_may_fill_a_pool_with_few_objects_at_the_end_of_its_drain() {
    fn feed(n: u32) {
        match n {
            // The drain still has a list of generations, which it frees at its end.
            0 => FOREIGN.set(Some(|| autorelease(Ref::new(0)))),
            _ => autorelease(Ref::new(on_drop(move || feed(n - 1)))),
        }
    }
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(on_drop(|| feed(40)));
        assert_eq!(pool.drain(), 42);
        assert!(FOREIGN.get().is_none() && pool.is_empty());
    });
}

#[test]
fn an_allocator_may_queue_objects_while_it_frees_the_queue_of_others() {
    thread_local! {
        static LOG: Log = Log::new();
    }
    /// A link of a chain in blocks: the allocator is not called when it is freed.
    struct Link(Option<Ref<Link>>);
    impl Drop for Link {
        fn drop(&mut self) {
            if self.0.is_none() {
                FOREIGN.set(Some(|| drop(Ref::new(LOG.with(|log| log.probe(0))))));
            }
        }
    }
    fresh(|| {
        let blocks = BlockAllocator::process();
        let link = |next, _| Some(Ref::new_in(Link(next), &blocks));
        let chain = (0..sized(700, 20_000, 20_000)).fold(None, link);
        LOG.with(|log| assert_eq!(log.count(), 0));
        drop(chain);
        assert!(FOREIGN.get().is_none(), "it has been called");
        LOG.with(|log| assert_eq!(log.count(), 1));
    });
}

#[test]
fn an_allocator_may_push_a_token_pool_while_an_older_one_is_about_to_be_popped() {
    thread_local! {
        static LOG: Log = Log::new();
    }
    fn push(id: u32) {
        _ = global().push();
        autorelease(Ref::new(LOG.with(|log| log.probe(id))));
    }
    fresh(|| {
        let mut pool = AutoreleasePool::new();
        pool.create(on_drop(|| {
            push(0);
            // The event about the token pool allocates.
            FOREIGN.set(Some(|| push(1)));
        }));
        pool.drain();
        assert!(FOREIGN.get().is_none(), "it has been called");
        assert_eq!(LOG.with(|log| log.ids()), [1, 0], "the newest first");
    });
}

/// Pins pools with and without names, and retires what a slot had.
fn use_slots() {
    let slot = Slot::new(Ref::new(0));
    let named = global().named_pool(String::from("named"));
    // More than a thread keeps participants of the epoch for.
    let pools: Vec<_> = (0..12).map(|_| global().pool()).collect();
    for pool in pools.iter().chain([&named]) {
        assert_eq!(*slot.load(pool), 0);
    }
    slot.store(Ref::new(1));
    pools.into_iter().rev().for_each(drop);
}

/// Makes and frees chunks, which are in use at the same time.
fn use_blocks() {
    autoreleasepool(|pool| assert_eq!(*pool.create([1u8; 600]), [1; 600]));
    let made = [(); 16].map(|()| Ref::new_in(2, &BlockAllocator::new()));
    assert!(made.iter().all(|object| **object == 2));
}

/// Looks at all threads, and uses a manager for the first time.
fn use_managers() {
    let snapshot = global().snapshot();
    assert!(snapshot.live_objects() < 1_000_000);
    drop(PoolManager::new().pool());
    let id = here();
    _ = global().thread_by_id(id);
}

fn use_everything() {
    use_slots();
    use_blocks();
    use_managers();
    drop(Hot::try_new(Ref::new(1)).ok());
}

/// Calls `f` on threads that use the crate for the first time, and of which more and more are alive;
/// on each while the allocator calls `foreign`.
fn on_more_and_more_threads(foreign: fn(), f: fn()) {
    let start = |i| {
        let worker = Worker::new("first use");
        worker.run(move || {
            with_foreign(foreign, || (0..i % 3 + 1).for_each(|_| f()));
        });
        worker
    };
    let workers: Vec<_> = (0..sized(40, 16, 40)).map(start).collect();
    workers.into_iter().for_each(Worker::join);
}

#[test]
fn an_allocator_may_make_chunks_while_a_chunk_is_made() {
    alone!();
    let blocks = BlockAllocator::new();
    // More than 100 chunks: so the table of their addresses grows several times.
    let mut made = Vec::with_capacity(12_000);
    with_foreign(use_blocks, || {
        made.extend((0..12_000).map(|_| Ref::new_in([2u8; 600], &blocks)));
    });
    assert!(made.iter().all(|object| object[599] == 2));
}

#[test]
fn an_allocator_may_always_use_blocks_while_its_thread_exits() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    fn again() {
        drop(Ref::new_in(1, &BlockAllocator::process()));
        if CALLS.fetch_add(1, Ordering::Relaxed) < 100_000 {
            FOREIGN.set(Some(again));
        }
    }
    fresh_to_the_end(|| FOREIGN.set(Some(again)));
    assert!(CALLS.load(Ordering::Relaxed) < 100_000, "the exit is over");
}

#[test]
fn an_allocator_may_ask_why_there_is_no_value() {
    static PENDING: OnceLock<PendingHome<()>> = OnceLock::new();
    fn ask() -> Option<Result<HomeRef<()>, NotMade>> {
        PENDING.get().and_then(PendingHome::try_get)
    }
    _ = PENDING.set(HomeRef::new_on(&me(), || panic!("on purpose")));
    let why = with_foreign(|| _ = ask(), ask);
    assert!(matches!(why, Some(Err(NotMade::Panicked(Some(_))))));
}

#[test]
fn an_allocator_may_use_everything_while_everything_is_used() {
    alone!(|| on_more_and_more_threads(use_everything, use_everything));
}

#[test]
fn an_allocator_may_wake_a_thread_while_the_thread_begins_to_wait() {
    static ASLEEP: OnceLock<LoopProxy> = OnceLock::new();
    static CALLED: OnceLock<LoopProxy> = OnceLock::new();
    alone!();
    let [asleep, called] = [(); 2].map(|()| Looper::spawn("looper").unwrap());
    _ = (ASLEEP.set(asleep.proxy()), CALLED.set(called.proxy()));
    on_more_and_more_threads(
        || ASLEEP.get().unwrap().post(|| ()).unwrap(),
        || {
            // Long enough that the thread waits for it.
            let wait = || std::thread::sleep(Duration::from_millis(5));
            CALLED.get().unwrap().call(wait).unwrap();
        },
    );
}

#[test]
fn an_allocator_may_close_the_loop_to_which_the_thread_is_posting() {
    thread_local! {
        static LOOP: RefCell<Option<FrameLoop>> = const { RefCell::new(None) };
    }
    alone!();
    let posts: [fn(&LoopProxy) -> bool; 3] = [
        |proxy| proxy.post(|| ()).is_ok(),
        |proxy| proxy.post_frame(|_| ()).is_ok(),
        |proxy| proxy.post_after(Duration::ZERO, || ()).is_ok(),
    ];
    for post in posts {
        let frames = FrameLoop::new(FrameConfig::new());
        let proxy = frames.proxy();
        LOOP.set(Some(frames));
        FOREIGN.set(Some(|| drop(LOOP.take())));
        assert!(!post(&proxy) && proxy.is_closed());
    }
}

#[test]
fn an_allocator_may_enter_a_thread_while_shutdown_looks_at_all_threads() {
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    static ENTERED: Mutex<Option<Worker>> = Mutex::new(None);
    alone!();
    // So that there is a thread to look at.
    let _this = me();
    let enter = || {
        if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
            let worker = Worker::new("late");
            worker.run(|| _ = me());
            *ENTERED.lock().unwrap() = Some(worker);
        }
    };
    for calls in 0..100 {
        LEFT.store(calls, Ordering::Relaxed);
        // The next look finds that no thread holds anything.
        with_foreign(enter, || global().shutdown(Duration::ZERO)).unwrap();
        let entered = ENTERED.lock().unwrap().take();
        entered.into_iter().for_each(Worker::join);
    }
}

#[test]
#[cfg(feature = "leak-detection")]
fn an_allocator_may_make_objects_while_call_frames_are_freed() {
    alone!();
    releasepool::leaks::record_backtraces(true);
    let object = Ref::new(0);
    // The ledger has a lock for each 64 KiB of addresses, which repeat after 4 MiB.
    let use_all_locks = || drop([(); 64].map(|()| Ref::<[u8; 65_500]>::new_uninit()));
    with_foreign(use_all_locks, || drop(object));
}

#[test]
#[cfg(feature = "leak-detection")]
fn an_allocator_may_drop_the_other_handle_while_into_inner_notes_its_release() {
    struct Noted;
    thread_local! {
        static OTHER: RefCell<Option<Ref<Noted>>> = const { RefCell::new(None) };
    }
    alone!();
    releasepool::leaks::count_references(["Noted"]);
    let object = Ref::new(Noted);
    // Is not noted, so the object has one line, and the ledger gets memory for the next one.
    releasepool::leaks::count_references([""; 0]);
    OTHER.set(Some(object.clone()));
    releasepool::leaks::count_references(["Noted"]);
    FOREIGN.set(Some(|| drop(OTHER.take())));
    let value = Ref::into_inner(object);
    assert!(FOREIGN.get().is_none(), "it has been called");
    assert!(value.is_some(), "it had its reference until then");
}

#[test]
fn an_allocator_may_free_the_stacks_of_managers_that_are_gone_while_finish_empties_them() {
    thread_local! {
        static LAST: RefCell<Option<PoolManager>> = const { RefCell::new(None) };
        static QUEUED: RefCell<Option<Ref<Box<u8>>>> = const { RefCell::new(None) };
    }
    alone!();
    event::set_hook(Some(Box::new(|event| {
        if event.kind == EventKind::TokenLeft {
            // The drain of a backlog queues it.
            drop(QUEUED.take());
        }
    })));
    let manager = PoolManager::new();
    let mut pool = manager.pool();
    pool.create(on_drop(|| _ = LAST.take().unwrap().push()));
    pool.drain_within(Budget::Count(0));
    drop(pool);
    QUEUED.set(Some(Ref::new(Box::new(1))));
    LAST.set(Some(manager));
    with_foreign(|| drop(PoolManager::new().pool()), || finish(LONG)).unwrap();
    assert_eq!(global().snapshot().live_objects(), 0);
}
