//! Destructors that panic while other objects wait in the queue for deep structures: those belong
//! to the same drain, and are destroyed in it.

use crate::support::{Chain, Log, events, global, listen, me, on_drop, panic_of, with_log};
use releasepool::event::EventKind;
use releasepool::{AutoreleasePool, PoolManager, Ref, autorelease};

/// Records its death and runs its closure; then its child is dropped.
struct Link {
    id: u32,
    log: Log,
    then: Then,
    _child: Option<Ref<Link>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    Nothing,
    Panic,
    Autorelease,
    AutoreleaseInANewManager,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.log.note(self.id);
        match self.then {
            Then::Nothing => {}
            Then::Panic => panic!("link {}", self.id),
            Then::Autorelease => autorelease(Ref::new(self.log.probe(1_000_000 + self.id))),
            Then::AutoreleaseInANewManager => {
                PoolManager::new().autorelease(Ref::new(self.log.probe(1_000_000 + self.id)));
            }
        }
    }
}

/// The length of a chain whose last links queue.
const DEPTH: u32 = if cfg!(miri) { 700 } else { 5_000 };

/// Returns a chain whose link 0 is the head; `then` returns the work of each of the others.
fn chain(log: Log, then: impl Fn(u32) -> Then) -> Ref<Link> {
    let mut child = None;
    for id in (0..DEPTH).rev() {
        let link = Link {
            id,
            log,
            then: then(id),
            _child: child,
        };
        child = Some(Ref::new(link));
    }
    child.unwrap()
}

#[test]
fn panic_in_a_nested_drain_does_not_run_a_queue_that_is_not_its_own() {
    let log = Log::new();
    drop(Ref::new(on_drop(move || {
        drop(chain(log, |_| Then::Nothing));
        let queued = log.count();
        assert!(queued < DEPTH as usize, "the last links wait");
        let mut pool = AutoreleasePool::new();
        pool.create(on_drop(|| panic!("nested")));
        assert_eq!(panic_of(|| pool.drain()), "nested");
        assert_eq!(log.count(), queued, "for the outermost release");
    })));
    assert_eq!(log.count(), DEPTH as usize);
}

/// The head panics, the last link autoreleases.
fn loud_head_late_tail(id: u32) -> Then {
    match id {
        0 => Then::Panic,
        id if id == DEPTH - 1 => Then::Autorelease,
        _ => Then::Nothing,
    }
}

/// The id of what that link autoreleases.
const LATE: u32 = 1_000_000 + DEPTH - 1;

fn assert_all_died_once(log: Log, more: &[u32]) {
    let ids = log.sorted().into_iter();
    assert!(ids.eq((0..DEPTH).chain(more.iter().copied())));
}

/// Returns a function that panics in the links for which `panics` is true.
fn loud(panics: fn(u32) -> bool) -> impl Fn(u32) -> Then {
    move |id| {
        if panics(id) {
            Then::Panic
        } else {
            Then::Nothing
        }
    }
}

#[test]
fn panics_all_along_a_chain_are_all_survived() {
    // Above the queue, two panics would be in flight at once, which aborts, as with `Arc`; in the
    // queue there is one at a time.
    listen();
    let log = Log::new();
    let head = chain(log, loud(|id| id % 1_000 == 600));
    let first = panic_of(|| drop(head));
    assert!(first.starts_with("link "), "{first}");
    assert_all_died_once(log, &[]);
    let loud = (0..DEPTH).filter(|id| id % 1_000 == 600).count();
    assert_eq!(events(EventKind::Panic).len(), loud - 1);
}

