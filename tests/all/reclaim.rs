//! Reclaimers: what they destroy for other threads, their bounds and their end; and the reclaimer of the
//! process.

use crate::frame::{died_on, hold, id_of};
use crate::support::allocator::{FOREIGN, allocations, bytes, left_over, with_foreign};
use crate::support::teardown::{ALWAYS, at_teardown, push_work};
use crate::support::{
    LONG, Log, Probe, alone, assert_died, assert_says, events, events_of, fresh_to_the_end, listen,
    me, on_drop, panic_of, send, wait_until,
};
use releasepool::event::EventKind;
use releasepool::reclaim::{Full, Later, PendingDrops, ReclaimerBuilder, WhenFull};
use releasepool::reclaim::{finish_drops, try_drop_later};
use releasepool::{
    AutoreleasePool, HandoffPool, HomeRef, PoolManager, Reclaimer, Ref, ThreadHandle, drop_later,
    finish,
};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const WAITS: [fn(&Reclaimer) -> bool; 3] =
    [|r| r.barrier(), |r| r.wait_idle(LONG), |r| r.finish(LONG)];

#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "reads /proc")]
fn those_that_wait_sleep() {
    for wait in WAITS {
        let reclaimer = Reclaimer::new("waited for").unwrap();
        let busy = hold(reclaimer.thread());
        reclaimer.drop_later(vec![0]);
        let (tell, told) = mpsc::channel();
        let waiter = thread::spawn(move || {
            tell.send(std::fs::canonicalize("/proc/thread-self").unwrap())
                .unwrap();
            wait(&reclaimer)
        });
        let state = told.recv().unwrap().join("stat");
        wait_until(|| std::fs::read_to_string(&state).unwrap().contains(") S "));
        drop(busy);
        assert!(waiter.join().unwrap());
    }
}

/// Holds a reclaimer, sends it three values, and asserts that there is no room for more.
fn filled(reclaimer: &Reclaimer, log: &Log) -> impl Sized + use<> {
    let go = hold(reclaimer.thread());
    (0..3).for_each(|n| reclaimer.drop_later(log.probe(n)));
    assert!(matches!(reclaimer.try_drop_later(9), Err(Full(9))));
    go
}

fn spawn(builder: ReclaimerBuilder) -> Reclaimer {
    builder.spawn("reclaimer").unwrap()
}

fn bounded(when_full: WhenFull) -> Reclaimer {
    spawn(Reclaimer::builder().values(3).when_full(when_full))
}

fn reclaimer() -> Reclaimer {
    spawn(Reclaimer::builder())
}

