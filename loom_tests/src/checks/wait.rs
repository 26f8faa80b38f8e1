//! Waits with a time limit: they end by their wake-up, or when nothing else can happen.

use super::frame::{idle, stop_if, unlimited};
use super::hot::hot;
use super::steps::*;
use releasepool::model::{now, thread_exit};
use releasepool::{
    AutoreleasePool, Budget, FrameLoop, Hot, PoolManager, Ref, ThreadHandle, autorelease,
    frame::FrameConfig,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3_600);

pub fn models() -> Vec<Model> {
    [
        Model::canary(
            "canary_lost_wake",
            "a wait with a limit that nothing ends is a deadlock while time does not pass",
            "deadlock",
            never_woken,
        ),
        model!(
            shutdown_woken,
            "shutdown with a long limit is woken by the drain that it asked for, or by the thread's exit",
            &["when asked", "by its exit"],
        )
        // One preemption runs the answering drain, or the exit, between `shutdown`'s `Ticket` and
        // its sleep, a second one stops either halfway. With 3, the plain mode takes 30 s.
        .bounded(2),
        model!(
            shutdown_answered,
            "shutdown asks a thread that empties its backlog and then waits: shutdown returns without another nap",
            &["answered", "asked too late"],
        )
        .timed()
        // The model is about one switch: between the wake-up and the emptying of the backlog.
        .bounded(2),
        model!(
            shutdown_exit,
            "shutdown of a manager while a thread that does not use it exits: it sees what that thread did",
            &["gone", "still there"],
        )
        // Unbounded: 61,464 executions.
        .bounded(4),
        model!(
            shutdown_exit_post,
            "shutdown while a thread exits that has not run a closure: it runs it, or reports it",
            &["run", "still there"],
        )
        .bounded(3),
        model!(
            shutdown_own_release,
            "a release arrives at the thread that shuts down: it makes it, even if it was only seen to wait",
            &["sent later", "made"],
        )
        .timed(),
        Model::new(
            "shutdown_in_closure",
            "a release arrives at the thread that shuts down in a posted closure: it makes it there, too",
            &["sent later", "made"],
            || own_release(|shut_down| {
                this().post(shut_down).unwrap();
                manager().run_inbox();
            }),
        )
        .timed()
        .bounded(3),
        model!(
            shutdown_in_destructor,
            "a release arrives at a thread that shuts down inside a destructor, where it can neither make it nor wait for it",
            &["sent later", "reported"],
        ),
        model!(
            shutdown_hot,
            "shutdown while another thread reviews hot objects, one of which is dead: it is released before shutdown returns",
            &["died on 0", "died on 1"],
        )
        .timed()
        .bounded(3),
        model!(
            shutdown_limit,
            "shutdown gives up at its limit while another thread keeps a pool open",
            OVERLAP,
        )
        .timed()
        // Each nap of `shutdown` costs the threads a dozen steps.
        .bounded(2),
        model!(
            frame_pacing,
            "a post does not make the next frame of a paced loop early",
            &["in the first frame", "in the second frame"],
        )
        .plain(&["in the second frame"])
        .timed(),
        model!(
            frame_held_back,
            "a release is sent to a frame whose drains have held releases back for 100 ms: the next drain makes all",
            &["made before", "made after"],
        )
        .timed()
        .bounded(1),
        model!(
            frame_delayed_due,
            "a loop on demand sleeps until a delayed post of another thread is due",
            OVERLAP,
        )
        .timed(),
        model!(
            posts_left_in_destructor,
            "a post to a loop that is dropped inside a destructor: if accepted, it runs at the thread's end",
            &["ran", "given back"],
        ),
        model!(
            call_left_in_destructor,
            "a call to a loop that is dropped inside a destructor and leaves it to the thread",
            &["refused", "given back after a nap"],
        )
        .timed(),
    ]
    .into()
}

