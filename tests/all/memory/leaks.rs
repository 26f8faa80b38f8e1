//! All memory that the crate allocates is freed.

use crate::support::allocator::{BYTES, left_over};
use crate::support::teardown::push_work;
use crate::support::{Bomb, Worker, alone, each_alone, global, me, on_drop, panic_of};
#[cfg(target_os = "linux")]
use crate::support::{resident, sized};
use releasepool::{
    AutoreleasePool, Budget, HandoffPool, HomeRef, PoolManager, Ref, Slot, autorelease,
    autoreleasepool, event,
};
use std::cell::Cell;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;

fn live() -> u64 {
    global().snapshot().live_objects()
}

/// Does everything by which a thread may leave memory behind.
fn busy() {
    let manager = global();
    let me = manager.current_thread().unwrap();
    // More than a page of entries in the root pool.
    (0..300).for_each(|i| autorelease(Ref::new(i)));
    manager.drain_root();
    autorelease(Ref::new(0));
    let _left = manager.push();
    autorelease(Ref::new(1));
    let _left = manager.push();
    autoreleasepool(|pool| pool.create(String::from("text")).len());
    let named = AutoreleasePool::named("named".repeat(20));
    named.create(2);
    let [own, other] = [(); 2].map(|()| PoolManager::new());
    own.autorelease(Ref::new(3));
    other.autorelease(Ref::new(3));
    let theirs = own.pool();
    theirs.create(4);
    me.release(Ref::new(5));
    me.post(|| ()).unwrap();
    manager.run_inbox();
    // Sent to this thread, to one that has ended, and to this one when it exits.
    let home = HomeRef::new(vec![6]);
    thread::spawn(move || drop(home)).join().unwrap();
    manager.run_inbox();
    drop(thread::spawn(|| HomeRef::new_or_anywhere(vec![7])).join());
    let home = HomeRef::new(vec![8]);
    thread::spawn(move || drop(home)).join().unwrap();
}

thread_local! {
    static KEPT: Cell<Option<AutoreleasePool>> = const { Cell::new(None) };
    static LOUD: Cell<Option<Kept>> = const { Cell::new(None) };
}

/// A guard whose drain panics.
struct Kept(Option<AutoreleasePool>);

impl Drop for Kept {
    fn drop(&mut self) {
        assert_eq!(panic_of(|| drop(self.0.take())), "on purpose");
    }
}

/// Calls `f` on a thread, and waits for its end.
fn ended(f: impl FnOnce() + Send + 'static) {
    static NTH: AtomicUsize = AtomicUsize::new(0);
    // Each has a name of its own, as some events come once for each name.
    let nth = NTH.fetch_add(1, Ordering::Relaxed);
    let thread = thread::Builder::new().name(format!("{nth:03}"));
    thread.spawn(f).unwrap().join().unwrap();
}

/// Drains with budgets that end in the middle, and exactly at the end.
fn drain_by_parts() {
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let most = MOST.fetch_add(1, Ordering::Relaxed) % 8;
    ended(move || {
        let mut pool = AutoreleasePool::new();
        let mut handoff = HandoffPool::new();
        for n in 0..3 {
            pool.create(Ref::new(vec![n]));
            handoff.create(vec![n]);
        }
        pool.drain_within(Budget::Count(most));
        if most % 2 == 0 {
            handoff.drain_on(&me());
            pool.drain_within(Budget::Count(most));
        }
    });
}

fn manager_that_comes_and_goes() {
    let manager = PoolManager::builder().name("one of many").build();
    manager.autorelease(Ref::new(0));
    drop(manager.pool());
    let token = manager.push();
    manager.autorelease(Ref::new(1));
    manager.pop(token).unwrap();
}

fn move_values_out() {
    assert_eq!(Ref::try_unwrap(Ref::new(String::from("a"))).unwrap(), "a");
    assert_eq!(Ref::into_inner(Ref::new(vec![1])).unwrap(), [1]);
    assert_eq!(Ref::unwrap_or_clone(Ref::new(vec![2])), [2]);
    let mut moved = Ref::new(vec![3]);
    let weak = Ref::downgrade(&moved);
    Ref::make_mut(&mut moved).push(4);
    assert!(weak.upgrade().is_none());
}