/// reth#22908: nested vectors of a trie were dropped on the thread that computes the root of the state. A
/// thread with a name of its own, which stays, drops them as they come.
#[test]
fn reth_22908_one_named_thread_destroys_values_in_order_once_each() {
    let log = Log::new();
    let reclaimer = Reclaimer::new("deferred-drop").unwrap();
    assert_eq!(reclaimer.thread().name(), Some("deferred-drop"));
    let id = id_of(reclaimer.thread());
    // Send and not Sync; too large for a block; without a destructor; over-aligned; nested.
    #[repr(align(64))]
    struct Aligned(#[expect(dead_code)] u8);
    for n in 0..100 {
        reclaimer.drop_later((Cell::new(n), log.probe(n)));
    }
    reclaimer.drop_later((log.probe(100), [0_u8; 10_000]));
    reclaimer.drop_later((log.probe(101), Aligned(1)));
    reclaimer.drop_later(5);
    let node = |n: u32| (10 * n..10 * n + 10).map(|id| log.probe(id)).collect();
    reclaimer.drop_later((11..20).map(node).collect::<Vec<Vec<Probe>>>());
    assert!(reclaimer.finish(LONG));
    assert!(log.ids().into_iter().eq((0..102).chain(110..200)));
    assert_eq!(log.threads(), [id; 192]);
}

/// rolldown#9733: what one build has left to be dropped must not pile up with that of the next one, which
/// therefore waits for it when it begins.
#[test]
fn rolldown_9733_a_build_begins_when_the_graph_of_the_last_one_is_destroyed() {
    let log = Log::new();
    let reclaimer = reclaimer();
    for build in 0..3 {
        assert!(reclaimer.barrier());
        assert_eq!((log.count(), reclaimer.pending().values), (100 * build, 0));
        let modules = (0..100).map(|_| Ref::new(log.probe(0)));
        let go = hold(reclaimer.thread());
        reclaimer.drop_later(modules.collect::<Vec<_>>());
        assert_eq!(log.count(), 100 * build, "the build goes on");
        drop(go);
    }
}

/// rust-analyzer#21357 and #22258: maps that an LRU cache evicts were sent to a thread one by one, though the
/// drop of one takes no longer than to send it; but many are evicted at a time. A batch of them is one value,
/// with a weight of its own.
#[test]
fn rust_analyzer_22258_evicted_values_are_sent_together() {
    let log = Log::new();
    let reclaimer = bounded(WhenFull::DestroyHere);
    let id = id_of(reclaimer.thread());
    let go = hold(reclaimer.thread());
    let evicted: Vec<_> = (0..100).map(|n| (Cell::new(n), log.probe(n))).collect();
    reclaimer.drop_later_weighed(evicted, 100 * 8);
    let pending = reclaimer.pending();
    assert_eq!((pending.values, pending.bytes, log.count()), (1, 800, 0));
    drop(go);
    assert!(reclaimer.finish(LONG));
    assert_eq!(log.threads(), [id; 100]);
}

/// aptos-core#10563: values were dropped by other threads, which could not keep up: memory grew as if it
/// leaked.
#[test]
fn aptos_core_10563_at_the_bound_a_sender_waits_until_there_is_room_or_the_reclaimer_ends() {
    for ends in [false, true] {
        let log = Log::new();
        let reclaimer = bounded(WhenFull::Wait);
        let id = id_of(reclaimer.thread());
        let go = filled(&reclaimer, &log);
        let has_sent = AtomicBool::new(false);
        thread::scope(|scope| {
            for n in 3..6 {
                let (reclaimer, log, has_sent) = (&reclaimer, &log, &has_sent);
                scope.spawn(move || {
                    reclaimer.drop_later(log.probe(n));
                    has_sent.store(true, Ordering::Relaxed);
                });
            }
            thread::sleep(Duration::from_millis(20));
            assert!(!has_sent.load(Ordering::Relaxed) && log.count() == 0);
            drop(go);
            assert!(!ends || reclaimer.finish(LONG));
        });
        drop(reclaimer);
        assert_eq!(log.count(), 6);
        assert!(ends || died_on(&log, id) == 6);
    }
}

/// ic#3241: beyond a threshold of values that wait, the sender destroys its value itself.
#[test]
fn ic_3241_at_the_bound_a_sender_destroys_the_value_if_that_was_chosen() {
    let log = Log::new();
    let reclaimer = bounded(WhenFull::DestroyHere);
    let go = filled(&reclaimer, &log);
    reclaimer.drop_later_weighed(log.probe(3), 1);
    assert_died(&log, &[3], thread::current().id());
    drop(go);
    assert!(reclaimer.finish(LONG));
    assert_eq!(log.count(), 4);
    assert_nothing_pending(&reclaimer);
}

#[test]
fn without_any_room_senders_destroy_their_values() {
    let log = Log::new();
    let none = spawn(Reclaimer::builder().values(0));
    none.thread().release(Ref::new(log.probe(0)));
    for reclaimer in [none, spawn(Reclaimer::builder().bytes(0))] {
        reclaimer.drop_later_weighed(log.probe(0), 1);
        reclaimer
            .thread()
            .post(|| ())
            .expect("closures are not bounded");
    }
    assert_eq!(log.threads(), [thread::current().id(); 3]);
}

#[test]
fn bytes_are_bounded_and_a_value_larger_than_the_bound_is_accepted_alone() {
    let log = Log::new();
    let builder = Reclaimer::builder().bytes(1_000);
    let reclaimer = spawn(builder.when_full(WhenFull::DestroyHere));
    for _ in 0..2 {
        let go = hold(reclaimer.thread());
        reclaimer.drop_later_weighed(log.probe(0), 5_000);
        assert_eq!(reclaimer.pending().bytes, 5_000);
        reclaimer.drop_later_weighed(log.probe(1), 1);
        assert_eq!(log.ids().last(), Some(&1), "here");
        reclaimer.drop_later(log.probe(2));
        let pending = reclaimer.pending();
        assert_eq!((pending.values, pending.types[0].1), (2, 2), "{pending}");
        let types = "2 of all::support::Probe";
        assert!(pending.to_string().contains(types), "{pending}");
        drop(go);
        assert!(reclaimer.barrier());
        assert_nothing_pending(&reclaimer);
    }
    assert_eq!(log.ids(), [1, 0, 2, 1, 0, 2]);
}

fn assert_nothing_pending(reclaimer: &Reclaimer) {
    let pending = reclaimer.pending();
    let figures = (pending.values, pending.bytes, pending.types.len());
    assert_eq!(figures, (0, 0, 0), "{pending}");
}

#[test]
fn weights_are_bounded_apart_from_numbers_and_their_sum_does_not_wrap() {
    let log = Log::new();
    // No room for what is weighed; the sender of what is not waits.
    let reclaimer = spawn(Reclaimer::builder().values(1).bytes(0));
    reclaimer.drop_later_weighed(log.probe(0), 1);
    let go = hold(reclaimer.thread());
    reclaimer.drop_later(log.probe(1));
    let (begins, has_begun) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            begins.send(()).unwrap();
            reclaimer.drop_later(log.probe(2));
        });
        has_begun.recv().unwrap();
        // Time for a sender that does not wait to destroy its value.
        thread::sleep(Duration::from_millis(20));
        drop(go);
    });
    assert!(reclaimer.barrier());
    let there = id_of(reclaimer.thread());
    assert_eq!(log.threads(), [thread::current().id(), there, there]);

    let reclaimer = spawn(Reclaimer::builder().bytes(u64::MAX));
    let go = hold(reclaimer.thread());
    reclaimer.drop_later_weighed((), usize::MAX - 1);
    reclaimer.drop_later_weighed((), 5);
    let largest = (usize::MAX as u64 - 1).min(1 << 40);
    assert_eq!(reclaimer.pending().bytes, largest + 5);
    drop(go);
    assert!(reclaimer.barrier());
    assert_eq!(reclaimer.pending().bytes, 0);
}