fn never_woken() {
    let pool = AutoreleasePool::new();
    let waiter = spawn(|| manager().shutdown(LONG).is_ok());
    // Never returns: `shutdown` waits for the pool, which this thread keeps open.
    waiter.join();
    drop(pool);
}

fn shutdown_woken() -> bool {
    let entered = Door::new();
    let other = spawn_with(&entered, |entered| {
        let (seen, object) = watched();
        autorelease(object);
        entered.open();
        drain();
        // True if the object is gone: `drain` empties the root pool only if `shutdown` has asked.
        seen.get()
    });
    entered.wait();
    manager().shutdown(LONG).unwrap();
    // DashMap's lock, which loom does not see, makes the effects of the exit visible.
    assert_eq!(take_deaths().len(), 1, "done too early");
    other.join()
}

fn shutdown_answered() -> bool {
    let doors = (Door::new(), Door::new());
    let other = spawn_with(&doors, |(entered, leave)| {
        let (seen, object) = watched();
        let mut pool = AutoreleasePool::new();
        pool.autorelease(object);
        pool.drain_within(Budget::Count(0));
        drop(pool);
        entered.open();
        manager().drain_root();
        let answered = seen.get();
        leave.wait();
        answered
    });
    doors.0.wait();
    let done = manager().shutdown(Duration::from_millis(1)).is_ok();
    let is_at_once = now().is_zero();
    doors.1.open();
    let answered = other.join();
    assert_eq!(take_deaths().len(), 1);
    assert_eq!((done, is_at_once), (answered, answered));
    answered
}

/// Shuts another manager down while this thread exits. If the shutdown is done, `seen` must be set.
fn other_manager_during_exit(seen: Arc<Seen>) -> bool {
    let waiter = spawn(move || {
        let done = PoolManager::new().shutdown(Duration::ZERO).is_ok();
        assert!(!done || seen.get(), "done too early");
        done
    });
    thread_exit();
    waiter.join()
}

fn shutdown_exit() -> bool {
    let (seen, object) = watched();
    drain();
    this().release(object);
    let done = other_manager_during_exit(seen);
    take_deaths();
    done
}

fn shutdown_exit_post() -> bool {
    let seen = Seen::new();
    let watched = Watched(seen.clone());
    this().post(move || drop(watched)).unwrap();
    let done = other_manager_during_exit(seen);
    assert!(quiesce());
    done
}

fn shutdown_own_release() -> usize {
    own_release(|shut_down| shut_down())
}

/// Shuts down by `call`, while another thread sends a release to this one.
fn own_release(call: fn(fn())) -> usize {
    drain();
    let (this, r) = (this(), Ref::new(Probe::new()));
    let sender = spawn_without_exit(move || this.release(r));
    let shut_down = || _ = manager().shutdown(LONG).unwrap();
    call(shut_down);
    let made = take_deaths().len();
    sender.join();
    shut_down();
    assert_eq!(made + take_deaths().len(), 1);
    made
}

fn shutdown_in_destructor() -> bool {
    drain();
    let (this, r) = (this(), Ref::new(Probe::new()));
    let sender = spawn_without_exit(move || this.release(r));
    let (tell, told) = mpsc::channel();
    drop(Ref::new(OnDrop::new(move || {
        tell.send(manager().shutdown(LONG).is_ok()).unwrap();
    })));
    sender.join();
    manager().shutdown(LONG).unwrap();
    assert_eq!(take_deaths().len(), 1);
    told.recv().unwrap()
}

fn shutdown_hot() -> usize {
    drop(hot());
    let other = spawn(Hot::review);
    let_others_go_first();
    manager().shutdown(LONG).unwrap();
    // `shutdown` returns after the object was destroyed, which `died_on` asserts.
    let died_on = died_on(&[me(), other.id]);
    other.join();
    died_on
}