#[test]
fn panic_above_a_queue_with_and_without_pools_nothing_is_lost() {
    type Way = (&'static str, fn(Ref<Link>));
    let ways: [Way; 4] = [
        ("released", |chain| {
            assert_eq!(panic_of(|| drop(chain)), "link 0");
            assert_eq!(global().drain_root(), 1);
        }),
        ("drained", |chain| {
            let mut pool = AutoreleasePool::new();
            pool.autorelease(chain);
            assert_eq!(panic_of(|| pool.drain()), "link 0");
            assert!(pool.is_empty());
        }),
        ("dropped", |chain| {
            let pool = AutoreleasePool::new();
            pool.autorelease(chain);
            assert_eq!(panic_of(|| drop(pool)), "link 0");
        }),
        ("popped", |chain| {
            let outer = global().push();
            autorelease(Ref::new(0));
            let token = global().push();
            autorelease(chain);
            assert_eq!(panic_of(|| global().pop(token)), "link 0");
            assert_eq!(global().pop(outer), Ok(1), "the outer pool is untouched");
        }),
    ];
    for (what, way) in ways {
        with_log(|log| {
            way(chain(log, loud_head_late_tail));
            assert_all_died_once(log, &[LATE]);
            autorelease(Ref::new(0));
            assert_eq!(global().drain_root(), 1, "{what}: the pool is closed");
        });
    }
}

#[test]
fn panic_above_a_queue_the_queue_is_run_before_the_next_entry_is_released() {
    listen();
    // Pools with few entries are closed in another way than others.
    for others in [1, 100] {
        let log = Log::new();
        let pool = AutoreleasePool::new();
        (0..others).for_each(|id| _ = pool.create(log.probe(1_000_000 + id)));
        pool.autorelease(chain(log, loud(|id| id == 0)));
        assert_eq!(panic_of(|| drop(pool)), "link 0");
        let ids = log.ids();
        let (chain, entries) = ids.split_at(DEPTH as usize);
        assert!(chain.iter().copied().eq(0..DEPTH), "{others} other entries");
        assert_eq!(entries.len(), others as usize);
    }
}

#[test]
fn panics_above_and_in_a_queue_the_first_one_resumes() {
    listen();
    // Pools with few entries are closed in another way than others.
    for others in [0, 100] {
        let log = Log::new();
        let pool = AutoreleasePool::new();
        (0..others).for_each(|n| _ = pool.create(n));
        pool.autorelease(chain(log, loud(|id| id == 0 || id == DEPTH - 1)));
        assert_eq!(panic_of(|| drop(pool)), "link 0", "{others} other entries");
        assert_all_died_once(log, &[]);
    }
    let reported = events(EventKind::Panic);
    assert_eq!(reported.len(), 1, "the other is reported");
    assert_eq!(reported[0].message, Some(format!("link {}", DEPTH - 1)));
    autorelease(Ref::new(0));
    assert_eq!(global().drain_root(), 1, "the pool is closed");
}

#[test]
fn panic_above_a_queue_at_the_exit_of_a_thread_nothing_is_lost() {
    let log = Log::new();
    crate::support::fresh_to_the_end(move || {
        autorelease(chain(log, loud_head_late_tail));
    });
    assert_all_died_once(log, &[LATE]);
}

#[test]
fn panic_above_a_queue_in_an_abandoned_managers_root_pool_at_thread_exit() {
    // Destructors that run late must not find the pools of the abandoned manager freed.
    let log = Log::new();
    crate::support::fresh_to_the_end(move || {
        PoolManager::new().autorelease(chain(log, |id| match loud_head_late_tail(id) {
            Then::Autorelease => Then::AutoreleaseInANewManager,
            then => then,
        }));
    });
    assert_all_died_once(log, &[LATE]);
}

#[test]
fn payload_that_fills_the_queue_at_the_end_of_a_drain_leaves_the_pool_in_order() {
    let pool = AutoreleasePool::new();
    pool.create(on_drop(|| {
        drop(Chain::ending_in(|| {
            // The second panic, whose payload is dropped where it is reported.
            std::panic::panic_any(on_drop(|| {
                drop(Chain::ending_in(|| panic!("the third")));
            }));
        }));
        panic!("the first");
    }));
    assert_eq!(panic_of(|| drop(pool)), "the first");
    autorelease(Ref::new(0));
    assert_eq!(global().drain_root(), 1, "the pool is closed");
}

#[test]
fn queue_is_run_before_what_its_head_autoreleased_is_released() {
    let mut pool = AutoreleasePool::new();
    pool.create(on_drop(|| {
        drop(Chain::ending_in(|| autorelease(Ref::new(0))));
        autorelease(Ref::new(1));
    }));
    assert_eq!(pool.drain(), 3, "nothing is left for later");
    assert_eq!(global().drain_root(), 0);
}

#[test]
fn queue_of_what_was_sent_here_is_run_before_the_drain_ends() {
    let mut pool = AutoreleasePool::new();
    me().release(Chain::ending_in(|| autorelease(Ref::new(0))));
    assert_eq!(pool.drain(), 1);
    assert_eq!(global().drain_root(), 0);
}

#[test]
fn panic_in_a_queue_ends_the_release_that_runs_it() {
    assert_eq!(
        panic_of(|| drop(Chain::ending_in(|| panic!("the last")))),
        "the last"
    );
    me().post(|| ()).unwrap();
    assert_eq!(global().run_inbox(), 1, "no destructor is going on");
}