#[test]
fn values_sent_by_the_reclaimer_itself_are_destroyed_at_once() {
    let log = Log::new();
    let reclaimer = Arc::new(bounded(WhenFull::Wait));
    let (there, outer) = (reclaimer.clone(), log);
    reclaimer.drop_later(on_drop(move || {
        (0..5).for_each(|n| there.drop_later(outer.probe(n)));
        let full = there.try_drop_later(outer.probe(5));
        drop(full.expect_err("on the reclaimer").into_inner());
        assert!(!there.barrier() && !there.wait_idle(LONG));
        outer.note(6);
    }));
    assert!(reclaimer.barrier());
    assert_eq!(log.ids(), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn reclaimers_that_send_to_each_other_at_the_bound_do_not_wait() {
    let log = Log::new();
    let [a, b] = [(); 2].map(|()| Arc::new(bounded(WhenFull::Wait)));
    let go = [hold(a.thread()), hold(b.thread())];
    for n in 0..3 {
        for (from, to) in [(&a, &b), (&b, &a)] {
            let (to, probe) = (to.clone(), log.probe(n));
            from.drop_later(on_drop(move || to.drop_later(probe)));
        }
    }
    drop(go);
    for reclaimer in [&a, &b, &a] {
        assert!(reclaimer.barrier());
    }
    assert_eq!(log.count(), 6);
}

#[test]
fn in_a_threads_teardown_and_after_the_end_values_are_destroyed_at_once() {
    let log = Log::new();
    let reclaimer = Arc::new(reclaimer());
    let there = id_of(reclaimer.thread());
    for when in ALWAYS {
        let (to, probe) = (reclaimer.clone(), log.probe(0));
        at_teardown(when, move || to.drop_later(probe));
    }
    assert!(reclaimer.barrier());
    // Before the exit of its pools, a thread can send.
    let here = log.threads().into_iter().filter(|thread| *thread != there);
    assert!(log.count() == 3 && here.count() >= 1);
    assert!(reclaimer.finish(LONG));
    let value = (log.probe(7), [7_u8; 1_000]);
    let Err(Full(back)) = reclaimer.try_drop_later(value) else {
        panic!("it has ended");
    };
    assert_eq!((back.0.id, back.1, log.count()), (7, [7; 1_000], 3));
    reclaimer.drop_later(back);
    reclaimer.drop_later_weighed(log.probe(8), 8);
    let large = || reclaimer.drop_later([0_u8; 10_000]);
    assert_eq!(allocations(large), 0, "it makes no message");
    assert!(reclaimer.barrier() && reclaimer.wait_idle(LONG) && reclaimer.finish(LONG));
    assert_nothing_pending(&reclaimer);
    assert_eq!(
        (&log.ids()[3..], &log.threads()[3..]),
        (&[7, 8][..], &[thread::current().id(); 2][..])
    );
}

#[test]
fn a_reclaimer_is_busy_while_anything_waits() {
    let reclaimer = reclaimer();
    let is_busy = || !reclaimer.pending().busy.is_zero();
    for _ in 0..2 {
        let start = Instant::now();
        wait_until(|| !is_busy());
        let go = hold(reclaimer.thread());
        wait_until(is_busy);
        assert!(reclaimer.pending().busy <= start.elapsed());
        drop(go);
    }
}

#[test]
fn the_texts_of_what_a_reclaimer_refuses() {
    let later = Later::new(5);
    assert_eq!(format!("{later:?}"), "Later(5)");
    assert_eq!(Later::into_inner(later), 5);
    assert_ne!(Full(5).to_string(), "");
    assert!(format!("{:?}", Full(5)).contains("Full"));
    let text = format!("{:?}", reclaimer());
    assert!(text.contains("closed: false"), "{text}");
}

#[test]
fn a_destructor_that_panics_is_reported_and_the_next_values_die() {
    let log = Log::new();
    let reclaimer = Reclaimer::new("panics").unwrap();
    listen();
    let go = hold(reclaimer.thread());
    reclaimer.drop_later_weighed(on_drop(|| panic!("bomb")), 10);
    reclaimer.drop_later(log.probe(1));
    drop(go);
    assert!(reclaimer.barrier());
    let seen = events_of(id_of(reclaimer.thread()));
    assert_eq!(
        (seen.len(), log.ids(), reclaimer.pending().bytes),
        (1, vec![1], 0)
    );
    // A panic in the drain that `barrier` and `wait_idle` ask for does not reach them.
    for wait in &WAITS[..2] {
        let go = hold(reclaimer.thread());
        let waits = thread::scope(|scope| {
            let waiting = scope.spawn(|| wait(&reclaimer));
            thread::sleep(Duration::from_millis(20));
            reclaimer.drop_later(on_drop(|| panic!("bomb")));
            drop(go);
            waiting.join().unwrap()
        });
        assert!(waits);
    }
    // On the calling thread, the panic comes out of the call.
    let full = bounded(WhenFull::DestroyHere);
    let _go = filled(&full, &Log::new());
    let message = panic_of(|| full.drop_later(on_drop(|| panic!("here"))));
    assert_eq!(message, "here");
}

#[test]
fn barrier_waits_for_all_that_a_value_owns() {
    let log = Log::new();
    let reclaimer = reclaimer();
    struct Link(
        #[expect(dead_code)] Option<Ref<Link>>,
        #[expect(dead_code)] Option<Probe>,
    );
    const CHAINS: u32 = if cfg!(miri) { 2 } else { 20 };
    const LINKS: u32 = if cfg!(miri) { 300 } else { 20_000 };
    for n in 0..CHAINS {
        let end = Ref::new(Link(None, Some(log.probe(n))));
        let chain = (0..LINKS).fold(end, |next, _| Ref::new(Link(Some(next), None)));
        reclaimer.drop_later(chain);
        assert!(reclaimer.barrier());
        assert_eq!(log.count() as u32, n + 1);
    }
    assert!(reclaimer.wait_idle(LONG));
}

#[test]
fn wait_idle_ends_at_its_limit_while_a_closure_runs() {
    let log = Log::new();
    let reclaimer = reclaimer();
    let go = hold(reclaimer.thread());
    reclaimer.drop_later(log.probe(0));
    assert!(!reclaimer.wait_idle(Duration::from_millis(5)));
    drop(go);
    assert!(reclaimer.wait_idle(LONG));
    assert_eq!(log.count(), 1);
}

/// Sends a value from another thread, and waits until it is sent.
fn send_from_elsewhere<T: Send + 'static>(to: &Arc<Reclaimer>, value: T) {
    let to = to.clone();
    let sender = thread::spawn(move || to.drop_later(value));
    sender.join().unwrap();
}

#[test]
fn wait_idle_waits_for_what_a_destructor_has_sent_meanwhile() {
    let log = Log::new();
    let reclaimer = Arc::new(reclaimer());
    let thread = reclaimer.thread();
    let posts = || {
        let snapshot = PoolManager::global().snapshot();
        snapshot.thread(thread.key()).unwrap().inbox
    };
    let go = hold(thread);
    let [first, second, third] = [(); 3].map(|()| reclaimer.clone());
    let sends = on_drop(move || send_from_elsewhere(&first, log.probe(0)));
    let before_it = move || send_from_elsewhere(&second, sends);
    thread.post(before_it).unwrap();
    let before = posts();
    let waiting = thread::spawn(move || third.wait_idle(LONG));
    wait_until(|| posts() > before);
    let (go_on, wait) = mpsc::channel::<()>();
    thread.post(move || _ = wait.recv()).unwrap();
    drop(go);
    // Time to see that there is another value.
    thread::sleep(Duration::from_millis(20));
    drop(go_on);
    assert!(waiting.join().unwrap() && log.count() == 1);
}

/// A sender counts its value before it allocates the message.
#[test]
fn wait_idle_waits_for_a_value_that_is_not_sent_yet() {
    static RECLAIMER: LazyLock<Reclaimer> = LazyLock::new(reclaimer);
    static CALLS: AtomicU32 = AtomicU32::new(0);
    fn waiting() -> usize {
        RECLAIMER.pending().values
    }
    let hold = || {
        if waiting() == 1 {
            wait_until(|| CALLS.load(Ordering::Relaxed) > 100);
        }
    };
    assert_eq!(waiting(), 0);
    // Too large for a block.
    let send = || RECLAIMER.drop_later([0_u8; 65_000]);
    let sender = thread::spawn(move || with_foreign(hold, send));
    wait_until(|| waiting() == 1);
    // One look for values calls the allocator less often.
    let count = || _ = CALLS.fetch_add(1, Ordering::Relaxed);
    assert!(with_foreign(count, || RECLAIMER.wait_idle(LONG)));
    sender.join().unwrap();
    assert!(RECLAIMER.finish(LONG));
}

/// pnpm#14498: the process may end before a detached thread has dropped what was sent to it, so values that
/// flush, unlock or signal must not be.
#[test]
fn pnpm_14498_the_reclaimer_of_the_process_finishes_and_says_what_is_left() {
    alone!();
    listen();
    assert!(finish_drops(Duration::ZERO), "it was never started");
    let log = Log::new();
    let mut later = Later::new((log.probe(0), 1));
    later.1 += 1;
    drop(later);
    drop(Later::into_inner(Later::new(log.probe(1))));
    drop_later(log.probe(2));
    assert!(try_drop_later(log.probe(3)).is_ok());
    // A shared tree goes there, whoever drops it last: here, a drain.
    let tree = Ref::new(Later::new(log.probe(4)));
    let other = tree.clone();
    thread::spawn(move || drop(other)).join().unwrap();
    AutoreleasePool::new().autorelease(tree);
    assert!(finish_drops(LONG));
    let here = thread::current().id();
    let deaths = log.ids().into_iter().zip(log.threads());
    let mut died_here: Vec<_> = deaths.map(|(id, thread)| (id, thread == here)).collect();
    died_here.sort_unstable();
    assert!((0..5).map(|id| (id, id == 1)).eq(died_here));
    // A destructor that waits, and two values behind it; then another reclaimer.
    let wait_first = || {
        let (send, receive) = mpsc::channel::<()>();
        drop_later(on_drop(move || _ = receive.recv()));
        send
    };
    let first = wait_first();
    (5..7).for_each(|n| drop_later(log.probe(n)));
    assert!(!finish_drops(Duration::from_millis(20)));
    let second = wait_first();
    assert!(!finish_drops(Duration::ZERO));
    let [event, of_both] = &events(EventKind::DropsLeft)[..] else {
        panic!("two events")
    };
    let figures = (event.count, event.sampled, event.types[0]);
    assert_eq!(figures, (3, 3, ("all::support::Probe", 2)));
    assert_says(&event, &["3 values have not been destroyed"]);
    let figures = (of_both.count, of_both.sampled, of_both.types.len());
    assert_eq!(figures, (4, 4, 3));
    drop((first, second));
    assert!(finish_drops(LONG));
    assert_eq!(log.count(), 7);
}

/// Sends a value to the reclaimer of the process, and returns the thread that destroys it, when it has.
fn destroyer() -> thread::ThreadId {
    let (send, receive) = mpsc::channel();
    drop_later(on_drop(move || send.send(thread::current().id()).unwrap()));
    let destroyer = receive.recv().unwrap();
    assert_ne!(destroyer, thread::current().id());
    destroyer
}

fn is_known(thread: thread::ThreadId) -> bool {
    PoolManager::global().thread_by_id(thread).is_some()
}

#[test]
fn the_reclaimer_of_the_process_ends_and_the_next_value_starts_another_one() {
    alone!();
    let (go, goes) = mpsc::channel::<()>();
    let (send, receive) = mpsc::channel();
    let other = thread::spawn(move || {
        // It knows the first reclaimer, and learns of the second one.
        goes.iter().for_each(|()| send.send(destroyer()).unwrap());
    });
    let there = || {
        go.send(()).unwrap();
        receive.recv().unwrap()
    };
    let mut seen = Vec::new();
    for _ in 0..3 {
        let id = destroyer();
        assert!(is_known(id) && there() == id && destroyer() == id);
        assert!(!seen.contains(&id) && id != thread::current().id());
        assert!(finish_drops(LONG));
        assert!(!is_known(id), "it has ended");
        assert!(finish_drops(LONG), "none runs");
        seen.push(id);
        // This time the other thread is the first one.
        let id = there();
        assert!(!seen.contains(&id) && destroyer() == id);
        assert!(finish_drops(LONG) && !is_known(id));
        seen.push(id);
    }
    drop(go);
    other.join().unwrap();
}

#[test]
fn a_reclaimer_that_is_not_done_goes_on_and_its_own_thread_does_not_wait() {
    alone!();
    listen();
    let first = destroyer();
    let (tell, told) = mpsc::channel();
    drop_later(on_drop(move || {
        tell.send(finish_drops(Duration::ZERO)).unwrap();
    }));
    assert!(!told.recv().unwrap());
    assert_eq!(destroyer(), first, "it was not told to end");
    let (go, goes) = mpsc::channel::<()>();
    let (send, receive) = mpsc::channel();
    drop_later(on_drop(move || {
        _ = goes.recv();
        let before = finish_drops(LONG) || try_drop_later(()).is_ok();
        send.send((before, thread::current().id())).unwrap();
    }));
    assert!(!finish_drops(Duration::from_millis(20)));
    assert_ne!(destroyer(), first, "the next one has begun");
    // Two at the same time: one waits in vain.
    let waiting = thread::spawn(|| finish_drops(LONG));
    thread::sleep(Duration::from_millis(20));
    assert!(!finish_drops(Duration::from_millis(20)));
    let last = destroyer();
    go.send(()).unwrap();
    assert_eq!(receive.recv().unwrap(), (false, first));
    assert!(waiting.join().unwrap());
    // Who has waited for others does not take this one away.
    thread::spawn(destroyer).join().unwrap();
    assert!(finish_drops(LONG) && !is_known(first) && !is_known(last));
}

#[test]
fn a_reclaimer_that_is_told_to_end_is_waited_for_until_it_has() {
    let log = Log::new();
    let reclaimer = Arc::new(reclaimer());
    let go = hold(reclaimer.thread());
    reclaimer.drop_later(log.probe(0));
    assert!(!reclaimer.finish(Duration::from_millis(5)) && log.count() == 0);
    let waiting = WAITS.map(|wait| {
        let there = reclaimer.clone();
        thread::spawn(move || (wait(&there), log.count()))
    });
    thread::sleep(Duration::from_millis(20));
    drop(go);
    assert_eq!(waiting.map(|thread| thread.join().unwrap()), [(true, 1); 3]);
    assert!(!reclaimer.thread().is_alive());
    // Its own thread only tells it to end.
    let other = Arc::new(self::reclaimer());
    let (send, receive) = mpsc::channel();
    let there = other.clone();
    other.drop_later(on_drop(move || send.send(there.finish(LONG)).unwrap()));
    assert!(!receive.recv().unwrap());
    wait_until(|| !other.thread().is_alive());
}

#[test]
fn the_thread_locals_of_a_reclaimer_are_destroyed_before_it_has_ended() {
    let log = Log::new();
    let reclaimer = reclaimer();
    let last = move || {
        thread::sleep(Duration::from_millis(50));
        log.note(0);
    };
    reclaimer.drop_later(on_drop(move || push_work(last)));
    assert!(reclaimer.finish(LONG) && log.count() == 1);
}

#[test]
fn values_are_destroyed_once_while_threads_send_and_others_finish() {
    const EACH: u32 = 2_000;
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    /// Sends another value when it is dropped.
    struct Counted(bool);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            if self.0 {
                drop_later(Counted(false));
            }
        }
    }
    alone!();
    let send = || (0..EACH).for_each(|n| drop_later(Counted(n % 2 == 0)));
    let senders = [(); 4].map(|()| thread::spawn(send));
    let enders = [Duration::ZERO, LONG]
        .map(|deadline| thread::spawn(move || (0..100).for_each(|_| _ = finish_drops(deadline))));
    // A scope would not wait for their exits, and the list below has threads that are exiting.
    let all = senders.into_iter().chain(enders);
    all.for_each(|thread| thread.join().unwrap());
    assert!(finish_drops(LONG));
    assert_eq!(DROPPED.load(Ordering::Relaxed), 4 * (EACH + EACH / 2));
    let manager = PoolManager::global();
    let _this = manager.current_thread();
    assert_eq!(manager.threads().len(), 1, "no reclaimer is left");
}