fn shutdown_limit() -> bool {
    let (opened, close) = (Door::new(), Door::new());
    let overlap = Overlap::shared();
    let shared = (opened.clone(), close.clone(), overlap.clone());
    let other = spawn_with(&shared, |(opened, close, overlap)| {
        let pool = AutoreleasePool::new();
        opened.open();
        close.wait();
        overlap.during(|| drop(pool));
    });
    opened.wait();
    let report = manager().shutdown(Duration::from_millis(3)).unwrap_err();
    assert_eq!(report.holders.len(), 1);
    // shutdown naps for 2 ms at a time.
    assert_eq!(now(), Duration::from_millis(4));
    close.open();
    overlap.during(|| manager().shutdown(LONG)).unwrap();
    other.join();
    overlap.at_once()
}

fn frame_pacing() -> bool {
    let frame_time = Duration::from_millis(16);
    let mut frames = FrameLoop::new(FrameConfig::new().frame_time(frame_time));
    let poster = spawn_with(&frames.proxy(), move |proxy| proxy.post(|| ()).unwrap());
    let mut began = Vec::new();
    let mut ran_in = Vec::new();
    frames.run(|frame| {
        began.push(now());
        ran_in.push(frame.last_report().map_or(0, |report| report.closures));
        stop_if(began.len() == 3)
    });
    poster.join();
    assert_eq!(began, [0, 1, 2].map(|n| frame_time * n));
    assert_eq!((ran_in[0], ran_in[1] + ran_in[2]), (0, 1));
    ran_in[1] == 1
}

fn send_probes(to: &ThreadHandle, n: u32) {
    (0..n).for_each(|_| to.release(Ref::new(Probe::new())));
}

fn frame_held_back() -> bool {
    let sender = spawn_with(&this(), |to| send_probes(&to, 1));
    let drained = |n| {
        send_probes(&this(), n);
        drain();
        take_deaths().len()
    };
    let (mut before, mut after) = (0, 0);
    unlimited().tick(|_| {
        before = drained(1);
        let paced = FrameConfig::new().frame_time(Duration::from_millis(100));
        FrameLoop::new(paced).run(|frame| stop_if(frame.last_report().is_some()));
        // A nanosecond earlier, this drain would make 16 releases.
        after = drained(17);
    });
    sender.join();
    assert_eq!(before + after, 19);
    before == 2
}

fn frame_delayed_due() -> bool {
    let delay = Duration::from_millis(5);
    let mut frames = idle();
    let proxy = frames.proxy();
    let post = move || {
        let at_its_time = move || assert_eq!(now(), delay);
        proxy.post_after(delay, at_its_time).map(drop)
    };
    let run = || frames.run(|_| stop_if(true));
    let (posted, (), at_once) = Overlap::shared().between(post, run);
    assert_eq!(now(), delay);
    posted.unwrap();
    at_once
}

/// Holds a loop, to drop it inside a destructor.
struct Owner(#[expect(dead_code, reason = "only dropped")] FrameLoop);

// SAFETY: two models create an `Owner`, and each drops it on the thread that created it.
unsafe impl Send for Owner {}
// SAFETY: two models create an `Owner`, and each drops it on the thread that created it.
unsafe impl Sync for Owner {}

fn posts_left_in_destructor() -> bool {
    static RAN: AtomicBool = AtomicBool::new(false);
    RAN.store(false, Ordering::Relaxed);
    let frames = unlimited();
    let poster = spawn_with(&frames.proxy(), move |proxy| {
        proxy.post(|| RAN.store(true, Ordering::Relaxed)).is_ok()
    });
    drop(Ref::new(Owner(frames)));
    thread_exit();
    let ran = RAN.load(Ordering::Relaxed);
    assert_eq!(ran, poster.join());
    ran
}

fn call_left_in_destructor() -> bool {
    let frames = unlimited();
    let caller = spawn_with(&frames.proxy(), move |proxy| proxy.call(|| ()).is_ok());
    drop(Ref::new(Owner(frames)));
    // Nothing has run the inbox yet, so a call that waits in it was given back.
    assert!(!caller.join());
    manager().run_inbox();
    now().is_zero()
}