fn deep_structure() {
    struct Node(Option<Ref<Node>>);
    let mut head = None;
    (0..100_000).for_each(|_| head = Some(Ref::new(Node(head.take()))));
    assert!(head.as_ref().is_some_and(|head| head.0.is_some()));
}

static SLOT: LazyLock<Slot<u32>> = LazyLock::new(|| Slot::new(Ref::new(0)));
static MANAGER: LazyLock<PoolManager> = LazyLock::new(PoolManager::new);

/// Opens many pools, and closes the newest first.
fn nest_pools() {
    let pools: Vec<_> = (0..100).map(|_| AutoreleasePool::new()).collect();
    pools.into_iter().rev().for_each(|pool| _ = pool.create(0));
}

/// Uses a slot on a thread that begins before the one of the last call has ended, and after its exit.
fn use_slot() {
    static LAST: Mutex<Option<Worker>> = Mutex::new(None);
    let worker = Worker::new("reader");
    worker.run(|| {
        push_work(|| _ = SLOT.with(|n| *n));
        *SLOT.load(&AutoreleasePool::named("reader".repeat(20)))
    });
    let last = LAST.lock().unwrap().replace(worker);
    last.into_iter().for_each(Worker::join);
}

/// The name of some work, the work, how often it is done, and a bound on the bytes that it leaves.
type Case = (&'static str, fn(), usize, isize);

const CASES: [Case; 10] = [
    ("a thread that does everything", || ended(busy), 200, 4_096),
    (
        "entries in a thread's root pool",
        || ended(|| autorelease(Ref::new(0))),
        200,
        4_096,
    ),
    (
        "a guard that goes after its thread's exit",
        || {
            ended(|| {
                KEPT.set(None);
                let pool = AutoreleasePool::new();
                // By then the thread has not used the manager.
                pool.create(on_drop(|| drop(MANAGER.pool())));
                SLOT.load(&pool);
                KEPT.set(Some(pool));
            });
        },
        200,
        4_096,
    ),
    ("many pools", || ended(nest_pools), 20, 4_096),
    (
        "a guard that panics after its thread's exit",
        || {
            ended(|| {
                LOUD.set(None);
                let pool = AutoreleasePool::new();
                pool.create(Bomb("on purpose"));
                LOUD.set(Some(Kept(Some(pool))));
            });
        },
        200,
        4_096,
    ),
    (
        "a guard that the event hook closes at its thread's exit",
        || {
            event::set_hook(Some(Box::new(|event| {
                if event.kind == event::EventKind::OpenAtExit {
                    drop(KEPT.take());
                }
            })));
            ended(|| {
                KEPT.set(None);
                KEPT.set(Some(AutoreleasePool::new()));
            });
        },
        200,
        4_096,
    ),
    ("a drain by parts", drain_by_parts, 200, 4_096),
    ("a manager", manager_that_comes_and_goes, 500, 16_384),
    ("values that are moved out", move_values_out, 100, 1),
    ("a deep structure", deep_structure, 3, 4_096),
];

#[test]
fn nothing_is_left() {
    let bodies = CASES.map(|(what, f, times, most)| {
        let body = move || {
            std::panic::set_hook(Box::new(|_| ()));
            event::set_hook(Some(Box::new(|_| ())));
            let left = left_over(times, f);
            assert!(left < most, "{left} bytes after {times} times {what}");
        };
        (what, body)
    });
    each_alone!(bodies);
}

#[test]
fn threads_that_use_a_slot_leave_nothing() {
    alone!();
    let left = left_over(100, use_slot);
    assert!(left < 4_096, "{left} bytes");
}

#[test]
fn a_thread_gives_back_pages_that_it_does_not_need_any_more() {
    alone!();
    drop(AutoreleasePool::new());
    let object = Ref::new(0);
    let left = left_over(1, || {
        for entries in [1_000, 100_000, 1_000, 200_000] {
            let pool = AutoreleasePool::new();
            (0..entries).for_each(|_| _ = pool.autorelease(object.clone()));
        }
    });
    assert!(left <= 0, "{left} bytes more the second time");
    let before = BYTES.load(Ordering::Relaxed);
    std::thread::spawn(|| drop(AutoreleasePool::new()))
        .join()
        .unwrap();
    let huge = std::thread::spawn(move || {
        let pool = AutoreleasePool::new();
        (0..200_000).for_each(|_| _ = pool.autorelease(object.clone()));
        drop(pool);
        let kept = BYTES.load(Ordering::Relaxed) - before;
        // Frames of one page each: a day at 1 per second.
        for _ in 0..86_400 {
            AutoreleasePool::new().autorelease(object.clone());
        }
        (kept, BYTES.load(Ordering::Relaxed) - before)
    });
    let (kept, later) = huge.join().unwrap();
    assert!(
        kept > 200_000 * size_of::<usize>() as isize,
        "{kept} bytes kept for the next time"
    );
    // 64 pages of 2 KiB.
    assert!(later < 160 * 1_024, "{later} bytes kept for ever");
}

#[test]
fn destructors_that_panic_leave_nothing() {
    struct Loud([u8; 1000]);
    impl Drop for Loud {
        fn drop(&mut self) {
            assert_eq!(self.0[0], 0, "on purpose");
        }
    }
    impl Clone for Loud {
        fn clone(&self) -> Self {
            assert_eq!(self.0[1], 0, "on purpose");
            Self([0; 1000])
        }
    }
    alone!();
    std::panic::set_hook(Box::new(|_| ()));
    event::set_hook(Some(Box::new(|_| ())));
    let before = live();
    let left = left_over(20, || {
        // Objects without and with a weak reference, slices, and a partly filled slice.
        panic_of(|| drop(Ref::new(Loud([1; 1000]))));
        let weakly = Ref::new(Loud([1; 1000]));
        let weak = Ref::downgrade(&weakly);
        panic_of(|| drop(weakly));
        drop(weak);
        panic_of(|| drop(Ref::<[Loud]>::from([Loud([1; 1000])])));
        let half = [
            Loud([0; 1000]),
            Loud([0, 1].repeat(500).try_into().unwrap()),
        ];
        let panic = catch_unwind(|| Ref::<[Loud]>::from(&half[..]));
        assert!(panic.is_err());
        panic_of(|| {
            let pool = AutoreleasePool::new();
            pool.create(Loud([1; 1000]));
        });
    });
    assert!(left < 1_000, "{left} bytes");
    assert_eq!(live(), before);
}

#[test]
fn no_object_is_alive_after_all_of_this() {
    alone!();
    event::set_hook(Some(Box::new(|_| ())));
    assert_eq!(live(), 0);
    let kept = Ref::new(0);
    assert_eq!(live(), 1);
    thread::spawn(busy).join().unwrap();
    thread::spawn(busy).join().unwrap();
    let weak = Ref::downgrade(&kept);
    assert_eq!(live(), 1);
    drop(kept);
    assert_eq!(live(), 0, "a weak reference keeps no object alive");
    drop(weak);
}

#[test]
#[cfg(target_os = "linux")]
fn threads_come_and_go_and_memory_is_flat() {
    alone!();
    event::set_hook(Some(Box::new(|_| ())));
    let threads = |n: usize| {
        for _ in 0..n / 2 {
            let pair = [
                thread::spawn(busy),
                thread::spawn(|| autorelease(Ref::new(0))),
            ];
            pair.into_iter().for_each(|thread| thread.join().unwrap());
        }
    };
    // `ci/long.sh threads` sets a larger number.
    let all = std::env::var("RELEASEPOOL_THREADS");
    let all = all.map_or(sized(0, 4_000, 6_000), |n| {
        n.parse().expect("a number of threads")
    });
    threads(all / 4);
    let (bytes, before) = (BYTES.load(Ordering::Relaxed), resident());
    threads(all - all / 4);
    let grown = resident().saturating_sub(before);
    let allocated = BYTES.load(Ordering::Relaxed) - bytes;
    assert!(allocated < 64 << 10, "{allocated} bytes more are allocated");
    assert!(grown < 8 << 20, "{grown} bytes more are in memory");
    let slots = global().threads();
    assert!(slots.len() <= 4, "{slots:?}");
    let last = thread::spawn(|| me().key());
    let last = last.join().unwrap();
    assert!(crate::support::slot(last) < 64, "slots are reused: {last}");
}