#[test]
fn values_that_are_sent_to_the_reclaimer_of_the_process_while_a_thread_ends_are_destroyed() {
    let log = alone!();
    for when in ALWAYS {
        for used in [false, true] {
            at_teardown(when, move || {
                if used {
                    drop_later(log.probe(0));
                }
                drop_later(log.probe(1));
            });
        }
    }
    assert!(finish_drops(LONG));
    let count = |id| log.ids().iter().filter(|seen| **seen == id).count();
    assert_eq!((count(0), count(1)), (3, 6));
}

#[test]
fn values_that_are_sent_in_the_exit_of_a_thread_are_destroyed_there() {
    let log = alone!();
    let reclaimer = Arc::new(reclaimer());
    let to = reclaimer.clone();
    let ended = fresh_to_the_end(move || {
        // In the root pool, which the exit empties.
        PoolManager::global().autorelease(Ref::new(on_drop(move || {
            to.drop_later(log.probe(0));
            drop_later(log.probe(1));
        })));
        thread::current().id()
    });
    assert_died(&log, &[0, 1], ended);
    let threads = PoolManager::global().threads().into_iter();
    let reclaimers = threads.filter(|thread| thread.name() == Some("reclaimer"));
    assert_eq!(reclaimers.count(), 1, "that of the process was not started");
}

#[test]
fn a_closure_that_the_reclaimer_of_the_process_runs_is_no_value_that_is_left() {
    alone!();
    listen();
    let reclaimer = PoolManager::global().thread_by_id(destroyer()).unwrap();
    let go = hold(&reclaimer);
    assert!(finish_drops(Duration::ZERO));
    let left = finish(Duration::ZERO).unwrap_err();
    assert_eq!((left.loops.len(), left.drops.len()), (1, 0), "{left}");
    assert!(events(EventKind::DropsLeft).is_empty());
    drop(go);
    assert!(finish_drops(LONG));
}

#[test]
fn reclaimers_of_the_process_and_threads_that_have_used_them_leave_nothing_behind() {
    const TIMES: usize = 200;
    alone!();
    let send_and_finish = || {
        drop_later(());
        thread::spawn(|| drop_later(())).join().unwrap();
        assert!(finish_drops(LONG));
    };
    // A reclaimer has more than two kilobytes; lists and caches may grow a little.
    assert!(left_over(TIMES, send_and_finish) < 1_000 * TIMES as isize);
    drop_later(());
    assert!(thread::spawn(|| finish_drops(LONG)).join().unwrap());
    let before = bytes();
    assert!(finish_drops(Duration::ZERO));
    assert!(bytes() < before, "this thread has forgotten it");
}

#[test]
fn a_thread_forgets_a_reclaimer_that_has_ended_before_it_waits_for_the_next_one() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static GO: AtomicBool = AtomicBool::new(false);
    static SEEN: AtomicIsize = AtomicIsize::new(isize::MAX);
    alone!();
    drop_later(());
    // No channel: its waits would allocate while this thread counts.
    let held = on_drop(|| {
        BEGUN.store(true, Ordering::Relaxed);
        wait_until(|| GO.load(Ordering::Relaxed));
    });
    let other = thread::spawn(move || {
        assert!(finish_drops(LONG));
        drop_later(held);
    });
    other.join().unwrap();
    wait_until(|| BEGUN.load(Ordering::Relaxed));
    let before = bytes();
    // The call begins by freeing the first reclaimer; what it waits for, it lists afterwards.
    FOREIGN.set(Some(|| SEEN.store(bytes(), Ordering::Relaxed)));
    assert!(!finish_drops(Duration::ZERO));
    assert!(SEEN.load(Ordering::Relaxed) < before);
    GO.store(true, Ordering::Relaxed);
    assert!(finish_drops(LONG));
}

#[test]
fn an_allocator_may_send_values_while_a_thread_forgets_the_reclaimer_of_the_process() {
    static DESTROYER: OnceLock<thread::ThreadId> = OnceLock::new();
    alone!();
    let first = destroyer();
    // The call first frees this thread's reference. By then the reclaimer has been told to end.
    FOREIGN.set(Some(|| {
        drop_later(on_drop(|| DESTROYER.set(thread::current().id()).unwrap()));
    }));
    assert!(finish_drops(LONG));
    assert!(finish_drops(LONG), "another reclaimer ends, too");
    assert!(DESTROYER.get().is_some_and(|destroyer| *destroyer != first));
    drop_later(());
    assert!(with_foreign(|| drop_later(()), || finish_drops(LONG)));
    assert!(finish_drops(LONG));
}

#[test]
#[cfg(not(feature = "leak-detection"))] // The ledger allocates, too.
fn a_thread_finds_the_reclaimer_of_the_process_again_without_an_allocation() {
    const TIMES: usize = 1_000;
    alone!();
    let send = || (0..TIMES).for_each(|_| drop_later(()));
    send();
    // Of some chunks of blocks at most.
    assert!(allocations(send) < TIMES / 2);
    assert!(finish_drops(LONG));
}

#[test]
fn a_large_value_is_copied_a_few_times() {
    const LARGE: usize = 1 << 20;
    const COPIES: usize = 8;

    /// Calls `send`, on a thread whose stack has room for some copies of the value.
    fn on_small_stack(copies: usize, send: impl FnOnce() + Send + 'static) {
        let small = thread::Builder::new().stack_size(copies * LARGE);
        small.spawn(send).unwrap().join().unwrap();
    }

    // In a process of its own, which an overflow of the stack ends.
    alone!();
    let reclaimer = Arc::new(reclaimer());
    on_small_stack(COPIES, || drop_later([1_u8; LARGE]));
    on_small_stack(COPIES, || drop(Later::new([2_u8; LARGE])));
    let there = reclaimer.clone();
    // It may return the value.
    on_small_stack(COPIES + 4, move || {
        assert!(there.try_drop_later([4_u8; LARGE]).is_ok());
    });
    on_small_stack(COPIES, move || reclaimer.drop_later([5_u8; LARGE]));
    assert!(finish_drops(LONG));
}

/// Hands a pool of objects over to a thread.
fn hand_over(thread: &ThreadHandle, log: &Log, ids: Range<u32>) {
    let mut pool = HandoffPool::new();
    let n = ids.len();
    ids.for_each(|id| _ = pool.create(log.probe(id)));
    assert_eq!(pool.drain_on(thread), n);
}

#[test]
fn reclaimer_that_is_behind_leaves_releases_to_the_sender() {
    let log = Log::new();
    let reclaimer = bounded(WhenFull::Wait);
    let id = id_of(reclaimer.thread());
    let go = hold(reclaimer.thread());
    send(reclaimer.thread(), &log, 0..5);
    assert_eq!(log.ids(), [3, 4], "here, at once");
    drop(go);
    wait_until(|| log.count() == 5);
    // There is room for as many as before.
    let go = hold(reclaimer.thread());
    send(reclaimer.thread(), &log, 5..9);
    assert_eq!(log.ids()[5..], [8]);
    drop(go);
    assert!(reclaimer.finish(LONG));
    assert_eq!((log.count(), died_on(&log, id)), (9, 6));
    // Releases sent to a reclaimer that has ended go to the orphans, without a bound.
    send(reclaimer.thread(), &log, 10..15);
    wait_until(|| {
        drop(AutoreleasePool::new());
        log.count() == 14
    });
}

#[test]
fn reclaimer_that_is_behind_leaves_pools_to_the_sender() {
    let log = Log::new();
    let reclaimer = bounded(WhenFull::Wait);
    let id = id_of(reclaimer.thread());
    let go = hold(reclaimer.thread());
    let send_four = |from| hand_over(reclaimer.thread(), &log, from..from + 4);
    // A whole pool is accepted if there is room for one reference.
    send_four(0);
    assert_eq!(log.count(), 0);
    send_four(4);
    assert_eq!(log.ids(), [7, 6, 5, 4], "here, at once");
    drop(go);
    wait_until(|| log.count() == 8);
    let go = hold(reclaimer.thread());
    send_four(8);
    assert_eq!(log.count(), 8);
    drop(go);
    assert!(reclaimer.finish(LONG));
    assert_eq!((log.count(), died_on(&log, id)), (12, 8));
}

#[test]
fn waiting_counts_references_until_they_are_released() {
    let log = Log::new();
    let reclaimer = reclaimer();
    let waiting = || reclaimer.pending().values;
    assert_eq!(waiting(), 0);
    let go = hold(reclaimer.thread());
    reclaimer.thread().release(Ref::new(log.probe(0)));
    hand_over(reclaimer.thread(), &log, 1..10);
    assert_eq!(waiting(), 10);
    drop(go);
    wait_until(|| waiting() == 0);
    assert_eq!(log.count(), 10);
    let go = hold(reclaimer.thread());
    reclaimer.thread().release(Ref::new(log.probe(10)));
    hand_over(reclaimer.thread(), &log, 11..13);
    // References that its own drains release do not wait any more, either.
    let inside = || _ = PoolManager::global().run_inbox();
    reclaimer.thread().post(inside).unwrap();
    drop(go);
    wait_until(|| log.count() == 13 && waiting() == 0);
}

#[test]
fn orphans_that_a_reclaimer_claims_count_as_waiting() {
    let log = alone!();
    let gone = fresh_to_the_end(me);
    let reclaimer = reclaimer();
    hand_over(&gone, &log, 0..10);
    // One of its drains claims the orphans.
    reclaimer.thread().post(|| ()).unwrap();
    wait_until(|| log.count() == 10 && reclaimer.pending().values == 0);
    assert_eq!(log.threads(), [id_of(reclaimer.thread()); 10]);
}

#[test]
fn value_sent_to_its_home_wakes_a_reclaimer_whatever_the_bound() {
    let log = Log::new();
    let reclaimer = Reclaimer::builder().values(1).spawn("home").unwrap();
    let id = id_of(reclaimer.thread());
    for n in 0..4 {
        let probe = log.probe(n);
        drop(
            HomeRef::new_on(reclaimer.thread(), || probe)
                .wait()
                .unwrap(),
        );
        wait_until(|| log.count() as u32 == n + 1);
    }
    // Objects sent to their home do not count towards the bound: there is still room for one.
    let go = hold(reclaimer.thread());
    send(reclaimer.thread(), &log, 4..6);
    assert_eq!(log.ids()[4..], [5]);
    drop(go);
    assert!(reclaimer.finish(LONG));
    assert_eq!((log.count(), died_on(&log, id)), (6, 5));
}

#[test]
fn any_number_of_reclaimers_may_follow_one_whose_destructor_does_not_end() {
    alone!();
    let small = thread::Builder::new().stack_size(64 << 10);
    let made = small.spawn(|| {
        let (go, wait) = mpsc::channel::<()>();
        drop_later(on_drop(move || _ = wait.recv()));
        for _ in 0..400 {
            assert!(!finish_drops(Duration::ZERO));
            drop_later(1);
        }
        drop(go);
        assert!(finish_drops(LONG));
    });
    made.unwrap().join().unwrap();
}

#[test]
fn the_text_names_all_types_that_wait() {
    let mut pending = PendingDrops::default();
    pending.types = vec![("Scene", 2), ("Mesh", 1)];
    let text = "0 waiting, 0 bytes, busy for 0ns: 2 of Scene, 1 of Mesh";
    assert_eq!(pending.to_string(), text);
}
